// Layers: value structs with public parameters, written with public ops only.
//
// Parameters are made in f32 unless asked otherwise, marked by require_grad(), and named as in
// Hugging Face models. A layer computes in the dtype of its input: parameters are cast to it, so
// bf16 activations over f32 parameters are mixed precision, with gradients in f32. Arrays are of
// any leading shape where `...` is written. `site` is the caller's line.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "hearth/array.h"
#include "hearth/call_site.h"
#include "hearth/ops.h"
#include "hearth/parameter.h"
#include "hearth/random.h"
#include "hearth/tensor.h"

namespace hearth {
inline namespace v0 {
namespace nn {

// Where and how parameters are made; `generator` null: the thread's.
struct ParameterOptions {
  DType dtype = DType::f32;
  Device device = Device();
  Generator* generator = nullptr;
};

// How a parameter's first value is drawn. fan_in and fan_out are the numbers of inputs and outputs
// of one unit (He et al. 2015; Glorot and Bengio 2010).
class HEARTH_API Initializer {
 public:
  static Initializer constant(double value);
  static Initializer zeros() { return constant(0); }
  static Initializer ones() { return constant(1); }
  static Initializer uniform(double low, double high);
  static Initializer normal(double mean = 0, double deviation = 1);
  // Uniform in +-gain * sqrt(3 / fan_in); normal with deviation gain / sqrt(fan_in).
  static Initializer kaiming_uniform(double gain = 0.57735026918962576);
  static Initializer kaiming_normal(double gain = 1.4142135623730951);
  // Uniform in +-gain * sqrt(6 / (fan_in + fan_out)); normal with deviation
  // gain * sqrt(2 / (fan_in + fan_out)).
  static Initializer xavier_uniform(double gain = 1);
  static Initializer xavier_normal(double gain = 1);

  // A parameter: require_grad() is set.
  Array make(const Shape& shape, std::int64_t fan_in, std::int64_t fan_out,
             const ParameterOptions& options = {}) const;

 private:
  enum class Rule : std::uint8_t {
    constant,
    uniform,
    normal,
    kaiming_uniform,
    kaiming_normal,
    xavier_uniform,
    xavier_normal
  };
  Initializer(Rule rule, double a, double b) : rule_(rule), a_(a), b_(b) {}

  Rule rule_;
  double a_;
  double b_;
};

// y = x weight^T + bias.
struct HEARTH_API Linear {
  struct Options {
    bool bias = true;
    Initializer initializer = Initializer::kaiming_uniform();
    ParameterOptions parameters = {};
  };

  Linear() = default;
  Linear(std::int64_t in, std::int64_t out, const Options& options);
  Linear(std::int64_t in, std::int64_t out) : Linear(in, out, Options()) {}

  // x [..., in] to [..., out].
  Array forward(const Array& x) const;
  template <int R>
  Tensor<R> forward(const Tensor<R>& x, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<R>(forward(x.array())); });
  }

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("weight", self.weight);
    visitor("bias", self.bias);
  }

  Tensor<2> weight;  // [out, in]
  Tensor<1> bias;    // [out], or without a value
};

// A table of vectors.
struct HEARTH_API Embedding {
  struct Options {
    Initializer initializer = Initializer::normal();
    ParameterOptions parameters = {};
  };

  Embedding() = default;
  Embedding(std::int64_t entries, std::int64_t dim, const Options& options);
  Embedding(std::int64_t entries, std::int64_t dim) : Embedding(entries, dim, Options()) {}

  // Integer indices [...] to [..., dim], in the dtype of the table.
  Array forward(const Array& indices) const;
  template <int R>
  Tensor<R + 1> forward(const Tensor<R, Int>& indices, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<R + 1>(forward(indices.array())); });
  }

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("weight", self.weight);
  }

  Tensor<2> weight;  // [entries, dim]
};

// x / sqrt(mean(x^2) + epsilon) * weight over the last axis.
struct HEARTH_API RmsNorm {
  RmsNorm() = default;
  explicit RmsNorm(std::int64_t dim, double epsilon = 1e-5, const ParameterOptions& options = {});

  Array forward(const Array& x) const;
  template <int R>
  Tensor<R> forward(const Tensor<R>& x, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<R>(forward(x.array())); });
  }

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("weight", self.weight);
  }

  Tensor<1> weight;  // [dim]
  double epsilon = 1e-5;
};

// (x - mean) / sqrt(variance + epsilon) * weight + bias over the last axis; biased variance.
struct HEARTH_API LayerNorm {
  LayerNorm() = default;
  explicit LayerNorm(std::int64_t dim, double epsilon = 1e-5, bool with_bias = true,
                     const ParameterOptions& options = {});

  Array forward(const Array& x) const;
  template <int R>
  Tensor<R> forward(const Tensor<R>& x, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<R>(forward(x.array())); });
  }

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("weight", self.weight);
    visitor("bias", self.bias);
  }

  Tensor<1> weight;  // [dim]
  Tensor<1> bias;    // [dim], or without a value
  double epsilon = 1e-5;
};

