// What fuzz targets hold the parsers to.
#pragma once

#include <cstdlib>

namespace hearth::testing {

// Ends the process, which is a finding, where it does not hold.
inline void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace hearth::testing
