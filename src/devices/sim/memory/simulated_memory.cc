#include "devices/sim/memory/simulated_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "core/integer_math.h"
#include "hearth/error.h"

namespace hearth::sim {
namespace {

constexpr std::int64_t kReserved = std::int64_t{64} << 30;
constexpr int kPoison = 0xff;  // NaN in every float dtype, -1 in the integers

}  // namespace

SimulatedMemory::SimulatedMemory(Placement placement, std::int64_t limit)
    : placement_(placement), limit_(limit) {
  file_ = memfd_create("hearth_sim", MFD_CLOEXEC);
  if (file_ < 0 || ftruncate(file_, kReserved) != 0) {
    throw Error(ErrorCode::device, "sim: no memory file");
  }
  const auto size = static_cast<std::size_t>(kReserved);
  void* const real = mmap(nullptr, size, PROT_NONE, MAP_SHARED | MAP_NORESERVE, file_, 0);
  void* const handed =
      mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (real == MAP_FAILED || handed == MAP_FAILED) {
    throw Error(ErrorCode::device, "sim: no address space");
  }
  real_base_ = static_cast<std::byte*>(real);
  reservation_ = static_cast<Address>(handed);
}

SimulatedMemory::~SimulatedMemory() {
  for (const auto& [address, block] : blocks_) drop_shadow(block);
  munmap(real_base_, static_cast<std::size_t>(kReserved));
  munmap(reservation_, static_cast<std::size_t>(kReserved));
  close(file_);
}

Address SimulatedMemory::allocate(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  const std::int64_t needed = round_up(std::max<std::int64_t>(bytes, 1), kAlignment);
  if (needed > limit_ - in_use_) return nullptr;
  Block block;
  block.bytes = bytes;
  block.run_bytes = round_up(needed, kPage);
  block.run = take_run(block.run_bytes + kPage);
  if (block.run < 0) return nullptr;
  std::byte* const run = real_base_ + block.run;
  const auto run_size = static_cast<std::size_t>(block.run_bytes);
  if (mprotect(run, run_size, PROT_READ | PROT_WRITE) != 0) {
    give_back_run(block.run, block.run_bytes + kPage);
    return nullptr;
  }
  std::memset(run, kPoison, static_cast<std::size_t>(std::min(block.run_bytes, kPoisoned)));
  const std::int64_t before = placement_ == Placement::right ? block.run_bytes - needed : 0;
  const Address address = reservation_ + block.run + before;
  blocks_.emplace(address, block);
  in_use_ += needed;
  return address;
}

void SimulatedMemory::free(Address address) noexcept {
  const std::lock_guard lock(mutex_);
  const auto at = blocks_.find(address);
  if (at == blocks_.end()) return;
  const Block block = at->second;
  blocks_.erase(at);
  in_use_ -= round_up(std::max<std::int64_t>(block.bytes, 1), kAlignment);
  drop_shadow(block);
  mprotect(real_base_ + block.run, static_cast<std::size_t>(block.run_bytes), PROT_NONE);
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, block.run, block.run_bytes);
  give_back_run(block.run, block.run_bytes + kPage);
}

std::int64_t SimulatedMemory::take_run(std::int64_t bytes) {
  if (bytes <= kReserved - used_) {
    const std::int64_t run = used_;
    used_ += bytes;
    return run;
  }
  for (auto at = given_back_.begin(); at != given_back_.end(); ++at) {
    if (at->second < bytes) continue;
    const auto [run, size] = *at;
    given_back_.erase(at);
    if (size > bytes) given_back_.emplace(run + bytes, size - bytes);
    return run;
  }
  return -1;
}

void SimulatedMemory::give_back_run(std::int64_t run, std::int64_t bytes) {
  auto after = given_back_.lower_bound(run);
  if (after != given_back_.end() && after->first == run + bytes) {
    bytes += after->second;
    after = given_back_.erase(after);
  }
  if (after != given_back_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == run) {
      before->second += bytes;
      return;
    }
  }
  given_back_.emplace(run, bytes);
}

void SimulatedMemory::set_limit(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  limit_ = bytes;
}

std::int64_t SimulatedMemory::in_use() const {
  const std::lock_guard lock(mutex_);
  return in_use_;
}

SimulatedMemory::Blocks::const_iterator SimulatedMemory::find(Address address,
                                                              std::int64_t bytes) const {
  const auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return blocks_.end();
  const auto at = std::prev(after);
  const std::int64_t begin = address - at->first;
  return begin + bytes <= at->second.bytes ? at : blocks_.end();
}

std::byte* SimulatedMemory::real(Address address, std::int64_t bytes) const {
  const std::lock_guard lock(mutex_);
  return find(address, bytes) == blocks_.end() ? nullptr : real_base_ + offset(address);
}

Shadow SimulatedMemory::shadow(Address address) {
  const std::lock_guard lock(mutex_);
  const auto found = find(address, 0);
  if (found == blocks_.end()) return {};
  Block& block = blocks_.at(found->first);
  if (block.shadow == nullptr) {
    // Pages of zero until they are written: cells that remember nothing.
    void* const mapped = mmap(nullptr, shadow_bytes(block), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) throw Error(ErrorCode::device, "sim: no memory for the checker");
    block.shadow = static_cast<ShadowCell*>(mapped);
  }
  return {block.shadow, block.shadow + block.run_bytes / 4, address - found->first};
}

std::size_t SimulatedMemory::shadow_bytes(const Block& block) noexcept {
  return static_cast<std::size_t>(block.run_bytes / 4 + block.run_bytes) * sizeof(ShadowCell);
}

void SimulatedMemory::drop_shadow(const Block& block) noexcept {
  if (block.shadow != nullptr) munmap(block.shadow, shadow_bytes(block));
}

}  // namespace hearth::sim
