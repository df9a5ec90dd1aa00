#include "models/sampling/score_edits.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "hearth/ops.h"
#include "models/sampling/token_mask.h"

namespace hearth::models {
namespace {

using EditList = std::vector<LogitEdit>;

// The edits of all rows, as many of each: what is missing repeats one of the row, or changes token
// 0 by nothing. Repeated ones write the same value twice. A power of two of them, so that few
// shapes occur.
Array with_edits(const Array& scores, const std::vector<EditList>& lists) {
  std::size_t most = 0;
  for (const EditList& list : lists) most = std::max(most, list.size());
  if (most == 0) return scores;
  const std::size_t rows = lists.size(), count = std::bit_ceil(most);
  std::vector<std::int32_t> tokens;
  std::vector<float> biases, factors, inverses, subtracted;
  for (const EditList& list : lists) {
    const LogitEdit filler = list.empty() ? LogitEdit{.token = 0} : list.front();
    for (std::size_t i = 0; i < count; ++i) {
      const LogitEdit& edit = i < list.size() ? list[i] : filler;
      tokens.push_back(edit.token);
      biases.push_back(edit.bias);
      factors.push_back(edit.factor);
      inverses.push_back(1 / edit.factor);
      subtracted.push_back(edit.subtracted);
    }
  }
  const Shape shape = {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(count)};
  const auto on_device = [&](const auto& values) {
    return Array::from_data(values, shape, scores.device());
  };
  const Array places = on_device(tokens);
  const Array biased = add(gather(scores, places, 1), on_device(biases));
  const Array divided = where(less_equal(biased, 0.0), mul(biased, on_device(factors)),
                              mul(biased, on_device(inverses)));
  return scatter(scores, places, sub(divided, on_device(subtracted)), 1, IndexingUpdateOp::assign);
}

}  // namespace

SharedMask grammar_mask(const grammar::GrammarMatcher& matcher, std::int64_t vocabulary) {
  SharedMask mask = matcher.mask();
  const auto words = static_cast<std::size_t>((vocabulary + 31) / 32);
  if (mask->size() >= words) return mask;
  std::vector<std::uint32_t> longer = *mask;
  longer.resize(words);
  return std::make_shared<const std::vector<std::uint32_t>>(std::move(longer));
}

bool is_allowed(const grammar::GrammarMatcher& matcher, std::int32_t token) {
  return static_cast<std::size_t>(token) < matcher.trie().size() && matcher.allows(token);
}

Array edited_scores(const Array& logits, std::span<SamplingState* const> states) {
  std::vector<EditList> lists;
  std::vector<SharedMask> masks;
  bool has_mask = false;
  for (const SamplingState* state : states) {
    lists.push_back(state->logit_edits());
    const bool is_masked = state->grammar() && !state->grammar()->is_waiting();
    masks.push_back(is_masked ? grammar_mask(*state->grammar(), logits.shape(1)) : nullptr);
    has_mask = has_mask || is_masked;
  }
  Array scores = with_edits(cast(logits, DType::f32), lists);
  if (has_mask) {
    scores = masked_logits(scores, token_mask_bits(masks, logits.shape(1), logits.device()));
  }
  return where(is_nan(scores), -std::numeric_limits<double>::infinity(), scores);
}

}  // namespace hearth::models
