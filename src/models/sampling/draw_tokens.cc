#include "models/sampling/draw_tokens.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "hearth/ops.h"
#include "models/sampling/candidates.h"
#include "models/sampling/fixed_point.h"
#include "models/sampling/sampling_chain.h"
#include "models/sampling/score_edits.h"
#include "models/sampling/score_tokens.h"
#include "models/sampling/token_mask.h"

namespace hearth::models {
namespace {

void check_rows(const Array& logits, std::span<SamplingState* const> states,
                std::span<const std::int64_t> logprobs) {
  const auto fail = [](ErrorCode code, const std::string& what) {
    throw Error(code, "draw_tokens: " + what);
  };
  if (logits.rank() != 2 || logits.shape(0) != static_cast<std::int64_t>(states.size()) ||
      logits.shape(1) < 1) {
    fail(ErrorCode::shape, "logits that do not fit; got rank " + std::to_string(logits.rank()) +
                               " and " + std::to_string(states.size()) +
                               " states, expected [states, vocabulary]");
  }
  if (!is_float(logits.dtype())) {
    fail(ErrorCode::dtype, "logits of another dtype; got " + std::string(name(logits.dtype())) +
                               ", expected a float dtype");
  }
  // The weights of more tokens might not add up in 62 bits.
  constexpr std::int64_t kMostTokens = std::int64_t{1} << (62 - kWeightBits);
  if (logits.shape(1) > kMostTokens) {
    fail(ErrorCode::unsupported, "vocabulary too large; got " + std::to_string(logits.shape(1)) +
                                     ", expected at most " + std::to_string(kMostTokens));
  }
  for (const SamplingState* state : states) {
    if (state->vocabulary() != logits.shape(1)) {
      fail(ErrorCode::invalid_argument, "state of another vocabulary; got " +
                                            std::to_string(state->vocabulary()) + ", expected " +
                                            std::to_string(logits.shape(1)));
    }
  }
  if (!logprobs.empty() && logprobs.size() != states.size()) {
    fail(ErrorCode::invalid_argument, "logprobs of other rows; got " +
                                          std::to_string(logprobs.size()) + ", expected " +
                                          std::to_string(states.size()));
  }
}

void read_surprise(const DrawnArrays& arrays, std::span<SamplingState* const> states) {
  if (std::none_of(states.begin(), states.end(),
                   [](const SamplingState* state) { return state->learns_from_draws(); })) {
    return;
  }
  const auto weights = arrays.weights.to_vector<std::int64_t>();
  const auto totals = arrays.totals.to_vector<std::int64_t>();
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (totals[i] == 0) continue;
    states[i]->set_surprise(
        std::log2(static_cast<double>(totals[i]) / static_cast<double>(weights[i])));
  }
}

// Draws again, from all candidates, for the rows at `places`.
void draw_again(const Array& scores, std::span<const std::int64_t> places, std::uint64_t refused,
                std::span<SamplingState* const> states, std::vector<std::int32_t>* tokens) {
  std::vector<SamplingState*> own;
  for (const std::int64_t place : places) own.push_back(states[static_cast<std::size_t>(place)]);
  const DrawnArrays arrays = draw_from_scores(scores, own, Candidacy::all, refused).drawn;
  const auto drawn = arrays.tokens.to_vector<std::int32_t>();
  read_surprise(arrays, own);
  for (std::size_t i = 0; i < places.size(); ++i) {
    (*tokens)[static_cast<std::size_t>(places[i])] = drawn[i];
  }
}

Array rows_at(const Array& scores, const std::vector<std::int64_t>& places) {
  const auto count = static_cast<std::int64_t>(places.size());
  return select(scores, Array::from_data(places, {count}, scores.device()), 0);
}

void draw_unsure_rows(const Array& scores, const Array& is_unsure,
                      std::span<SamplingState* const> states, std::vector<std::int32_t>* tokens) {
  const std::vector<bool> flags = is_unsure.to_vector<bool>();
  std::vector<std::int64_t> places;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (flags[i]) places.push_back(static_cast<std::int64_t>(i));
  }
  if (!places.empty()) draw_again(rows_at(scores, places), places, 0, states, tokens);
}

// A grammar that waits for its trigger refuses little: tokens that complete the trigger and go on
// as it does not.
void draw_refused_rows(const Array& scores, std::span<SamplingState* const> states,
                       std::vector<std::int32_t>* tokens) {
  std::vector<std::int64_t> places;
  std::vector<SharedMask> masks;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const auto& grammar = states[i]->grammar();
    const std::int32_t token = (*tokens)[i];
    if (!grammar || !grammar->is_waiting() || token < 0 || is_allowed(*grammar, token)) continue;
    places.push_back(static_cast<std::int64_t>(i));
    masks.push_back(grammar_mask(*grammar, scores.shape(1)));
  }
  if (places.empty()) return;
  const Array bits = token_mask_bits(masks, scores.shape(1), scores.device());
  draw_again(masked_logits(rows_at(scores, places), bits), places, 1, states, tokens);
}

}  // namespace

std::vector<DrawnToken> draw_tokens(const Array& logits, std::span<SamplingState* const> states,
                                    std::span<const std::int64_t> logprobs) {
  check_rows(logits, states, logprobs);
  if (states.empty()) return {};
  const NoGrad no_grad;
  const Array scores = edited_scores(logits, states);
  const ChainDraw draw = draw_from_scores(scores, states, Candidacy::few);
  const DrawnArrays& arrays = draw.drawn;
  std::vector<std::int32_t> tokens = arrays.tokens.to_vector<std::int32_t>();
  read_surprise(arrays, states);
  if (draw.is_unsure.defined()) draw_unsure_rows(scores, draw.is_unsure, states, &tokens);
  draw_refused_rows(scores, states, &tokens);
  const std::vector<ScoredToken> scored = score_tokens(logits, tokens, logprobs);
  std::vector<DrawnToken> drawn;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (scored.empty()) {
      drawn.push_back({tokens[i], std::numeric_limits<float>::quiet_NaN(), {}});
    } else {
      drawn.push_back({tokens[i], scored[i].logprob, scored[i].best});
    }
  }
  return drawn;
}

}  // namespace hearth::models
