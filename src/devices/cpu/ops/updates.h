// What becomes of an element that values go to: rules for the loops of updates by index.
#pragma once

#include <cstdint>
#include <type_traits>

#include "devices/cpu/ops/elements.h"
#include "ops/indexing/update_rule.h"

namespace hearth::cpu {

struct UpdateAssign {
  template <class T>
  static void apply(T& sum, T value) {
    sum = value;
  }
};
// Integers wrap.
struct UpdateAdd {
  template <class T>
  static void apply(T& sum, T value) {
    if constexpr (std::is_integral_v<T>) {
      sum = static_cast<T>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(value));
    } else {
      sum += value;
    }
  }
};
struct UpdateMul {
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
struct UpdateMin {
  template <class T>
  static void apply(T& sum, T value) {
    sum = sum < value || sum != sum ? sum : value;
  }
};
struct UpdateMax {
  template <class T>
  static void apply(T& sum, T value) {
    sum = sum > value || sum != sum ? sum : value;
  }
};

// Calls run.template operator()<E, Rule>() with the rule of an op's static parameters, and with a
// type of the dtype's size that it may be computed in: unsigned integers for what does not depend
// on more than bits.
template <class Run>
void with_update(std::span<const std::uint64_t> statics, DType dtype, Run run) {
  const auto by_bits = [&]<class Rule>(Rule) {
    if (is_float(dtype)) {
      return with_element_type(dtype, [&]<class E>() {
        if constexpr (!std::is_integral_v<E>) run.template operator()<E, Rule>();
      });
    }
    with_storage_type(dtype, [&]<class E>() { run.template operator()<E, Rule>(); });
  };
  switch (update_rule(statics, dtype)) {
    case IndexingUpdateOp::assign:
      return with_storage_type(dtype,
                               [&]<class E>() { run.template operator()<E, UpdateAssign>(); });
    case IndexingUpdateOp::add:
      return by_bits(UpdateAdd());
    case IndexingUpdateOp::mul:
      return by_bits(UpdateMul());
    case IndexingUpdateOp::min:
      return with_element_type(dtype, [&]<class E>() { run.template operator()<E, UpdateMin>(); });
    case IndexingUpdateOp::max:
      return with_element_type(dtype, [&]<class E>() { run.template operator()<E, UpdateMax>(); });
  }
}

}  // namespace hearth::cpu
