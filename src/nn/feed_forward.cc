#include "hearth/nn/feed_forward.h"

#include "core/throw_as.h"
#include "nn/options.h"

namespace hearth {
inline namespace v0 {
namespace nn {

FeedForward::FeedForward(std::int64_t dim, std::int64_t hidden, const Options& options) try
    : activation(options.activation) {
  nn_detail::require_activation("feed_forward", activation);
  const Linear::Options inner{options.bias, options.initializer, options.parameters};
  const Linear::Options outer{
      options.bias, options.output_initializer.value_or(options.initializer), options.parameters};
  gate_proj = Linear(dim, hidden, inner);
  up_proj = Linear(dim, hidden, inner);
  down_proj = Linear(hidden, dim, outer);
} catch (const Error& error) {
  throw_as("feed_forward", error);
}

Array FeedForward::forward(const Array& x) const try {
  // One row a token: that way the projections share what they read. What does not fit stays as it
  // is, for the error to say.
  const bool is_flattened =
      x.rank() > 2 && gate_proj.weight.defined() && x.shape(-1) == gate_proj.weight.shape()[1];
  const Array tokens = is_flattened ? flatten(x, 0, -2) : x;
  const Array out =
      down_proj.forward(activate(activation, gate_proj.forward(tokens)) * up_proj.forward(tokens));
  if (!is_flattened) return out;
  Shape shape = x.shape();
  shape[x.rank() - 1] = out.shape(1);
  return reshape(out, shape);
} catch (const Error& error) {
  throw_as("feed_forward", error);
}

PositionWiseFeedForward::PositionWiseFeedForward(std::int64_t dim, std::int64_t hidden,
                                                 const Options& options) try
    : dropout{options.dropout}, activation(options.activation) {
  nn_detail::require_dropout("position_wise_feed_forward", options.dropout);
  nn_detail::require_activation("position_wise_feed_forward", activation);
  const Linear::Options inner{true, options.initializer, options.parameters};
  linear1 = Linear(dim, hidden, inner);
  linear2 = Linear(hidden, dim, inner);
} catch (const Error& error) {
  throw_as("position_wise_feed_forward", error);
}

Array PositionWiseFeedForward::forward(const Array& x, bool training) const try {
  return linear2.forward(dropout.forward(activate(activation, linear1.forward(x)), training));
} catch (const Error& error) {
  throw_as("position_wise_feed_forward", error);
}

}  // namespace nn
}  // namespace v0
}  // namespace hearth
