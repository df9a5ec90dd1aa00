// What an array holds: a handle to its node and, where it is differentiated, its gradient record.
#pragma once

#include "hearth/array.h"

namespace hearth {

struct ArrayAccess {
  static Node* node(const Array& array) noexcept { return array.node_; }
  static GradRecord* grad(const Array& array) noexcept { return array.grad_; }
  static Array make(Node* node, GradRecord* grad) noexcept { return {node, grad}; }
};

// Null for an undefined array.
inline Node* node_of(const Array& array) noexcept { return ArrayAccess::node(array); }
// Null where no gradient is wanted.
inline GradRecord* grad_of(const Array& array) noexcept { return ArrayAccess::grad(array); }
// Takes over a handle to `node` and a reference to `grad`.
inline Array array_of(Node* node, GradRecord* grad) noexcept {
  return ArrayAccess::make(node, grad);
}

}  // namespace hearth
