// Measuring what one of NVIDIA's libraries offers for a call, on memory that nobody else has.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/function_ref.h"
#include "devices/cuda/driver/context.h"
#include "hearth/dtype.h"
#include "runtime/tune/autotuner.h"

namespace hearth::cuda {

// Memory for results that nobody reads, and for factors. All within a scope of the context.
class TrialMemory {
 public:
  TrialMemory(Context& context, std::int64_t bytes);
  ~TrialMemory();
  TrialMemory(const TrialMemory&) = delete;
  TrialMemory& operator=(const TrialMemory&) = delete;
  // False where there was not enough.
  explicit operator bool() const noexcept { return is_there_; }
  void* address() const noexcept {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address_));
  }
  // Repeats `values`, which are pinned, all over it.
  void fill(std::span<const std::byte> values) const;

 private:
  Context& context_;
  std::int64_t bytes_;
  DevicePointer address_ = 0;
  bool is_there_ = false;
};

// Operands of a call of two factors, which are harmless numbers, and a result. The commands before
// the call have yet to make the factors that it is given, and may still need what lies where its
// result will be.
struct TrialOperands {
  // `bytes` of the factors and of the result. Waits until the factors are there.
  TrialOperands(Context& context, DType dtype, const std::array<std::int64_t, 3>& bytes);
  // False where there was not memory enough.
  explicit operator bool() const noexcept { return a && b && c; }

  TrialMemory a, b, c;
};

// The time of a run of each candidate: `queue` queues one on a stream, and says whether the library
// takes it, which may offer what it then refuses. Where runs take long, the last ones may be left
// without a time. Empty where none runs.
std::optional<runtime::CandidateSeconds> time_candidates(
    Context& context, std::size_t candidates, FunctionRef<bool(std::size_t, Stream)> queue);

}  // namespace hearth::cuda
