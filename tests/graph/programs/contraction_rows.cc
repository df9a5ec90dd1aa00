// Rows of ops that make an element of many: sums of products, transforms, norms, attention; and
// quantization, whose scales are made of blocks.
#include "graph/programs/op_rows.h"
#include "hearth/ops.h"
#include "hearth/quantization.h"

namespace hearth::testing {
namespace {

using Arrays = OpRow::Arrays;
using Operands = std::vector<Operand>;

Operands one_like(const Array& x, const Draw&) { return {{x.shape()}}; }

// An operand of the shape of x but for `axis`.
Operands other_extent(const Array& x, int axis, const Draw& d) {
  Shape shape = x.shape();
  shape[axis] = 1 + d.below(0, 5);
  return {{shape}};
}

Arrays pair(const std::pair<Array, Array>& both) { return {both.first, both.second}; }

// Keys and values of x as queries: as many heads, or one for all.
Operands keys_and_values(const Array& x, const Draw& d) {
  const Shape shape = {x.shape(0), d.yes(3) ? 1 : x.shape(1), 1 + d.below(0, 10), x.shape(3)};
  return {{shape}, {shape}};
}

Array attended(const Arrays& in, const AttentionOptions& options) {
  return attention(in[0], in[1], in[2], options);
}

// q, k, v, a number of keys for each sequence.
Operands attention_with_lengths(const Array& x, const Draw& d) {
  Operands all = keys_and_values(x, d);
  all.push_back({{x.shape(0)}, Operand::Kind::indices, all[0].shape[2] + 1});
  return all;
}

Operands attention_with_scores(const Array& x, const Draw& d, Operand::Kind kind) {
  Operands all = keys_and_values(x, d);
  all.push_back({{d.yes(1) ? x.shape(0) : 1, 1, x.shape(2), all[0].shape[2]}, kind});
  return all;
}

constexpr const char* kMatrices[] = {"ij,kj->ik", "ij,ik->jk", "ij,kl->ikjl"};

const OpRow kRows[] = {
    {.name = "einsum_matrices",
     .takes = Takes::numbers,
     .least_rank = 2,
     .most_rank = 2,
     .sums = true,
     .others = one_like,
     .run =
         [](const Arrays& in, const Draw& d) {
           return Arrays{einsum(kMatrices[d.below(0, in[0].size() < 60 ? 3 : 2)], {in[0], in[1]})};
         }},
    {.name = "einsum_batch",
     .takes = Takes::numbers,
     .least_rank = 3,
     .most_rank = 3,
     .sums = true,
     .others = [](const Array& x, const Draw& d) { return other_extent(x, 1, d); },
     .run =
         [](const Arrays& in, const Draw& d) {
           return Arrays{einsum(d.yes(1) ? "bij,bkj->bik" : "bij,bkj->kib", {in[0], in[1]})};
         }},
    {.name = "einsum_inner",
     .takes = Takes::numbers,
     .least_rank = 1,
     .sums = true,
     .others = one_like,
     .run =
         [](const Arrays& in, const Draw& d) {
           return Arrays{einsum(d.yes(1) ? "...i,...i" : "...i,...i->...i", {in[0], in[1]})};
         }},
    {.name = "vector_norm",
     .least_rank = 1,
     .jumps = true,
     .sums = true,
     .run =
         [](const Arrays& in, const Draw& d) {
           return Arrays{vector_norm(in[0], 1 + d.below(0, 3), {d.axis}, d.yes(1))};
         }},
    {.name = "vector_normalize",
     .least_rank = 1,
     .sums = true,
     .run =
         [](const Arrays& in, const Draw& d) {
           return Arrays{vector_normalize(add(square(tanh(in[0])), 0.5), 2, d.axis)};
         }},
    {.name = "max_abs",
     .takes = Takes::numbers,
     .least_rank = 1,
     .run = [](const Arrays& in,
               const Draw& d) { return Arrays{max_abs(in[0], {d.axis}, d.yes(1))}; }},
    {.name = "cdist",
     .least_rank = 2,
     .most_rank = 4,
     .jumps = true,
     .others = [](const Array& x, const Draw& d) { return other_extent(x, x.rank() - 2, d); },
     .run = [](const Arrays& in,
               const Draw& d) { return Arrays{cdist(in[0], in[1], 1 + d.below(1, 2))}; }},
    // Transforms.
    {.name = "rfft",
     .least_rank = 1,
     .run = [](const Arrays& in, const Draw& d) { return pair(rfft(in[0], d.axis)); }},
    {.name = "irfft",
     .least_rank = 1,
     .others = one_like,
     .run =
         [](const Arrays& in, const Draw& d) {
           return Arrays{irfft(in[0], in[1], d.axis, 2 * in[0].shape(d.axis) - d.below(0, 2))};
         }},
    {.name = "fft",
     .least_rank = 1,
     .others = one_like,
     .run =
         [](const Arrays& in, const Draw& d) {
           return pair(d.yes(0) ? ifft(in[0], in[1], d.axis) : fft(in[0], in[1], d.axis));
         }},
    {.name = "rfft_and_back",
     .least_rank = 1,
     .run =
         [](const Arrays& in, const Draw& d) {
           const auto [re, im] = rfft(in[0], d.axis);
           return Arrays{irfft(re, im, d.axis, in[0].shape(d.axis))};
         }},
    // Attention. Queries are bounded, so that scores and their exponentials are.
    {.name = "attention_window",
     .least_rank = 4,
     .most_rank = 4,
     .others = keys_and_values,
     .run =
         [](const Arrays& in, const Draw& d) {
           return Arrays{attended(
               {tanh(in[0]), tanh(in[1]), in[2]},
               {.softcap = d.yes(1) ? 2.0 : 0.0, .causal = d.yes(0), .window = 1 + d.below(2, 5)})};
         }},
    {.name = "attention_mask",
     .least_rank = 4,
     .most_rank = 4,
     .others = [](const Array& x,
                  const Draw& d) { return attention_with_scores(x, d, Operand::Kind::mask); },
     .run =
         [](const Arrays& in, const Draw& d) {
           return Arrays{
               attended({tanh(in[0]), tanh(in[1]), in[2]}, {.causal = d.yes(0), .mask = in[3]})};
         }},
    {.name = "attention_bias",
     .least_rank = 4,
     .most_rank = 4,
     .others = [](const Array& x,
                  const Draw& d) { return attention_with_scores(x, d, Operand::Kind::like); },
     .run =
         [](const Arrays& in, const Draw& d) {
           return Arrays{attended({tanh(in[0]), tanh(in[1]), in[2]},
                                  {.causal = d.yes(0), .bias = tanh(in[3])})};
         }},
    {.name = "attention_lengths",
     .least_rank = 4,
     .most_rank = 4,
     .others = attention_with_lengths,
     .run =
         [](const Arrays& in, const Draw& d) {
           return Arrays{attended({tanh(in[0]), tanh(in[1]), in[2]},
                                  {.causal = d.yes(0), .lengths = in[3], .window = d.below(2, 3)})};
         }},
    {.name = "attention_with_lse",
     .least_rank = 4,
     .most_rank = 4,
     .others = keys_and_values,
     .run =
         [](const Arrays& in, const Draw& d) {
           return pair(attention_with_lse(tanh(in[0]), tanh(in[1]), in[2], {.causal = d.yes(0)}));
         }},
    // Codes jump.
    {.name = "fake_quantize",
     .least_rank = 1,
     .jumps = true,
     .run = [](const Arrays& in, const Draw&) { return Arrays{fake_quantize(in[0])}; }},
    {.name = "dequantize",
     .least_rank = 1,
     .jumps = true,
     .run = [](const Arrays& in,
               const Draw&) { return Arrays{dequantize(quantize_dynamic(in[0]))}; }},
};

}  // namespace

std::span<const OpRow> contraction_rows() { return kRows; }

}  // namespace hearth::testing
