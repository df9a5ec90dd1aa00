// Rows of losses.
#include "graph/programs/op_rows.h"
#include "hearth/ops.h"

namespace hearth::testing {
namespace {

using Arrays = OpRow::Arrays;
using Operands = std::vector<Operand>;

Operands targets_like(const Array& x, const Draw&) { return {{x.shape()}}; }

constexpr Reduction kReductions[] = {Reduction::none, Reduction::mean, Reduction::sum};

Reduction reduction(const Draw& d) { return kReductions[d.below(0, 3)]; }

// A loss of elements that are bounded, reduced as drawn.
using ElementLoss = Array (*)(const Array& x, const Array& targets, Reduction reduction);

template <ElementLoss kLoss>
Arrays bounded(const Arrays& in, const Draw& d) {
  return {kLoss(tanh(in[0]), tanh(in[1]), reduction(d))};
}

const OpRow kRows[] = {
    {.name = "cross_entropy",
     .least_rank = 2,
     .most_rank = 3,
     .sums = true,
     .others =
         [](const Array& x, const Draw&) {
           Shape rows = x.shape();
           rows.erase(rows.rank() - 1);
           return Operands{{rows, Operand::Kind::indices, x.shape(-1)}};
         },
     .run =
         [](const Arrays& in, const Draw& d) {
           return Arrays{
               cross_entropy(in[0], in[1], reduction(d), d.yes(1) ? 0 : -100, d.yes(2) ? 0.1 : 0)};
         }},
    {.name = "binary_cross_entropy",
     .sums = true,
     .others = targets_like,
     .run =
         [](const Arrays& in, const Draw& d) {
           return Arrays{
               binary_cross_entropy(sigmoid(tanh(in[0])), sigmoid(in[1]), Array(), reduction(d))};
         }},
    {.name = "binary_cross_entropy_with_logits",
     .sums = true,
     .others = targets_like,
     .run =
         [](const Arrays& in, const Draw& d) {
           return Arrays{
               binary_cross_entropy_with_logits(in[0], sigmoid(in[1]), Array(), reduction(d))};
         }},
    {.name = "l1_loss", .sums = true, .others = targets_like, .run = bounded<l1_loss>},
    {.name = "mse_loss", .sums = true, .others = targets_like, .run = bounded<mse_loss>},
    {.name = "huber_loss",
     .sums = true,
     .others = targets_like,
     .run =
         [](const Arrays& in, const Draw& d) {
           return Arrays{huber_loss(in[0], tanh(in[1]), 0.5, reduction(d))};
         }},
    {.name = "smooth_l1_loss",
     .sums = true,
     .others = targets_like,
     .run =
         [](const Arrays& in, const Draw& d) {
           return Arrays{smooth_l1_loss(in[0], tanh(in[1]), 0.5, reduction(d))};
         }},
    {.name = "kl_div",
     .sums = true,
     .others = targets_like,
     .run =
         [](const Arrays& in, const Draw& d) {
           return Arrays{kl_div(tanh(in[0]), tanh(in[1]), true, reduction(d))};
         }},
    {.name = "poisson_nll_loss",
     .sums = true,
     .others = targets_like,
     .run =
         [](const Arrays& in, const Draw& d) {
           return Arrays{
               poisson_nll_loss(tanh(in[0]), sigmoid(in[1]), true, false, 1e-8, reduction(d))};
         }},
    {.name = "soft_margin_loss",
     .sums = true,
     .others = targets_like,
     .run = bounded<soft_margin_loss>},
};

}  // namespace

std::span<const OpRow> loss_rows() { return kRows; }

}  // namespace hearth::testing
