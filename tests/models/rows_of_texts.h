// Texts that share the caches of one model and run side by side in pieces, and what the scores of
// their rows are.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "hearth/ops.h"
#include "models/language/model/sequences.h"

namespace hearth::testing {

// `count` tokens below `vocabulary`.
inline std::vector<std::int32_t> random_tokens(std::int64_t count, std::int64_t vocabulary,
                                               std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::int32_t> tokens;
  for (std::int64_t i = 0; i < count; ++i) {
    tokens.push_back(static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(vocabulary)));
  }
  return tokens;
}

// Of values that are not the same bits, NaNs being the same.
inline std::size_t different(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size()) return a.size() + b.size() + 1;
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool is_same = a[i] == b[i] ? std::signbit(a[i]) == std::signbit(b[i])
                                      : std::isnan(a[i]) && std::isnan(b[i]);
    count += is_same ? 0 : 1;
  }
  return count;
}

class RowsOfTexts {
 public:
  using Tokens = std::vector<std::int32_t>;

  RowsOfTexts(const models::LanguageModel& model, const models::CacheOptions& options)
      : model_(model), sequences_(model, options) {}

  // The number of a text that begins with what is known of `tokens`.
  std::size_t begin(Tokens tokens) {
    texts_.push_back({sequences_.begin(tokens), std::move(tokens), {}});
    return texts_.size() - 1;
  }
  // Runs the next counts[i] rows of text i, of as many as it has left.
  void step(const std::vector<std::int64_t>& counts) {
    std::vector<models::SequenceRows> rows;
    std::vector<Text*> who;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const std::int64_t count = std::min(counts[i], left(i));
      if (count <= 0) continue;
      Text& text = texts_[i];
      rows.push_back({&text.sequence,
                      std::span(text.tokens)
                          .subspan(static_cast<std::size_t>(text.sequence.length),
                                   static_cast<std::size_t>(count)),
                      count});
      who.push_back(&text);
    }
    if (rows.empty()) return;
    const auto all = cast(sequences_.step(rows), DType::f32).to_vector<float>();
    auto from = all.begin();
    for (std::size_t i = 0; i < who.size(); ++i) {
      const auto end = from + rows[i].outputs * model_.vocabulary();
      who[i]->scores.insert(who[i]->scores.end(), from, end);
      from = end;
    }
  }
  // The text alone, in pieces of so many rows.
  void run(std::size_t text, std::int64_t piece) {
    std::vector<std::int64_t> counts(texts_.size(), 0);
    counts[text] = piece;
    while (left(text) > 0) step(counts);
  }
  // All that have rows left, at random, up to `most` rows of each in a step.
  void run_all(std::int64_t most, std::uint32_t seed) {
    std::mt19937 random(seed);
    for (bool is_done = false; !is_done;) {
      is_done = true;
      std::vector<std::int64_t> counts;
      for (std::size_t i = 0; i < texts_.size(); ++i) {
        const auto count =
            1 + static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(most));
        counts.push_back(random() % 4 == 0 ? 0 : count);
        is_done = is_done && left(i) == 0;
      }
      step(counts);
    }
  }
  // Goes back to row `length` and on with `tokens`; the row that it came back to.
  std::int64_t go_on(std::size_t text, std::int64_t length, const Tokens& tokens) {
    Text& own = texts_[text];
    const std::int64_t before = own.sequence.length;
    const std::int64_t rows = sequences_.truncate(own.sequence, length);
    own.tokens.resize(static_cast<std::size_t>(rows));
    own.tokens.insert(own.tokens.end(), tokens.begin(), tokens.end());
    own.scores.resize(own.scores.size() -
                      static_cast<std::size_t>((before - rows) * model_.vocabulary()));
    return rows;
  }
  // Numbers of other texts stay.
  void end(std::size_t text) {
    sequences_.end(texts_[text].sequence);
    texts_[text].tokens.clear();
  }

  std::int64_t length(std::size_t text) const { return texts_[text].sequence.length; }
  const Tokens& tokens(std::size_t text) const { return texts_[text].tokens; }
  // Of the rows that ran, one behind the other.
  const std::vector<float>& scores(std::size_t text) const { return texts_[text].scores; }
  models::Sequences& sequences() { return sequences_; }

 private:
  struct Text {
    models::Sequence sequence;
    Tokens tokens;
    std::vector<float> scores;
  };

  std::int64_t left(std::size_t text) const {
    return static_cast<std::int64_t>(texts_[text].tokens.size()) - texts_[text].sequence.length;
  }

  const models::LanguageModel& model_;
  models::Sequences sequences_;
  std::vector<Text> texts_;
};

}  // namespace hearth::testing
