#include "models/sampling/sampling_chain.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "hearth/ops.h"
#include "models/sampling/adaptive_p.h"
#include "models/sampling/candidate_spread.h"
#include "models/sampling/candidates.h"
#include "models/sampling/chain_rows.h"
#include "models/sampling/fixed_point.h"
#include "models/sampling/mirostat.h"

namespace hearth::models {
namespace {

// Sorting so many costs little beside adding up a vocabulary, and they nearly always have what is
// drawn.
constexpr std::int64_t kFew = 256;

// Steps after which the likeliest of all are the likeliest of a few, and that need no more of the
// others than the total of their weights.
bool takes_likeliest(SamplingStep step, const ChainRow& row) {
  return step == SamplingStep::top_n_sigma || step == SamplingStep::min_p ||
         (step == SamplingStep::temperature && row.temperature_range < 0);
}

// Where each row has a top-k, and before it only steps that take the likeliest: a power of two that
// is enough. Else the vocabulary.
std::int64_t enough_candidates(const ChainRows& rows, std::int64_t vocabulary) {
  std::int64_t most = 1;
  for (const ChainRow& row : rows.list()) {
    const auto first = std::find_if_not(row.steps.begin(), row.steps.end(), [&](SamplingStep step) {
      return takes_likeliest(step, row);
    });
    if (first == row.steps.end() || *first != SamplingStep::top_k) return vocabulary;
    most = std::max(most, row.top_k);
  }
  if (most >= vocabulary) return vocabulary;
  return std::min(vocabulary,
                  static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(most))));
}

bool few_may_do(const ChainRows& rows, std::int64_t vocabulary) {
  return vocabulary >= 8 * kFew && !rows.any([](const ChainRow& row) {
    return row.mirostat != Mirostat::off || row.adaptive_target >= 0 ||
           std::any_of(row.steps.begin(), row.steps.end(), [&](SamplingStep step) {
             return step != SamplingStep::top_k && step != SamplingStep::top_p &&
                    !takes_likeliest(step, row);
           });
  });
}

// The steps of rows that stand in one order.
class Chain {
 public:
  Chain(const Array& scores, const ChainRows& rows, Candidacy candidacy)
      : rows_(rows), vocabulary_(scores.shape(1)) {
    std::int64_t count = enough_candidates(rows, vocabulary_);
    if (count == vocabulary_ && candidacy == Candidacy::few && few_may_do(rows, vocabulary_)) {
      count = kFew;
      is_few_ = true;
      is_unsure_ = rows.flags([](const ChainRow&) { return false; });
    }
    candidates_ = highest_candidates(scores, count);
    if (is_few_ || (count < vocabulary_ && rows.any_has(SamplingStep::top_n_sigma))) {
      all_ = gaps_below(scores, max(scores, {1}, true));
    }
  }

  void apply(SamplingStep step);
  void apply_mirostat();
  void apply_adaptive_p();
  ChainDraw draw() const;

 private:
  void keep_within_of_all(const Array& limit);
  void apply_temperature();
  // Whether the least of a few is kept, and so others than these may be: bool [rows, 1].
  Array is_open() const {
    return is_kept({narrow(candidates_.gaps, 1, candidates_.gaps.shape(1) - 1, 1), {}});
  }
  // The weights of all that is kept, [rows, 1]. Of a row that is open behind a step that cuts()
  // they are wrong.
  Array total_of_all() const;

  const ChainRows& rows_;
  std::int64_t vocabulary_;
  Candidates candidates_;
  Array plain_weights_;  // before adaptive_p; undefined without it
  // Gaps of all tokens, where the candidates are fewer and the others are still needed; steps that
  // cut by rank or weight are not done to them.
  Array all_;
  bool is_few_ = false;
  Array is_unsure_;  // bool [rows, 1], of a few
};

void Chain::keep_within_of_all(const Array& limit) {
  candidates_ = keep_within(candidates_, limit);
  if (all_.defined()) all_ = keep_within({all_, {}}, limit).gaps;
}

