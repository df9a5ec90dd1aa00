#include "models/language/blocks/row_convolution.h"

#include <utility>

#include "hearth/ops.h"

namespace hearth::models {

void write_states(Array& states, const Array& which, const Array& values) {
  states =
      select_assign(std::exchange(states, Array()), which, values, 0, IndexingUpdateOp::assign);
}

RowConvolution::RowConvolution(Weights& weights, const std::string& name, std::int64_t channels,
                               std::int64_t kernel)
    : weight(cast(weights.matrix(name + ".weight", {channels, kernel}), weights.compute())),
      bias(weights.optional_vector(name + ".bias", channels)) {}

Array RowConvolution::forward(const Array& x, const Batch& batch, LayerCache& cache) const {
  const auto [y, state] =
      causal_conv(x, weight, select(cache.convolution, batch.states, 0), batch.starts, bias);
  write_states(cache.convolution, batch.states, state);
  return y;
}

}  // namespace hearth::models
