// Vector loops over rows of elements as unsigned keys, for 8 to 64 bits.
#pragma once

#include <cstdint>

namespace hearth::cpu {

enum class Form : std::uint8_t { integer, floating, truth };

// How the bits of an element become a key: see Order in devices/cpu/ops/element_order.h.
struct KeyRule {
  Form form;
  std::uint64_t flip, infinity;
};

template <class U>
struct RowKeys {
  // Keys of n elements; least[i] is the least of those at i, i + groups, ..., the largest number
  // where there are none. `groups` is a multiple of kKeyGroups.
  void (*make)(const U* x, std::int64_t n, KeyRule rule, std::int64_t groups, U* keys, U* least);
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
