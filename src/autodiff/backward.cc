#include "autodiff/walk.h"
#include "hearth/ops.h"

namespace hearth {
inline namespace v0 {

Array Gradients::get(std::uint64_t leaf_id) const {
  const auto found = by_id_.find(leaf_id);
  return found == by_id_.end() ? Array() : found->second;
}

Array Gradients::get(const Array& leaf) const { return get(gradient_id(leaf)); }

Array Gradients::at(const Array& leaf, CallSite site) const {
  return located(site, [&] {
    Array gradient = get(leaf);
    if (gradient.defined()) return gradient;
    throw Error(
        ErrorCode::invalid_argument,
        gradient_id(leaf) == 0
            ? "at: not a leaf; got an array that require_grad() did not make, expected "
              "one that it did: mark a leaf by w = w.require_grad(), update it by w.assign(v)"
            : "at: no gradient of this leaf; got a loss that does not depend on it, or a gradient "
              "that was taken, expected one that get() finds");
  });
}

Array Gradients::take(const Array& leaf) {
  const auto found = by_id_.find(gradient_id(leaf));
  if (found == by_id_.end()) return Array();
  Array gradient = std::move(found->second);
  by_id_.erase(found);
  return gradient;
}

void Gradients::set(std::uint64_t leaf_id, Array gradient) {
  by_id_[leaf_id] = std::move(gradient);
}

void Gradients::set(const Array& leaf, Array gradient) {
  const std::uint64_t id = gradient_id(leaf);
  if (id == 0) {
    throw Error(ErrorCode::invalid_argument,
                "set: not a leaf; got an array without an id, expected one of require_grad()");
  }
  set(id, std::move(gradient));
}

std::uint64_t gradient_id(const Array& array) noexcept {
  return grad_of(array) != nullptr && grad_of(array)->op == nullptr ? grad_of(array)->leaf_id : 0;
}

bool is_shared_leaf(const Array& leaf) noexcept {
  return gradient_id(leaf) != 0 && grad_of(leaf)->references.load(std::memory_order_acquire) > 1;
}

Gradients backward(const Array& loss, const BackwardOptions& options) {
  check_loss("backward", loss);
  if (grad_of(loss) == nullptr) {
    throw Error(ErrorCode::invalid_argument,
                "backward: nothing to differentiate; got a loss that depends on no leaf, expected "
                "one that was computed from what require_grad gave: mark a leaf before it is used, "
                "and assign to it for a new value; a gradient depends on leaves where backward had "
                "to create a graph");
  }
  Gradients gradients;
  Walk walk({.retain = options.retain, .create_graph = options.create_graph});
  walk.run(loss, ones_like(loss), gradients);
  return gradients;
}

}  // namespace v0
}  // namespace hearth