void Chain::apply_temperature() {
  if (rows_.any([](const ChainRow& row) { return row.scale != 1; })) {
    const Array scale = rows_.column(&ChainRow::scale);
    candidates_ = scaled_scores(candidates_, scale);
    if (all_.defined()) all_ = scaled_scores({all_, {}}, scale).gaps;
  }
  if (rows_.any([](const ChainRow& row) { return row.temperature_range >= 0; })) {
    candidates_ =
        scaled_by_entropy(candidates_, {.lowest = rows_.column(&ChainRow::lowest_temperature),
                                        .range = rows_.column(&ChainRow::temperature_range),
                                        .exponent = rows_.column(&ChainRow::temperature_exponent)});
  }
  if (rows_.any([](const ChainRow& row) { return row.coldest_k == 1; })) {
    candidates_ = keep_top_k(candidates_, rows_.column(&ChainRow::coldest_k));
  }
}

Array Chain::total_of_all() const {
  const Array kept = sum(candidate_weights(candidates_), {1}, true);
  if (!is_few_) return kept;
  // The likeliest is never dropped where few may do: gaps are gaps to it.
  const Array weights = where(is_kept({all_, {}}), weights_of_gaps(all_), std::int64_t{0});
  return where(is_open(), sum(weights, {1}, true), kept);
}

// Steps that nearly always leave no more than a few: where a row is open behind one, it is unsure,
// and the weights of the others do not count.
bool cuts(SamplingStep step) {
  return step == SamplingStep::top_k || step == SamplingStep::top_p || step == SamplingStep::min_p;
}
bool has_cut(const ChainRow& row) { return std::any_of(row.steps.begin(), row.steps.end(), cuts); }
bool has_cut_before_top_p(const ChainRow& row) {
  const auto top_p = std::find(row.steps.begin(), row.steps.end(), SamplingStep::top_p);
  return top_p != row.steps.end() && std::any_of(row.steps.begin(), top_p, cuts);
}
bool has_top_p_first(const ChainRow& row) {
  return row.has(SamplingStep::top_p) && !has_cut_before_top_p(row);
}

void Chain::apply(SamplingStep step) {
  switch (step) {
    case SamplingStep::top_n_sigma:
      return keep_within_of_all(
          sigma_limit(all_.defined() ? all_ : candidates_.gaps, rows_.column(&ChainRow::sigmas)));
    case SamplingStep::min_p:
      return keep_within_of_all(rows_.column(&ChainRow::min_p));
    case SamplingStep::top_k:
      candidates_ = keep_top_k(candidates_, rows_.column(&ChainRow::top_k));
      if (!is_few_) all_ = Array();
      return;
    case SamplingStep::top_p:
      if (is_few_) {
        is_unsure_ =
            logical_or(is_unsure_, logical_and(is_open(), rows_.flags(has_cut_before_top_p)));
      }
      candidates_ = keep_top_p(candidates_, rows_.column(&ChainRow::top_p),
                               rows_.any(has_top_p_first) ? total_of_all() : Array());
      return;
    case SamplingStep::typical_p:
      candidates_ = keep_typical(candidates_, rows_.column(&ChainRow::typical_p));
      return;
    case SamplingStep::xtc:
      candidates_ = keep_least_of_top(candidates_, rows_.column(&ChainRow::xtc));
      return;
    case SamplingStep::temperature:
      return apply_temperature();
    case SamplingStep::penalties:
    case SamplingStep::dry:
      return;  // of scores: score_edits.h
    case SamplingStep::adaptive_p:
      return;  // behind all others
  }
}

