// GPT-2 (Radford et al. 2019): LayerNorm before each block, learned positions, biases everywhere,
// one projection for queries, keys and values, GELU by tanh, input and output table tied. Names and
// the [in, out] layout of projections are those of Hugging Face's GPT2LMHeadModel: what rows about
// training are compared by (bench/torch_training.py).
#pragma once

#include <cstdint>
#include <vector>

#include "hearth/nn.h"

namespace hearth::tools {

struct Gpt2Config {
  std::int64_t vocabulary = 50257;
  std::int64_t dim = 768;
  std::int64_t layers = 12;
  std::int64_t heads = 12;
  std::int64_t context = 1024;
  double norm_epsilon = 1e-5;
};

// y = x weight + bias.
struct Gpt2Projection {
  Array forward(const Array& x) const;

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("weight", self.weight);
    visitor("bias", self.bias);
  }

  Array weight;  // [in, out]
  Array bias;    // [out]
};

struct Gpt2Attention {
  // x [batch, rows, dim] to the same shape.
  Array forward(const Array& x) const;

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("c_attn", self.c_attn);
    visitor("c_proj", self.c_proj);
  }

  Gpt2Projection c_attn;  // dim to 3 * dim: queries, keys, values
  Gpt2Projection c_proj;
  std::int64_t heads = 1;
};

struct Gpt2FeedForward {
  Array forward(const Array& x) const;

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("c_fc", self.c_fc);
    visitor("c_proj", self.c_proj);
  }

  Gpt2Projection c_fc;  // dim to 4 * dim
  Gpt2Projection c_proj;
};

struct Gpt2Layer {
  // The residual stream [batch, rows, dim] in f32; both blocks compute in `compute`.
  Array forward(const Array& x, DType compute) const;

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("ln_1", self.ln_1);
    visitor("attn", self.attn);
    visitor("ln_2", self.ln_2);
    visitor("mlp", self.mlp);
  }

  nn::LayerNorm ln_1;
  Gpt2Attention attn;
  nn::LayerNorm ln_2;
  Gpt2FeedForward mlp;
};

struct Gpt2 {
  Gpt2() = default;
  // Parameters drawn from `generator` on `device`. Projections and attention compute in `compute`;
  // parameters, the residual stream, LayerNorm and the loss are in f32, or in f64 if that is
  // `compute`.
  // Throws Error{invalid_argument} for numbers that make no model.
  Gpt2(const Gpt2Config& shape, DType compute, Device device, Generator* generator);

  // Integer tokens [batch, rows] to normalised activations [batch, rows, dim] in `compute`. Throws
  // Error{shape} beyond the context.
  Array hidden(const Array& tokens) const;
  // Activations [..., dim] to scores [..., vocabulary].
  Array logits(const Array& activations) const;
  // Mean nats per token of predicting targets [batch, rows], of rank 0.
  Array loss(const Array& tokens, const Array& targets) const;

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("transformer.wte", self.wte);
    visitor("transformer.wpe", self.wpe);
    visitor("transformer.h", self.layers);
    visitor("transformer.ln_f", self.ln_f);
  }

  Gpt2Config config;
  DType compute = DType::f32;
  nn::Embedding wte;  // tokens, also the output table
  nn::Embedding wpe;  // positions
  std::vector<Gpt2Layer> layers;
  nn::LayerNorm ln_f;
};

}  // namespace hearth::tools
