// What the steps of sampling keep, by their definitions, in f64.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "models/sampling/sampling_options.h"

namespace hearth::testing {

// The scores of one row; -infinity: dropped. `margin` is how close any comparison came to going the
// other way: below a rounding error either outcome is right.
struct ReferenceRow {
  std::vector<double> scores;
  double margin = std::numeric_limits<double>::infinity();
  double relative_error = 1e-5;  // to allow of scores

  explicit ReferenceRow(std::span<const float> row) : scores(row.begin(), row.end()) {}

  static constexpr double kDropped = -std::numeric_limits<double>::infinity();
  bool kept(std::size_t token) const { return scores[token] != kDropped; }
  void compare(double a, double b) { margin = std::min(margin, std::abs(a - b)); }

  // Kept tokens from the likeliest on.
  std::vector<std::size_t> order() const {
    std::vector<std::size_t> tokens;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (kept(i)) tokens.push_back(i);
    }
    std::sort(tokens.begin(), tokens.end(), [&](std::size_t a, std::size_t b) {
      return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
    });
    return tokens;
  }
  double highest() const { return *std::max_element(scores.begin(), scores.end()); }
  std::vector<double> probabilities() const {
    std::vector<double> p;
    for (const double score : scores) p.push_back(std::exp(score - highest()));
    const double total = std::accumulate(p.begin(), p.end(), 0.0);
    for (double& one : p) one /= total;
    return p;
  }
  void keep_only(const std::vector<std::size_t>& tokens) {
    std::vector<double> left(scores.size(), kDropped);
    for (const std::size_t token : tokens) left[token] = scores[token];
    scores = left;
  }

  void top_k(std::int64_t k) {
    auto tokens = order();
    tokens.resize(std::min(tokens.size(), static_cast<std::size_t>(k)));
    keep_only(tokens);
  }
  void top_p(double share) {
    const auto p = probabilities();
    std::vector<std::size_t> stay;
    double before = 0;
    for (const std::size_t token : order()) {
      if (share < 1) compare(before, share);
      if (before < share || share == 1 || stay.empty()) stay.push_back(token);
      before += p[token];
    }
    keep_only(stay);
  }
  void min_p(double least) {
    const double limit = highest() + std::log(least);
    for (double& score : scores) {
      if (score != kDropped) compare(score, limit);
      if (score < limit) score = kDropped;
    }
  }
  void top_n_sigma(double n) {
    const auto tokens = order();
    const auto count = static_cast<double>(tokens.size());
    double mean = 0, squares = 0;
    for (const std::size_t token : tokens) mean += scores[token] / count;
    for (const std::size_t token : tokens) squares += std::pow(scores[token] - mean, 2) / count;
    const double limit = highest() - n * std::sqrt(squares);
    for (double& score : scores) {
      if (score != kDropped && limit != highest()) compare(score, limit);
      if (score < limit) score = kDropped;
    }
  }
  double entropy() const {
    double sum = 0;
    for (const double p : probabilities()) sum -= p > 0 ? p * std::log(p) : 0;
    return sum;
  }
  void typical_p(double share) {
    const auto p = probabilities();
    const double expected = entropy();
    auto tokens = order();
    const auto distance = [&](std::size_t token) {
      return std::abs(-std::log(p[token]) - expected);
    };
    // Of equally distant ones the likelier first.
    std::sort(tokens.begin(), tokens.end(), [&](std::size_t a, std::size_t b) {
      if (distance(a) != distance(b)) return distance(a) < distance(b);
      return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
    });
    std::vector<std::size_t> stay;
    double before = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      compare(before, share);
      if (i > 0 && scores[tokens[i]] != scores[tokens[i - 1]]) {
        compare(distance(tokens[i]), distance(tokens[i - 1]));
      }
      if (before <= share) stay.push_back(tokens[i]);
      before += p[tokens[i]];
    }
    keep_only(stay);
  }
  void xtc(double threshold) {
    const auto p = probabilities();
    std::size_t last = scores.size();
    const auto tokens = order();
    for (const std::size_t token : tokens) {
      compare(p[token], threshold);
      if (p[token] >= threshold) last = token;
    }
    for (const std::size_t token : tokens) {
      if (p[token] >= threshold && token != last) scores[token] = kDropped;
    }
  }
  void temperature(double value) {
    for (double& score : scores) score = score == kDropped ? kDropped : score / value;
  }
  void entropy_temperature(const models::SamplingOptions& options) {
    const auto count = static_cast<double>(order().size());
    if (count < 2) return;
    const double lowest = std::max(0.0, options.temperature - options.temperature_range);
    const double highest = options.temperature + options.temperature_range;
    const double ratio = entropy() / std::log(count);
    relative_error += 2e-6 * options.temperature_exponent / (entropy() + 1e-12);
    temperature(lowest + (highest - lowest) * std::pow(ratio, options.temperature_exponent));
  }
  void mirostat(models::Mirostat version, double mu) {
    const auto p = probabilities();
    const auto tokens = order();
    if (version == models::Mirostat::second) {
      std::vector<std::size_t> stay;
      for (const std::size_t token : tokens) {
        compare(-std::log2(p[token]), mu);
        if (stay.empty() || -std::log2(p[token]) <= mu) stay.push_back(token);
      }
      keep_only(stay);
      return;
    }
    double products = 0, squares = 0;
    for (std::size_t i = 0; i + 1 < std::min<std::size_t>(100, tokens.size()); ++i) {
      const double step = std::log((static_cast<double>(i) + 2) / (static_cast<double>(i) + 1));
      products += step * std::log(p[tokens[i]] / p[tokens[i + 1]]);
      squares += step * step;
    }
    const double s = products / squares, epsilon = s - 1;
    const double k = std::pow(
        epsilon * std::exp2(mu) / (1 - std::pow(static_cast<double>(scores.size()), -epsilon)),
        1 / s);
    // Comparisons of k are relative.
    const double next = std::max(1.0, std::floor(k));
    compare(k / next, 1);
    compare(k / (next + 1), 1);
    top_k(std::max<std::int64_t>(1, k < 1e6 ? static_cast<std::int64_t>(k) : 1'000'000));
  }

  void adaptive_p(double target) {
    const auto p = probabilities();
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const double distance = std::abs(p[i] - target) / 0.3;
      if (kept(i)) scores[i] = -10 * distance * distance / (1 + distance);
    }
  }

  void step(models::SamplingStep step, const models::SamplingOptions& options) {
    switch (step) {
      case models::SamplingStep::top_n_sigma:
        if (options.top_n_sigma > 0) top_n_sigma(options.top_n_sigma);
        break;
      case models::SamplingStep::top_k:
        if (options.top_k > 0) top_k(options.top_k);
        break;
      case models::SamplingStep::typical_p:
        if (options.typical_p < 1) typical_p(options.typical_p);
        break;
      case models::SamplingStep::top_p:
        top_p(options.top_p);
        break;
      case models::SamplingStep::min_p:
        if (options.min_p > 0) min_p(options.min_p);
        break;
      case models::SamplingStep::xtc:
        if (options.xtc_probability == 1) xtc(options.xtc_threshold);
        break;
      case models::SamplingStep::temperature:
        if (options.temperature_range > 0) {
          entropy_temperature(options);
        } else if (options.temperature == 0) {
          top_k(1);
        } else {
          temperature(options.temperature);
        }
        break;
      default:
        break;
    }
  }
};

}  // namespace hearth::testing
