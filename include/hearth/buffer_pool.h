// A part of a device's memory that its user sets aside: buffers of one purpose, with a limit of
// their own.
//
//   runtime::BufferPool scratch(gpu, {.limit_bytes = 64 << 20});
//   runtime::Buffer x = scratch.make(DType::f32, {1024});  // back in the pool with its last handle
//   std::cout << scratch.statistics().peak;
//
// Every Buffer comes from the device's own pool already, and is recycled by it: a BufferPool is for
// those who want a limit, a count or a reserve for a part of what they do.
#pragma once

#include <cstdint>
#include <memory>

#include "hearth/runtime.h"

namespace hearth {
inline namespace v0 {
namespace runtime {

struct BufferPoolOptions {
  // What the pool takes of the device, used and kept together, at most; 0: what the device gives.
  std::int64_t limit_bytes = 0;
  // Memory is rounded up to a power of two up to this, so that sizes that are nearly equal share
  // blocks; beyond it to whole 64 KiB.
  std::int64_t largest_rounded = std::int64_t{1} << 20;
};

struct BufferPoolStatistics {
  std::int64_t buffers = 0;  // that live
  std::int64_t in_use = 0;   // bytes of their blocks
  std::int64_t kept = 0;     // bytes of blocks that no buffer has
  std::int64_t peak = 0;     // most bytes in use at once
  std::int64_t reused = 0;   // buffers that got a block that was there
  std::int64_t fresh = 0;    // buffers that got one from the device
};

// A handle: copies share one pool. Buffers may outlive it; their memory goes to the device then.
// May be used from any thread.
class HEARTH_API BufferPool {
 public:
  // Throws Error{unsupported} for a device that runs no kernels, Error{invalid_argument} for
  // options below 0.
  explicit BufferPool(Device device, const BufferPoolOptions& options = {});

  // Contents are unspecified, or zero. A block that the pool keeps serves where it wastes at most
  // half. Where the limit leaves no room, kept blocks go first; then Error{out_of_memory} says what
  // the pool holds.
  Buffer make(DType dtype, const Shape& shape);
  Buffer zeros(DType dtype, const Shape& shape);
  // Takes blocks for so many buffers of this size now, so that make() finds them.
  void reserve(std::int64_t buffers, std::int64_t bytes);
  // Gives blocks that no buffer has back to the device.
  void trim();

  Device device() const noexcept;
  BufferPoolStatistics statistics() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
