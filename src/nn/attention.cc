#include "hearth/nn/attention.h"

#include <cmath>
#include <string>
#include <utility>

#include "core/broadcast.h"
#include "core/require.h"
#include "core/throw_as.h"
#include "hearth/ops.h"
#include "nn/options.h"
#include "nn/parameter_dtype.h"
#include "nn/restore_on_error.h"
#include "nn/rope_options.h"

namespace hearth {
inline namespace v0 {
namespace nn {
namespace {

[[noreturn]] void fail(const char* layer, const std::string& what) {
  throw Error(ErrorCode::invalid_argument, std::string(layer) + ": " + what);
}

// The numbers of heads that are left out, and whether all fit.
void settle_heads(const char* layer, std::int64_t dim, std::int64_t heads, std::int64_t* kv_heads,
                  std::int64_t* head_dim, double dropout) {
  if (heads < 1) fail(layer, "no heads; got " + std::to_string(heads) + ", expected >= 1");
  if (*kv_heads == 0) *kv_heads = heads;
  if (*kv_heads < 1 || heads % *kv_heads != 0) {
    fail(layer, "kv_heads does not divide heads; got " + std::to_string(*kv_heads) + " for " +
                    std::to_string(heads) + " heads, expected a divisor");
  }
  if (*head_dim == 0) {
    if (dim % heads != 0) {
      fail(layer, "heads do not divide dim; got " + std::to_string(heads) + " for dim " +
                      std::to_string(dim) + ", expected a divisor");
    }
    *head_dim = dim / heads;
  }
  nn_detail::require_dropout(layer, dropout);
  std::int64_t width = 0;
  require_in_range(*head_dim >= 1 && !__builtin_mul_overflow(heads, *head_dim, &width), layer,
                   "head_dim",
                   std::to_string(*head_dim) + " for " + std::to_string(heads) + " heads",
                   "1 or more, with a product in i64");
}

// x [batch, rows, dim] as one row a token: that way projections share what they read.
Array tokens_of(const char* layer, const char* what, const Array& x, const Linear& projection) {
  const std::string name = std::string(layer) + ": " + what;
  if (x.rank() != 3) {
    throw Error(ErrorCode::shape, name + " of wrong rank; got " + to_string(x.shape()) +
                                      ", expected [batch, rows, dim]");
  }
  const Array& weight = projection.weight.array();
  if (weight.defined() && x.shape(2) != weight.shape(1)) {
    throw Error(ErrorCode::shape, name + " of wrong width; got " + to_string(x.shape()) +
                                      ", expected [batch, rows, " +
                                      std::to_string(weight.shape(1)) + "]");
  }
  return flatten(x, 0, 1);
}

// Tokens [batch * rows, count * dim] as [batch, count, rows, dim].
Array split_heads(const Array& tokens, std::int64_t batch, std::int64_t rows, std::int64_t count,
                  std::int64_t dim) {
  return permute(reshape(tokens, {batch, rows, count, dim}), {0, 2, 1, 3});
}

// Combines padding [batch, length] and mask, which broadcasts to the scores [batch, heads, rows,
// length]. Keys from `seen` on are not yet written; they are padded as visible, since no row
// reaches them.
Array whole_mask(const char* layer, const Array& mask, Array padding, const Shape& scores,
                 std::int64_t seen) {
  const std::int64_t batch = scores[0], length = scores[3];
  if (mask.defined()) {
    if (mask.dtype() != DType::bool_) {
      throw Error(ErrorCode::dtype, std::string(layer) + ": mask of wrong dtype; got " +
                                        std::string(hearth::name(mask.dtype())) +
                                        ", expected bool, true where masked out");
    }
    if (!broadcasts_to(mask.shape(), scores)) {
      throw Error(ErrorCode::shape,
                  std::string(layer) + ": mask does not fit; got " + to_string(mask.shape()) +
                      ", expected something that broadcasts to " + to_string(scores));
    }
  }
  if (!padding.defined()) return mask;
  const std::string name = std::string(layer) + ": padding ";
  if (padding.dtype() != DType::bool_) {
    throw Error(ErrorCode::dtype, name + "of wrong dtype; got " +
                                      std::string(hearth::name(padding.dtype())) +
                                      ", expected bool");
  }
  const auto fits = [&](int axis, std::int64_t extent) {
    return padding.shape(axis) == extent || padding.shape(axis) == 1;
  };
  if (padding.rank() != 2 || !fits(0, batch) || (!fits(1, length) && !fits(1, seen))) {
    throw Error(ErrorCode::shape, name + "does not fit; got " + to_string(padding.shape()) +
                                      ", expected [batch, length], here " +
                                      to_string(Shape{batch, seen}));
  }
  if (!fits(1, length)) {
    const Array unseen = zeros({padding.shape(0), length - seen}, DType::bool_, padding.device());
    padding = cat({padding, unseen}, 1);
  }
  const Array of_all_rows = unsqueeze(padding, {1, 2});
  return mask.defined() ? logical_or(mask, of_all_rows) : of_all_rows;
}

// Integers [batch] of the caller.
void require_counts(const char* layer, const char* what, const Array& counts, std::int64_t batch) {
  if (!counts.defined() || counts.shape() == Shape{batch}) return;
  throw Error(ErrorCode::shape, std::string(layer) + ": " + what + " do not fit; got " +
                                    to_string(counts.shape()) + ", expected [batch], here " +
                                    to_string(Shape{batch}));
}

// The part of x, whose last axis may be as long as the memory of the keys, that belongs to those
// that are there.
Array of_keys(const Array& x, std::int64_t capacity, std::int64_t length) {
  const bool is_of_all = x.defined() && x.rank() > 0 && x.shape().back() == capacity;
  return is_of_all && length < capacity ? narrow(x, x.rank() - 1, 0, length) : x;
}

struct Weighed {
  Array mixed;    // [batch, heads, rows, dim]
  Array weights;  // [batch, heads, rows, keys that there are]; undefined where not asked for
};

// attention() as a layer is called. Weights are worked out where they are asked for or dropped, and
// then of the keys that there are; a mask and a bias may be of these alone.
Weighed mix(const Array& q, const Array& k, const Array& v, AttentionOptions options,
            double dropout, bool with_weights) {
  if (!with_weights && dropout == 0) return {attention(q, k, v, options), Array()};
  const std::int64_t capacity = k.shape(2), length = options.kv_length.value_or(capacity);
  options.kv_length = std::nullopt;
  options.mask = of_keys(options.mask, capacity, length);
  options.bias = of_keys(options.bias, capacity, length);
  auto [mixed, weights] =
      attention_with_weights(q, narrow(k, 2, 0, length), narrow(v, 2, 0, length), options, dropout);
  return {std::move(mixed), std::move(weights)};
}

// e^s / (1 + sum e^s) is the softmax beside one more score of 0 (Miller 2023).
Array quiet_sinks(std::int64_t heads, const Array& q) {
  return zeros({heads}, q.dtype(), q.device());
}

// What heads give, as rows of the result.
Array joined_heads(const Array& mixed, const Linear& projection) {
  const std::int64_t batch = mixed.shape(0), rows = mixed.shape(2);
  const Array joined =
      reshape(permute(mixed, {0, 2, 1, 3}), {batch * rows, mixed.shape(1) * mixed.shape(3)});
  const Array out = projection.forward(joined);
  return reshape(out, {batch, rows, out.shape(1)});
}

constexpr const char* kMultiHead = "multi_head_attention";

struct HeadTensors {
  Array q, k, v;  // [batch, heads or kv_heads, rows or length, head_dim]
};

// Of queries, keys and values, which are one array where a sequence attends to itself.
HeadTensors project(const MultiHeadAttention& layer, const Array& query, const Array& key,
                    const Array& value) {
  const bool is_to_itself = &query == &key;
  const Array tokens = tokens_of(kMultiHead, is_to_itself ? "input" : "query", query, layer.q_proj);
  const Array keys = is_to_itself ? tokens : tokens_of(kMultiHead, "key", key, layer.k_proj);
  const Array values = &value == &key ? keys : tokens_of(kMultiHead, "value", value, layer.v_proj);
  const std::int64_t batch = query.shape(0), length = key.shape(1);
  if (key.shape(0) != batch || value.shape(0) != batch || value.shape(1) != length) {
    throw Error(ErrorCode::shape, std::string(kMultiHead) + ": inputs do not fit; got query " +
                                      to_string(query.shape()) + ", key " + to_string(key.shape()) +
                                      " and value " + to_string(value.shape()) +
                                      ", expected one batch, and a value for each key");
  }
  return {
      split_heads(layer.q_proj.forward(tokens), batch, query.shape(1), layer.heads, layer.head_dim),
      split_heads(layer.k_proj.forward(keys), batch, length, layer.kv_heads, layer.head_dim),
      split_heads(layer.v_proj.forward(values), batch, length, layer.kv_heads, layer.head_dim)};
}

Weighed attend(const MultiHeadAttention& layer, const Array& query, const Array& key,
               const Array& value, const MultiHeadAttention::Call& call, bool with_weights) {
  nn_detail::RestoreOnError cache(call.cache);
  auto [q, k, v] = project(layer, query, key, value);
  const std::int64_t batch = q.shape(0);
  if (layer.rope) {
    const std::int64_t start = call.cache != nullptr ? call.cache->length : 0;
    q = nn_detail::turned(q, *layer.rope, start, call.positions);
    k = nn_detail::turned(k, *layer.rope, start, call.positions);
  }
  AttentionOptions options;
  options.causal = call.causal;
  options.window = layer.window;
  options.softcap = layer.softcap;
  options.scale = layer.scale;
  options.bias = call.bias;
  options.lengths = call.lengths;
  options.starts = call.starts;
  require_counts(kMultiHead, "lengths", call.lengths, batch);
  require_counts(kMultiHead, "starts", call.starts, batch);
  if (layer.sinks.defined()) {
    options.sinks = nn_detail::as_dtype_of(kMultiHead, layer.sinks, q);
  } else if (layer.quiet_softmax) {
    options.sinks = quiet_sinks(layer.heads, q);
  }
  const std::int64_t rows = k.shape(2);
  if (call.cache != nullptr) {
    call.cache->append(Tensor<4>(k), Tensor<4>(v));
    k = call.cache->keys.array();
    v = call.cache->values.array();
    options.kv_length = call.cache->length;
  }
  options.mask =
      whole_mask(kMultiHead, call.mask.array, call.padding.array,
                 {batch, layer.heads, q.shape(2), k.shape(2)}, options.kv_length.value_or(rows));
  const double dropped = call.training ? layer.dropout : 0;
  Weighed result = mix(q, k, v, options, dropped, with_weights);
  result.mixed = joined_heads(result.mixed, layer.o_proj);
  cache.keep();
  return result;
}

Weighed attend(const CrossAttention& layer, const Array& x, const Array& context,
               const CrossAttention::Call& call, bool with_weights) {
  const Array tokens = tokens_of("cross_attention", "input", x, layer.q_proj);
  const std::int64_t batch = x.shape(0);
  const Array q =
      split_heads(layer.q_proj.forward(tokens), batch, x.shape(1), layer.heads, layer.head_dim);
  nn_detail::RestoreOnError cache(call.cache);
  ContextCache computed;
  ContextCache& seen = call.cache != nullptr ? *call.cache : computed;
  if (!seen.keys.defined()) {
    const Array others = tokens_of("cross_attention", "context", context, layer.k_proj);
    if (context.shape(0) != batch) {
      throw Error(ErrorCode::shape, "cross_attention: batches differ; got context " +
                                        to_string(context.shape()) + " for " +
                                        to_string(x.shape()) + ", expected one for each");
    }
    const auto split = [&](const Linear& projection) {
      return split_heads(projection.forward(others), batch, context.shape(1), layer.kv_heads,
                         layer.head_dim);
    };
    seen = {Tensor<4>(split(layer.k_proj)), Tensor<4>(split(layer.v_proj))};
  }
  AttentionOptions options;
  const std::int64_t length = seen.keys.shape()[2];
  options.mask = whole_mask("cross_attention", call.mask.array, call.padding.array,
                            {batch, layer.heads, q.shape(2), length}, length);
  options.bias = call.bias;
  options.lengths = call.lengths;
  require_counts("cross_attention", "lengths", call.lengths, batch);
  if (layer.quiet_softmax) options.sinks = quiet_sinks(layer.heads, q);
  Weighed result = mix(q, seen.keys.array(), seen.values.array(), options,
                       call.training ? layer.dropout : 0, with_weights);
  result.mixed = joined_heads(result.mixed, layer.o_proj);
  cache.keep();
  return result;
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(std::int64_t dim, std::int64_t head_count,
                                       const Options& options) try
    : heads(head_count),
      kv_heads(options.kv_heads),
      head_dim(options.head_dim),
      dropout(options.dropout),
      quiet_softmax(options.quiet_softmax),
      window(options.window),
      softcap(options.softcap),
      scale(options.scale) {
  settle_heads("multi_head_attention", dim, heads, &kv_heads, &head_dim, dropout);
  if (options.rope_base) {
    if (head_dim % 2 != 0) {
      fail(kMultiHead, "rotary positions need an even head_dim; got " + std::to_string(head_dim) +
                           ", expected an even number");
    }
    require_in_range(*options.rope_base > 0 && std::isfinite(*options.rope_base), kMultiHead,
                     "rope_base", *options.rope_base, "a finite number > 0");
    rope = nn_detail::rope_options(kMultiHead, head_dim,
                                   {.base = *options.rope_base,
                                    .interleaved = false,
                                    .dims = options.rope_dims,
                                    .scaling = options.rope_scaling});
  }
  require_in_range(window >= 0, kMultiHead, "window", window, "a number >= 0");
  require_in_range(softcap >= 0 && std::isfinite(softcap), kMultiHead, "softcap", softcap,
                   "a finite number >= 0");
  require_in_range(!scale || std::isfinite(*scale), kMultiHead, "scale", scale.value_or(0),
                   "a finite number");
  if (quiet_softmax && options.sinks) {
    fail("multi_head_attention",
         "quiet_softmax beside sinks; got both, expected one: sinks of 0 are a quiet softmax");
  }
  const auto linear = [&](std::int64_t in, std::int64_t out, std::optional<bool> bias,
                          const Initializer& initializer) {
    return Linear(in, out, {bias.value_or(options.bias), initializer, options.parameters});
  };
  q_proj = linear(dim, heads * head_dim, options.query_bias, options.initializer);
  k_proj = linear(dim, kv_heads * head_dim, options.key_bias, options.initializer);
  v_proj = linear(dim, kv_heads * head_dim, options.value_bias, options.initializer);
  o_proj = linear(heads * head_dim, dim, options.output_bias,
                  options.output_initializer.value_or(options.initializer));
  if (options.sinks) {
    sinks = Tensor<1>(Initializer::zeros().make({heads}, heads, heads, options.parameters));
  }
} catch (const Error& error) {
  throw_as("multi_head_attention", error);
}

Array MultiHeadAttention::forward(const Array& query, const Array& key, const Array& value,
                                  const Call& call) const try {
  return attend(*this, query, key, value, call, false).mixed;
} catch (const Error& error) {
  throw_as("multi_head_attention", error);
}

AttentionResult MultiHeadAttention::forward_with_weights(const Array& query, const Array& key,
                                                         const Array& value, const Call& call) const
    try {
  const auto [mixed, weights] = attend(*this, query, key, value, call, true);
  return {Tensor<3>(mixed), Tensor<4>(weights)};
} catch (const Error& error) {
  throw_as("multi_head_attention", error);
}

CrossAttention::CrossAttention(std::int64_t dim, std::int64_t head_count,
                               const Options& options) try
    : heads(head_count),
      kv_heads(options.kv_heads),
      head_dim(options.head_dim),
      dropout(options.dropout),
      quiet_softmax(options.quiet_softmax) {
  settle_heads("cross_attention", dim, heads, &kv_heads, &head_dim, dropout);
  const std::int64_t context_dim = options.context_dim != 0 ? options.context_dim : dim;
  const Linear::Options inner{options.bias, options.initializer, options.parameters};
  q_proj = Linear(dim, heads * head_dim, inner);
  k_proj = Linear(context_dim, kv_heads * head_dim, inner);
  v_proj = Linear(context_dim, kv_heads * head_dim, inner);
  o_proj = Linear(heads * head_dim, dim, inner);
} catch (const Error& error) {
  throw_as("cross_attention", error);
}

Array CrossAttention::forward(const Array& x, const Array& context, const Call& call) const try {
  return attend(*this, x, context, call, false).mixed;
} catch (const Error& error) {
  throw_as("cross_attention", error);
}

AttentionResult CrossAttention::forward_with_weights(const Array& x, const Array& context,
                                                     const Call& call) const try {
  const auto [mixed, weights] = attend(*this, x, context, call, true);
  return {Tensor<3>(mixed), Tensor<4>(weights)};
} catch (const Error& error) {
  throw_as("cross_attention", error);
}

}  // namespace nn
}  // namespace v0
}  // namespace hearth
