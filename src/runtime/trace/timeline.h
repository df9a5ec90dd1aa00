// The timeline of the process: calls on the host, kernels on devices. Recorded on request
// (runtime::Profile, HEARTH_TRACE); otherwise it costs one test of a flag. Thread-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hearth/runtime.h"

namespace hearth {
inline namespace v0 {
namespace runtime {

class Timeline {
 public:
  static Timeline& global();

  // Recordings may overlap; the first starts it, and what the last one leaves is forgotten.
  void start();
  void stop() noexcept;
  static bool is_recording() noexcept { return recordings_.load(std::memory_order_relaxed) > 0; }

  // Seconds since the process began to count, of now.
  static double now() noexcept;
  // Where HEARTH_TRACE names a file: records from now on, and writes it when the process ends.
  static void trace_process();
  void add_host(std::string_view name, double start, double seconds);
  void add_kernel(const std::string& device, std::string_view kernel, double start, double seconds);
  // What a labelled batch of kernels took, all together.
  void add_batch(const std::string& device, std::string_view label, double start, double seconds);

  // How many events there are: where a recording begins.
  std::size_t size() const;
  // The kernels among the events from `first` on, summed up by name, the longest first.
  std::vector<KernelTime> kernels(std::size_t first) const;
  // The same of labelled batches.
  std::vector<KernelTime> batches(std::size_t first) const;
  // Those events in Chrome's format. Throws Error{io}.
  void write(const std::string& path, std::size_t first) const;

 private:
  static std::atomic<int> recordings_;
};

// A call on the host, from here to the end of the scope. `name` outlives it.
class HostSpan {
 public:
  explicit HostSpan(const char* name) noexcept
      : name_(Timeline::is_recording() ? name : nullptr),
        start_(name_ == nullptr ? 0 : Timeline::now()) {}
  ~HostSpan() {
    if (name_ != nullptr) Timeline::global().add_host(name_, start_, Timeline::now() - start_);
  }
  HostSpan(const HostSpan&) = delete;
  HostSpan& operator=(const HostSpan&) = delete;

 private:
  const char* name_;
  double start_;
};

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
