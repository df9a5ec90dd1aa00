// Attention. Rules for all layers: hearth/nn.h.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "hearth/call_site.h"
#include "hearth/nn/init.h"
#include "hearth/nn/layer.h"
#include "hearth/nn/linear.h"
#include "hearth/nn/noise.h"
#include "hearth/ops/attention.h"
#include "hearth/tensor.h"

namespace hearth {
inline namespace v0 {
namespace nn {

// Which keys are masked out, true for those: a bool array or a typed tensor.
struct Mask {
  Mask() = default;
  Mask(Array its_array) : array(std::move(its_array)) {}  // NOLINT(google-explicit-constructor)
  template <int R>
  Mask(const Tensor<R, Bool>& tensor)  // NOLINT(google-explicit-constructor)
      : array(tensor.array()) {}

  Array array;
};

// Keys and values of the positions seen so far, in buffers of full capacity that are written in
// place: the buffers must not be held elsewhere. All sequences have the same length here, so that a
// row is one slice of memory: shorter ones are padded in front.
struct HEARTH_API KvCache {
  KvCache() = default;
  KvCache(std::int64_t batch, std::int64_t kv_heads, std::int64_t capacity, std::int64_t head_dim,
          DType dtype = DType::f32, Device device = Device());

  std::int64_t capacity() const { return keys.shape()[2]; }
  // Writes k, v [batch, kv_heads, rows, head_dim] after what is there. Throws Error{shape} when
  // they do not fit.
  void append(const Tensor<4>& k, const Tensor<4>& v);
  // Forgets all positions. The memory is kept, but where an evaluation has failed taken anew: the
  // positions were lost then, and what is appended to them fails as they did.
  void clear();

  Tensor<4> keys;    // [batch, kv_heads, capacity, head_dim]
  Tensor<4> values;  // the same
  std::int64_t length = 0;
};

// What attention gives where its weights are asked for.
struct AttentionResult {
  Tensor<3> output;   // [batch, rows, dim]
  Tensor<4> weights;  // [batch, heads, rows, length]: of each key, dropped ones 0
};

// Attention of a sequence to itself, or of queries to keys and values of others. Fewer kv_heads
// than heads: groups of heads share keys and values.
//
// Keys that a row does not see weigh 0, and a row that sees none gives 0. That is Burn's layer with
// its `min_float` (-1e4 in place of the hidden scores), but for rows that see nothing, where Burn
// weighs all keys alike, so there is no such option.
struct HEARTH_API MultiHeadAttention : Layer {
  struct Options {
    std::int64_t kv_heads = 0;                      // 0: as many as heads
    std::int64_t head_dim = 0;                      // 0: dim / heads
    bool bias = true;                               // of all four projections
    std::optional<bool> query_bias = std::nullopt;  // of one of them, in place of `bias`
    std::optional<bool> key_bias = std::nullopt;
    std::optional<bool> value_bias = std::nullopt;
    std::optional<bool> output_bias = std::nullopt;
    std::optional<double> rope_base = std::nullopt;  // rotary positions with this base, as Llama's
    RopeScaling rope_scaling = {};                   // of those, as RotaryEncoding has it
    std::int64_t rope_dims = 0;                      // the first columns of a head turn; 0: all
    // Of the weights, while training. Burn's drops scores, before softmax(); PyTorch's default is
    // 0.
    double dropout = 0.1;
    bool quiet_softmax = false;  // weights e^s / (1 + sum e^s): a row may see nothing
    bool sinks = false;          // a parameter in place of that 1: e^sink, of each head
    std::int64_t window = 0;     // > 0: a row sees no key this far before its own, or farther
    double softcap = 0;          // > 0: scores become softcap * tanh(score / softcap)
    std::optional<double> scale = std::nullopt;  // of scores; default 1 / sqrt(head_dim)
    Initializer initializer = Initializer::kaiming_uniform();
    std::optional<Initializer> output_initializer = std::nullopt;
    ParameterOptions parameters = {};
  };

  MultiHeadAttention() = default;
  // Throws Error{invalid_argument} for numbers that do not divide or are out of range.
  MultiHeadAttention(std::int64_t dim, std::int64_t heads, const Options& options);
  MultiHeadAttention(std::int64_t dim, std::int64_t head_count)
      : MultiHeadAttention(dim, head_count, Options()) {}

  struct Call {
    bool causal = false;
    Mask mask = {};  // bool, true = masked out; broadcasts to [batch, heads, rows, length]
    KvCache* cache = nullptr;  // x stands after what the cache holds, and joins it
    // bool [batch, length], true = no token: masked out for all rows. With a cache, of all that it
    // then holds or of its capacity, as a mask is.
    Mask padding = {};
    bool training = true;  // for dropout
    Array bias = {};       // added to the scores; broadcasts as a mask does
    // Integers [batch]: where the keys of a sequence end and begin, as in AttentionOptions, so rows
    // in causal order are aligned with its last key. Sequences of different lengths in one batch
    // have their padding in front, for which `starts` is enough.
    Array lengths = {};
    Array starts = {};
    // Integers [rows] or [batch, rows]: of x for rotary positions, in place of those after the
    // cache; with padding behind or in between, say.
    Array positions = {};
  };
  // x [batch, rows, dim] to the same shape. On an error the cache is as before.
  Array forward(const Array& x, const Call& call) const { return forward(x, x, x, call); }
  Array forward(const Array& x) const { return forward(x, Call()); }
  Tensor<3> forward(const Tensor<3>& x, const Call& call, CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<3>(forward(x.array(), call)); });
  }
  Tensor<3> forward(const Tensor<3>& x, CallSite site = CallSite::here()) const {
    return forward(x, Call(), site);
  }
  // query [batch, rows, dim], key and value [batch, length, dim]. With a cache key and value stand
  // after what it holds; rotary positions are those of x, and of keys as if they were its rows.
  Array forward(const Array& query, const Array& key, const Array& value, const Call& call) const;
  Tensor<3> forward(const Tensor<3>& query, const Tensor<3>& key, const Tensor<3>& value,
                    const Call& call, CallSite site = CallSite::here()) const {
    return located(
        site, [&] { return Tensor<3>(forward(query.array(), key.array(), value.array(), call)); });
  }
  Tensor<3> forward(const Tensor<3>& query, const Tensor<3>& key, const Tensor<3>& value,
                    CallSite site = CallSite::here()) const {
    return forward(query, key, value, Call(), site);
  }
  // The same with the weights, for which all of them are kept in memory.
  AttentionResult forward_with_weights(const Array& query, const Array& key, const Array& value,
                                       const Call& call) const;
  AttentionResult forward_with_weights(const Tensor<3>& query, const Tensor<3>& key,
                                       const Tensor<3>& value, const Call& call,
                                       CallSite site = CallSite::here()) const {
    return located(site, [&] {
      return forward_with_weights(query.array(), key.array(), value.array(), call);
    });
  }
  AttentionResult forward_with_weights(const Array& x, const Call& call) const {
    return forward_with_weights(x, x, x, call);
  }
  AttentionResult forward_with_weights(const Tensor<3>& x, const Call& call,
                                       CallSite site = CallSite::here()) const {
    return located(site, [&] { return forward_with_weights(x.array(), call); });
  }

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("q_proj", self.q_proj);
    visitor("k_proj", self.k_proj);
    visitor("v_proj", self.v_proj);
    visitor("o_proj", self.o_proj);
    visitor("sinks", self.sinks);
  }

