// How much random tests do.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace hearth::testing {

// `count` scaled by HEARTH_TEST_EFFORT (percent, default 100), at least 1.
inline std::int64_t scaled(std::int64_t count) {
  const char* text = std::getenv("HEARTH_TEST_EFFORT");  // NOLINT(concurrency-mt-unsafe)
  const std::int64_t percent = text != nullptr ? std::strtoll(text, nullptr, 10) : 100;
  const std::int64_t scaled = count * (percent > 0 ? percent : 100) / 100;
  return scaled > 0 ? scaled : 1;
}

}  // namespace hearth::testing
