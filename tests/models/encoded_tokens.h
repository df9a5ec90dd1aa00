// What a model makes of tokens before anything is pooled, for comparisons row by row.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "hearth/ops.h"
#include "models/language/model/language_model.h"
#include "models/language/model/text_encoder.h"

namespace hearth::testing {

// The activations of all tokens [texts, longest, dim]; behind a shorter text they mean nothing.
inline Array encode_tokens(const models::LanguageModel& model, const models::TokenLists& texts) {
  const NoGrad no_grad;
  std::vector<std::int32_t> tokens, positions, lengths;
  std::size_t longest = 0;
  for (const auto& text : texts) longest = std::max(longest, text.size());
  for (const auto& text : texts) {
    tokens.insert(tokens.end(), text.begin(), text.end());
    tokens.resize(tokens.size() + longest - text.size());
    for (std::size_t i = 0; i < longest; ++i) positions.push_back(static_cast<std::int32_t>(i));
    lengths.push_back(static_cast<std::int32_t>(text.size()));
  }
  models::Batch batch;
  batch.tokens = Array::from_data(tokens, {std::ssize(tokens)}, model.device);
  batch.positions = Array::from_data(positions, {std::ssize(positions)}, model.device);
  if (!model.config.is_causal) {
    batch.lengths = Array::from_data(lengths, {std::ssize(lengths)}, model.device);
  }
  batch.width = static_cast<std::int64_t>(longest);
  models::Cache none;
  none.layers.resize(model.layers.size());
  const Array hidden = model.output_norm.forward(model.hidden(batch, none));
  return reshape(hidden, {std::ssize(texts), batch.width, model.config.dim});
}

}  // namespace hearth::testing