void Chain::apply_mirostat() {
  const auto has = [&](Mirostat version) {
    return rows_.any([version](const ChainRow& row) { return row.mirostat == version; });
  };
  const auto mu_of = [&](Mirostat version) {
    return rows_.column_of([version](const ChainRow& row) {
      return row.mirostat == version ? row.mu : kMostSurprise << kLogBits;
    });
  };
  if (has(Mirostat::first)) {
    candidates_ = keep_by_zipf(candidates_, mu_of(Mirostat::first), vocabulary_);
  }
  if (has(Mirostat::second)) {
    candidates_ = keep_by_surprise(candidates_, mu_of(Mirostat::second));
  }
}

void Chain::apply_adaptive_p() {
  if (!rows_.any([](const ChainRow& row) { return row.adaptive_target >= 0; })) return;
  plain_weights_ = candidate_weights(candidates_);
  candidates_ =
      favour_probability(candidates_, plain_weights_, rows_.column(&ChainRow::adaptive_target));
}

ChainDraw Chain::draw() const {
  const Array weights = candidate_weights(candidates_);
  const Array sums = cumsum(weights, 1);
  const std::int64_t count = sums.shape(1), rows = sums.shape(0);
  const bool needs_all = is_few_ && rows_.any([](const ChainRow& row) { return !has_cut(row); });
  const Array total = needs_all ? total_of_all() : narrow(sums, 1, count - 1, 1);
  const Array target = share_down(total, rows_.column(&ChainRow::word));
  const Array before = sum(cast(less_equal(sums, target), DType::i64), {1}, true);
  const Array place = clamp_max(before, count - 1);
  const Array token = gather(candidates_.tokens, place, 1);
  const auto flat = [&](const Array& x) { return reshape(x, {rows}); };
  const bool is_plain = !plain_weights_.defined();
  ChainDraw result{{flat(where(equal(total, std::int64_t{0}), std::int64_t{-1}, token)),
                    flat(gather(is_plain ? weights : plain_weights_, place, 1)),
                    flat(is_plain ? total : sum(plain_weights_, {1}, true))},
                   {}};
  if (is_few_) {
    const Array is_beyond = logical_or(greater_equal(before, count), rows_.flags(has_cut));
    result.is_unsure = flat(logical_or(is_unsure_, logical_and(is_open(), is_beyond)));
  }
  return result;
}

ChainDraw draw_in_order(const Array& scores, ChainGroup group, Candidacy candidacy) {
  const ChainRows rows(std::move(group.rows), scores.device());
  Chain chain(scores, rows, candidacy);
  for (const SamplingStep step : group.order) {
    if (rows.any_has(step)) chain.apply(step);
  }
  chain.apply_mirostat();
  chain.apply_adaptive_p();
  return chain.draw();
}

}  // namespace

ChainDraw draw_from_scores(const Array& scores, std::span<SamplingState* const> states,
                           Candidacy candidacy, std::uint64_t refused) {
  std::vector<ChainGroup> groups = chain_groups(states, refused);
  if (groups.size() == 1) return draw_in_order(scores, std::move(groups[0]), candidacy);
  const Device device = scores.device();
  std::vector<Array> tokens, weights, totals, unsure;
  std::vector<std::int64_t> back(states.size());
  std::int64_t drawn = 0;
  for (ChainGroup& group : groups) {
    for (const std::int64_t place : group.places) back[static_cast<std::size_t>(place)] = drawn++;
    const auto count = static_cast<std::int64_t>(group.places.size());
    const Array own = select(scores, Array::from_data(group.places, {count}, device), 0);
    const ChainDraw part = draw_in_order(own, std::move(group), candidacy);
    tokens.push_back(part.drawn.tokens);
    weights.push_back(part.drawn.weights);
    totals.push_back(part.drawn.totals);
    unsure.push_back(part.is_unsure.defined() ? part.is_unsure
                                              : zeros({count}, DType::bool_, device));
  }
  const Array order = Array::from_data(back, {drawn}, device);
  const auto joined = [&](const std::vector<Array>& parts) {
    return select(cat(parts, 0), order, 0);
  };
  return {{joined(tokens), joined(weights), joined(totals)}, joined(unsure)};
}

}  // namespace hearth::models
