// The 128-bit hash that is the key of kernels, in memory and on disk.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "hearth/runtime.h"
#include "runtime/commands/library_call.h"

namespace hearth {
inline namespace v0 {
namespace runtime {

struct SourceHash {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend bool operator==(const SourceHash&, const SourceHash&) = default;
  // 32 hexadecimal digits.
  std::string text() const;
};

// Of everything in `source`, and of `compiler`: what else the image depends on.
SourceHash hash_source(const KernelSource& source, std::string_view compiler);

// Of the problem and its function, and of `library`: what else depends on it.
SourceHash hash_call(const LibraryCall& call, std::string_view library);

// A checksum of bytes.
std::uint64_t checksum(const void* data, std::size_t bytes) noexcept;

}  // namespace runtime
}  // namespace v0
}  // namespace hearth

template <>
struct std::hash<hearth::runtime::SourceHash> {
  std::size_t operator()(const hearth::runtime::SourceHash& value) const noexcept {
    return static_cast<std::size_t>(value.low);
  }
};
