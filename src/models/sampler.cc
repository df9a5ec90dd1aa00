#include "models/sampler.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/number_text.h"
#include "core/philox.h"

namespace hearth::models {

Sampler::Sampler(const SamplerOptions& options) : options_(options) {
  const auto fail = [](const std::string& what) {
    throw Error(ErrorCode::invalid_argument, "sampler: " + what);
  };
  if (!(options.temperature >= 0) || !std::isfinite(options.temperature)) {
    fail("temperature out of range; got " + number_text(options.temperature) + ", expected >= 0");
  }
  if (options.top_k < 0) {
    fail("top_k out of range; got " + std::to_string(options.top_k) + ", expected >= 0");
  }
  if (!(options.top_p > 0 && options.top_p <= 1)) {
    fail("top_p out of range; got " + number_text(options.top_p) + ", expected (0, 1]");
  }
}

std::int64_t Sampler::sample(std::span<const float> logits) {
  candidates_.clear();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (!std::isnan(logits[i])) {
      candidates_.push_back({static_cast<std::int64_t>(i), static_cast<double>(logits[i])});
    }
  }
  if (candidates_.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "sampler: nothing to draw from; got " + std::to_string(logits.size()) +
                    " scores that are no numbers, expected at least one number");
  }
  const std::uint64_t draw = draws_++;
  std::sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.token < b.token;
  });
  const double highest = candidates_.front().weight;
  if (options_.temperature == 0 || std::isinf(highest)) return candidates_.front().token;
  if (options_.top_k > 0 && static_cast<std::size_t>(options_.top_k) < candidates_.size()) {
    candidates_.resize(static_cast<std::size_t>(options_.top_k));
  }
  double total = 0;
  for (Candidate& candidate : candidates_) {
    candidate.weight = std::exp((candidate.weight - highest) / options_.temperature);
    total += candidate.weight;
  }
  if (options_.top_p < 1) {
    double kept = 0;
    std::size_t count = 0;
    while (count < candidates_.size() && kept < options_.top_p * total) {
      kept += candidates_[count++].weight;
    }
    candidates_.resize(count);
    total = kept;
  }
  const PhiloxBlock words = philox(options_.seed, 0, draw);
  double left = philox_unit(philox_pair(words[0], words[1])) * total;
  for (const Candidate& candidate : candidates_) {
    left -= candidate.weight;
    if (left < 0) return candidate.token;
  }
  return candidates_.back().token;
}

}  // namespace hearth::models
