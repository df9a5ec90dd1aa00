#include "runtime/compile/source_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdio>

namespace hearth {
inline namespace v0 {
namespace runtime {
namespace {

SourceHash hash_text(const std::string& text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return {hash.high64, hash.low64};
}

// Lengths go in front of texts, so that no two lists of fields run together alike.
void append(std::string* out, std::string_view text) {
  *out += std::to_string(text.size());
  *out += ':';
  *out += text;
}

}  // namespace

std::string SourceHash::text() const {
  char digits[33];
  std::snprintf(digits, sizeof digits, "%016llx%016llx", static_cast<unsigned long long>(high),
                static_cast<unsigned long long>(low));
  return digits;
}

SourceHash hash_source(const KernelSource& source, std::string_view compiler) {
  std::string all;
  append(&all, compiler);
  append(&all, source.name);
  append(&all, source.text);
  append(&all, source.function);
  append(&all, std::to_string(source.max_threads));
  append(&all, std::to_string(source.members));
  append(&all, source.metal ? "metal" : "");
  for (const KernelParameter& parameter : source.parameters) {
    append(&all, std::to_string(static_cast<int>(parameter.kind)));
    append(&all, parameter.type);
    append(&all, parameter.name);
    append(&all, std::to_string(parameter.count));
  }
  return hash_text(all);
}

SourceHash hash_call(const LibraryCall& call, std::string_view library) {
  std::string all;
  append(&all, library);
  append(&all, call.function);
  append(&all, call.name);
  for (const KernelParameter& parameter : call.parameters) {
    append(&all, std::to_string(static_cast<int>(parameter.kind)));
  }
  for (const std::int64_t word : call.problem) append(&all, std::to_string(word));
  return hash_text(all);
}

std::uint64_t checksum(const void* data, std::size_t bytes) noexcept {
  return XXH3_64bits(data, bytes);
}

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
