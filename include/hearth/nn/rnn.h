// Recurrent layers of one level. Rules for all layers: hearth/nn.h.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "hearth/call_site.h"
#include "hearth/nn/activation.h"
#include "hearth/nn/init.h"
#include "hearth/nn/layer.h"
#include "hearth/ops.h"
#include "hearth/tensor.h"

namespace hearth {
inline namespace v0 {
namespace nn {

// Parameters are named as in PyTorch ("weight_ih_l0", "bias_hh_l0_reverse") and stand in its order
// of gates. x is [batch, rows, in] unless batch_first is false, then [rows, batch, in]; outputs are
// laid out likewise. States that are not given are zeros.

struct RecurrentOptions {
  bool bias = true;
  bool batch_first = true;  // Burn's; PyTorch's is false
  bool reverse = false;     // from the last row to the first; outputs stand where their rows do
  // Limits the state, of an Lstm the cell, to [-clip, clip] after each row.
  std::optional<double> clip = std::nullopt;
  Activation gate_activation = Activation::sigmoid;
  Activation cell_activation = Activation::tanh;    // of what enters an Lstm's cell
  Activation hidden_activation = Activation::tanh;  // of what leaves it; of a Gru's and Rnn's state
  bool input_forget = false;                        // Lstm: the forget gate is 1 - the input gate
  bool reset_after = true;  // Gru: the reset gate acts behind the product, as PyTorch's, or before
  Initializer initializer = Initializer::xavier_normal();  // PyTorch's is uniform, 1 / sqrt(hidden)
  ParameterOptions parameters = {};
};

// What recurrent layers consist of: the parameters of one direction.
struct HEARTH_API RecurrentParameters {
  RecurrentParameters() = default;
  RecurrentParameters(const char* layer, std::int64_t gates, std::int64_t in, std::int64_t hidden,
                      const RecurrentOptions& options);

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("weight_ih_l0", self.weight_ih);
    visitor("weight_hh_l0", self.weight_hh);
    visitor("bias_ih_l0", self.bias_ih);
    visitor("bias_hh_l0", self.bias_hh);
  }
  template <class Self, class Visitor>
  static void reverse_members(Self& self, Visitor&& visitor) {
    visitor("weight_ih_l0_reverse", self.weight_ih);
    visitor("weight_hh_l0_reverse", self.weight_hh);
    visitor("bias_ih_l0_reverse", self.bias_ih);
    visitor("bias_hh_l0_reverse", self.bias_hh);
  }

  Tensor<2> weight_ih;  // [gates * hidden, in]
  Tensor<2> weight_hh;  // [gates * hidden, hidden]
  Tensor<1> bias_ih;    // [gates * hidden], or without a value
  Tensor<1> bias_hh;
};

// Outputs of all rows and the state behind the last.
template <class State>
struct RecurrentResult {
  Tensor<3> output;
  State state;
};

// h = tanh(W_ih x + b_ih + W_hh h + b_hh) (Elman 1990).
struct HEARTH_API Rnn : Layer, RecurrentParameters {
  using State = Tensor<2>;  // [batch, hidden]
  using Result = RecurrentResult<State>;

  Rnn() = default;
  Rnn(std::int64_t in, std::int64_t hidden, const RecurrentOptions& its_options = {});
  Result forward(const Tensor<3>& x, const State& state = {},
                 CallSite site = CallSite::here()) const;

  RecurrentOptions options;
};

// Gates i, f, g, o of W_ih x + b_ih + W_hh h + b_hh: c = f * c + i * g; h = o * tanh(c)
// (Hochreiter and Schmidhuber 1997).
struct HEARTH_API Lstm : Layer, RecurrentParameters {
  struct State {
    Tensor<2> hidden;  // [batch, hidden]
    Tensor<2> cell;    // the same
  };
  using Result = RecurrentResult<State>;

  Lstm() = default;
  Lstm(std::int64_t in, std::int64_t hidden, const RecurrentOptions& its_options = {});
  Result forward(const Tensor<3>& x, const State& state = {},
                 CallSite site = CallSite::here()) const;

  RecurrentOptions options;
};

// Gates r, z, n: n = tanh(W_in x + b_in + r * (W_hn h + b_hn)); h = (1 - z) * n + z * h (Cho et al.
// 2014). Without reset_after, n = tanh(W_in x + b_in + W_hn (r * h) + b_hn).
struct HEARTH_API Gru : Layer, RecurrentParameters {
  using State = Tensor<2>;  // [batch, hidden]
  using Result = RecurrentResult<State>;

  Gru() = default;
  Gru(std::int64_t in, std::int64_t hidden, const RecurrentOptions& its_options = {});
  Result forward(const Tensor<3>& x, const State& state = {},
                 CallSite site = CallSite::here()) const;

  RecurrentOptions options;
};

// Two layers, of which one goes backwards; its outputs stand behind the other's in the last axis.
template <class One>
struct Bidirectional : Layer {
  struct State {
    typename One::State ahead;
    typename One::State back;
  };
  using Result = RecurrentResult<State>;

  Bidirectional() = default;
  // `reverse` is not asked.
  Bidirectional(std::int64_t in, std::int64_t hidden, RecurrentOptions options = {}) {
    options.reverse = false;
    ahead = One(in, hidden, options);
    options.reverse = true;
    back = One(in, hidden, options);
  }

  Result forward(const Tensor<3>& x, const State& state = {},
                 CallSite site = CallSite::here()) const {
    auto one = ahead.forward(x, state.ahead, site);
    auto other = back.forward(x, state.back, site);
    return {Tensor<3>(cat({one.output.array(), other.output.array()}, 2)),
            {std::move(one.state), std::move(other.state)}};
  }

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    One::members(self.ahead, visitor);
    One::reverse_members(self.back, visitor);
  }

  One ahead;
  One back;
};
using BiRnn = Bidirectional<Rnn>;
using BiLstm = Bidirectional<Lstm>;
using BiGru = Bidirectional<Gru>;

}  // namespace nn
}  // namespace v0
}  // namespace hearth
