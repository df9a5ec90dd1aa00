#include "runtime/memory/system_memory.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace hearth {
namespace {

constexpr std::int64_t kHugePage = std::int64_t{2} << 20;

}  // namespace

std::byte* map_pages(std::int64_t bytes) noexcept {
  const bool huge = bytes >= 2 * kHugePage;
  const auto map = [](std::int64_t size) {
    return mmap(nullptr, static_cast<std::size_t>(size), PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  };
  void* raw = map(huge ? bytes + kHugePage : bytes);
  if (raw == MAP_FAILED && huge) {
    // The last of the addresses: not aligned to huge pages.
    raw = map(bytes);
    return raw == MAP_FAILED ? nullptr : static_cast<std::byte*>(raw);
  }
  if (raw == MAP_FAILED) return nullptr;
  auto* address = static_cast<std::byte*>(raw);
  if (!huge) return address;
  // Aligned to a huge page; the ends that are not used go back.
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  const std::int64_t skip = static_cast<std::int64_t>(
      (kHugePage - static_cast<std::int64_t>(start % kHugePage)) % kHugePage);
  if (skip > 0) munmap(address, static_cast<std::size_t>(skip));
  munmap(address + skip + bytes, static_cast<std::size_t>(kHugePage - skip));
  address += skip;
#ifdef MADV_HUGEPAGE
  madvise(address, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
#endif
  return address;
}

void unmap_pages(std::byte* address, std::int64_t bytes) noexcept {
  munmap(address, static_cast<std::size_t>(bytes));
}

std::int64_t physical_memory() noexcept {
  std::int64_t bytes = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  std::ifstream group("/sys/fs/cgroup/memory.max");
  std::int64_t group_bytes = 0;
  if (group >> group_bytes && group_bytes > 0) bytes = std::min(bytes, group_bytes);
  return bytes;
}

std::int64_t address_space_limit() noexcept {
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kNone;
  return static_cast<std::int64_t>(
      std::min<std::uint64_t>(limit.rlim_cur, static_cast<std::uint64_t>(kNone)));
}

std::string what_system_gives() {
  const std::int64_t addresses = address_space_limit();
  if (addresses == std::numeric_limits<std::int64_t>::max()) {
    return "what the system gives: it refuses more";
  }
  return "what the system gives: the process may use " + std::to_string(addresses) +
         " bytes of addresses in all (ulimit -v)";
}

}  // namespace hearth
