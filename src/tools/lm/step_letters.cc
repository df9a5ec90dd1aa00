#include "tools/lm/step_letters.h"

#include <algorithm>
#include <iterator>

#include "core/quoted.h"
#include "hearth/error.h"

namespace hearth::tools {
namespace {

struct StepLetter {
  char letter;
  models::SamplingStep step;
};
constexpr StepLetter kStepLetters[] = {
#define SAMPLING_STEP(name, letter) {letter, models::SamplingStep::name},
#include "models/sampling/sampling_steps.def"
};

}  // namespace

std::string step_letters() {
  std::string known;
  for (const StepLetter& each : kStepLetters) {
    known += (known.empty() ? "" : ", ") + std::string(1, each.letter) + " " +
             std::string(models::name(each.step));
  }
  return known;
}

std::vector<models::SamplingStep> steps_of_letters(std::string_view letters) {
  std::vector<models::SamplingStep> steps;
  for (const char letter : letters) {
    const auto* found = std::find_if(std::begin(kStepLetters), std::end(kStepLetters),
                                     [&](const StepLetter& each) { return each.letter == letter; });
    if (found == std::end(kStepLetters)) {
      throw Error(ErrorCode::invalid_argument, "sampling: no letter of a step; got " +
                                                   hearth::quoted(letters, 40) + ", expected of " +
                                                   step_letters());
    }
    steps.push_back(found->step);
  }
  return steps;
}

}  // namespace hearth::tools
