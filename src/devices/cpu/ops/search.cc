// searchsorted: a binary search for each value, in the row that belongs to it. Values that ascend
// are found from the place of the one before; others some at a time, whose steps do not wait for
// each other.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "devices/cpu/ops/elements.h"
#include "graph/implementation.h"
#include "ops/definition/defs.h"

namespace hearth::cpu {
namespace {

// In order, where NaN is beyond infinity.
template <class T>
bool is_before(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a < b || (std::isnan(b) && !std::isnan(a));
  } else {
    return a < b;
  }
}

// How far the last of the steps from a known place is.
constexpr std::int64_t kNear = 8;

// Values that are searched at a time.
constexpr int kTogether = 8;

// The places of kTogether values, none of which is NaN, in a row of `n` > 0 elements.
template <bool kRight, class V, class E>
void search_together(const E* row, std::int64_t step, std::int64_t n, const V* values,
                     std::int64_t* places) {
  const auto is_behind = [=](std::int64_t i, V value) {
    const V element = static_cast<V>(row[i * step]);
    return kRight ? element <= value : element < value;
  };
  std::int64_t first[kTogether] = {};
  std::int64_t length = n;
  while (length > 1) {
    const std::int64_t lower = length / 2;
    for (int k = 0; k < kTogether; ++k) {
      first[k] += is_behind(first[k] + lower - 1, values[k]) ? lower : 0;
    }
    length -= lower;
  }
  for (int k = 0; k < kTogether; ++k) {
    places[k] = first[k] + (is_behind(first[k], values[k]) ? 1 : 0);
  }
}

// Steps of a search over `n` elements.
std::int64_t steps_of(std::int64_t n) {
  std::int64_t steps = 1;
  for (; n > 0; n /= 2) ++steps;
  return steps;
}

template <class E>
void search(const Launch& launch) {
  using V = std::conditional_t<std::is_same_v<E, float16> || std::is_same_v<E, bfloat16>, float, E>;
  const Operand sorted = input_of(launch, 0), values = input_of(launch, 1);
  const Operand output = output_of(launch);
  const bool right = statics_of(launch).boolean();
  const int last = values.shape().rank() - 1;
  const std::int64_t n = sorted.shape()[last], m = values.shape()[last];
  const std::int64_t step = sorted.stride(last), value_step = values.stride(last);
  if (element_count(values.shape()) == 0) return;
  const OffsetMap sorted_rows(sorted.shape(), sorted.strides(), 0, last);
  const OffsetMap value_rows(values.shape(), values.strides(), 0, last);
  // Results are i64, or i32 that are made of these.
  const bool in_place = output.dtype() == DType::i64;
  // `known` is the place of another value, which that of the next ascending value is not far
  // behind: some steps from there, each twice as far, before the rest of the row is halved.
  const auto count_before = [=](const E* row, V value, std::int64_t known) {
    const auto is_behind = [=](std::int64_t i) {
      const V element = static_cast<V>(row[i * step]);
      return right ? !is_before(value, element) : is_before(element, value);
    };
    std::int64_t low = 0, high = n;
    if (known > 0 && !is_behind(known - 1)) {
      high = known - 1;
    } else {
      low = known;
      for (std::int64_t far = 1; far <= kNear && low + far <= n; far *= 2) {
        if (!is_behind(low + far - 1)) {
          high = low + far - 1;
          break;
        }
        low += far;
      }
    }
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      const bool goes_on = is_behind(middle);
      low = goes_on ? middle + 1 : low;
      high = goes_on ? high : middle;
    }
    return low;
  };
  for_chunks(element_count(values.shape()), steps_of(n), [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t i = first; i < end;) {
      const std::int64_t at = i / m;
      const std::int64_t stop = std::min(end, (at + 1) * m);
      const E* const row = reinterpret_cast<const E*>(sorted.data) + sorted_rows.at(at);
      const E* const value = reinterpret_cast<const E*>(values.data) + value_rows.at(at);
      std::int64_t place = 0;
      V some[kTogether];
      while (i < stop) {
        const auto count = static_cast<int>(std::min<std::int64_t>(kTogether, stop - i));
        bool ascends = true, is_number = true;
        for (int k = 0; k < count; ++k) {
          some[k] = static_cast<V>(value[(i + k - at * m) * value_step]);
          ascends &= k == 0 || !(some[k] < some[k - 1]);
          is_number &= some[k] == some[k];
        }
        std::int64_t copy[kTogether];
        std::int64_t* const places =
            in_place ? reinterpret_cast<std::int64_t*>(output.data) + i : copy;
        if (count == kTogether && !ascends && is_number && n > 0) {
          if (right) {
            search_together<true>(row, step, n, some, places);
          } else {
            search_together<false>(row, step, n, some, places);
          }
        } else {
          for (int k = 0; k < count; ++k) {
            places[k] = place = count_before(row, some[k], place);
          }
        }
        for (int k = 0; !in_place && k < count; ++k) {
          reinterpret_cast<std::int32_t*>(output.data)[i + k] = static_cast<std::int32_t>(copy[k]);
        }
        place = places[count - 1];
        i += count;
      }
    }
  });
}

void launch_search(const Launch& launch) {
  with_element_type(launch.signature->inputs[0].dtype, [&]<class E>() { search<E>(launch); });
}

constexpr Implementation kImplementations[] = {
    {.name = "binary", .op = &defs::searchsorted_op, .launch = launch_search},
};

}  // namespace

Family search_family() { return kImplementations; }

}  // namespace hearth::cpu
