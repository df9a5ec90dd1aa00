// Where arrays live and ops run.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "hearth/dtype.h"
#include "hearth/error.h"

namespace hearth {
inline namespace v0 {

class DeviceImpl;

struct MemoryStatistics {
  std::int64_t in_use = 0;       // bytes held by live arrays
  std::int64_t cached = 0;       // bytes kept for reuse
  std::int64_t arena = 0;        // bytes of the arena touched so far
  std::int64_t peak = 0;         // highest in_use + arena need of a plan since reset_peak()
  std::int64_t allocations = 0;  // requests served, from cache or fresh
  std::int64_t fresh = 0;        // requests that went to the system
};

// A device, by value; equal handles name the same device. Devices live as long as the process.
// Thread-safe.
class HEARTH_API Device {
 public:
  // The default device: `HEARTH_DEVICE` or "cpu" until set_default() is called.
  Device();
  explicit Device(DeviceImpl* impl) noexcept : impl_(impl) {}

  static Device cpu();
  // "cpu", "cuda", "cuda:1". Throws Error{device} with the devices that exist.
  static Device named(std::string_view name);
  static std::vector<Device> all();
  static void set_default(Device device);
  // What was tried to find the devices of all(), one line each: libraries, cards, and why one is
  // missing.
  static std::vector<std::string> search_notes();

  std::string name() const;         // "cpu:0"
  std::string description() const;  // "AMD EPYC, 2 threads, AVX-512"
  // Whether arrays of this dtype live and are computed with here: all but f64, which Metal lacks.
  bool supports(DType dtype) const;
  MemoryStatistics memory() const;
  void reset_peak() const;
  // Highest number of bytes arrays may hold; allocations beyond throw Error{out_of_memory}.
  void set_memory_limit(std::int64_t bytes) const;
  // Gives cached memory back to the system.
  void trim() const;
  // Waits until everything submitted has run.
  void synchronize() const;

  DeviceImpl& impl() const noexcept { return *impl_; }
  friend bool operator==(Device a, Device b) noexcept { return a.impl_ == b.impl_; }

 private:
  DeviceImpl* impl_;
};

HEARTH_API std::ostream& operator<<(std::ostream& out, Device device);  // its name

// Counts since the process started; subtract two readings.
struct Statistics {
  std::int64_t recorded = 0;        // nodes recorded
  std::int64_t submissions = 0;     // tapes submitted
  std::int64_t plan_hits = 0;       // submissions served by the plan cache
  std::int64_t plan_misses = 0;     // plans built
  std::int64_t dispatches = 0;      // kernels launched
  std::int64_t fused = 0;           // nodes that ran inside another node's kernel, counted per plan
  std::int64_t copies = 0;          // layout copies that plans had to insert, counted per launch
  std::int64_t donations = 0;       // outputs that took over an input's storage
  std::int64_t automatic_cuts = 0;  // submissions because a tape grew long
  std::int64_t syncs = 0;           // values that ops waited for as they were recorded
  // Of GPUs:
  std::int64_t launches = 0;         // commands queued, one by one or as part of a replay
  std::int64_t replays = 0;          // plans and captures queued as one
  std::int64_t waits = 0;            // calls that wait for the device, reads among them
  std::int64_t bytes_to_device = 0;  // copied
  std::int64_t bytes_to_host = 0;
  std::int64_t bytes_on_device = 0;
  std::int64_t tuned = 0;  // classes of problems whose implementations were measured
  double tuning_seconds =
      0;  // what that took, with launches and waits that are counted nowhere else
  std::int64_t batches = 0;   // times that commands, or a replay, were queued: command buffers
  std::int64_t barriers = 0;  // between commands of batches that are no replays
};
HEARTH_API Statistics statistics() noexcept;

}  // namespace v0
}  // namespace hearth