  Linear q_proj;  // dim to heads * head_dim
  Linear k_proj;  // dim to kv_heads * head_dim
  Linear v_proj;
  Linear o_proj;    // heads * head_dim to dim
  Tensor<1> sinks;  // [heads], zeros at first, or without a value
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t head_dim = 0;
  std::optional<RopeOptions> rope;  // of each call, but for its positions
  double dropout = 0;
  bool quiet_softmax = false;
  std::int64_t window = 0;
  double softcap = 0;
  std::optional<double> scale;
};

// Keys and values of a context, kept from the first call on.
struct ContextCache {
  Tensor<4> keys;    // [batch, kv_heads, length, head_dim]; without a value before the first call
  Tensor<4> values;  // the same
};

// Attention of a sequence to another one, its context.
struct HEARTH_API CrossAttention : Layer {
  struct Options {
    std::int64_t context_dim = 0;  // 0: dim
    std::int64_t kv_heads = 0;     // 0: as many as heads
    std::int64_t head_dim = 0;     // 0: dim / heads
    bool bias = true;
    double dropout = 0.1;        // of the weights while training
    bool quiet_softmax = false;  // weights e^s / (1 + sum e^s): a row may see nothing
    Initializer initializer = Initializer::kaiming_uniform();
    ParameterOptions parameters = {};
  };

