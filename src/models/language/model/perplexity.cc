#include "models/language/model/perplexity.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "core/counted.h"
#include "hearth/error.h"
#include "hearth/ops.h"
#include "models/language/model/sequences.h"
#include "models/language/windows.h"

namespace hearth::models {
namespace {

constexpr std::int64_t kLeastContext = 4;
constexpr std::int64_t kPieceRows = 512;  // rows of a pass
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

}  // namespace

std::int64_t scored_tokens(std::int64_t context) { return context - context / 2 - 1; }

TokenChunks chunks_of(std::span<const std::int32_t> tokens, std::int64_t context, std::int64_t most,
                      std::int32_t bos) {
  if (context < kLeastContext) {
    throw Error(ErrorCode::invalid_argument,
                "perplexity: chunks are too short; got " + counted(context, "token") +
                    ", expected at least " + std::to_string(kLeastContext));
  }
  const auto length = static_cast<std::int64_t>(tokens.size());
  if (length < context) {
    throw Error(ErrorCode::invalid_argument, "perplexity: a text shorter than a chunk; got " +
                                                 counted(length, "token") + ", expected at least " +
                                                 std::to_string(context));
  }
  std::int64_t count = length / context;
  if (most > 0) count = std::min(count, most);
  TokenChunks chunks;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto chunk =
        tokens.subspan(static_cast<std::size_t>(i * context), static_cast<std::size_t>(context));
    chunks.emplace_back(chunk.begin(), chunk.end());
    if (bos != -1) chunks.back().front() = bos;
  }
  return chunks;
}

void score_chunks(
    const LanguageModel& model, const TokenChunks& chunks, CacheType keys, CacheType values,
    const std::function<void(const Array& scores, std::span<const std::int32_t> tokens)>& take) {
  const NoGrad no_grad;
  if (chunks.empty()) return;
  const auto context = static_cast<std::int64_t>(chunks.front().size());
  const std::int64_t pages = pages_of(context);
  const std::int64_t of_windows = window_pages_of_text(model.config, kPieceRows, kPageRows);
  Sequences sequences(model, {.pages = pages,
                              .window_pages = std::min(pages, of_windows),
                              .states = 1,
                              .keys = keys,
                              .values = values});
  for (const std::vector<std::int32_t>& chunk : chunks) {
    Sequence sequence = sequences.begin();
    // Row i foresees token i + 1.
    const auto size = static_cast<std::int64_t>(chunk.size());
    const std::int64_t first = size - 1 - scored_tokens(size);
    for (std::int64_t begin = 0; begin < size; begin += kPieceRows) {
      const std::int64_t end = std::min(begin + kPieceRows, size);
      const std::int64_t from = std::max(begin, first), to = std::min(end, size - 1);
      const auto of_chunk = [&](std::int64_t a, std::int64_t b) {
        return std::span(chunk).subspan(static_cast<std::size_t>(a),
                                        static_cast<std::size_t>(b - a));
      };
      const SequenceRows rows{&sequence, of_chunk(begin, end),
                              std::max<std::int64_t>(end - from, 0)};
      const Array scores = sequences.step({&rows, 1});
      if (from >= to) {
        scores.eval();
        continue;
      }
      take(log_softmax(cast(narrow(scores, 0, 0, to - from), DType::f32), 1),
           of_chunk(from + 1, to + 1));
    }
    sequences.end(sequence);
  }
}

void Perplexity::add(const Array& scores, std::span<const std::int32_t> tokens) {
  const Array at =
      Array::from_data(tokens, {static_cast<std::int64_t>(tokens.size()), 1}, scores.device());
  for (const double value : gather(scores, at, 1).to_doubles()) {
    ++count_;
    sum_ -= value;
    squares_ += value * value;
  }
}

double Perplexity::value() const {
  return count_ == 0 ? kNone : std::exp(sum_ / static_cast<double>(count_));
}

double Perplexity::error() const {
  if (count_ < 2) return kNone;
  const auto count = static_cast<double>(count_);
  const double mean = sum_ / count, variance = squares_ / count - mean * mean;
  return value() * std::sqrt(std::max(variance, 0.0) / (count - 1));
}

void Divergence::add(const Array& base, const Array& scores) {
  // What the base holds for impossible adds nothing, however the model sees it.
  const Array p = exp(base);
  const Array terms = where(greater(p, 0.0), p * (base - scores), 0.0);
  const std::vector<double> values = sum(terms, {1}).to_doubles();
  values_.insert(values_.end(), values.begin(), values.end());
  for (const double same :
       cast(equal(argmax(base, 1), argmax(scores, 1)), DType::f32).to_doubles()) {
    if (same != 0) ++same_;
  }
}

double Divergence::mean() const {
  if (values_.empty()) return kNone;
  return std::accumulate(values_.begin(), values_.end(), 0.0) / static_cast<double>(places());
}

double Divergence::largest() const { return quantile(1); }

double Divergence::quantile(double share) const {
  if (values_.empty()) return kNone;
  std::vector<double> sorted = values_;
  const double place = std::ceil(share * static_cast<double>(places())) - 1;
  const auto at = std::clamp<std::int64_t>(static_cast<std::int64_t>(place), 0, places() - 1);
  std::nth_element(sorted.begin(), sorted.begin() + at, sorted.end());
  return sorted[static_cast<std::size_t>(at)];
}

double Divergence::same_best() const {
  if (values_.empty()) return kNone;
  return static_cast<double>(same_) / static_cast<double>(places());
}

}  // namespace hearth::models
