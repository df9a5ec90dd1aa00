// Reading the fields of a GGUF file one after another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/gguf.h"
#include "io/untrusted.h"

namespace hearth::io {

// A place in untrusted bytes. Each reader checks that its bytes are there, before it allocates, and
// throws Error{corrupt_file} with the place where the field begins; `what` is what errors call it.
class GgufCursor {
 public:
  GgufCursor(std::span<const std::byte> bytes, const FileErrors& errors)
      : bytes_(bytes), errors_(errors) {}

  const FileErrors& errors() const noexcept { return errors_; }
  std::uint64_t position() const noexcept { return position_; }
  std::uint64_t remaining() const noexcept { return bytes_.size() - position_; }

  template <class T>
  T number(std::string_view what) {
    T value;
    std::memcpy(&value, take(what, position_, sizeof value).data(), sizeof value);
    return value;
  }

  std::string text(std::string_view what, std::uint64_t limit = kMaxGgufLength) {
    const std::uint64_t begin = position_;
    const auto length = number<std::uint64_t>(what);
    if (length > limit) {
      errors_.corrupt(begin, std::string(what) + " is too long; got " + std::to_string(length) +
                                 " bytes, expected at most " + std::to_string(limit));
    }
    const auto bytes = take(what, begin, length);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  // `count` numbers.
  template <class T>
  std::vector<T> numbers(std::string_view what, std::uint64_t count) {
    const auto bytes = take(what, position_, count * sizeof(T));
    std::vector<T> values(static_cast<std::size_t>(count));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

 private:
  // The next bytes, of a field that begins at `begin`.
  std::span<const std::byte> take(std::string_view what, std::uint64_t begin, std::uint64_t count) {
    if (count > remaining()) {
      errors_.corrupt(begin, std::string(what) + " is cut off; got " + std::to_string(remaining()) +
                                 " bytes, expected " + std::to_string(count));
    }
    const auto bytes =
        bytes_.subspan(static_cast<std::size_t>(position_), static_cast<std::size_t>(count));
    position_ += count;
    return bytes;
  }

  std::span<const std::byte> bytes_;
  const FileErrors& errors_;
  std::uint64_t position_ = 0;
};

// The value of `key`, whose type is `type` as the file has it at `type_at`. Throws
// Error{unsupported} for an array of arrays.
GgufValue read_gguf_value(GgufCursor& cursor, std::uint32_t type, std::uint64_t type_at,
                          const std::string& key);

}  // namespace hearth::io
