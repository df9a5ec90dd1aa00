#include <algorithm>
#include <array>
#include <string>

#include "hearth/models/sampling.h"

namespace hearth {
inline namespace v0 {
namespace {

constexpr std::array<std::string_view, 10> kStepNames = {
    "penalties", "dry",   "top_n_sigma", "top_k",       "typical_p",
    "top_p",     "min_p", "xtc",         "temperature", "adaptive_p"};

}  // namespace

std::string_view name(SamplingStep step) noexcept {
  return kStepNames[static_cast<std::size_t>(step)];
}

std::vector<SamplingStep> default_sampling_steps() {
  using enum SamplingStep;
  return {penalties, dry,   top_n_sigma, top_k,       typical_p,
          top_p,     min_p, xtc,         temperature, adaptive_p};
}

std::vector<SamplingStep> sampling_steps_from(std::string_view names) {
  std::vector<SamplingStep> steps;
  while (!names.empty()) {
    const std::size_t end = std::min(names.find_first_of(";,"), names.size());
    const std::string_view word = names.substr(0, end);
    names.remove_prefix(std::min(end + 1, names.size()));
    const auto found = std::find(kStepNames.begin(), kStepNames.end(), word);
    if (found == kStepNames.end()) {
      std::string known;
      for (const std::string_view one : kStepNames) {
        known += (known.empty() ? "" : ", ") + std::string(one);
      }
      throw Error(ErrorCode::invalid_argument,
                  "sampling: unknown step; got " + std::string(word) + ", expected " + known);
    }
    steps.push_back(static_cast<SamplingStep>(found - kStepNames.begin()));
  }
  return steps;
}

}  // namespace v0
}  // namespace hearth
