// The Transformer (Vaswani et al. 2017). Rules for all layers: hearth/nn.h.
#pragma once

#include <cstdint>
#include <vector>

#include "hearth/call_site.h"
#include "hearth/nn/activation.h"
#include "hearth/nn/attention.h"
#include "hearth/nn/feed_forward.h"
#include "hearth/nn/init.h"
#include "hearth/nn/layer.h"
#include "hearth/nn/layer_norm.h"
#include "hearth/nn/noise.h"
#include "hearth/tensor.h"

namespace hearth {
inline namespace v0 {
namespace nn {

// Names are those of PyTorch's layers ("layers.0.linear1.weight", "layers.0.norm2.bias") but for
// attention, which has q_proj, k_proj, v_proj and o_proj. x is [batch, rows, dim].

struct TransformerOptions {
  double dropout = 0.1;
  bool norm_first = false;
  bool quiet_softmax = false;                // of attention, as MultiHeadAttention has it
  Activation activation = Activation::gelu;  // Burn's; PyTorch's is relu
  double norm_epsilon = 1e-5;
  Initializer initializer = Initializer::kaiming_uniform();
  ParameterOptions parameters = {};
};

// Attention to itself and a PositionWiseFeedForward, each added to its input and normalised.
struct HEARTH_API TransformerEncoderLayer : Layer {
  TransformerEncoderLayer() = default;
  TransformerEncoderLayer(std::int64_t dim, std::int64_t hidden, std::int64_t heads,
                          const TransformerOptions& options);

  Array forward(const Array& x, const MultiHeadAttention::Call& call) const;
  Tensor<3> forward(const Tensor<3>& x, const MultiHeadAttention::Call& call,
                    CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<3>(forward(x.array(), call)); });
  }
  Tensor<3> forward(const Tensor<3>& x, CallSite site = CallSite::here()) const {
    return forward(x, MultiHeadAttention::Call(), site);
  }

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("self_attn", self.self_attn);
    visitor("linear1", self.feed_forward.linear1);
    visitor("linear2", self.feed_forward.linear2);
    visitor("norm1", self.norm1);
    visitor("norm2", self.norm2);
  }

  MultiHeadAttention self_attn;
  PositionWiseFeedForward feed_forward;
  LayerNorm norm1;  // of attention
  LayerNorm norm2;  // of the feed-forward layer
  Dropout dropout;
  bool norm_first = false;
};

struct HEARTH_API TransformerEncoder : Layer {
  TransformerEncoder() = default;
  // Throws Error{invalid_argument} for sizes that make no layers.
  TransformerEncoder(std::int64_t dim, std::int64_t hidden, std::int64_t heads,
                     std::int64_t layer_count, const TransformerOptions& options = {});

  struct Call {
    bool causal = false;
    Mask mask = {};     // bool, true = masked out; broadcasts to [batch, heads, rows, length]
    Mask padding = {};  // bool [batch, length], true = no token
    std::vector<KvCache>* caches = nullptr;  // one for each layer, of make_caches()
    bool training = true;                    // for dropout
  };
  Array forward(const Array& x, const Call& call) const;
  Tensor<3> forward(const Tensor<3>& x, const Call& call, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<3>(forward(x.array(), call)); });
  }
  Tensor<3> forward(const Tensor<3>& x, CallSite site = CallSite::here()) const {
    return forward(x, Call(), site);
  }
  // For autoregressive calls, `causal`, a few rows at a time.
  std::vector<KvCache> make_caches(std::int64_t batch, std::int64_t capacity) const;

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("layers", self.layers);
  }

  std::vector<TransformerEncoderLayer> layers;
};

// Attention to itself, attention to a memory and a PositionWiseFeedForward, each added to its input
// and normalised.
struct HEARTH_API TransformerDecoderLayer : Layer {
  TransformerDecoderLayer() = default;
  TransformerDecoderLayer(std::int64_t dim, std::int64_t hidden, std::int64_t heads,
                          const TransformerOptions& options);

  Array forward(const Array& x, const Array& memory, const MultiHeadAttention::Call& to_itself,
                const CrossAttention::Call& to_memory) const;
  Tensor<3> forward(const Tensor<3>& x, const Tensor<3>& memory,
                    const MultiHeadAttention::Call& to_itself,
                    const CrossAttention::Call& to_memory, CallSite site = CallSite::here()) const {
    return located(
        site, [&] { return Tensor<3>(forward(x.array(), memory.array(), to_itself, to_memory)); });
  }

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("self_attn", self.self_attn);
    visitor("multihead_attn", self.multihead_attn);
    visitor("linear1", self.feed_forward.linear1);
    visitor("linear2", self.feed_forward.linear2);
    visitor("norm1", self.norm1);
    visitor("norm2", self.norm2);
    visitor("norm3", self.norm3);
  }

  MultiHeadAttention self_attn;
  CrossAttention multihead_attn;
  PositionWiseFeedForward feed_forward;
  LayerNorm norm1;  // of self_attn
  LayerNorm norm2;  // of multihead_attn
  LayerNorm norm3;  // of the feed-forward layer
  Dropout dropout;
  bool norm_first = false;
};

struct HEARTH_API TransformerDecoder : Layer {
  TransformerDecoder() = default;
  // Throws Error{invalid_argument} for sizes that make no layers.
  TransformerDecoder(std::int64_t dim, std::int64_t hidden, std::int64_t heads,
                     std::int64_t layer_count, const TransformerOptions& options = {});

  // What was seen so far: of each layer its own rows and the memory.
  struct Cache {
    std::vector<KvCache> rows;
    std::vector<ContextCache> memory;
  };
  struct Call {
    bool causal = true;
    Mask mask = {};         // bool, true = masked out; broadcasts to [batch, heads, rows, length]
    Mask padding = {};      // bool [batch, length], true = no token
    Mask memory_mask = {};  // the same for the memory
    Mask memory_padding = {};  // bool [batch, memory rows]
    Cache* cache = nullptr;    // of make_cache()
    bool training = true;      // for dropout
  };
  // memory [batch, memory rows, dim], which only the first call with a cache reads.
  Array forward(const Array& x, const Array& memory, const Call& call) const;
  Tensor<3> forward(const Tensor<3>& x, const Tensor<3>& memory, const Call& call,
                    CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<3>(forward(x.array(), memory.array(), call)); });
  }
  Tensor<3> forward(const Tensor<3>& x, const Tensor<3>& memory,
                    CallSite site = CallSite::here()) const {
    return forward(x, memory, Call(), site);
  }
  Cache make_cache(std::int64_t batch, std::int64_t capacity) const;

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("layers", self.layers);
  }

  std::vector<TransformerDecoderLayer> layers;
};

}  // namespace nn
}  // namespace v0
}  // namespace hearth
