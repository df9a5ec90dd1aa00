// Copies between the host and a card through pinned memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "devices/cuda/driver/context.h"

namespace hearth::cuda {

// A ring of pinned chunks. An upload is copied into it, so the caller's memory is free again when
// the call returns, while the card may still be busy with what was queued before; it waits only
// when the card is a whole ring behind. Small uploads share a chunk, and with it one event.
// Downloads run through the same chunks, the host copying one while the card fills the next. (The
// API takes ordinary memory as well, but then waits for the queue before each upload, and copies
// slower.)
//
// Used within a scope of the context, by one thread at a time.
class StagingRing {
 public:
  explicit StagingRing(Context& context) : context_(context) {}
  ~StagingRing();
  StagingRing(const StagingRing&) = delete;
  StagingRing& operator=(const StagingRing&) = delete;

  void upload(DevicePointer target, const std::byte* source, std::int64_t bytes);
  // Returns when all that was queued before is done as well.
  void download(std::byte* target, DevicePointer source, std::int64_t bytes);

 private:
  static constexpr std::int64_t kChunk = std::int64_t{4} << 20;  // long beside what a copy costs
  static constexpr std::int64_t kAlign = 256;

  struct Chunk {
    std::byte* memory = nullptr;
    Event done = nullptr;
    bool is_pending = false;  // `done` stands for copies that may not have run yet
  };

  void allocate();
  // Marks the end of what uses the current chunk, and makes the next one free and current.
  Chunk& next();
  void record(Chunk& chunk);
  void wait(Chunk& chunk);

  Context& context_;
  std::byte* memory_ = nullptr;
  std::array<Chunk, 4> chunks_;
  std::size_t current_ = 0;
  std::int64_t used_ = 0;  // of the current chunk
};

}  // namespace hearth::cuda
