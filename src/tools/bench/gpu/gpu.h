// Rows of a GPU: how work is timed there, and what its memory can do.
//
// Results are dropped as soon as they are queued, so that memory is reused; nothing is
// read back. Device and PyTorch are timed alike, see bench/README.md.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "hearth/array.h"
#include "hearth/runtime.h"
#include "tools/bench/bench.h"

namespace hearth::tools {

// Back to back: `queue` queues `calls` calls and returns. A sample waits once, at its end, and is
// long enough that the wait does not count.
Contestant streamed(Device device, std::function<void()> queue, int calls = 1);
// `queue` and a wait for it, one after the other.
Contestant synchronized(Device device, std::function<void()> queue);

// Calls whose results are dropped, queued.
std::function<void()> queued(std::function<Array()> call);

// Rows by what is counted. `timing` is "stream", or "replay" where the calls of a sample are one
// plan.
RowSpec bandwidth_row(std::string row, double bytes);      // TB/s
RowSpec throughput_row(std::string row, double flops);     // TFLOP/s
RowSpec latency_row(std::string row, std::string timing);  // us

// The memory traffic that a card is able to do, measured with the rows.
class MemoryLimits {
 public:
  // `size` bytes of memory are copied or read: a multiple of 16 KiB, and more than caches hold
  // where a limit is to be found.
  explicit MemoryLimits(Device device, std::int64_t size = std::int64_t{2} << 30);

  // The driver's own copy, and a kernel that only reads. Times are those of `bytes` of traffic.
  Contestant copy(double bytes);
  Contestant read(double bytes);

 private:
  runtime::Buffer buffer() const;

  Device device_;
  std::int64_t size_;
  runtime::Buffer from_, to_;
  std::optional<runtime::Kernel> reader_;
};

// The rows, by subject.
void bench_gpu_memory(Bench& bench, MemoryLimits& limits);
void bench_gpu_products(Bench& bench, MemoryLimits& limits);
void bench_gpu_packed(Bench& bench, MemoryLimits& limits);
void bench_gpu_sort(Bench& bench);
void bench_gpu_latency(Bench& bench);
void bench_gpu_training(Bench& bench);
void bench_gpu_paged(Bench& bench);
void bench_gpu_language(Bench& bench);

}  // namespace hearth::tools
