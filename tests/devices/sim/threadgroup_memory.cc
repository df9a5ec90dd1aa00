#include "devices/sim/threadgroup_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "hearth/error.h"

namespace hearth::sim {
namespace {

constexpr std::int64_t kGuard = 4096;
constexpr std::int64_t kAlign = 16;
constexpr int kPoison = 0xff;  // NaN in every float dtype, -1 in the integers

}  // namespace

ThreadgroupMemory::~ThreadgroupMemory() {
  for (std::byte* const mapping : mappings_) {
    munmap(mapping, static_cast<std::size_t>(kMaxBytes + 2 * kGuard));
  }
}

void ThreadgroupMemory::prepare(std::span<const ThreadgroupArray> arrays) {
  arrays_.assign(arrays.begin(), arrays.end());
  while (mappings_.size() < arrays.size()) {
    void* const mapped = mmap(nullptr, static_cast<std::size_t>(kMaxBytes + 2 * kGuard), PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) throw Error(ErrorCode::device, "sim: no threadgroup memory");
    auto* const begin = static_cast<std::byte*>(mapped);
    mappings_.push_back(begin);
    mprotect(begin + kGuard, static_cast<std::size_t>(kMaxBytes), PROT_READ | PROT_WRITE);
  }
  pointers_.clear();
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const std::int64_t room = (arrays[i].bytes + kAlign - 1) / kAlign * kAlign;
    pointers_.push_back(mappings_[i] + kGuard + kMaxBytes - room);
  }
}

void ThreadgroupMemory::poison() {
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    std::memset(pointers_[i], kPoison, static_cast<std::size_t>(arrays_[i].bytes));
  }
}

void ThreadgroupMemory::append_ranges(std::vector<AccessRange>& ranges) {
  cells_.resize(std::max(cells_.size(), arrays_.size()));
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    Cells& cells = cells_[i];
    const auto bytes = static_cast<std::size_t>(arrays_[i].bytes);
    cells.words.resize(std::max(cells.words.size(), (bytes + 3) / 4));
    cells.bytes.resize(std::max(cells.bytes.size(), bytes + 3));
    AccessRange range;
    range.name = "threadgroup array '" + arrays_[i].name + "'";
    range.begin = static_cast<const std::byte*>(pointers_[i]);
    range.bytes = arrays_[i].bytes;
    range.writable = true;
    range.threadgroup = true;
    range.shadow = {cells.words.data(), cells.bytes.data(), 0};
    ranges.push_back(std::move(range));
  }
}

}  // namespace hearth::sim