// Zeroes elements with `probability` and scales the others by 1 / (1 - probability) while training.
struct HEARTH_API Dropout {
  Array forward(const Array& x, bool training = true, Generator* source = nullptr) const;
  template <int R>
  Tensor<R> forward(const Tensor<R>& x, bool training = true, Generator* source = nullptr,
                    CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<R>(forward(x.array(), training, source)); });
  }

  template <class Self, class Visitor>
  static void members(Self&, Visitor&&) {}

  double probability = 0.5;
};

enum class Activation : std::uint8_t { relu, gelu, gelu_tanh, silu, sigmoid, tanh };
HEARTH_API Array activate(Activation activation, const Array& x);
HEARTH_API std::string_view name(Activation activation) noexcept;

// Keys and values of the positions seen so far, in buffers of full capacity that are written in
// place: the buffers must not be held elsewhere.
struct HEARTH_API KvCache {
  KvCache() = default;
  KvCache(std::int64_t batch, std::int64_t kv_heads, std::int64_t capacity, std::int64_t head_dim,
          DType dtype = DType::f32, Device device = Device());

  std::int64_t capacity() const { return keys.shape()[2]; }
  // Writes k, v [batch, kv_heads, rows, head_dim] after what is there. Throws Error{shape} when
  // they do not fit.
  void append(const Tensor<4>& k, const Tensor<4>& v);
  // Forgets all positions; the memory is kept.
  void clear() noexcept { length = 0; }

  Tensor<4> keys;    // [batch, kv_heads, capacity, head_dim]
  Tensor<4> values;  // the same
  std::int64_t length = 0;
};

// Attention of a sequence to itself. Fewer kv_heads than heads: groups of heads share keys and
// values.
struct HEARTH_API MultiHeadAttention {
  struct Options {
    std::int64_t kv_heads = 0;  // 0: as many as heads
    std::int64_t head_dim = 0;  // 0: dim / heads
    bool bias = false;
    std::optional<double> rope_base = std::nullopt;  // rotary positions with this base
    Initializer initializer = Initializer::kaiming_uniform();
    std::optional<Initializer> output_initializer = std::nullopt;
    ParameterOptions parameters = {};
  };

  MultiHeadAttention() = default;
  // Throws Error{invalid_argument} when the numbers do not divide.
  MultiHeadAttention(std::int64_t dim, std::int64_t heads, const Options& options);
  MultiHeadAttention(std::int64_t dim, std::int64_t head_count)
      : MultiHeadAttention(dim, head_count, Options()) {}

  struct Call {
    bool causal = false;
    Array mask = {};  // bool, true = masked out; broadcasts to [batch, heads, rows, length]
    KvCache* cache = nullptr;  // x stands after what the cache holds, and joins it
  };
  // x [batch, rows, dim] to the same shape.
  Array forward(const Array& x, const Call& call) const;
  Array forward(const Array& x) const { return forward(x, Call()); }
  Tensor<3> forward(const Tensor<3>& x, const Call& call, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<3>(forward(x.array(), call)); });
  }
  Tensor<3> forward(const Tensor<3>& x, CallSite site = CallSite::here()) const {
    return forward(x, Call(), site);
  }

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("q_proj", self.q_proj);
    visitor("k_proj", self.k_proj);
    visitor("v_proj", self.v_proj);
    visitor("o_proj", self.o_proj);
  }

  Linear q_proj;  // dim to heads * head_dim
  Linear k_proj;  // dim to kv_heads * head_dim
  Linear v_proj;
  Linear o_proj;  // heads * head_dim to dim
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t head_dim = 0;
  std::optional<double> rope_base;
};

// down(activation(gate(x)) * up(x)): SwiGLU with silu, its default (Shazeer 2020).
struct HEARTH_API FeedForward {
  struct Options {
    Activation activation = Activation::silu;
    bool bias = false;
    Initializer initializer = Initializer::kaiming_uniform();
    std::optional<Initializer> output_initializer = std::nullopt;
    ParameterOptions parameters = {};
  };

  FeedForward() = default;
  FeedForward(std::int64_t dim, std::int64_t hidden, const Options& options);
  FeedForward(std::int64_t dim, std::int64_t hidden) : FeedForward(dim, hidden, Options()) {}

  // x [..., dim] to the same shape.
  Array forward(const Array& x) const;
  template <int R>
  Tensor<R> forward(const Tensor<R>& x, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<R>(forward(x.array())); });
  }

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("gate_proj", self.gate_proj);
    visitor("up_proj", self.up_proj);
    visitor("down_proj", self.down_proj);
  }

  Linear gate_proj;  // dim to hidden
  Linear up_proj;
  Linear down_proj;  // hidden to dim
  Activation activation = Activation::silu;
};

}  // namespace nn
}  // namespace v0
}  // namespace hearth
