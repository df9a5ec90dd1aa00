// What stands around an elementwise op of two inputs in src/ops/elementwise/arithmetic.cc:
// docs/adding-an-op.md. The gradient and the kernel are for the op's tests to check; here it is
// recorded.
#include "hearth/hearth.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace snippet {
extern const OpDef logaddexp_op;
Array binary(const OpDef& op, const Array& a, const Array& b) {
  const Array* const inputs[] = {&a, &b};
  return record(op, inputs, kNoParams);
}
}  // namespace snippet
namespace defs {
using snippet::logaddexp_op;
}

namespace snippet {
// SNIPPET
}  // namespace snippet
}  // namespace hearth

int main() {
  using hearth::zeros;
  const hearth::Array z = hearth::snippet::logaddexp(zeros({2, 3}), zeros({3}));
  return z.shape() == hearth::Shape{2, 3} ? 0 : 1;
}
