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

// What llama.cpp calls some of them besides. Its names may have dashes, too: "top-k".
struct StepAlias {
  std::string_view name;
  SamplingStep step;
};
constexpr StepAlias kStepAliases[] = {
    {"typ_p", SamplingStep::typical_p},   {"typ", SamplingStep::typical_p},
    {"typical", SamplingStep::typical_p}, {"nucleus", SamplingStep::top_p},
    {"temp", SamplingStep::temperature},
};

SamplingStep step_of(std::string_view word) {
  std::string underscored(word);
  std::replace(underscored.begin(), underscored.end(), '-', '_');
  const auto found = std::find(kStepNames.begin(), kStepNames.end(), underscored);
  if (found != kStepNames.end()) return static_cast<SamplingStep>(found - kStepNames.begin());
  for (const StepAlias& alias : kStepAliases) {
    if (alias.name == underscored) return alias.step;
  }
  std::string known;
  for (const std::string_view one : kStepNames) {
    known += (known.empty() ? "" : ", ") + std::string(one);
  }
  throw Error(ErrorCode::invalid_argument,
              "sampling: unknown step; got " + std::string(word) + ", expected " + known);
}

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
    steps.push_back(step_of(word));
  }
  return steps;
}

}  // namespace v0
}  // namespace hearth