  CrossAttention() = default;
  // Throws Error{invalid_argument} for numbers that do not divide or are out of range.
  CrossAttention(std::int64_t dim, std::int64_t head_count, const Options& options);
  CrossAttention(std::int64_t dim, std::int64_t head_count)
      : CrossAttention(dim, head_count, Options()) {}

  struct Call {
    Mask mask = {};     // bool, true = masked out; broadcasts to [batch, heads, rows, length]
    Mask padding = {};  // bool [batch, length], true = no token: masked out for all rows
    ContextCache* cache = nullptr;  // filled by the first call; then the context is not read
    bool training = true;           // for dropout
    Array bias = {};                // added to the scores; broadcasts as a mask does
    Array lengths = {};             // integers [batch]: how many rows of its context a sequence has
  };
  // x [batch, rows, dim], context [batch, length, context_dim]: as x. Errors leave the cache alone.
  Array forward(const Array& x, const Array& context, const Call& call) const;
  Tensor<3> forward(const Tensor<3>& x, const Tensor<3>& context, const Call& call,
                    CallSite site = CallSite::here()) const {
    return located(site, [&] { return Tensor<3>(forward(x.array(), context.array(), call)); });
  }
  Tensor<3> forward(const Tensor<3>& x, const Tensor<3>& context,
                    CallSite site = CallSite::here()) const {
    return forward(x, context, Call(), site);
  }
  // The same with the weights, for which all of them are kept in memory.
  AttentionResult forward_with_weights(const Array& x, const Array& context,
                                       const Call& call) const;
  AttentionResult forward_with_weights(const Tensor<3>& x, const Tensor<3>& context,
                                       const Call& call, CallSite site = CallSite::here()) const {
    return located(site, [&] { return forward_with_weights(x.array(), context.array(), call); });
  }

  template <class Self, class Visitor>
  static void members(Self& self, Visitor&& visitor) {
    visitor("q_proj", self.q_proj);
    visitor("k_proj", self.k_proj);
    visitor("v_proj", self.v_proj);
    visitor("o_proj", self.o_proj);
  }

  Linear q_proj;  // dim to heads * head_dim
  Linear k_proj;  // context_dim to kv_heads * head_dim
  Linear v_proj;
  Linear o_proj;  // heads * head_dim to dim
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t head_dim = 0;
  double dropout = 0;
  bool quiet_softmax = false;
};

// bool [batch, length, length], true = masked out: the columns behind a row's own.
HEARTH_API Tensor<3, Bool> generate_autoregressive_mask(std::int64_t batch, std::int64_t length,
                                                        Device device = Device());

struct PaddedTokens {
  Tensor<2, Int> tokens;  // [sequences, length]
  Tensor<2, Bool> mask;   // the same, true = padding
};
// Sequences of tokens side by side, behind which `pad` stands: as long as the longest, at most
// `longest` (what is longer loses its end), or exactly `longest` with `fixed`. A token that is
// `pad` is padding too. Throws Error{invalid_argument} for a negative length.
HEARTH_API PaddedTokens
generate_padding_mask(std::int64_t pad, const std::vector<std::vector<std::int64_t>>& sequences,
                      std::optional<std::int64_t> longest = std::nullopt, bool fixed = false,
                      Device device = Device());

}  // namespace nn
}  // namespace v0
}  // namespace hearth
