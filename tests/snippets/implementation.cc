// What stands around a family's list: docs/adding-an-op.md. It is run through a selector, with
// tensor cores and without.
#include "graph/implementation.h"

#include "graph/selector.h"
#include "hearth/hearth.h"
#include "ops/definition/defs.h"

namespace hearth {
namespace snippet {
bool is_large(const Signature& signature) { return element_count(signature.output.shape) > 100; }
Prepared prepare_rows(const Signature&) { return {}; }
void launch_rows(const Launch&) {}
void launch_elements(const Launch&) {}

// SNIPPET
}  // namespace snippet

const char* chosen(bool has_tile_products, const Shape& shape) {
  runtime::DeviceTraits traits;
  traits.has_tile_products = has_tile_products;
  const Selector selector({.traits = traits, .families = {snippet::x_family()}});
  Signature signature;
  signature.op = &defs::rope_op;
  signature.inputs = {{DType::f32, shape, contiguous_strides(shape), false}};
  signature.output = signature.inputs[0];
  return selector.find(signature)->name;
}
}  // namespace hearth

int main() {
  using hearth::chosen;
  const bool is_right = chosen(true, {8, 64}) == std::string("rows") &&
                        chosen(true, {2, 8}) == std::string("elements") &&
                        chosen(false, {8, 64}) == std::string("elements");
  return is_right ? 0 : 1;
}
