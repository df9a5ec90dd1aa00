#include "devices/sim/threads/threadgroup_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "core/integer_math.h"
#include "hearth/error.h"

namespace hearth::sim {
namespace {

constexpr std::int64_t kArrayGuard = 4096;
constexpr std::int64_t kAlign = 16;
constexpr int kArrayPoison = 0xff;  // NaN in every float dtype, -1 in the integers

}  // namespace

ThreadgroupMemory::~ThreadgroupMemory() {
  for (std::byte* const mapping : mappings_) {
    munmap(mapping, static_cast<std::size_t>(kMaxBytes + 2 * kArrayGuard));
  }
}

void ThreadgroupMemory::prepare(std::span<const ThreadgroupArray> arrays) {
  arrays_.assign(arrays.begin(), arrays.end());
  variables_.clear();
  pointers_.clear();
  for (std::size_t i = 0; i < arrays.size(); ++i) pointers_.push_back(place(i, arrays[i].bytes));
}

std::byte* ThreadgroupMemory::place(std::size_t number, std::int64_t bytes) {
  while (mappings_.size() <= number) {
    void* const mapped = mmap(nullptr, static_cast<std::size_t>(kMaxBytes + 2 * kArrayGuard),
                              PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) throw Error(ErrorCode::device, "sim: no threadgroup memory");
    auto* const begin = static_cast<std::byte*>(mapped);
    mappings_.push_back(begin);
    mprotect(begin + kArrayGuard, static_cast<std::size_t>(kMaxBytes), PROT_READ | PROT_WRITE);
  }
  const std::int64_t room = round_up(bytes, kAlign);
  return mappings_[number] + kArrayGuard + kMaxBytes - room;
}

ThreadgroupMemory::Variable& ThreadgroupMemory::variable(unsigned number, std::int64_t bytes,
                                                         bool* is_new) {
  const auto found = std::find_if(variables_.begin(), variables_.end(),
                                  [&](const Variable& each) { return each.number == number; });
  *is_new = found == variables_.end();
  if (!*is_new) return *found;
  std::byte* const begin = place(arrays_.size() + variables_.size(), bytes);
  std::memset(begin, kArrayPoison, static_cast<std::size_t>(bytes));
  return variables_.emplace_back(Variable{number, bytes, begin});
}

std::int64_t ThreadgroupMemory::bytes() const {
  std::int64_t all = 0;
  for (const ThreadgroupArray& array : arrays_) all += array.bytes;
  for (const Variable& variable : variables_) all += variable.bytes;
  return all;
}

void ThreadgroupMemory::poison() {
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    std::memset(pointers_[i], kArrayPoison, static_cast<std::size_t>(arrays_[i].bytes));
  }
  for (const Variable& variable : variables_) {
    std::memset(variable.begin, kArrayPoison, static_cast<std::size_t>(variable.bytes));
  }
}

void ThreadgroupMemory::append_ranges(std::vector<AccessRange>& ranges) {
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    ranges.push_back(
        range(i, "threadgroup array '" + arrays_[i].name + "'", pointers_[i], arrays_[i].bytes));
  }
}

AccessRange ThreadgroupMemory::range_of(const Variable& variable) {
  const auto number = static_cast<std::size_t>(&variable - variables_.data());
  return range(arrays_.size() + number,
               "threadgroup variable " + std::to_string(variable.number) + " of the text",
               variable.begin, variable.bytes);
}

AccessRange ThreadgroupMemory::range(std::size_t number, const std::string& name, void* begin,
                                     std::int64_t bytes) {
  cells_.resize(std::max(cells_.size(), number + 1));
  Cells& cells = cells_[number];
  const auto size = static_cast<std::size_t>(bytes);
  cells.words.resize(std::max(cells.words.size(), (size + 3) / 4));
  cells.bytes.resize(std::max(cells.bytes.size(), size + 3));
  AccessRange range;
  range.name = name;
  range.begin = static_cast<const std::byte*>(begin);
  range.bytes = bytes;
  range.writable = true;
  range.threadgroup = true;
  range.shadow = {cells.words.data(), cells.bytes.data(), 0};
  return range;
}

}  // namespace hearth::sim
