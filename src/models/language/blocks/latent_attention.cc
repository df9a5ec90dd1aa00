#include "models/language/blocks/latent_attention.h"

#include "hearth/ops.h"
#include "hearth/quantization/packed.h"

namespace hearth::models {
namespace {

// x [rows, heads, in] by weight [heads, out, in]: each head by its own.
Array by_head(const Array& x, const Array& weight) {
  const std::int64_t heads = weight.shape(0);
  const Array own = expand(arange(0, heads, 1, DType::i32, x.device()), {x.shape(0), heads});
  const bool is_same = is_packed(weight.dtype()) || weight.dtype() == x.dtype();
  return expert_linear(x, is_same ? weight : cast(weight, x.dtype()), own);
}

}  // namespace

LatentAttention::LatentAttention(const LanguageConfig& model, const AttentionConfig& its_config,
                                 Weights& weights, const std::string& prefix, const Array& divisors,
                                 Device device)
    : config(its_config), rotation(its_config.rope, divisors, device) {
  const LatentConfig& latent = *config.latent;
  const std::int64_t queries = config.heads * config.key_dim;
  if (latent.query_rank > 0) {
    query_low = weights.projection(prefix + "attn_q_a", latent.query_rank, model.dim);
    query_norm = weights.norm(prefix + "attn_q_a_norm", latent.query_rank, model.norm_epsilon);
    query = weights.projection(prefix + "attn_q_b", queries, latent.query_rank);
  } else {
    query = weights.projection(prefix + "attn_q", queries, model.dim);
  }
  key_value =
      weights.projection(prefix + "attn_kv_a_mqa", latent.rank + latent.rope_dims, model.dim);
  latent_norm = weights.norm(prefix + "attn_kv_a_norm", latent.rank, model.norm_epsilon);
  const std::int64_t plain = config.key_dim - latent.rope_dims;
  if (weights.has(prefix + "attn_kv_b.weight")) {
    // Files from before keys and values were apart: of each head its keys, then its values.
    const Array both =
        reshape(weights.matrix(prefix + "attn_kv_b.weight",
                               {config.heads * (plain + config.value_dim), latent.rank}),
                {config.heads, plain + config.value_dim, latent.rank});
    const Array open = is_packed(both.dtype()) ? dequantize(both) : both;
    key_up = contiguous(swap_axes(narrow(open, 1, 0, plain), 1, 2));
    value_up = narrow(both, 1, plain, config.value_dim);
  } else {
    key_up = weights.matrix(prefix + "attn_k_b.weight", {config.heads, latent.rank, plain});
    value_up =
        weights.matrix(prefix + "attn_v_b.weight", {config.heads, config.value_dim, latent.rank});
  }
  output = weights.projection(prefix + "attn_output", model.dim, config.heads * config.value_dim);
}

Array LatentAttention::forward(const Array& x, const Batch& batch, LayerCache& cache,
                               std::int64_t page_size) const {
  const std::int64_t rows = x.shape(0);
  const LatentConfig& latent = *config.latent;
  const std::int64_t plain = config.key_dim - latent.rope_dims;
  const Array low = query_low.defined() ? query_norm.forward(query_low.forward(x)) : x;
  const Array q = reshape(query.forward(low), {rows, config.heads, config.key_dim});
  const Array turned = rotation.forward(narrow(q, 2, plain, latent.rope_dims), batch.positions);
  const Array folded = by_head(narrow(q, 2, 0, plain), key_up);
  const Array compressed = key_value.forward(x);
  const Array row = latent_norm.forward(narrow(compressed, 1, 0, latent.rank));
  const Array shared =
      reshape(narrow(compressed, 1, latent.rank, latent.rope_dims), {rows, 1, latent.rope_dims});
  const Array keys = cat(std::vector<Array>{reshape(row, {rows, 1, latent.rank}),
                                            rotation.forward(shared, batch.positions)},
                         2);
  const Array queries = cat(std::vector<Array>{folded, turned}, 2);
  PagedAttentionOptions options;
  options.scale = config.scale;
  Array mixed;
  if (batch.width > 0) {
    mixed = attend_whole_texts(queries, keys, narrow(keys, 2, 0, latent.rank), batch, options);
  } else {
    write_rows(cache.keys, cache.key_type, batch.slots, keys);
    mixed = paged_attention(queries, cache.keys, narrow(cache.keys, 2, 0, latent.rank), batch.pages,
                            batch.starts, batch.lengths, page_size, options);
  }
  return output.forward(reshape(by_head(mixed, value_up), {rows, config.heads * config.value_dim}));
}

}  // namespace hearth::models
