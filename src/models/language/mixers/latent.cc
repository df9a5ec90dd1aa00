// Multi-head latent attention (DeepSeek-V2, 2024): keys and values of all heads expand from one
// latent row, and what positions turn is one more key that all heads share. The cache holds the
// latent row and that key; the expansion is folded into queries and results.
#include <string>
#include <utility>
#include <vector>

#include "hearth/ops.h"
#include "hearth/quantization/packed.h"
#include "models/language/blocks/attention.h"
#include "models/language/mixer.h"

namespace hearth::models {
namespace {

// Of the norms of compressed rows, whatever files say of the others.
constexpr double kLatentEpsilon = 1e-6;

struct LatentAttention final : MixerBlock {
  explicit LatentAttention(const MixerParts& parts);

  Array forward(const Array& x, const Batch& batch, LayerCache& cache,
                std::int64_t page_size) const override;

  AttentionConfig config;
  LatentConfig latent;
  Projection query_low;  // to the rank of queries, where they have one
  Norm query_norm;
  Projection query;      // [heads * key_dim, in]: of a head first what does not turn
  Projection key_value;  // [rank + rope_dims, dim]
  Norm latent_norm;
  Array key_up;    // [heads, rank, what does not turn of a key]
  Array value_up;  // [heads, value_dim, rank]
  Projection output;
  Rotation rotation;
};

// x [rows, heads, in] by weight [heads, out, in]: each head by its own.
Array by_head(const Array& x, const Array& weight) {
  const std::int64_t heads = weight.shape(0);
  const Array own = expand(arange(0, heads, 1, DType::i32, x.device()), {x.shape(0), heads});
  const bool is_same = is_packed(weight.dtype()) || weight.dtype() == x.dtype();
  return expert_linear(x, is_same ? weight : cast(weight, x.dtype()), own);
}

LatentAttention::LatentAttention(const MixerParts& parts)
    : config(parts.layer.attention),
      latent(parts.model.latent),
      rotation(config.rope, parts.divisors, parts.device) {
  const LanguageConfig& model = parts.model;
  Weights& weights = parts.weights;
  const std::string& prefix = parts.prefix;
  const std::int64_t queries = config.heads * config.key_dim;
  if (latent.query_rank > 0) {
    query_low = weights.projection(prefix + "attn_q_a", latent.query_rank, model.dim);
    query_norm = weights.norm(prefix + "attn_q_a_norm", latent.query_rank, kLatentEpsilon);
    query = weights.projection(prefix + "attn_q_b", queries, latent.query_rank);
  } else {
    query = weights.projection(prefix + "attn_q", queries, model.dim);
  }
  key_value =
      weights.projection(prefix + "attn_kv_a_mqa", latent.rank + latent.rope_dims, model.dim);
  latent_norm = weights.norm(prefix + "attn_kv_a_norm", latent.rank, kLatentEpsilon);
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
  const Array queries = with_temperature(cat(std::vector<Array>{folded, turned}, 2),
                                         batch.positions, config.temperature);
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

void read_latent(const Keys& keys, const Family&, FileKind, LanguageConfig& config) {
  config.latent = {.query_rank = keys.count("attention.q_lora_rank", 0),
                   .rank = keys.count("attention.kv_lora_rank"),
                   .rope_dims = keys.count("rope.dimension_count")};
}

// Files hold keys and values apart, keys by what they expand from, and heads are those of the
// latent row.
void lay_out_latent(GgufContents& contents, const LanguageConfig& config, const Family&) {
  const AttentionConfig& attention = config.layers.front().attention;
  const LatentConfig& latent = config.latent;
  NamedArrays arrays;
  for (NamedArray& each : contents.arrays) {
    const std::string_view ending = "attn_kv_b.weight";
    if (!each.name.ends_with(ending)) {
      arrays.push_back(std::move(each));
      continue;
    }
    const std::int64_t plain = attention.key_dim - latent.rope_dims;
    const Array open = is_packed(each.array.dtype()) ? dequantize(each.array) : each.array;
    const Array both = reshape(open, {attention.heads, plain + attention.value_dim, latent.rank});
    const std::string prefix = each.name.substr(0, each.name.size() - ending.size());
    arrays.push_back(
        {prefix + "attn_k_b.weight", contiguous(swap_axes(narrow(both, 1, 0, plain), 1, 2))});
    arrays.push_back(
        {prefix + "attn_v_b.weight", contiguous(narrow(both, 1, plain, attention.value_dim))});
  }
  contents.arrays = std::move(arrays);
  const auto set = [&](const char* key, std::int64_t value) {
    set_count(contents.metadata, config.architecture + ".attention." + key, value);
  };
  set("head_count_kv", 1);
  set("key_length", latent.rank + latent.rope_dims);
  set("value_length", latent.rank);
}

MixerMemory latent_memory(const LanguageConfig& config, const LayerConfig&) {
  return {.keys = {1, config.latent.rank + config.latent.rope_dims}};
}

std::string why_latent_rows_are_unfit(const LayerConfig&, CacheType keys, CacheType) {
  if (!keys.is_coded()) return "";
  return "latent rows are not coded; got " + name(keys) + ", expected a float type";
}

// Of each head the folded query, the one that it becomes with what turns, and what it sees; of the
// row that all heads share what it is compressed to, and its key.
std::int64_t latent_columns(const LanguageConfig& config, const LayerConfig& layer) {
  const auto& [query_rank, rank, rope_dims] = config.latent;
  return layer.attention.heads * (3 * rank + rope_dims) + 2 * (rank + rope_dims);
}

std::shared_ptr<const MixerBlock> make_latent(const MixerParts& parts) {
  return std::make_shared<LatentAttention>(parts);
}

}  // namespace

constinit const MixerDef latent_mixer = {.read = read_latent,
                                         .lay_out = lay_out_latent,
                                         .memory = latent_memory,
                                         .why_unfit = why_latent_rows_are_unfit,
                                         .widest_columns = latent_columns,
                                         .make = make_latent};

}  // namespace hearth::models
