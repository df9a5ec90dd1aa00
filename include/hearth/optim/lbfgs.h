// L-BFGS: steps along a direction made of past gradients, for smooth losses of a whole data set.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "hearth/array.h"
#include "hearth/call_site.h"
#include "hearth/parameter.h"

namespace hearth {
inline namespace v0 {
namespace optim {

// Limited-memory BFGS (Nocedal and Wright 2006, 7.4 and 3.5), which asks for the loss anew as often
// as it needs. It reads a few numbers of each iteration, so it waits. All parameters are one
// vector, in f64 if one of them is, else f32.
//
//   optim::Lbfgs optimizer({.strong_wolfe = true});
//   optimizer.step(model, [&] { return model.loss(x, y); }, 1.0);
class HEARTH_API Lbfgs {
 public:
  struct Options {
    std::int64_t max_iterations = 20;  // of one step()
    std::int64_t max_evaluations = 0;  // of the loss in one step(); 0: 5/4 of max_iterations
    std::int64_t history = 100;        // past gradients kept
    double tolerance_gradient = 1e-7;  // ends where the largest element is no larger,
    double tolerance_change = 1e-9;    // or loss and parameters change by less
    bool strong_wolfe = false;         // line search; else steps of the learning rate
  };
  // Throws Error{invalid_argument} for numbers out of range.
  explicit Lbfgs(const Options& options);
  Lbfgs() : Lbfgs(Options()) {}

  // Minimises loss(), which computes from the parameters' present values, and returns its value
  // before. From a loss or a gradient that is not finite it goes nowhere. The parameters, those
  // with require_grad(), are the same in every step; they keep ids and flags. Throws
  // Error{invalid_argument} where there are none, Error{shape} for others than before, and what
  // loss() throws.
  double step(const std::vector<Parameter>& parameters, const std::function<Array()>& loss,
              double learning_rate, CallSite site = CallSite::here());
  template <class Module>
    requires(!std::is_same_v<std::remove_cvref_t<Module>, std::vector<Parameter>>)
  double step(Module& module, const auto& loss, double learning_rate,
              CallSite site = CallSite::here()) {
    return step(
        parameters(module),
        [&loss]() -> Array {
          if constexpr (requires { loss().array(); }) {
            return loss().array();
          } else {
            return loss();
          }
        },
        learning_rate, site);
  }

  std::int64_t iterations() const noexcept { return iterations_; }

  // What the next step begins with, for a checkpoint, and the inverse; throws
  // Error{invalid_argument} for state that is not whole.
  NamedArrays state_dict() const;
  void load_state_dict(const NamedArrays& state, CallSite site = CallSite::here());

 private:
  struct Pair {
    Array move;        // of the parameters
    Array difference;  // of the gradient
    double weight;     // 1 / (move . difference)
  };
  struct Point;
  class Problem;
  void remember(const Array& gradient);
  Array direction(const Array& gradient) const;
  Point search(const Problem& problem, const Point& from, const Array& along, double slope,
               double first, std::int64_t* evaluations) const;

  Options options_;
  std::vector<Pair> pairs_;
  Array direction_;       // of the last iteration
  Array gradient_;        // where it began
  double length_ = 0;     // how far it went along the direction
  double curvature_ = 1;  // (move . difference) / (difference . difference) of the last pair
  std::int64_t iterations_ = 0;
};

}  // namespace optim
}  // namespace v0
}  // namespace hearth
