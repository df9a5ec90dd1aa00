// What stands around an op made of other ops in src/ops/: docs/adding-an-op.md.
#include <string>

#include "core/throw_as.h"
#include "hearth/hearth.h"

namespace hearth::snippet {
// SNIPPET
}  // namespace hearth::snippet

int main() {
  const hearth::Array y = hearth::snippet::softplus(hearth::zeros({2}));
  try {
    (void)hearth::snippet::softplus(hearth::Array());
  } catch (const hearth::Error& error) {
    return std::string(error.what()).starts_with("softplus: ") && y.size() == 2 ? 0 : 1;
  }
  return 1;
}
