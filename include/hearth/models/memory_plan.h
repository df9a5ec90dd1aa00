// What a language model will take in memory, before anything of it is loaded.
//
//   const hearth::MemoryPlan plan = hearth::memory_plan("model.gguf", {.context = 8192});
//   if (plan.all() > free_bytes) ...
#pragma once

#include <cstdint>
#include <string>

#include "hearth/dtype.h"
#include "hearth/error.h"

namespace hearth {
inline namespace v0 {

struct MemoryPlanOptions {
  std::int64_t context = 0;   // tokens of a text; 0: what the model was made for
  std::int64_t parallel = 1;  // texts that are written at once, 1 or more
  // What caches hold keys and values as: f32, f16, bf16, q8_0, q4_0, tq4, tq3, tq2; empty: as
  // `compute`.
  std::string keys = {}, values = {};
  DType compute = DType::f32;  // of activations
  std::int64_t prefill = 512;  // tokens of prompts in a step, 1 or more
};

// In bytes.
struct MemoryPlan {
  std::int64_t context = 0;          // that it is for
  std::int64_t trained_context = 0;  // that the model was made for
  std::int64_t parallel = 0;
  std::int64_t weights = 0;  // as the files have them: pages of these where the host computes
  std::int64_t caches = 0;   // keys and values, as a scheduler of such texts allocates them
  // Of layers that remember no rows, and those that are kept of earlier rows.
  std::int64_t states = 0;
  // About what one step needs beside them: the widest layer's rows, and scores of the vocabulary.
  std::int64_t activations = 0;

  std::int64_t all() const noexcept { return weights + caches + states + activations; }
};

// Of a GGUF file (of a split model, any part), a folder as Hugging Face and MLX have them, or one
// that `hearth train` made. Any thread may ask. Throws Error{io, corrupt_file, unsupported} with
// the path, Error{invalid_argument} for options out of range and for sums of 2^62 bytes or more.
HEARTH_API MemoryPlan memory_plan(const std::string& path, const MemoryPlanOptions& options = {});

}  // namespace v0
}  // namespace hearth
