// A decoder-only transformer of Llama's shape to be trained: RMSNorm before each block, rotary
// positions, grouped query attention, SwiGLU, input and output table tied or not. What it became
// writes text as a LanguageModel (language/model/language_model.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hearth/nn.h"

namespace hearth::models {

struct TransformerConfig {
  std::int64_t vocabulary = 256;
  std::int64_t dim = 128;
  std::int64_t hidden = 0;  // of the feed-forward; 0: 8/3 of dim, rounded up to a multiple of 64
  std::int64_t layers = 4;
  std::int64_t heads = 4;
  std::int64_t kv_heads = 0;  // 0: as many as heads
  std::int64_t head_dim = 0;  // 0: dim / heads
  std::int64_t context = 256;
  double rope_base = 10000;
  double norm_epsilon = 1e-5;
  bool tied = true;

  // With the zeros worked out. Throws Error{invalid_argument} for numbers that make no model.
  TransformerConfig resolved() const;
  friend bool operator==(const TransformerConfig& a, const TransformerConfig& b) = default;
};

struct DecoderLayer {
  nn::RmsNorm input_layernorm;
  nn::MultiHeadAttention self_attn;
  nn::RmsNorm post_attention_layernorm;
  nn::FeedForward mlp;

  // x [batch, rows, dim] to the same shape.
  Array forward(const Array& x) const;

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("input_layernorm", self.input_layernorm);
    visitor("self_attn", self.self_attn);
    visitor("post_attention_layernorm", self.post_attention_layernorm);
    visitor("mlp", self.mlp);
  }
};

struct Transformer {
  Transformer() = default;
  // Parameters in f32, or in f64 if that is `compute`, on `device`, drawn from `generator`.
  // Activations are in `compute`.
  Transformer(const TransformerConfig& shape, DType compute, Device device, Generator* generator);

  // Integer tokens [batch, rows] to normalised activations [batch, rows, dim]. Throws Error{shape}
  // beyond the context.
  Array hidden(const Array& tokens) const;
  // Activations [..., dim] to scores [..., vocabulary].
  Array logits(const Array& activations) const;
  // Mean nats per token of predicting targets [batch, rows], of rank 0 in f32.
  Array loss(const Array& tokens, const Array& targets) const;

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("model.embed_tokens", self.embed_tokens);
    visitor("model.layers", self.layers);
    visitor("model.norm", self.norm);
    visitor("lm_head", self.lm_head);
  }

  TransformerConfig config;
  DType compute = DType::f32;
  nn::Embedding embed_tokens;
  std::vector<DecoderLayer> layers;
  nn::RmsNorm norm;
  nn::Linear lm_head;  // no parameters where the tables are tied
};

}  // namespace hearth::models
