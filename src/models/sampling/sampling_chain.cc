#include "models/sampling/sampling_chain.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "hearth/ops.h"
#include "models/sampling/candidates.h"
#include "models/sampling/fixed_point.h"

namespace hearth::models {
namespace {

constexpr std::int64_t kAllTokens = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kWholeShare = std::numeric_limits<std::uint64_t>::max();
constexpr std::int64_t kNoLimit = kDroppedGap / 2;

// What one row needs of each step: numbers as the device takes them.
struct ChainRow {
  std::int64_t top_k = kAllTokens;
  std::uint64_t top_p = kWholeShare;
  std::int64_t min_p = kNoLimit;
  std::uint64_t xtc = kWholeShare;
  float scale = 1;  // 1 / temperature
  std::uint64_t word = 0;
  std::vector<SamplingStep> steps;  // that change something, in order
};

// Of a row that takes the highest score: one candidate is left, whatever the other steps say.
bool is_greedy(const SamplingOptions& options) {
  return options.temperature == 0 && options.temperature_range == 0 && options.typical_p == 1 &&
         options.xtc_probability == 0;
}

ChainRow chain_row(const SamplingState& state) {
  const SamplingOptions& options = state.options();
  const PhiloxBlock words = state.random_words();
  ChainRow row;
  row.word = philox_pair(words[0], words[1]);
  if (is_greedy(options)) {
    row.top_k = 1;
    row.steps = {SamplingStep::top_k};
    return row;
  }
  for (const SamplingStep step : options.steps) {
    bool changes = false;
    switch (step) {
      case SamplingStep::top_k:
        changes = options.top_k > 0;
        if (changes) row.top_k = options.top_k;
        break;
      case SamplingStep::top_p:
        changes = options.top_p < 1;
        if (changes) row.top_p = share_word(options.top_p);
        break;
      case SamplingStep::min_p:
        changes = options.min_p > 0;
        if (changes) {
          row.min_p = static_cast<std::int64_t>(std::floor(
              -std::log(options.min_p) * static_cast<double>(std::int64_t{1} << kGapBits)));
        }
        break;
      case SamplingStep::xtc:
        changes = options.xtc_probability > 0 && options.xtc_threshold <= 0.5 &&
                  philox_unit(philox_pair(words[2], words[3])) < options.xtc_probability;
        if (changes) row.xtc = share_word(options.xtc_threshold);
        break;
      case SamplingStep::temperature:
        changes = options.temperature != 1;
        row.scale = static_cast<float>(1 / options.temperature);
        break;
      default:
        break;
    }
    if (changes) row.steps.push_back(step);
  }
  return row;
}

bool has(const ChainRow& row, SamplingStep step) {
  return std::find(row.steps.begin(), row.steps.end(), step) != row.steps.end();
}

// The rows' numbers of one step, [rows, 1].
template <class T>
Array column(const std::vector<ChainRow>& rows, T ChainRow::* number, Device device) {
  std::vector<T> values;
  for (const ChainRow& row : rows) values.push_back(row.*number);
  return Array::from_data(values, {static_cast<std::int64_t>(rows.size()), 1}, device);
}

// How many candidates are enough: where each row begins with a top-k, a power of two.
std::int64_t candidate_count(const std::vector<ChainRow>& rows, std::int64_t vocabulary) {
  std::int64_t most = 1;
  for (const ChainRow& row : rows) {
    if (row.steps.empty() || row.steps.front() != SamplingStep::top_k) return vocabulary;
    most = std::max(most, row.top_k);
  }
  if (most >= vocabulary) return vocabulary;
  return std::min(vocabulary,
                  static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(most))));
}

DrawnArrays draw_from_candidates(const Candidates& candidates, const Array& word) {
  const Array weights = candidate_weights(candidates);
  const Array sums = cumsum(weights, 1);
  const std::int64_t count = sums.shape(1), rows = sums.shape(0);
  const Array total = narrow(sums, 1, count - 1, 1);
  const Array before = sum(cast(less_equal(sums, share_down(total, word)), DType::i64), {1}, true);
  const Array place = clamp_max(before, count - 1);
  const Array token = gather(candidates.tokens, place, 1);
  const auto flat = [&](const Array& x) { return reshape(x, {rows}); };
  return {flat(where(equal(total, std::int64_t{0}), std::int64_t{-1}, token)),
          flat(gather(weights, place, 1)), flat(total)};
}

// Rows whose steps all stand in `order`.
DrawnArrays draw_in_order(const Array& scores, const std::vector<ChainRow>& rows,
                          const std::vector<SamplingStep>& order) {
  const Device device = scores.device();
  Candidates candidates = highest_candidates(scores, candidate_count(rows, scores.shape(1)));
  for (const SamplingStep step : order) {
    if (std::none_of(rows.begin(), rows.end(),
                     [&](const ChainRow& row) { return has(row, step); })) {
      continue;
    }
    switch (step) {
      case SamplingStep::top_k:
        candidates = keep_top_k(candidates, column(rows, &ChainRow::top_k, device));
        break;
      case SamplingStep::top_p:
        candidates = keep_top_p(candidates, column(rows, &ChainRow::top_p, device));
        break;
      case SamplingStep::min_p:
        candidates = keep_within(candidates, column(rows, &ChainRow::min_p, device));
        break;
      case SamplingStep::xtc:
        candidates = keep_least_of_top(candidates, column(rows, &ChainRow::xtc, device));
        break;
      case SamplingStep::temperature:
        candidates = scaled_scores(candidates, column(rows, &ChainRow::scale, device));
        break;
      default:
        break;
    }
  }
  return draw_from_candidates(candidates, column(rows, &ChainRow::word, device));
}

}  // namespace

DrawnArrays draw_from_scores(const Array& scores, std::span<SamplingState* const> states) {
  std::vector<ChainRow> rows;
  for (const SamplingState* state : states) rows.push_back(chain_row(*state));
  return draw_in_order(scores, rows, default_sampling_steps());
}

}  // namespace hearth::models
