#include "tools/serve/packed_body.h"

#ifdef HEARTH_HAS_ZLIB
#include <zlib.h>

#include <array>
#include <memory>
#include <new>
#endif

namespace hearth::tools::serve {

#ifdef HEARTH_HAS_ZLIB

bool can_unpack() noexcept { return true; }

std::optional<UnpackedBody> unpack_body(const std::string& packed, std::size_t most_bytes) {
  constexpr int kEitherFormat = 32;  // the first bytes say which
  z_stream stream = {};
  if (inflateInit2(&stream, MAX_WBITS + kEitherFormat) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, inflateEnd);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  UnpackedBody body;
  std::array<char, 16 << 10> piece;
  for (int status = Z_OK; status != Z_STREAM_END;) {
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    status = inflate(&stream, Z_NO_FLUSH);
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    // Z_BUF_ERROR: it needs more than there is.
    if (status != Z_OK && status != Z_STREAM_END) return std::nullopt;
    const std::size_t made = piece.size() - stream.avail_out;
    if (made > most_bytes - body.bytes.size())
      return UnpackedBody{.bytes = {}, .is_too_long = true};
    body.bytes.append(piece.data(), made);
  }
  if (stream.avail_in > 0) return std::nullopt;
  return body;
}

#else

bool can_unpack() noexcept { return false; }

std::optional<UnpackedBody> unpack_body(const std::string&, std::size_t) { return std::nullopt; }

#endif

}  // namespace hearth::tools::serve
