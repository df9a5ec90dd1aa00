// The arrays that the threads of a threadgroup share.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "devices/sim/checker/access_checker.h"
#include "devices/sim/launch.h"

namespace hearth::sim {

// Each array ends at a page that is not accessible, or at most 15 bytes before it.
class ThreadgroupMemory {
 public:
  // More than any device gives to a threadgroup.
  static constexpr std::int64_t kMaxBytes = 256 * 1024;

  ThreadgroupMemory() = default;
  ~ThreadgroupMemory();
  ThreadgroupMemory(const ThreadgroupMemory&) = delete;
  ThreadgroupMemory& operator=(const ThreadgroupMemory&) = delete;

  void prepare(std::span<const ThreadgroupArray> arrays);
  // The variable of the kernel with this number, declared when a thread first comes there: its
  // memory. range_of() is what the checker is told of a new one.
  struct Variable {
    unsigned number;
    std::int64_t bytes;
    std::byte* begin;
  };
  Variable& variable(unsigned number, std::int64_t bytes, bool* is_new);
  std::int64_t bytes() const;
  // Fills all arrays with NaN.
  void poison();
  // One for each array, as kernels take them.
  const std::vector<void*>& pointers() const noexcept { return pointers_; }
  // As ranges of the checker; the cells stay with the arrays.
  void append_ranges(std::vector<AccessRange>& ranges);
  AccessRange range_of(const Variable& variable);

 private:
  std::byte* place(std::size_t number, std::int64_t bytes);
  AccessRange range(std::size_t number, const std::string& name, void* begin, std::int64_t bytes);

  std::vector<ThreadgroupArray> arrays_;
  std::vector<Variable> variables_;
  std::vector<std::byte*> mappings_;  // of kMaxBytes between two guards each
  std::vector<void*> pointers_;
  struct Cells {
    std::vector<ShadowCell> words;
    std::vector<ShadowCell> bytes;
  };
  std::vector<Cells> cells_;
};

}  // namespace hearth::sim
