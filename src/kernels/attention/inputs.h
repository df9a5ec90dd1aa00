// The inputs of the kernels of attention: kernels/attention/scores.metal.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/launch/kernel_call.h"

namespace hearth::gpu {

#include "kernels/attention/params.h"

// Up to this many rows of q, the kernels for few rows serve.
inline constexpr std::int64_t kFewAttentionRows = 4;

// The inputs of a launch, counted from q.
enum AttentionInput : int { kQ, kK, kV, kMask, kBias, kLengths, kStarts, kSinks, kInputs };

struct AttentionInputs {
  const Signature& signature;
  int first;  // the input that q is
  AttentionParams params;
  StepArgument arguments[kInputs];
  std::int64_t batch, heads, kv_heads, rows, keys, d, dv;
  double scale;
  bool causal;
  bool bounded;  // how many keys exist is known on the device only
  bool has_softcap, has_mask, has_bias;
  bool has_bounds;  // lengths or starts: which keys exist is said for each item
  bool has_range;   // bounds or a window: rows do not see all keys from the first on
  bool has_sinks;

  AttentionInputs(const Signature& from, int first_input);

  const TensorSpec& input(int i) const {
    return signature.inputs[static_cast<std::size_t>(first + i)];
  }
  bool has(int i) const {
    return static_cast<std::size_t>(first + i) < signature.inputs.size() && !input(i).absent;
  }
  DType dtype() const { return input(kQ).dtype; }
  const char* memory_type() const;
  const char* value_type() const;
  // A kernel that is given q to bias, lengths and starts, q, k and v at multiples of `bytes`, and
  // the dynamic block.
  KernelCall call(const std::string& file, const std::string& function,
                  const std::vector<std::string>& template_arguments, std::int64_t bytes) const;
  // The same for lengths and starts alone, and for sinks.
  KernelCall& add_bounds(KernelCall& call) const;
  KernelCall& add_sinks(KernelCall& call) const;
  // Of both products, as Step::work.
  double work() const { return product_work(batch * heads, rows, keys, d + dv); }
  // Keys that rows see together, at most.
  std::int64_t seen_keys() const {
    return params.window > 0 ? std::min(keys, params.window + rows - 1) : keys;
  }
  // 8, 16 or 32 lanes hold a row.
  std::int64_t lanes() const;
  // Whether rows of q, k and v can be loaded in vectors where the addresses fit.
  bool rows_fit_vectors() const;

 private:
  AttentionOperand add_operand(int i);
  AttentionBounds add_bounds_operand(int i);
};

}  // namespace hearth::gpu
