#include <algorithm>
#include <array>
#include <string>

#include "hearth/models/sampling.h"

namespace hearth {
inline namespace v0 {
namespace {

constexpr std::array kSteps = {
#define SAMPLING_STEP(name, letter) SamplingStep::name,
#include "models/sampling/sampling_steps.def"
};

constexpr bool are_steps_in_order() {
  for (std::size_t i = 0; i < kSteps.size(); ++i) {
    if (kSteps[i] != static_cast<SamplingStep>(i)) return false;
  }
  return kSteps.back() == SamplingStep::adaptive_p;  // the last of the enum
}
static_assert(are_steps_in_order(), "sampling_steps.def has the steps of the enum, in its order");

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
  for (const SamplingStep step : kSteps) {
    if (name(step) == underscored) return step;
  }
  for (const StepAlias& alias : kStepAliases) {
    if (alias.name == underscored) return alias.step;
  }
  std::string known;
  for (const SamplingStep step : kSteps) {
    known += (known.empty() ? "" : ", ") + std::string(name(step));
  }
  throw Error(ErrorCode::invalid_argument,
              "sampling: unknown step; got " + std::string(word) + ", expected " + known);
}

}  // namespace

std::string_view name(SamplingStep step) noexcept {
  switch (step) {  // without a default, so that compilers tell of steps that the table lacks
#define SAMPLING_STEP(name, letter) \
  case SamplingStep::name:          \
    return #name;
#include "models/sampling/sampling_steps.def"
  }
  return {};
}

std::vector<SamplingStep> default_sampling_steps() { return {kSteps.begin(), kSteps.end()}; }

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
