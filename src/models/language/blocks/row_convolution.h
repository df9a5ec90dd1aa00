// The short causal convolution through which mixers see the rows of a sequence.
#pragma once

#include <string>

#include "hearth/array.h"
#include "models/language/batch.h"
#include "models/language/cache.h"
#include "models/language/weights.h"

namespace hearth::models {

struct RowConvolution {
  RowConvolution() = default;
  // The tensors name + ".weight", and name + ".bias" where there is one.
  RowConvolution(Weights& weights, const std::string& name, std::int64_t channels,
                 std::int64_t kernel);

  // x [rows, channels] to the same shape.
  Array forward(const Array& x, const Batch& batch, LayerCache& cache) const;

  Array weight;  // [channels, kernel]
  Array bias;    // [channels], or undefined
};

// The new states of the batch's sequences, in place of their old ones.
void write_states(Array& states, const Array& which, const Array& values);

}  // namespace hearth::models
