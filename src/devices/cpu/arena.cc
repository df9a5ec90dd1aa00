#include "devices/cpu/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <limits>

#include "core/integer_math.h"
#include "runtime/memory/system_memory.h"

namespace hearth::cpu {
namespace {

constexpr std::int64_t kHugePage = std::int64_t{2} << 20;

std::int64_t whole_pages(std::int64_t bytes) { return round_up(bytes, kHugePage); }

std::byte* map(std::int64_t bytes, int protection, int more_flags) noexcept {
  void* raw = mmap(nullptr, static_cast<std::size_t>(bytes), protection,
                   MAP_PRIVATE | MAP_ANONYMOUS | more_flags, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
#ifdef MADV_HUGEPAGE
  madvise(raw, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
#endif
  return static_cast<std::byte*>(raw);
}

}  // namespace

Arena::Arena() noexcept {
  if (address_space_limit() != std::numeric_limits<std::int64_t>::max()) return;
  const std::int64_t reserve = whole_pages(physical_memory());
  base_ = map(reserve, PROT_NONE, MAP_NORESERVE);
  if (base_ != nullptr) reserved_ = reserve;
}

Arena::~Arena() {
  const std::int64_t mapped = std::max(bytes_, reserved_);
  if (base_ != nullptr) munmap(base_, static_cast<std::size_t>(mapped));
}

bool Arena::grow_in_place(std::int64_t bytes) noexcept {
  if (bytes > reserved_ || mprotect(base_ + bytes_, static_cast<std::size_t>(bytes - bytes_),
                                    PROT_READ | PROT_WRITE) != 0) {
    return false;
  }
  bytes_ = bytes;
  return true;
}

bool Arena::move(std::int64_t bytes) noexcept {
  // First the old range goes: the new one may need its addresses.
  if (base_ != nullptr) munmap(base_, static_cast<std::size_t>(bytes_));
  base_ = map(bytes, PROT_READ | PROT_WRITE, 0);
  bytes_ = base_ != nullptr ? bytes : 0;
  return base_ != nullptr;
}

std::byte* Arena::at_least(std::int64_t bytes) noexcept {
  if (bytes <= bytes_) return base_;
  if (bytes > std::numeric_limits<std::int64_t>::max() - kHugePage) return nullptr;
  const std::int64_t exact = whole_pages(bytes);
  // A growing program asks for a little more each time.
  const std::int64_t roomy = std::max(exact, whole_pages(bytes_ + bytes_ / 4));
  for (const std::int64_t size : {roomy, exact}) {
    if (reserved_ > 0 ? grow_in_place(size) : move(size)) return base_;
  }
  return nullptr;
}

void Arena::trim() noexcept {
  if (bytes_ == 0) return;
  if (reserved_ > 0) {
    madvise(base_, static_cast<std::size_t>(bytes_), MADV_DONTNEED);
  } else {
    munmap(base_, static_cast<std::size_t>(bytes_));
    base_ = nullptr;
    bytes_ = 0;
  }
}

}  // namespace hearth::cpu
