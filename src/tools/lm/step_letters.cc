#include "tools/lm/step_letters.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "core/quoted.h"
#include "hearth/error.h"

namespace hearth::tools {
namespace {

struct StepLetter {
  char letter;
  models::SamplingStep step;
};
constexpr StepLetter kStepLetters[] = {
    {'e', models::SamplingStep::penalties},   {'d', models::SamplingStep::dry},
    {'s', models::SamplingStep::top_n_sigma}, {'k', models::SamplingStep::top_k},
    {'y', models::SamplingStep::typical_p},   {'p', models::SamplingStep::top_p},
    {'m', models::SamplingStep::min_p},       {'x', models::SamplingStep::xtc},
    {'t', models::SamplingStep::temperature}, {'a', models::SamplingStep::adaptive_p},
};

}  // namespace

std::vector<models::SamplingStep> steps_of_letters(std::string_view letters) {
  std::vector<models::SamplingStep> steps;
  for (const char letter : letters) {
    const auto* found = std::find_if(std::begin(kStepLetters), std::end(kStepLetters),
                                     [&](const StepLetter& each) { return each.letter == letter; });
    if (found == std::end(kStepLetters)) {
      std::string known;
      for (const StepLetter& each : kStepLetters) {
        known += (known.empty() ? "" : ", ") + std::string(1, each.letter) + " " +
                 std::string(models::name(each.step));
      }
      throw Error(ErrorCode::invalid_argument, "sampling: no letter of a step; got " +
                                                   hearth::quoted(letters, 40) + ", expected of " +
                                                   known);
    }
    steps.push_back(found->step);
  }
  return steps;
}

}  // namespace hearth::tools
