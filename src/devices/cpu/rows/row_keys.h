// Vector loops over rows of elements as unsigned keys, for 8 to 64 bits.
#pragma once

#include <cstdint>
#include <limits>

namespace hearth::cpu {

enum class Form : std::uint8_t { integer, floating, truth };

template <class U>
inline constexpr U kKeySign = static_cast<U>(U{1} << (std::numeric_limits<U>::digits - 1));

// The key of an element of these bits, in whose order elements are: NaN is the largest, and zeros
// have one. `flip` turns the order round, and that of signed integers at their sign; `infinity` has
// the bits of that of floats.
template <class U, Form kForm>
constexpr U element_key(U bits, U flip, U infinity) {
  if constexpr (kForm == Form::truth) {
    return static_cast<U>((bits != 0 ? 1 : 0) ^ flip);
  } else if constexpr (kForm == Form::floating) {
    constexpr U kSign = kKeySign<U>;
    const U magnitude = bits & static_cast<U>(~kSign);
    U key = bits ^ static_cast<U>((bits & kSign) != 0 ? ~U{0} : kSign);
    key = magnitude == 0 ? kSign : key;
    key = magnitude > infinity ? static_cast<U>(~U{0}) : key;
    return key ^ flip;
  } else {
    return bits ^ flip;
  }
}

// The form, and the arguments of element_key().
struct RowKeyRule {
  Form form;
  std::uint64_t flip, infinity;
};

template <class U>
struct RowKeys {
  // Keys of n elements; least[i] is the least of those at i, i + groups, ..., the largest number
  // where there are none. `groups` is a multiple of kKeyGroups.
  void (*make)(const U* x, std::int64_t n, RowKeyRule rule, std::int64_t groups, U* keys, U* least);
  // Where keys are not above `most`, in order; returns how many. There is room for n.
  std::int64_t (*find)(const U* keys, std::int64_t n, U most, std::uint32_t* places);
};
inline constexpr std::int64_t kKeyGroups = 64;

template <class U>
const RowKeys<U>& row_keys();
template <>
const RowKeys<std::uint8_t>& row_keys<std::uint8_t>();
template <>
const RowKeys<std::uint16_t>& row_keys<std::uint16_t>();
template <>
const RowKeys<std::uint32_t>& row_keys<std::uint32_t>();
template <>
const RowKeys<std::uint64_t>& row_keys<std::uint64_t>();

}  // namespace hearth::cpu
