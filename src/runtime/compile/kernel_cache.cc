#include "runtime/compile/kernel_cache.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "runtime/compile/atomic_write.h"
#include "runtime/device/environment.h"

namespace hearth {
inline namespace v0 {
namespace runtime {
namespace {

// In front of every image. The magic ends with the version of the format.
struct Header {
  char magic[8];
  std::uint64_t bytes;
  std::uint64_t checksum;
};
constexpr char kMagic[8] = {'H', 'e', 'a', 'r', 't', 'h', 'K', '1'};

}  // namespace

std::string KernelCache::default_folder() {
  if (environment().cache) return *environment().cache;
  const char* cache = std::getenv("XDG_CACHE_HOME");  // NOLINT(concurrency-mt-unsafe)
  if (cache != nullptr && *cache == '/') return std::string(cache) + "/hearth/kernels";
  const char* home = std::getenv("HOME");  // NOLINT(concurrency-mt-unsafe)
  if (home == nullptr || *home == '\0') return "";
#ifdef __APPLE__
  return std::string(home) + "/Library/Caches/hearth/kernels";
#else
  return std::string(home) + "/.cache/hearth/kernels";
#endif
}

std::string KernelCache::path_of(const SourceHash& hash) const {
  return folder_ + "/" + hash.text() + ".kernel";
}

std::optional<std::vector<std::byte>> KernelCache::find(const SourceHash& hash) const noexcept try {
  if (folder_.empty()) return std::nullopt;
  std::ifstream file(path_of(hash), std::ios::binary | std::ios::ate);
  if (!file) return std::nullopt;
  const auto size = static_cast<std::int64_t>(file.tellg());
  const auto body = size - static_cast<std::int64_t>(sizeof(Header));
  Header header;
  file.seekg(0);
  if (body < 0 || !file.read(reinterpret_cast<char*>(&header), sizeof header)) return std::nullopt;
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0 ||
      header.bytes != static_cast<std::uint64_t>(body)) {
    return std::nullopt;
  }
  std::vector<std::byte> image(static_cast<std::size_t>(body));
  if (!file.read(reinterpret_cast<char*>(image.data()), body)) return std::nullopt;
  if (checksum(image.data(), image.size()) != header.checksum) return std::nullopt;
  return image;
} catch (const std::exception&) {
  return std::nullopt;
}

bool KernelCache::keep(const SourceHash& hash, std::span<const std::byte> image) const noexcept {
  if (folder_.empty()) return false;
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.bytes = image.size();
  header.checksum = checksum(image.data(), image.size());
  return write_whole_file(path_of(hash), {std::as_bytes(std::span(&header, 1)), image});
}

bool KernelCache::keep(std::span<const SourceHash> hashes,
                       std::span<const std::byte> image) const noexcept {
  if (hashes.empty() || !keep(hashes.front(), image)) return false;
  bool all = true;
  for (const SourceHash& hash : hashes.subspan(1)) {
    all = (link_whole_file(path_of(hashes.front()), path_of(hash)) || keep(hash, image)) && all;
  }
  return all;
}

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
