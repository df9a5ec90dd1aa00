// Why a connection reads no more of a request.
#pragma once

#include <cstdint>

namespace hearth::tools::serve {

enum class Refusal : std::uint8_t {
  none,
  unfinished,  // its bytes did not come in time, or the peer ended them
  stopping,    // they were not at hand when the server stopped
  crowded,     // its thread was needed for another connection
  too_long,
  malformed,  // its chunks are
};

}  // namespace hearth::tools::serve
