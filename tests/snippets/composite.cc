// What stands around an op made of other ops in src/ops/: docs/adding-an-op.md.
#include <string>

#include "core/throw_as.h"
#include "hearth/hearth.h"

namespace hearth::snippet {
// SNIPPET
}  // namespace hearth::snippet

int main() {
  const hearth::Array y = hearth::snippet::logit(hearth::full({2}, 0.5));
  try {
    (void)hearth::snippet::logit(hearth::Array());
  } catch (const hearth::Error& error) {
    return std::string(error.what()).starts_with("logit: ") && y.size() == 2 ? 0 : 1;
  }
  return 1;
}
