#include "models/sampling/sampling_chain.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "hearth/ops.h"
#include "models/sampling/candidate_spread.h"
#include "models/sampling/candidates.h"
#include "models/sampling/chain_row.h"
#include "models/sampling/fixed_point.h"
#include "models/sampling/mirostat.h"

namespace hearth::models {
namespace {

using Steps = std::vector<SamplingStep>;

// Rows that are worked on together.
class ChainRows {
 public:
  ChainRows(std::vector<ChainRow> rows, Device device) : rows_(std::move(rows)), device_(device) {}

  const std::vector<ChainRow>& list() const noexcept { return rows_; }
  bool any(const std::function<bool(const ChainRow&)>& holds) const {
    return std::any_of(rows_.begin(), rows_.end(), holds);
  }
  // A number of each row, [rows, 1].
  template <class T>
  Array column(T ChainRow::* number) const {
    return column_of([&](const ChainRow& row) { return row.*number; });
  }
  template <class Number>
  auto column_of(Number number) const -> Array {
    std::vector<decltype(number(rows_.front()))> values;
    for (const ChainRow& row : rows_) values.push_back(number(row));
    return Array::from_data(values, {static_cast<std::int64_t>(rows_.size()), 1}, device_);
  }

 private:
  std::vector<ChainRow> rows_;
  Device device_;
};

// How many candidates are enough: where each row has a top-k, and before it only steps that do not
// ask for others than the likeliest, a power of two.
std::int64_t candidate_count(const ChainRows& rows, std::int64_t vocabulary) {
  std::int64_t most = 1;
  for (const ChainRow& row : rows.list()) {
    const auto first = std::find_if(row.steps.begin(), row.steps.end(), [&](SamplingStep step) {
      return step != SamplingStep::top_n_sigma && step != SamplingStep::min_p &&
             (step != SamplingStep::temperature || row.temperature_range >= 0);
    });
    if (first == row.steps.end() || *first != SamplingStep::top_k) return vocabulary;
    most = std::max(most, row.top_k);
  }
  if (most >= vocabulary) return vocabulary;
  return std::min(vocabulary,
                  static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(most))));
}

Candidates with_temperature(Candidates candidates, const ChainRows& rows, Array* all) {
  if (rows.any([](const ChainRow& row) { return row.scale != 1; })) {
    const Array scale = rows.column(&ChainRow::scale);
    candidates = scaled_scores(candidates, scale);
    if (all->defined()) *all = scaled_scores({*all, {}}, scale).gaps;
  }
  if (rows.any([](const ChainRow& row) { return row.temperature_range >= 0; })) {
    candidates =
        scaled_by_entropy(candidates, {.lowest = rows.column(&ChainRow::lowest_temperature),
                                       .range = rows.column(&ChainRow::temperature_range),
                                       .exponent = rows.column(&ChainRow::temperature_exponent)});
  }
  if (rows.any([](const ChainRow& row) { return row.coldest_k == 1; })) {
    candidates = keep_top_k(candidates, rows.column(&ChainRow::coldest_k));
  }
  return candidates;
}

// `all`: gaps of all tokens, where the candidates are fewer and nothing was dropped but by steps
// that it went through, too.
Candidates with_step(const Candidates& candidates, SamplingStep step, const ChainRows& rows,
                     Array* all) {
  switch (step) {
    case SamplingStep::top_n_sigma: {
      const Array limit =
          sigma_limit(all->defined() ? *all : candidates.gaps, rows.column(&ChainRow::sigmas));
      if (all->defined()) *all = keep_within({*all, {}}, limit).gaps;
      return keep_within(candidates, limit);
    }
    case SamplingStep::top_k:
      *all = Array();
      return keep_top_k(candidates, rows.column(&ChainRow::top_k));
    case SamplingStep::typical_p:
      return keep_typical(candidates, rows.column(&ChainRow::typical_p));
    case SamplingStep::top_p:
      return keep_top_p(candidates, rows.column(&ChainRow::top_p));
    case SamplingStep::min_p: {
      const Array limit = rows.column(&ChainRow::min_p);
      if (all->defined()) *all = keep_within({*all, {}}, limit).gaps;
      return keep_within(candidates, limit);
    }
    case SamplingStep::xtc:
      return keep_least_of_top(candidates, rows.column(&ChainRow::xtc));
    case SamplingStep::temperature:
      return with_temperature(candidates, rows, all);
    case SamplingStep::penalties:
    case SamplingStep::dry:
      break;
  }
  return candidates;
}

