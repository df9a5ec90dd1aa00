// Reverse-mode differentiation.
//
//   Array w = Array::from_data(values, {3}).require_grad();
//   Gradients gradients = backward(sum(square(w)));
//   Array dw = gradients.get(w);
//
// Gradients are ordinary lazy arrays. Only float arrays are differentiated.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hearth/array.h"
#include "hearth/call_site.h"

namespace hearth {
inline namespace v0 {

// The gradients of one scalar with respect to the leaves it depends on. A plain value; not to be
// changed by two threads at once.
class HEARTH_API Gradients {
 public:
  // The gradient of a leaf made by require_grad(), of the leaf's shape and dtype; undefined where
  // the loss does not depend on it.
  Array get(const Array& leaf) const;
  Array get(std::uint64_t leaf_id) const;
  bool has(const Array& leaf) const { return get(leaf).defined(); }
  // The same, but throws Error{invalid_argument} with the reason, and the caller's line, where
  // there is none.
  Array at(const Array& leaf, CallSite site = CallSite::here()) const;
  template <class Typed>
    requires requires(const Typed& leaf) { Typed(leaf.array()); }
  Typed at(const Typed& leaf, CallSite site = CallSite::here()) const {
    return Typed(at(leaf.array(), site));
  }
  // As get(), and removes it.
  Array take(const Array& leaf);
  // Puts a gradient in the place of what is there. Error{invalid_argument} for an array that
  // require_grad() did not make.
  void set(std::uint64_t leaf_id, Array gradient);
  void set(const Array& leaf, Array gradient);

  std::size_t size() const noexcept { return by_id_.size(); }
  auto begin() const noexcept { return by_id_.begin(); }
  auto end() const noexcept { return by_id_.end(); }

 private:
  std::unordered_map<std::uint64_t, Array> by_id_;
};

// The stable id of an array made by require_grad(), by which Gradients are keyed; 0 for others.
HEARTH_API std::uint64_t gradient_id(const Array& array) noexcept;
// Whether a leaf is referred to by more than `leaf`, its handle: by another handle, or by what was
// recorded from it.
HEARTH_API bool is_shared_leaf(const Array& leaf) noexcept;

struct BackwardOptions {
  bool retain = false;        // keeps what the rules read, so that backward() may come again
  bool create_graph = false;  // gradients can be differentiated themselves; implies `retain`
};
// Differentiates `loss`, which has one element and a float dtype, with respect to all leaves.
//
// The values saved for the rules are released on the way, so a second backward through the same
// ops throws Error{invalid_argument}, unless the first kept them. Throws Error{shape} if the loss
// has not exactly one element and Error{invalid_argument} if it depends on no leaf.
HEARTH_API Gradients backward(const Array& loss, const BackwardOptions& options = {});

using Function = std::function<Array(const Array&)>;
using FunctionOfMany = std::function<Array(std::span<const Array>)>;

// The gradient function of f, whose result has one element. Nests: grad(grad(f)) is the second
// derivative of a function of one element. Zeros where f does not depend on its argument.
HEARTH_API Function grad(Function f);
// x -> {f(x), gradient of f at x}.
HEARTH_API std::function<std::pair<Array, Array>(const Array&)> value_and_grad(Function f);
// The same for functions of several arrays: one gradient for each argument.
HEARTH_API std::function<std::vector<Array>(std::span<const Array>)> grad(FunctionOfMany f);
HEARTH_API std::function<std::pair<Array, std::vector<Array>>(std::span<const Array>)>
value_and_grad(FunctionOfMany f);

// The gradients of f's arguments where that of its result is `grad`, which has the result's shape
// and dtype: rules one by one, without a loss. Of the values of f only those run that a rule reads.
// Zeros where f does not depend on an argument; arrays that f captures get none.
HEARTH_API std::vector<Array> vjp(const FunctionOfMany& f, std::span<const Array> x,
                                  const Array& grad);
HEARTH_API Array vjp(const Function& f, const Array& x, const Array& grad);

// f, but the values inside f are not kept until backward: it computes them again from f's
// arguments. f must compute the same every time it is called; leaves that f captures get their
// gradients too. Random ops of the calling thread's generator draw the same numbers in both runs.
HEARTH_API FunctionOfMany checkpoint(FunctionOfMany f);

}  // namespace v0
}  // namespace hearth
