#include "devices/cpu/ops/updates/update_loops.h"

#include <type_traits>

#include "devices/cpu/ops/elements.h"
#include "devices/cpu/rows/row_math.h"
#include "devices/cpu/rows/rows.h"
#include "ops/indexing/update_rule.h"

namespace hearth::cpu {
namespace {

struct Assign {
  template <class T>
  static void apply(T& sum, T value) {
    sum = value;
  }
};
// Integers wrap.
struct Add {
  template <class T>
  static void apply(T& sum, T value) {
    if constexpr (std::is_integral_v<T>) {
      sum = static_cast<T>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(value));
    } else {
      sum += value;
    }
  }
};
struct Mul {
  template <class T>
  static void apply(T& sum, T value) {
    if constexpr (std::is_integral_v<T>) {
      sum = static_cast<T>(static_cast<std::uint64_t>(sum) * static_cast<std::uint64_t>(value));
    } else {
      sum *= value;
    }
  }
};
// NaN if either is.
struct Min {
  template <class T>
  static void apply(T& sum, T value) {
    sum = sum < value || sum != sum ? sum : value;
  }
};
struct Max {
  template <class T>
  static void apply(T& sum, T value) {
    sum = sum > value || sum != sum ? sum : value;
  }
};

template <class T, class Rule>
void update_along(std::byte* sums_at, std::int64_t extent, const std::int64_t* targets,
                  std::int64_t target_step, const std::byte* values_at, std::int64_t value_step,
                  std::int64_t n) {
  T* const sums = reinterpret_cast<T*>(sums_at);
  const T* const values = reinterpret_cast<const T*>(values_at);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t target = targets[i * target_step];
    if (inside(target, extent)) Rule::apply(sums[target], values[i * value_step]);
  }
}

template <class T, class Rule>
void update_across(std::byte* sums_at, std::int64_t sums_step, std::int64_t extent,
                   const std::int64_t* targets, const std::int64_t* places,
                   const std::byte* values_at, std::int64_t n) {
  T* const sums = reinterpret_cast<T*>(sums_at);
  const T* const values = reinterpret_cast<const T*>(values_at);
  if (places == nullptr) {
    for (std::int64_t i = 0; i < n; ++i) {
      if (inside(targets[i], extent)) Rule::apply(sums[targets[i] * sums_step + i], values[i]);
    }
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    if (!inside(targets[i], extent)) continue;
    Rule::apply(sums[targets[i] * sums_step + places[i]], values[i]);
  }
}

template <class T, class Rule>
void update_row(std::byte* sums_at, const std::byte* values_at, std::int64_t n) {
  T* const sums = reinterpret_cast<T*>(sums_at);
  const T* const values = reinterpret_cast<const T*>(values_at);
  if constexpr (std::is_same_v<Rule, Add> && std::is_floating_point_v<T>) {
    row_math<T>().add_to(sums, values, n);
  } else {
    for (std::int64_t i = 0; i < n; ++i) Rule::apply(sums[i], values[i]);
  }
}

template <class T, class Rule>
constexpr UpdateLoops loops_of() {
  return {.along = update_along<T, Rule>,
          .across = update_across<T, Rule>,
          .row = update_row<T, Rule>,
          .widens = false,
          .assigns = std::is_same_v<Rule, Assign>};
}

// kByBits: integers have the same bits with and without a sign.
template <class Rule, bool kByBits>
UpdateLoops arithmetic_loops(DType dtype) {
  UpdateLoops loops = {};
  if (is_float(dtype)) {
    with_compute_type(dtype, [&]<class T>() { loops = loops_of<T, Rule>(); });
    loops.widens = size_of(dtype) == 2;
  } else if constexpr (kByBits) {
    with_storage_type(dtype, [&]<class E>() { loops = loops_of<E, Rule>(); });
  } else {
    with_element_type(dtype, [&]<class E>() {
      if constexpr (std::is_integral_v<E>) loops = loops_of<E, Rule>();
    });
  }
  return loops;
}

}  // namespace

UpdateLoops update_loops(std::span<const std::uint64_t> statics, DType dtype) {
  UpdateLoops loops = {};
  switch (update_rule(statics, dtype)) {
    case IndexingUpdateOp::assign:
      with_storage_type(dtype, [&]<class E>() { loops = loops_of<E, Assign>(); });
      return loops;
    case IndexingUpdateOp::add:
      return arithmetic_loops<Add, true>(dtype);
    case IndexingUpdateOp::mul:
      return arithmetic_loops<Mul, true>(dtype);
    case IndexingUpdateOp::min:
      return arithmetic_loops<Min, false>(dtype);
    case IndexingUpdateOp::max:
      return arithmetic_loops<Max, false>(dtype);
  }
  return loops;
}

}  // namespace hearth::cpu
