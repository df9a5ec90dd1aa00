#include "machines/hostile/address_space.h"

#include <sys/mman.h>
#include <unistd.h>

#include <bit>

namespace hearth::hostile {

AddressSpace::AddressSpace() : free_(64) {
  const int file = memfd_create("hearth_hostile", 0);
  const auto size = static_cast<std::size_t>(kReserved);
  if (file < 0 || ftruncate(file, kReserved) != 0) {
    throw Error(ErrorCode::device, "hostile: no memory file");
  }
  void* real = mmap(nullptr, size, PROT_NONE, MAP_SHARED | MAP_NORESERVE, file, 0);
  void* handed = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  close(file);
  if (real == MAP_FAILED || handed == MAP_FAILED) {
    throw Error(ErrorCode::device, "hostile: no address space");
  }
  real_base_ = static_cast<std::byte*>(real);
  reservation_ = static_cast<std::byte*>(handed);
  mprotect(real_base_, static_cast<std::size_t>(kArenaBytes), PROT_READ | PROT_WRITE);
  used_ = kArenaBytes + kPage;
}

// Runs of 1, 2, 4, ... pages.
int AddressSpace::class_of(std::int64_t pages) {
  return std::bit_width(static_cast<std::uint64_t>(pages - 1));
}

Address AddressSpace::take(std::int64_t bytes) {
  const std::int64_t needed = (bytes + kPadding + kAlignment - 1) / kAlignment * kAlignment;
  const int size_class = class_of((needed + kPage - 1) / kPage);
  const std::int64_t run_bytes = kPage << size_class;
  std::deque<std::int64_t>& free = free_[static_cast<std::size_t>(size_class)];
  std::int64_t run = 0;
  if (free.size() > kQuarantine || (!free.empty() && run_bytes > (std::int64_t{1} << 24))) {
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    const std::size_t older_half = free.size() / 2 + 1;
    const std::size_t at = static_cast<std::size_t>(random_ >> 33) % older_half;
    run = free[at];
    free.erase(free.begin() + static_cast<std::ptrdiff_t>(at));
  } else {
    if (used_ + run_bytes + kPage > kReserved) return nullptr;
    run = used_;
    used_ += run_bytes;
    if (mprotect(real_base_ + run, static_cast<std::size_t>(run_bytes), PROT_READ | PROT_WRITE) !=
        0) {
      return nullptr;
    }
    if (++guarded_ <= kMaxGuarded) used_ += kPage;
  }
  const Address address = reservation_ + run + run_bytes - needed;
  live_[address] = {run, bytes, size_class};
  return address;
}

void AddressSpace::give_back(Address address) {
  const auto at = live_.find(address);
  free_[static_cast<std::size_t>(at->second.size_class)].push_back(at->second.run);
  live_.erase(at);
}

bool AddressSpace::is_live(Address address) const {
  if (address >= reservation_ && address < reservation_ + kArenaBytes) return true;
  auto at = live_.upper_bound(address);
  if (at == live_.begin()) return false;
  --at;
  return address <= at->first + at->second.bytes;
}

}  // namespace hearth::hostile
