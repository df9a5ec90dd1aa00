// Losses against PyTorch, and losses of sequences against their recursions: losses.txt.
#include <gtest/gtest.h>

#include "hearth/ops.h"
#include "ops/golden_rows.h"
#include "ops/table/op_case.h"

namespace hearth::testing {
namespace {

using Arrays = std::vector<Array>;

Reduction reduction_of(const GoldenRow& row) {
  static const std::map<std::string, Reduction> kReductions = {
      {"none", Reduction::none},
      {"mean", Reduction::mean},
      {"sum", Reduction::sum},
      {"batch_mean", Reduction::batch_mean}};
  return kReductions.at(row.word("reduction"));
}

// Targets without a gradient: an option, in the dtype of x.
Array targets_of(const GoldenRow& row, const Array& x, const Shape& shape) {
  return build_array({shape, row.numbers("targets")}, x.dtype(), MemoryLayout::contiguous,
                     x.device());
}

Array weight_of(const Arrays& in) { return in.size() > 1 ? in[1] : Array(); }

// A function of an array and its targets, both inputs of the row, and the reduction.
template <class F>
GoldenFunction of_pairs(F f) {
  return [f](const GoldenRow& row, const Arrays& in) -> Arrays {
    return {f(row, in[0], in[1], reduction_of(row))};
  };
}

// The same of targets that are an option.
template <class F>
GoldenFunction of_targets(F f) {
  return [f](const GoldenRow& row, const Arrays& in) -> Arrays {
    return {f(row, in[0], targets_of(row, in[0], in[0].shape()), weight_of(in), reduction_of(row))};
  };
}

using Row = const GoldenRow&;
using In = const Array&;

const std::map<std::string, GoldenFunction>& functions() {
  static const std::map<std::string, GoldenFunction> kFunctions = {
      {"l1_loss", of_pairs([](Row, In x, In t, Reduction r) { return l1_loss(x, t, r); })},
      {"mse_loss", of_pairs([](Row, In x, In t, Reduction r) { return mse_loss(x, t, r); })},
      {"lp_loss", of_pairs([](Row row, In x, In t, Reduction r) {
         return lp_loss(x, t, row.number("p", 0), r);
       })},
      {"huber_loss", of_pairs([](Row row, In x, In t, Reduction r) {
         return huber_loss(x, t, row.number("delta", 0), r);
       })},
      {"smooth_l1_loss", of_pairs([](Row row, In x, In t, Reduction r) {
         return smooth_l1_loss(x, t, row.number("beta", 0), r);
       })},
      {"kl_div", of_pairs([](Row row, In x, In t, Reduction r) {
         return kl_div(x, t, row.whole("log_target") != 0, r);
       })},
      {"gaussian_nll_loss",
       [](Row row, const Arrays& in) -> Arrays {
         return {gaussian_nll_loss(in[0], in[1], in[2], row.whole("full") != 0, 1e-6,
                                   reduction_of(row))};
       }},
      {"cross_entropy", of_pairs([](Row row, In x, In t, Reduction r) {
         return cross_entropy(x, t, r, row.whole("ignore", -100), row.number("smoothing", 0));
       })},
      {"ctc_loss",
       [](Row row, const Arrays& in) -> Arrays {
         return {ctc_loss(in[0], in[1], in[2], in[3], row.whole("blank"), reduction_of(row))};
       }},
      {"rnnt_loss",
       [](Row row, const Arrays& in) -> Arrays {
         return {rnnt_loss(in[0], in[1], in[2], in[3], row.whole("blank"), reduction_of(row))};
       }},
      {"cosine_embedding_loss",
       [](Row row, const Arrays& in) -> Arrays {
         const Array sides = targets_of(row, in[0], {in[0].shape()[0]});
         return {cosine_embedding_loss(in[0], in[1], sides, row.number("margin", 0),
                                       reduction_of(row))};
       }},
      {"margin_ranking_loss",
       [](Row row, const Arrays& in) -> Arrays {
         return {margin_ranking_loss(in[0], in[1], targets_of(row, in[0], in[0].shape()),
                                     row.number("margin", 0), reduction_of(row))};
       }},
      {"multi_margin_loss", of_pairs([](Row row, In x, In t, Reduction r) {
         return multi_margin_loss(x, t, row.number("margin", 0), row.whole("p"), Array(), r);
       })},
      {"triplet_margin_loss",
       [](Row row, const Arrays& in) -> Arrays {
         return {triplet_margin_loss(in[0], in[1], in[2], row.number("margin", 0),
                                     row.number("p", 0), row.whole("swap") != 0, 1e-6,
                                     reduction_of(row))};
       }},
      {"binary_cross_entropy", of_targets([](Row, In x, In t, In weight, Reduction r) {
         return binary_cross_entropy(x, t, weight, r);
       })},
      {"binary_cross_entropy_with_logits", of_targets([](Row, In x, In t, In weight, Reduction r) {
         return binary_cross_entropy_with_logits(x, t, weight, r);
       })},
      {"poisson_nll_loss", of_targets([](Row row, In x, In t, In, Reduction r) {
         return poisson_nll_loss(x, t, row.whole("log_input") != 0, row.whole("full") != 0, 1e-8,
                                 r);
       })},
      {"hinge_embedding_loss", of_targets([](Row row, In x, In t, In, Reduction r) {
         return hinge_embedding_loss(x, t, row.number("margin", 0), r);
       })},
      {"soft_margin_loss",
       of_targets([](Row, In x, In t, In, Reduction r) { return soft_margin_loss(x, t, r); })}};
  return kFunctions;
}

TEST(LossesGolden, AgreeWithPyTorch) { expect_golden("losses", functions()); }

}  // namespace
}  // namespace hearth::testing
