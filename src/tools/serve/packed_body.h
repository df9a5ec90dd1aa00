// Bodies that Content-Encoding says are packed: gzip and deflate (zlib).
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace hearth::tools::serve {

// Whether this program has what it needs for that.
bool can_unpack() noexcept;

struct UnpackedBody {
  std::string bytes;
  bool is_too_long = false;  // for `most_bytes`; nothing else is known of it then
};

// Nothing for what is not packed so, ends before its checksum, does not have the one that it says,
// or goes on behind it. Throws std::bad_alloc.
std::optional<UnpackedBody> unpack_body(const std::string& packed, std::size_t most_bytes);

}  // namespace hearth::tools::serve
