// What the tensors of language models' GGUF files are for, by their names.
#pragma once

#include <cstdint>
#include <string_view>

#include "hearth/parameter.h"

namespace hearth::models {

inline constexpr std::string_view kTokenEmbedding = "token_embd.weight";
inline constexpr std::string_view kOutputWeight = "output.weight";
// Behind "blk.N.": what is added to the sum of what experts give.
inline constexpr std::string_view kExpertSumBias = "ffn_exps.bias";

enum class TensorRole : std::uint8_t {
  other,
  // Of the model.
  token_embedding,
  output,
  // Rows that tokens have for layers' own inputs, and the projection of their embeddings to such.
  layer_embedding,
  layer_projection,
  // Rows that are looked up; norms; kernels of convolutions; what experts are chosen by.
  table,
  norm,
  convolution,
  router,
  // Projections by which rows are mixed: to queries, keys and values, to all three, of what is
  // mixed, and what else mixers have.
  query,
  key,
  value,
  query_key_value,
  mixed,
  mixer,
  // Of latent rows to keys and values.
  key_value,
  // To the width of a feed-forward and back, of experts too.
  gate,
  up,
  down,
};

// Of "blk.3.attn_q.weight", or without ".weight" as projections are called; `other` for biases and
// scales.
TensorRole role_of(std::string_view name);

// Whether rows are mixed by the projection, or the mixture goes through it: in any family.
constexpr bool is_of_mixer(TensorRole role) {
  return role >= TensorRole::query && role <= TensorRole::mixer;
}

// N of "blk.N.", the layer that a tensor belongs to; -1 for what belongs to none.
std::int64_t layer_of(std::string_view name);

// Null where there is no weight of that role.
const NamedArray* find_weight(const NamedArrays& arrays, TensorRole role);

// Tokens that have an embedding; 0 where none is there.
std::int64_t vocabulary_of(const NamedArrays& arrays);

}  // namespace hearth::models