Candidates with_mirostat(Candidates candidates, const ChainRows& rows, std::int64_t vocabulary) {
  const auto has = [&](Mirostat version) {
    return rows.any([version](const ChainRow& row) { return row.mirostat == version; });
  };
  const auto mu_of = [&](Mirostat version) {
    return rows.column_of([version](const ChainRow& row) {
      return row.mirostat == version ? row.mu : kMostSurprise << kLogBits;
    });
  };
  if (has(Mirostat::first)) {
    candidates = keep_by_zipf(candidates, mu_of(Mirostat::first), vocabulary);
  }
  if (has(Mirostat::second)) {
    candidates = keep_by_surprise(candidates, mu_of(Mirostat::second));
  }
  return candidates;
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
DrawnArrays draw_in_order(const Array& scores, const ChainRows& rows, const Steps& order) {
  const std::int64_t vocabulary = scores.shape(1);
  Candidates candidates = highest_candidates(scores, candidate_count(rows, vocabulary));
  Array all;
  if (candidates.gaps.shape(1) < vocabulary &&
      rows.any([](const ChainRow& row) { return row.has(SamplingStep::top_n_sigma); })) {
    all = gaps_below(scores, max(scores, {1}, true));
  }
  for (const SamplingStep step : order) {
    if (rows.any([step](const ChainRow& row) { return row.has(step); })) {
      candidates = with_step(candidates, step, rows, &all);
    }
  }
  if (rows.any([](const ChainRow& row) { return row.mirostat != Mirostat::off; })) {
    candidates = with_mirostat(candidates, rows, vocabulary);
  }
  return draw_from_candidates(candidates, rows.column(&ChainRow::word));
}

bool stands_in(const Steps& steps, const Steps& order) {
  auto from = order.begin();
  for (const SamplingStep step : steps) {
    from = std::find(from, order.end(), step);
    if (from == order.end()) return false;
    ++from;
  }
  return true;
}

// Rows whose steps stand in one order.
struct ChainGroup {
  Steps order;
  std::vector<std::int64_t> places;
  std::vector<ChainRow> rows;
};

std::vector<ChainGroup> groups_of(std::span<SamplingState* const> states) {
  std::vector<ChainGroup> groups = {{default_sampling_steps(), {}, {}}};
  for (std::size_t i = 0; i < states.size(); ++i) {
    ChainRow row = chain_row(*states[i]);
    auto group = std::find_if(groups.begin(), groups.end(), [&](const ChainGroup& one) {
      return stands_in(row.steps, one.order);
    });
    if (group == groups.end()) group = groups.insert(group, {row.steps, {}, {}});
    group->places.push_back(static_cast<std::int64_t>(i));
    group->rows.push_back(std::move(row));
  }
  std::erase_if(groups, [](const ChainGroup& group) { return group.rows.empty(); });
  return groups;
}

}  // namespace

DrawnArrays draw_from_scores(const Array& scores, std::span<SamplingState* const> states) {
  const Device device = scores.device();
  std::vector<ChainGroup> groups = groups_of(states);
  if (groups.size() == 1) {
    return draw_in_order(scores, ChainRows(std::move(groups[0].rows), device), groups[0].order);
  }
  std::vector<Array> tokens, weights, totals;
  std::vector<std::int64_t> back(states.size());
  std::int64_t drawn = 0;
  for (ChainGroup& group : groups) {
    for (const std::int64_t place : group.places) back[static_cast<std::size_t>(place)] = drawn++;
    const auto count = static_cast<std::int64_t>(group.places.size());
    const Array own = select(scores, Array::from_data(group.places, {count}, device), 0);
    const DrawnArrays part =
        draw_in_order(own, ChainRows(std::move(group.rows), device), group.order);
    tokens.push_back(part.tokens);
    weights.push_back(part.weights);
    totals.push_back(part.totals);
  }
  const Array order = Array::from_data(back, {drawn}, device);
  return {select(cat(tokens, 0), order, 0), select(cat(weights, 0), order, 0),
          select(cat(totals, 0), order, 0)};
}

}  // namespace hearth::models
