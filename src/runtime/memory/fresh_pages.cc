#include "runtime/memory/fresh_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <map>
#include <mutex>

#include "runtime/memory/system_memory.h"

namespace hearth {
namespace {

struct FreshPages {
  std::mutex mutex;
  std::map<const std::byte*, std::int64_t, std::less<>> bytes;  // by where they begin
};

FreshPages& fresh_pages() {
  static auto* pages = new FreshPages;
  return *pages;
}

std::int64_t page_bytes() {
  static const std::int64_t bytes = sysconf(_SC_PAGESIZE);
  return bytes;
}

// Anonymous pages that are given back read as zeros when they are touched again: on Linux, and
// there not under each emulator.
bool give_back(std::byte* pages, std::int64_t bytes) noexcept {
#if defined(__linux__)
  return madvise(pages, static_cast<std::size_t>(bytes), MADV_DONTNEED) == 0;
#else
  static_cast<void>(pages);
  static_cast<void>(bytes);
  return false;
#endif
}

bool gives_zeros() noexcept {
  static const bool does = [] {
    std::byte* page = map_pages(page_bytes());
    if (page == nullptr) return false;
    auto* value = reinterpret_cast<volatile unsigned char*>(page);
    *value = 1;
    const bool is_zero = give_back(page, page_bytes()) && *value == 0;
    unmap_pages(page, page_bytes());
    return is_zero;
  }();
  return does;
}

// Whether the bytes were of fresh pages, which these are no more.
bool take_fresh(const std::byte* address, std::int64_t bytes) noexcept {
  FreshPages& pages = fresh_pages();
  const std::lock_guard lock(pages.mutex);
  auto found = pages.bytes.upper_bound(address);
  if (found == pages.bytes.begin()) return false;
  --found;
  if (address + bytes > found->first + found->second) return false;
  pages.bytes.erase(found);
  return true;
}

}  // namespace

void note_fresh_pages(std::byte* address, std::int64_t bytes) {
  if (bytes < kLeastFreshBytes) return;
  FreshPages& pages = fresh_pages();
  const std::lock_guard lock(pages.mutex);
  pages.bytes[address] = bytes;
}

void forget_fresh_pages(const std::byte* address) noexcept {
  FreshPages& pages = fresh_pages();
  const std::lock_guard lock(pages.mutex);
  pages.bytes.erase(address);
}

bool zero_fresh_pages(std::byte* address, std::int64_t bytes) noexcept {
  if (bytes < kLeastFreshBytes || !gives_zeros() || !take_fresh(address, bytes)) return false;
  const std::int64_t page = page_bytes();
  const auto start = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(address));
  const std::int64_t head = (page - start % page) % page;
  const std::int64_t whole = (bytes - head) / page * page;
  if (!give_back(address + head, whole)) return false;
  std::memset(address, 0, static_cast<std::size_t>(head));
  std::memset(address + head + whole, 0, static_cast<std::size_t>(bytes - head - whole));
  return true;
}

}  // namespace hearth
