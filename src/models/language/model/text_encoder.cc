#include "models/language/model/text_encoder.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "core/counted.h"
#include "hearth/error.h"
#include "hearth/ops.h"
#include "models/language/read_text_vectors.h"
#include "models/tokenizer/token_range.h"

namespace hearth::models {
namespace {

// Widths of batches are multiples, so that texts of most lengths share plans.
constexpr std::int64_t kWidthStep = 8;
// Rows of a batch at most, but for a single longer text: so many that a device is busy.
constexpr std::int64_t kMostRows = 8192;

[[noreturn]] void fail_text(const std::string& what) {
  throw Error(ErrorCode::invalid_argument, "embed: " + what);
}

std::int64_t tokens_in(const std::vector<std::int32_t>& text) { return std::ssize(text); }

void require_texts(const LanguageModel& model, const TokenLists& texts) {
  if (!makes_vectors(model.config)) {
    throw Error(ErrorCode::unsupported,
                "embed: a model that makes no vectors; got " + model.config.architecture +
                    " of pooling " + std::string(pooling_name(model.config.vectors.pooling)) +
                    ", expected an encoder or a model whose files name a pooling");
  }
  if (texts.empty()) fail_text("no texts; got none, expected at least one");
  for (const auto& text : texts) require_vector_text(model, text);
}

Array lengths_of(const TokenLists& texts, Device device) {
  std::vector<std::int32_t> lengths;
  for (const auto& text : texts) lengths.push_back(static_cast<std::int32_t>(text.size()));
  return Array::from_data(lengths, {static_cast<std::int64_t>(lengths.size())}, device);
}

// The activations [texts, width, dim] of texts of at most `width` tokens.
Array activations(const LanguageModel& model, const TokenLists& texts, std::int64_t width) {
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
  if (!model.config.is_causal) batch.lengths = lengths_of(texts, model.device);
  batch.width = width;
  Cache none;
  none.layers.resize(model.layers.size());
  const Array hidden = model.output_norm.forward(model.hidden(batch, none));
  return reshape(hidden, {static_cast<std::int64_t>(texts.size()), width, model.config.dim});
}

// Vectors [texts, dim] of activations [texts, width, dim].
Array pooled(const Array& all, const Array& counts, Pooling pooling) {
  const std::int64_t texts = all.shape(0), width = all.shape(1);
  const Array lengths = reshape(counts, {texts, 1, 1});
  const Array places = reshape(arange(0, width, 1, DType::i32, all.device()), {1, width, 1});
  const Array is_there = less(places, lengths);
  const Array count = cast(reshape(counts, {texts, 1}), DType::f32);
  switch (pooling) {
    case Pooling::first:
      return reshape(narrow(all, 1, 0, 1), {texts, all.shape(2)});
    case Pooling::last:
      return sum(where(equal(places, lengths - 1), all, 0.0), {1});
    case Pooling::largest:
      return max(where(is_there, all, -std::numeric_limits<double>::infinity()), {1});
    case Pooling::weighted_mean:
      return sum(where(is_there, all * cast(places + 1, DType::f32), 0.0), {1}) /
             (count * (count + 1) * 0.5);
    case Pooling::root_mean:
      return sum(where(is_there, all, 0.0), {1}) / sqrt(count);
    default:
      return sum(where(is_there, all, 0.0), {1}) / count;
  }
}

Array vectors_of(const LanguageModel& model, const TokenLists& texts) {
  std::int64_t longest = 0;
  for (const auto& text : texts) longest = std::max(longest, tokens_in(text));
  const std::int64_t width =
      std::min((longest + kWidthStep - 1) / kWidthStep * kWidthStep, longest_vector_text(model));
  const TextVectorConfig& config = model.config.vectors;
  const Array all = cast(activations(model, texts, width), DType::f32);
  const Array made = pooled(all, lengths_of(texts, model.device), config.pooling);
  return config.is_normalised ? vector_normalize(made, 2) : made;
}

}  // namespace

bool makes_vectors(const LanguageConfig& config) {
  return config.vectors.pooling != Pooling::none && !has_states(config);
}

std::int64_t longest_vector_text(const LanguageModel& model) {
  const std::int64_t context = model.config.context;
  return model.position_embedding.defined() ? std::min(context, model.position_embedding.shape(0))
                                            : context;
}

std::vector<std::int32_t> tokens_of_text(const Tokenizer& tokenizer, const LanguageModel& model,
                                         std::string_view text, EncodeLimits limits) {
  const TextVectorConfig& config = model.config.vectors;
  if (config.longest > 0) {
    const std::int64_t longest = std::min(config.longest, longest_vector_text(model));
    limits.most = static_cast<std::size_t>(longest);
    limits.cuts = true;
  }
  return tokenizer.encode(config.prompt + std::string(text), {}, limits);
}

void require_vector_text(const LanguageModel& model, std::span<const std::int32_t> text) {
  if (text.empty()) fail_text("a text without tokens; got none, expected at least one");
  const std::int64_t longest = longest_vector_text(model);
  if (std::ssize(text) > longest) {
    fail_text("a text longer than the context; got " + counted(text.size(), "token") +
              ", expected at most " + std::to_string(longest));
  }
  require_tokens("embed", text, model.vocabulary());
}

Array embed_texts(const LanguageModel& model, const TokenLists& texts) {
  const NoGrad no_grad;
  require_texts(model, texts);
  std::vector<std::int32_t> order(texts.size());
  std::iota(order.begin(), order.end(), 0);
  const auto text_of = [&](std::size_t i) -> const std::vector<std::int32_t>& {
    return texts[static_cast<std::size_t>(order[i])];
  };
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return std::pair(texts[static_cast<std::size_t>(a)].size(), a) <
           std::pair(texts[static_cast<std::size_t>(b)].size(), b);
  });
  std::vector<Array> parts;
  TokenLists together;
  for (std::size_t i = 0; i < order.size(); ++i) {
    together.push_back(text_of(i));
    const bool is_last = i + 1 == order.size();
    if (!is_last && (std::ssize(together) + 1) * tokens_in(text_of(i + 1)) <= kMostRows) continue;
    parts.push_back(vectors_of(model, together));
    together.clear();
  }
  if (parts.size() == 1 && std::is_sorted(order.begin(), order.end())) return parts.front();
  std::vector<std::int32_t> places(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    places[static_cast<std::size_t>(order[i])] = static_cast<std::int32_t>(i);
  }
  return select(cat(parts, 0), Array::from_data(places, {std::ssize(places)}, model.device), 0);
}

}  // namespace hearth::models
