#include "models/language/text_encoder.h"

#include <algorithm>
#include <string>

#include "hearth/error.h"
#include "hearth/ops.h"
#include "models/token_range.h"

namespace hearth::models {
namespace {

[[noreturn]] void fail_text(const std::string& what) {
  throw Error(ErrorCode::invalid_argument, "embed: " + what);
}

std::int64_t longest_of(const LanguageModel& model, const TokenLists& texts) {
  std::size_t longest = 0;
  if (texts.empty()) fail_text("no texts; got none, expected at least one");
  for (const auto& text : texts) {
    if (text.empty()) fail_text("a text without tokens; got none, expected at least one");
    longest = std::max(longest, text.size());
    require_tokens("embed", text, model.vocabulary());
  }
  const auto length = static_cast<std::int64_t>(longest);
  if (length > model.config.context) {
    fail_text("a text longer than the context; got " + std::to_string(length) +
              " tokens, expected at most " + std::to_string(model.config.context));
  }
  return length;
}

Array lengths_of(const TokenLists& texts, Device device) {
  std::vector<std::int32_t> lengths;
  for (const auto& text : texts) lengths.push_back(static_cast<std::int32_t>(text.size()));
  return Array::from_data(lengths, {static_cast<std::int64_t>(lengths.size())}, device);
}

}  // namespace

Array encode_tokens(const LanguageModel& model, const TokenLists& texts) {
  if (model.config.is_causal) {
    throw Error(ErrorCode::unsupported, "embed: a model that sees one way; got " +
                                            model.config.architecture + ", expected an encoder");
  }
  const NoGrad no_grad;
  const std::int64_t width = longest_of(model, texts);
  std::vector<std::int32_t> tokens, positions;
  for (const auto& text : texts) {
    tokens.insert(tokens.end(), text.begin(), text.end());
    tokens.resize(tokens.size() + static_cast<std::size_t>(width) - text.size());
    for (std::int64_t i = 0; i < width; ++i) positions.push_back(static_cast<std::int32_t>(i));
  }
  const auto rows = static_cast<std::int64_t>(tokens.size());
  Batch batch;
  batch.tokens = Array::from_data(tokens, {rows}, model.device);
  batch.positions = Array::from_data(positions, {rows}, model.device);
  batch.lengths = lengths_of(texts, model.device);
  batch.width = width;
  Cache none;
  none.layers.resize(model.layers.size());
  const Array hidden = model.output_norm.forward(model.hidden(batch, none));
  return reshape(hidden, {static_cast<std::int64_t>(texts.size()), width, model.config.dim});
}

Array embed_texts(const LanguageModel& model, const TokenLists& texts) {
  const NoGrad no_grad;
  const Array all = cast(encode_tokens(model, texts), DType::f32);
  const std::int64_t count = all.shape(0), width = all.shape(1);
  const Array lengths = reshape(lengths_of(texts, model.device), {count, 1, 1});
  const Array places = reshape(arange(0, width, 1, DType::i32, model.device), {1, width, 1});
  Array chosen;
  switch (model.config.pooling) {
    case Pooling::first:
      chosen = equal(places, 0);
      break;
    case Pooling::last:
      chosen = equal(places, lengths - 1);
      break;
    default:
      chosen = less(places, lengths);
      break;
  }
  // Of the mean only its direction stays.
  return vector_normalize(sum(where(chosen, all, 0.0), {1}), 2);
}

}  // namespace hearth::models
