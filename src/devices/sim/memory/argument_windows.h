// A place of its own for each argument of a launch: the same memory, mapped once more with nothing
// around it. An access beyond an argument then never lands in another one, as it may where a pool
// or an arena has placed them next to each other.
#pragma once

#include <vector>

#include "devices/sim/memory/simulated_memory.h"

namespace hearth::sim {

// Not thread-safe.
class ArgumentWindows {
 public:
  explicit ArgumentWindows(const SimulatedMemory& memory) : memory_(memory) {}
  ~ArgumentWindows();
  ArgumentWindows(const ArgumentWindows&) = delete;
  ArgumentWindows& operator=(const ArgumentWindows&) = delete;

  // Where these bytes are, apart from every other window of the launch.
  std::byte* open(Address address, std::int64_t bytes);
  // Windows of the launch before are not used any more.
  void begin_launch();

 private:
  // Mapping costs microseconds, so windows are kept for the next launch of the same arguments.
  static constexpr std::size_t kKept = 256;

  struct Window {
    std::int64_t offset = 0;  // of its first page in the file
    std::int64_t bytes = 0;   // whole pages
    std::byte* mapping = nullptr;
    std::int64_t launch = 0;  // that used it last
  };
  static void close(const Window& window);

  const SimulatedMemory& memory_;
  std::vector<Window> windows_;
  std::int64_t launch_ = 0;
};

}  // namespace hearth::sim
