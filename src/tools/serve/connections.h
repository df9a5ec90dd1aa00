// How many connections a server has at once.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::tools::serve {

// Texts that may wait: the connection of each holds a thread, and a file.
inline constexpr std::int64_t kMostWaiting = 4096;

// Connections for so many texts that run or wait, each with one of its own, and those that are
// answered at once beside them.
std::size_t connections_for(std::int64_t texts);

// Lets this process have so many connections open beside its other files. Throws
// Error{invalid_argument} where the system does not.
void allow_connections(std::size_t count);

}  // namespace hearth::tools::serve
