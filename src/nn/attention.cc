#include <string>

#include "core/throw_as.h"
#include "hearth/nn.h"

namespace hearth {
inline namespace v0 {
namespace nn {

KvCache::KvCache(std::int64_t batch, std::int64_t kv_heads, std::int64_t capacity,
                 std::int64_t head_dim, DType dtype, Device device) {
  const Shape shape = {batch, kv_heads, capacity, head_dim};
  // Dense arrays of their own, so that the first append already writes in place.
  keys = Tensor<4>(contiguous(zeros(shape, dtype, device)));
  values = Tensor<4>(contiguous(zeros(shape, dtype, device)));
}

void KvCache::append(const Tensor<4>& k, const Tensor<4>& v) {
  const std::int64_t rows = k.shape()[2];
  if (length + rows > capacity()) {
    throw Error(ErrorCode::shape, "kv_cache: full; got " + std::to_string(rows) + " rows behind " +
                                      std::to_string(length) + ", expected at most " +
                                      std::to_string(capacity()) + " in all");
  }
  keys = dynamic_slice_assign(keys, {0, 0, length, 0}, k);
  values = dynamic_slice_assign(values, {0, 0, length, 0}, v);
  length += rows;
}

MultiHeadAttention::MultiHeadAttention(std::int64_t dim, std::int64_t head_count,
                                       const Options& options)
    : heads(head_count),
      kv_heads(options.kv_heads != 0 ? options.kv_heads : head_count),
      head_dim(options.head_dim),
      rope_base(options.rope_base) {
  const auto fail = [](const std::string& what) {
    throw Error(ErrorCode::invalid_argument, "multi_head_attention: " + what);
  };
  if (heads < 1) fail("no heads; got " + std::to_string(heads) + ", expected >= 1");
  if (kv_heads < 1 || heads % kv_heads != 0) {
    fail("kv_heads does not divide heads; got " + std::to_string(kv_heads) + " for " +
         std::to_string(heads) + " heads, expected a divisor");
  }
  if (head_dim == 0) {
    if (dim % heads != 0) {
      fail("heads do not divide dim; got " + std::to_string(heads) + " for dim " +
           std::to_string(dim) + ", expected a divisor");
    }
    head_dim = dim / heads;
  }
  if (rope_base && head_dim % 2 != 0) {
    fail("rotary positions need an even head_dim; got " + std::to_string(head_dim) +
         ", expected an even number");
  }
  const Linear::Options inner{options.bias, options.initializer, options.parameters};
  const Linear::Options outer{
      options.bias, options.output_initializer.value_or(options.initializer), options.parameters};
  q_proj = Linear(dim, heads * head_dim, inner);
  k_proj = Linear(dim, kv_heads * head_dim, inner);
  v_proj = Linear(dim, kv_heads * head_dim, inner);
  o_proj = Linear(heads * head_dim, dim, outer);
}

Array MultiHeadAttention::forward(const Array& x, const Call& call) const try {
  if (x.rank() != 3) {
    throw Error(ErrorCode::shape, "multi_head_attention: input of wrong rank; got " +
                                      to_string(x.shape()) + ", expected [batch, rows, dim]");
  }
  const std::int64_t batch = x.shape(0);
  const std::int64_t rows = x.shape(1);
  // One row a token: that way the three projections share what they read.
  const Array tokens = reshape(x, {batch * rows, x.shape(2)});
  const auto split_heads = [&](const Array& projected, std::int64_t count) {
    return permute(reshape(projected, {batch, rows, count, head_dim}), {0, 2, 1, 3});
  };
  Array q = split_heads(q_proj.forward(tokens), heads);
  Array k = split_heads(k_proj.forward(tokens), kv_heads);
  Array v = split_heads(v_proj.forward(tokens), kv_heads);
  if (rope_base) {
    const RopeOptions at{*rope_base, false, call.cache != nullptr ? call.cache->length : 0};
    q = rope(q, at);
    k = rope(k, at);
  }
  AttentionOptions options;
  options.causal = call.causal;
  options.mask = call.mask;
  if (call.cache != nullptr) {
    call.cache->append(Tensor<4>(k), Tensor<4>(v));
    k = call.cache->keys.array();
    v = call.cache->values.array();
    options.kv_length = call.cache->length;
  }
  const Array mixed = attention(q, k, v, options);
  const Array joined = reshape(permute(mixed, {0, 2, 1, 3}), {batch * rows, heads * head_dim});
  const Array out = o_proj.forward(joined);
  return reshape(out, {batch, rows, out.shape(1)});
} catch (const Error& error) {
  throw_as("multi_head_attention", error);
}

}  // namespace nn
}  // namespace v0
}  // namespace hearth
