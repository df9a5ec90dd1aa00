#include "hearth/nn/attention.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/require.h"
#include "core/throw_as.h"
#include "hearth/ops.h"
#include "nn/options.h"
#include "nn/restore_on_error.h"

namespace hearth {
inline namespace v0 {
namespace nn {
namespace {

// Of the sequences of generate_padding_mask(), in the host's memory.
constexpr std::int64_t kMaxTokens = std::int64_t{1} << 31;

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

// Combines mask and padding [batch, length]. Keys from `seen` on are not yet written; they are
// padded as visible, since no row reaches them.
Array whole_mask(const char* layer, const Array& mask, Array padding, std::int64_t batch,
                 std::int64_t length, std::int64_t seen) {
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

// Of scores [batch, kv_heads, group, rows, length].
Array weights_of(const Array& scores, bool quiet) {
  if (!quiet) return softmax(scores, -1);
  return activation::quiet_softmax(Tensor<5>(scores), -1).array();
}

// attention() whose weights are dropped with `probability`, and may be quiet.
Array attention_by_weights(const Array& q, Array k, Array v, const AttentionOptions& options,
                           double probability, bool quiet) {
  const std::int64_t batch = q.shape(0), heads = q.shape(1), rows = q.shape(2), dim = q.shape(3);
  const std::int64_t kv_heads = k.shape(1);
  Array mask = options.mask;
  if (options.kv_length) {
    const bool is_of_all = mask.defined() && mask.rank() > 0 && mask.shape().back() == k.shape(2);
    if (is_of_all) mask = narrow(mask, mask.rank() - 1, 0, *options.kv_length);
    k = narrow(k, 2, 0, *options.kv_length);
    v = narrow(v, 2, 0, *options.kv_length);
  }
  const std::int64_t length = k.shape(2);
  const std::int64_t group = heads / kv_heads;
  const Array scores =
      matmul(reshape(q, {batch, kv_heads, group, rows, dim}) * (1 / std::sqrt(double(dim))),
             unsqueeze(transpose(k), {2}));
  if (options.causal) {
    const Array future = tril_mask(rows, length, length - rows, q.device());
    mask = mask.defined() ? logical_or(mask, future) : future;
  }
  Array weights;
  if (mask.defined()) {
    mask =
        reshape(expand(mask, {batch, heads, rows, length}), {batch, kv_heads, group, rows, length});
    // Far below all scores in every dtype, and finite: rows that see nothing are made 0 behind.
    weights = weights_of(where(mask, -6e4, scores), quiet);
    weights = where(mask, 0.0, weights);
  } else {
    weights = weights_of(scores, quiet);
  }
  const Array mixed = matmul(dropout(weights, probability), unsqueeze(v, {2}));
  return reshape(mixed, {batch, heads, rows, v.shape(3)});
}

template <class Attention>
Array mix(const Attention& layer, const Array& q, const Array& k, const Array& v,
          AttentionOptions options, bool training) {
  const double probability = training ? layer.dropout : 0;
  if (probability != 0) {
    return attention_by_weights(q, k, v, options, probability, layer.quiet_softmax);
  }
  // e^s / (1 + sum e^s) is the softmax beside one more score of 0 (Miller 2023).
  if (layer.quiet_softmax) options.sinks = zeros({layer.heads}, q.dtype(), q.device());
  return attention(q, k, v, options);
}

}  // namespace

KvCache::KvCache(std::int64_t batch, std::int64_t kv_heads, std::int64_t capacity,
                 std::int64_t head_dim, DType dtype, Device device) try {
  const Shape shape = {batch, kv_heads, capacity, head_dim};
  // Dense arrays of their own, so that the first append already writes in place.
  keys = Tensor<4>(contiguous(zeros(shape, dtype, device)));
  values = Tensor<4>(contiguous(zeros(shape, dtype, device)));
} catch (const Error& error) {
  throw_as("kv_cache", error);
}

void KvCache::append(const Tensor<4>& k, const Tensor<4>& v) {
  const std::int64_t rows = k.shape()[2];
  Shape wanted = keys.shape();
  wanted[2] = rows;
  if (k.shape() != wanted || v.shape() != wanted) {
    throw Error(ErrorCode::shape, "kv_cache: keys and values do not fit; got " +
                                      to_string(k.shape()) + " and " + to_string(v.shape()) +
                                      ", expected both of shape " + to_string(wanted));
  }
  if (length < 0 || rows > capacity() - length) {
    throw Error(ErrorCode::shape, "kv_cache: full; got " + std::to_string(rows) + " rows behind " +
                                      std::to_string(length) + ", expected at most " +
                                      std::to_string(capacity()) + " in all");
  }
  Tensor<4> longer_keys = dynamic_slice_assign(keys, {0, 0, length, 0}, k);
  values = dynamic_slice_assign(values, {0, 0, length, 0}, v);
  keys = std::move(longer_keys);
  length += rows;
}

void KvCache::clear() {
  const auto are_there = [this] {
    return keys.array().is_evaluated() && values.array().is_evaluated();
  };
  if (keys.array().defined() && !are_there()) {
    submit();  // what is still to be computed is, or fails, now
    if (!are_there()) {
      const Shape& shape = keys.shape();
      *this = KvCache(shape[0], shape[1], shape[2], shape[3], keys.dtype(), keys.device());
    }
  }
  length = 0;
}

MultiHeadAttention::MultiHeadAttention(std::int64_t dim, std::int64_t head_count,
                                       const Options& options) try
    : heads(head_count),
      kv_heads(options.kv_heads),
      head_dim(options.head_dim),
      rope_base(options.rope_base),
      dropout(options.dropout),
      quiet_softmax(options.quiet_softmax) {
  settle_heads("multi_head_attention", dim, heads, &kv_heads, &head_dim, dropout);
  if (rope_base && head_dim % 2 != 0) {
    fail("multi_head_attention", "rotary positions need an even head_dim; got " +
                                     std::to_string(head_dim) + ", expected an even number");
  }
  if (rope_base) require_positive("multi_head_attention", "rope_base", *rope_base);
  const Linear::Options inner{options.bias, options.initializer, options.parameters};
  const Linear::Options outer{
      options.bias, options.output_initializer.value_or(options.initializer), options.parameters};
  q_proj = Linear(dim, heads * head_dim, inner);
  k_proj = Linear(dim, kv_heads * head_dim, inner);
  v_proj = Linear(dim, kv_heads * head_dim, inner);
  o_proj = Linear(heads * head_dim, dim, outer);
} catch (const Error& error) {
  throw_as("multi_head_attention", error);
}

Array MultiHeadAttention::forward(const Array& x, const Call& call) const try {
  nn_detail::RestoreOnError cache(call.cache);
  const Array tokens = tokens_of("multi_head_attention", "input", x, q_proj);
  const std::int64_t batch = x.shape(0);
  const std::int64_t rows = x.shape(1);
  Array q = split_heads(q_proj.forward(tokens), batch, rows, heads, head_dim);
  Array k = split_heads(k_proj.forward(tokens), batch, rows, kv_heads, head_dim);
  Array v = split_heads(v_proj.forward(tokens), batch, rows, kv_heads, head_dim);
  if (rope_base) {
    const RopeOptions at{*rope_base, false, call.cache != nullptr ? call.cache->length : 0};
    q = rope(q, at);
    k = rope(k, at);
  }
  AttentionOptions options;
  options.causal = call.causal;
  if (call.cache != nullptr) {
    call.cache->append(Tensor<4>(k), Tensor<4>(v));
    k = call.cache->keys.array();
    v = call.cache->values.array();
    options.kv_length = call.cache->length;
  }
  options.mask = whole_mask("multi_head_attention", call.mask.array, call.padding.array, batch,
                            k.shape(2), options.kv_length.value_or(rows));
  const Array mixed = mix(*this, q, k, v, options, call.training);
  const Array joined = reshape(permute(mixed, {0, 2, 1, 3}), {batch * rows, heads * head_dim});
  const Array out = o_proj.forward(joined);
  const Array result = reshape(out, {batch, rows, out.shape(1)});
  cache.keep();
  return result;
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
  const Array tokens = tokens_of("cross_attention", "input", x, q_proj);
  const std::int64_t batch = x.shape(0);
  const std::int64_t rows = x.shape(1);
  const Array q = split_heads(q_proj.forward(tokens), batch, rows, heads, head_dim);
  nn_detail::RestoreOnError cache(call.cache);
  ContextCache computed;
  ContextCache& seen = call.cache != nullptr ? *call.cache : computed;
  if (!seen.keys.defined()) {
    const Array others = tokens_of("cross_attention", "context", context, k_proj);
    if (context.shape(0) != batch) {
      throw Error(ErrorCode::shape, "cross_attention: batches differ; got context " +
                                        to_string(context.shape()) + " for " +
                                        to_string(x.shape()) + ", expected one for each");
    }
    const std::int64_t length = context.shape(1);
    const Array k = split_heads(k_proj.forward(others), batch, length, kv_heads, head_dim);
    const Array v = split_heads(v_proj.forward(others), batch, length, kv_heads, head_dim);
    seen = {Tensor<4>(k), Tensor<4>(v)};
  }
  AttentionOptions options;
  const std::int64_t length = seen.keys.shape()[2];
  options.mask =
      whole_mask("cross_attention", call.mask.array, call.padding.array, batch, length, length);
  const Array mixed = mix(*this, q, seen.keys.array(), seen.values.array(), options, call.training);
  const Array joined = reshape(permute(mixed, {0, 2, 1, 3}), {batch * rows, heads * head_dim});
  const Array out = o_proj.forward(joined);
  const Array result = reshape(out, {batch, rows, out.shape(1)});
  cache.keep();
  return result;
} catch (const Error& error) {
  throw_as("cross_attention", error);
}

Tensor<3, Bool> generate_autoregressive_mask(std::int64_t batch, std::int64_t length,
                                             Device device) try {
  return Tensor<3, Bool>(expand(tril_mask(length, length, 0, device), {batch, length, length}));
} catch (const Error& error) {
  throw_as("generate_autoregressive_mask", error);
}

PaddedTokens generate_padding_mask(std::int64_t pad,
                                   const std::vector<std::vector<std::int64_t>>& sequences,
                                   std::optional<std::int64_t> longest, bool fixed, Device device) {
  if (longest.value_or(0) < 0 || (fixed && !longest)) {
    throw Error(ErrorCode::invalid_argument,
                "generate_padding_mask: no length; got " +
                    (longest ? std::to_string(*longest) : std::string("fixed without one")) +
                    ", expected one of 0 or more");
  }
  std::int64_t length = fixed ? *longest : 0;
  for (const auto& tokens : sequences) {
    if (!fixed) length = std::max(length, static_cast<std::int64_t>(tokens.size()));
  }
  if (longest) length = std::min(length, *longest);
  const Shape shape = {static_cast<std::int64_t>(sequences.size()), length};
  std::int64_t count = 0;
  if (__builtin_mul_overflow(shape[0], length, &count) || count > kMaxTokens) {
    throw Error(ErrorCode::invalid_argument, "generate_padding_mask: too long; got " +
                                                 to_string(shape) + ", expected at most " +
                                                 std::to_string(kMaxTokens) + " tokens in all");
  }
  std::vector<std::int64_t> padded;
  for (const auto& tokens : sequences) {
    const auto kept = std::min(length, static_cast<std::int64_t>(tokens.size()));
    padded.insert(padded.end(), tokens.begin(), tokens.begin() + kept);
    padded.insert(padded.end(), static_cast<std::size_t>(length - kept), pad);
  }
  const Array tokens = Array::from_data(padded, shape, device);
  return {Tensor<2, Int>(tokens), Tensor<2, Bool>(equal(tokens, pad))};
}

}  // namespace nn
}  // namespace v0
}  // namespace hearth
