#include "models/sampling/dry_penalty.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hearth::models {
namespace {

// Of each place from the end, how many tokens that end there are those that all end with: entry i
// is about the text without its last i tokens. The Z function of the reversed text.
std::vector<std::size_t> common_ends(std::span<const std::int32_t> tokens) {
  const std::size_t count = tokens.size();
  const auto at = [&](std::size_t from_end) { return tokens[count - 1 - from_end]; };
  std::vector<std::size_t> lengths(count);
  std::size_t left = 0, right = 0;  // the match that reaches farthest
  for (std::size_t i = 1; i < count; ++i) {
    std::size_t length = i < right ? std::min(right - i, lengths[i - left]) : 0;
    while (i + length < count && at(length) == at(i + length)) ++length;
    lengths[i] = length;
    if (i + length > right) {
      left = i;
      right = i + length;
    }
  }
  return lengths;
}

}  // namespace

DryBreakers::DryBreakers(std::span<const std::vector<std::int32_t>> sequences) {
  for (const auto& sequence : sequences) {
    if (!sequence.empty()) by_last_[sequence.back()].push_back(sequence);
  }
}

std::size_t DryBreakers::unbroken(std::span<const std::int32_t> tokens) const {
  if (by_last_.empty()) return tokens.size();
  for (std::size_t after = 0; after < tokens.size(); ++after) {
    const std::span<const std::int32_t> before = tokens.first(tokens.size() - after);
    const auto found = by_last_.find(before.back());
    if (found == by_last_.end()) continue;
    for (const auto& sequence : found->second) {
      if (sequence.size() <= before.size() &&
          std::equal(sequence.begin(), sequence.end(), before.end() - std::ssize(sequence))) {
        return after;
      }
    }
  }
  return tokens.size();
}

std::map<std::int32_t, double> dry_penalties(std::span<const std::int32_t> tokens,
                                             const SamplingOptions& options,
                                             const DryBreakers& breakers) {
  std::map<std::int32_t, double> penalties;
  const auto allowed = static_cast<std::size_t>(options.dry_allowed_length);
  const std::size_t longest = breakers.unbroken(tokens);
  if (options.dry_multiplier == 0 || longest < allowed || tokens.size() <= allowed) {
    return penalties;
  }
  std::map<std::int32_t, std::size_t> lengths;
  const std::vector<std::size_t> ends = common_ends(tokens);
  for (std::size_t i = 1; i < ends.size(); ++i) {
    const std::size_t length = std::min(ends[i], longest);
    if (length < allowed) continue;
    std::size_t& known = lengths[tokens[tokens.size() - i]];  // the token that followed
    known = std::max(known, length);
  }
  // Larger powers would be infinite as floats.
  const double most = options.dry_base > 1
                          ? std::log(static_cast<double>(std::numeric_limits<float>::max())) /
                                std::log(options.dry_base)
                          : std::numeric_limits<double>::infinity();
  for (const auto& [token, length] : lengths) {
    const double exponent = std::min(static_cast<double>(length - allowed), std::floor(most));
    penalties[token] = std::min(options.dry_multiplier * std::pow(options.dry_base, exponent),
                                static_cast<double>(std::numeric_limits<float>::max()));
  }
  return penalties;
}

std::vector<std::vector<std::int32_t>> dry_breakers_of(const Tokenizer& tokenizer,
                                                       std::span<const std::string> texts) {
  std::vector<std::vector<std::int32_t>> breakers;
  for (const std::string& text : texts) {
    if (text.empty()) continue;
    for (std::size_t id = 0; id < tokenizer.size(); ++id) {
      const auto token = static_cast<std::int32_t>(id);
      const std::string_view bytes = tokenizer.bytes(token);
      if (bytes.find(text) != std::string_view::npos) {
        breakers.push_back({token});
        continue;
      }
      for (std::size_t size = std::min(bytes.size(), text.size() - 1); size > 0; --size) {
        if (!bytes.ends_with(std::string_view(text).substr(0, size))) continue;
        std::vector<std::int32_t> breaker = {token};
        const auto rest = tokenizer.encode(text.substr(size), {.add_special = false});
        breaker.insert(breaker.end(), rest.begin(), rest.end());
        breakers.push_back(std::move(breaker));
      }
    }
  }
  return breakers;
}

std::vector<std::string> default_dry_breakers() { return {"\n", ":", "\"", "*"}; }

}  // namespace hearth::models
