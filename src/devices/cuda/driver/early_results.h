// Results that the host reads while the card works on what was queued after them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "devices/cuda/driver/context.h"
#include "runtime/commands/driver.h"

namespace hearth::cuda {

// The last results that commands named as Command::early. The queue copies each to pinned memory
// and marks that place with an event: a read waits for the event, and copies nothing.
//
// Used within a scope of the context, by one thread at a time.
class EarlyResults {
 public:
  explicit EarlyResults(Context& context) : context_(context) {}
  ~EarlyResults();
  EarlyResults(const EarlyResults&) = delete;
  EarlyResults& operator=(const EarlyResults&) = delete;

  // Queues the copy behind the command that has just been queued.
  void keep(std::int64_t batch, const runtime::Argument& result);
  // As runtime::Driver::read_early(); throws Error{device}.
  bool read(std::int64_t batch, void* target, Address source, std::int64_t bytes);

 private:
  struct Slot {
    std::byte* memory = nullptr;
    Event done = nullptr;
    std::int64_t batch = 0;  // 0: empty
    Address source = nullptr;
    std::int64_t bytes = 0;
  };

  void allocate();

  Context& context_;
  std::byte* memory_ = nullptr;
  std::array<Slot, runtime::kEarlyResults> slots_;
  std::size_t next_ = 0;
};

}  // namespace hearth::cuda
