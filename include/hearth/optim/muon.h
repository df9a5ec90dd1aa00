// Muon: momentum made orthogonal. Rules for all optimizers: hearth/optim.h.
#pragma once

#include <array>
#include <cstdint>

#include "hearth/optim/optimizer.h"

namespace hearth {
inline namespace v0 {
namespace optim {

// Muon (Jordan et al. 2024), for matrices only: m = momentum * m + g; u = g + momentum * m where
// `nesterov`, else m; w *= 1 - learning_rate * weight_decay; w -= learning_rate * r * o(u). o(u)
// is about the orthogonal matrix nearest to u: `iterations` times x = a x + (b A + c A^2) x with
// A = x x^T, from x = u / |u|. Computed in f32, where PyTorch has bf16.
class HEARTH_API Muon : public Optimizer {
 public:
  enum class Rate : std::uint8_t {
    original,         // r = sqrt(max(1, rows / columns))
    match_rms_adamw,  // r = 0.2 * sqrt(max(rows, columns)): steps of the size of AdamW's
  };
  struct Options {
    double momentum = 0.95;
    bool nesterov = true;
    double weight_decay = 0;  // Burn's; PyTorch's is 0.1
    std::int64_t iterations = 5;
    std::array<double, 3> coefficients = {3.4445, -4.775, 2.0315};  // a, b, c
    double epsilon = 1e-7;                                          // |u| at least
    Rate rate = Rate::original;
  };
  // Throws Error{invalid_argument} for numbers out of range; step() throws Error{shape} for a
  // parameter that is no matrix [rows, columns]. Others are stepped by another optimizer.
  using Optimizer::Optimizer;
  explicit Muon(const Options& options);
  Muon() : Muon(Options()) {}

 protected:
  Array update(const Update& at) const override;

 private:
  Options options_;
};

}  // namespace optim
}  // namespace v0
}  // namespace hearth
