#include "hearth/nn/rnn.h"

#include <string>
#include <vector>

#include "core/require.h"
#include "core/throw_as.h"
#include "hearth/ops.h"
#include "nn/options.h"
#include "nn/parameter_dtype.h"

namespace hearth {
inline namespace v0 {
namespace nn {
namespace {

// One pass over the rows of a sequence. `step` gets what the input and the bias give all gates in a
// row, [batch, gates * hidden], and the state, which it replaces, and returns the row's output.
class Pass {
 public:
  Pass(const char* layer, const RecurrentParameters& parameters, const RecurrentOptions& options,
       const Array& x)
      : layer_(layer), options_(options), parameters_(parameters) {
    const Array& weight = parameters.weight_hh.array();
    if (x.rank() != 3 || !weight.defined() || x.shape(2) != parameters.weight_ih.shape()[1]) {
      throw Error(ErrorCode::shape,
                  std::string(layer) + ": input does not fit; got " + to_string(x.shape()) +
                      ", expected " +
                      (options.batch_first ? "[batch, rows, in]" : "[rows, batch, in]") +
                      " with in of the weight " +
                      (weight.defined() ? to_string(parameters.weight_ih.shape()) : "[none]"));
    }
    by_row_ = options.batch_first ? swap_axes(x, 0, 1) : x;
    weight_ = nn_detail::as_dtype_of(layer, parameters.weight_hh, x);
    bias_ = nn_detail::as_dtype_of(layer, parameters.bias_hh, x);
  }

  std::int64_t rows() const { return by_row_.shape(0); }
  std::int64_t batch() const { return by_row_.shape(1); }
  std::int64_t hidden() const { return weight_.shape(1); }

  // A state as given, or zeros.
  Array begin(const Array& given) const {
    const Shape shape = {batch(), hidden()};
    if (!given.defined()) return zeros(shape, by_row_.dtype(), by_row_.device());
    if (given.shape() == shape) return given;
    throw Error(ErrorCode::shape, std::string(layer_) + ": state does not fit; got " +
                                      to_string(given.shape()) + ", expected " + to_string(shape));
  }
  // What the state gives all gates, or gates first to last of them.
  Array of_state(const Array& state) const { return linear(state, weight_, bias_); }
  Array of_state(const Array& state, std::int64_t first, std::int64_t count) const {
    const auto part = [&](const Array& all) {
      return all.defined() ? narrow(all, 0, first * hidden(), count * hidden()) : all;
    };
    return linear(state, part(weight_), part(bias_));
  }
  // Gate `index` of many.
  Array gate(const Array& gates, std::int64_t index) const {
    return narrow(gates, 1, index * hidden(), hidden());
  }
  Array clipped(const Array& state) const {
    return options_.clip ? clamp(state, -*options_.clip, *options_.clip) : state;
  }

  template <class Step>
  Tensor<3> run(Step step) const {
    // One product for all rows.
    const Array of_input =
        linear(by_row_, nn_detail::as_dtype_of(layer_, parameters_.weight_ih, by_row_),
               nn_detail::as_dtype_of(layer_, parameters_.bias_ih, by_row_));
    const std::int64_t count = rows();
    std::vector<Array> outputs(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t row = options_.reverse ? count - 1 - i : i;
      outputs[static_cast<std::size_t>(row)] = step(squeeze(narrow(of_input, 0, row, 1), {0}));
    }
    const int axis = options_.batch_first ? 1 : 0;
    if (count > 0) return Tensor<3>(stack(outputs, axis));
    Shape empty = options_.batch_first ? Shape{batch(), 0, hidden()} : Shape{0, batch(), hidden()};
    return Tensor<3>(zeros(empty, by_row_.dtype(), by_row_.device()));
  }

 private:
  const char* layer_;
  const RecurrentOptions& options_;
  const RecurrentParameters& parameters_;
  Array by_row_;  // [rows, batch, in]
  Array weight_;
  Array bias_;
};

// `forward`, whose errors are the layer's and say the site.
template <class F>
auto recorded(const char* layer, CallSite site, F forward) {
  return located(site, [&] {
    try {
      return forward();
    } catch (const Error& error) {
      throw_as(layer, error);
    }
  });
}

}  // namespace

RecurrentParameters::RecurrentParameters(const char* layer, std::int64_t gates, std::int64_t in,
                                         std::int64_t hidden, const RecurrentOptions& options) try {
  constexpr std::int64_t kMax = std::int64_t{1} << 30;
  require_in_range(in >= 0 && hidden >= 0 && in <= kMax && hidden <= kMax, layer, "sizes",
                   std::to_string(in) + " and " + std::to_string(hidden), "0 to 2^30");
  if (options.clip) {
    require_in_range(*options.clip >= 0, layer, "clip", *options.clip, "a number >= 0");
  }
  nn_detail::require_activation(layer, options.gate_activation);
  nn_detail::require_activation(layer, options.cell_activation);
  nn_detail::require_activation(layer, options.hidden_activation);
  // Each gate is a layer by itself: it is drawn with its own numbers of inputs and outputs.
  const auto make = [&](const Shape& shape, std::int64_t inputs) {
    return options.initializer.make(shape, inputs, hidden, options.parameters);
  };
  weight_ih = Tensor<2>(make({gates * hidden, in}, in));
  weight_hh = Tensor<2>(make({gates * hidden, hidden}, hidden));
  if (!options.bias) return;
  bias_ih = Tensor<1>(make({gates * hidden}, in));
  bias_hh = Tensor<1>(make({gates * hidden}, hidden));
} catch (const Error& error) {
  throw_as(layer, error);
}

Rnn::Rnn(std::int64_t in, std::int64_t hidden, const RecurrentOptions& its_options)
    : RecurrentParameters("rnn", 1, in, hidden, its_options), options(its_options) {}

Rnn::Result Rnn::forward(const Tensor<3>& x, const State& state, CallSite site) const {
  return recorded("rnn", site, [&]() -> Result {
    const Pass pass("rnn", *this, options, x.array());
    Array h = pass.begin(state.array());
    const Tensor<3> output = pass.run([&](const Array& of_input) {
      h = pass.clipped(activate(options.hidden_activation, of_input + pass.of_state(h)));
      return h;
    });
    return {output, Tensor<2>(h)};
  });
}

Lstm::Lstm(std::int64_t in, std::int64_t hidden, const RecurrentOptions& its_options)
    : RecurrentParameters("lstm", 4, in, hidden, its_options), options(its_options) {}

Lstm::Result Lstm::forward(const Tensor<3>& x, const State& state, CallSite site) const {
  return recorded("lstm", site, [&]() -> Result {
    const Pass pass("lstm", *this, options, x.array());
    Array h = pass.begin(state.hidden.array());
    Array c = pass.begin(state.cell.array());
    const auto gate_of = [&](const Array& gates, std::int64_t index) {
      return activate(options.gate_activation, pass.gate(gates, index));
    };
    const Tensor<3> output = pass.run([&](const Array& of_input) {
      const Array gates = of_input + pass.of_state(h);
      const Array input = gate_of(gates, 0);
      const Array forget = options.input_forget ? 1.0 - input : gate_of(gates, 1);
      const Array entering = activate(options.cell_activation, pass.gate(gates, 2));
      c = pass.clipped(forget * c + input * entering);
      h = gate_of(gates, 3) * activate(options.hidden_activation, c);
      return h;
    });
    return {output, {Tensor<2>(h), Tensor<2>(c)}};
  });
}

Gru::Gru(std::int64_t in, std::int64_t hidden, const RecurrentOptions& its_options)
    : RecurrentParameters("gru", 3, in, hidden, its_options), options(its_options) {}

Gru::Result Gru::forward(const Tensor<3>& x, const State& state, CallSite site) const {
  return recorded("gru", site, [&]() -> Result {
    const Pass pass("gru", *this, options, x.array());
    Array h = pass.begin(state.array());
    const Tensor<3> output = pass.run([&](const Array& of_input) {
      const Array of_state = options.reset_after ? pass.of_state(h) : pass.of_state(h, 0, 2);
      const auto gate_of = [&](std::int64_t index) {
        return activate(options.gate_activation,
                        pass.gate(of_input, index) + pass.gate(of_state, index));
      };
      const Array reset = gate_of(0), update = gate_of(1);
      const Array remembered =
          options.reset_after ? reset * pass.gate(of_state, 2) : pass.of_state(reset * h, 2, 1);
      const Array next = activate(options.hidden_activation, pass.gate(of_input, 2) + remembered);
      h = pass.clipped(next + update * (h - next));
      return h;
    });
    return {output, Tensor<2>(h)};
  });
}

}  // namespace nn
}  // namespace v0
}  // namespace hearth
