// What ops that are products keep for their gradients.
#pragma once

#include <cstdint>

#include "graph/op_def.h"

namespace hearth {

// OpDef::saves_for of products of inputs 0 and 1: each factor is kept for the other's gradient
// only, `always` for any.
template <Saves always = Saves::none>
Saves saves_of_product(std::uint32_t needs, ParamReader) {
  return always | ((needs & 1u) != 0 ? Saves::input1 : Saves::none) |
         ((needs & 2u) != 0 ? Saves::input0 : Saves::none);
}

}  // namespace hearth
