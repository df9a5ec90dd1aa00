// Rows of ops that depend on the order of elements: scans, sorts, what indices name, padding.
#include "graph/programs/op_rows.h"
#include "hearth/ops.h"

namespace hearth::testing {
namespace {

using Arrays = OpRow::Arrays;
using Operands = std::vector<Operand>;

Arrays pair(const std::pair<Array, Array>& both) { return {both.first, both.second}; }

// The shape of x with a drawn extent of the axis; it may be longer than that of x.
Shape with_drawn_extent(const Array& x, const Draw& d) {
  Shape shape = x.shape();
  shape[d.axis] = 1 + d.below(0, 6);
  return shape;
}

// Indices of all elements, and values for them.
Operands addresses(const Array& x, const Draw& d) {
  const Shape shape = with_drawn_extent(x, d);
  return {{shape, Operand::Kind::indices, x.shape(d.axis)}, {shape}};
}

// Indices of slices, and values for them.
Operands slices(const Array& x, const Draw& d) {
  const Shape shape = with_drawn_extent(x, d);
  return {{{shape[d.axis]}, Operand::Kind::indices, x.shape(d.axis)}, {shape}};
}

// A list of up to six indices of the first axis.
Operands tuples(const Array& x, const Draw& d) {
  return {{{1 + d.below(0, 6), 1}, Operand::Kind::indices, x.shape(0)}};
}

Operands tuples_and_values(const Array& x, const Draw& d) {
  Operands both = tuples(x, d);
  Shape shape = x.shape();
  shape[0] = both[0].shape[0];
  both.push_back({shape});
  return both;
}

// Without products: those of several values of one element leave the range.
constexpr IndexingUpdateOp kUpdates[] = {IndexingUpdateOp::assign, IndexingUpdateOp::add,
                                         IndexingUpdateOp::min, IndexingUpdateOp::max};

Arrays padded(const Array& x, const Draw& d, PadMode mode) {
  Dims before, after;
  for (int i = 0; i < x.rank(); ++i) {
    before.push_back((d.number[0] + 7 * i) % 4);
    after.push_back((d.number[1] + 5 * i) % 3);
  }
  return {pad(x, before, after, mode)};
}

const OpRow kRows[] = {
    // Scans.
    {.name = "cumsum",
     .takes = Takes::numbers,
     .least_rank = 1,
     .least_size = 0,
     .run = [](const Arrays& in,
               const Draw& d) { return Arrays{cumsum(in[0], d.axis, d.yes(0))}; }},
    {.name = "cumprod",
     .takes = Takes::numbers,
     .least_rank = 1,
     .least_size = 0,
     .jumps = true,
     .run = [](const Arrays& in,
               const Draw& d) { return Arrays{cumprod(in[0], d.axis, d.yes(0))}; }},
    {.name = "cummax",
     .takes = Takes::numbers,
     .least_rank = 1,
     .least_size = 0,
     .run = [](const Arrays& in, const Draw& d) { return Arrays{cummax(in[0], d.axis)}; }},
    {.name = "cummin",
     .takes = Takes::numbers,
     .least_rank = 1,
     .least_size = 0,
     .run = [](const Arrays& in, const Draw& d) { return Arrays{cummin(in[0], d.axis)}; }},
    {.name = "cummax_with_indices",
     .takes = Takes::numbers,
     .least_rank = 1,
     .jumps = true,
     .run = [](const Arrays& in,
               const Draw& d) { return pair(cummax_with_indices(in[0], d.axis)); }},
    {.name = "logcumsumexp",
     .least_rank = 1,
     .run = [](const Arrays& in,
               const Draw& d) { return Arrays{logcumsumexp(in[0], d.axis, d.yes(0))}; }},
    // Sorts. Values are as near as what is sorted; indices of near ties are not.
    {.name = "sort",
     .takes = Takes::any,
     .least_rank = 1,
     .least_size = 0,
     .run = [](const Arrays& in, const Draw& d) { return Arrays{sort(in[0], d.axis, d.yes(0))}; }},
    {.name = "argsort",
     .takes = Takes::any,
     .least_rank = 1,
     .least_size = 0,
     .jumps = true,
     .run =
         [](const Arrays& in, const Draw& d) {
           return Arrays{argsort(in[0], d.axis, d.yes(0), d.yes(1) ? DType::i32 : DType::i64)};
         }},
    {.name = "sort_with_indices",
     .takes = Takes::any,
     .least_rank = 1,
     .jumps = true,
     .run = [](const Arrays& in,
               const Draw& d) { return pair(sort_with_indices(in[0], d.axis, d.yes(0))); }},
    {.name = "topk",
     .takes = Takes::numbers,
     .least_rank = 1,
     .run =
         [](const Arrays& in, const Draw& d) {
           return Arrays{topk(in[0], 1 + d.below(0, in[0].shape(d.axis)), d.axis)};
         }},
    {.name = "topk_with_indices",
     .takes = Takes::numbers,
     .least_rank = 1,
     .jumps = true,
     .run =
         [](const Arrays& in, const Draw& d) {
           return pair(topk_with_indices(in[0], 1 + d.below(0, in[0].shape(d.axis)), d.axis));
         }},
    {.name = "median",
     .takes = Takes::numbers,
     .least_rank = 1,
     .run = [](const Arrays& in,
               const Draw& d) { return Arrays{median(in[0], d.axis, d.yes(0))}; }},
    {.name = "searchsorted",
     .takes = Takes::numbers,
     .least_rank = 1,
     .most_rank = 1,
     .jumps = true,
     .others = [](const Array&, const Draw& d) { return Operands{{{1 + d.below(0, 6)}}}; },
     .run = [](const Arrays& in,
               const Draw& d) { return Arrays{searchsorted(sort(in[0]), in[1], d.yes(1))}; }},
    // What indices name.
    {.name = "gather",
     .takes = Takes::any,
     .least_rank = 1,
     .others = [](const Array& x, const Draw& d) { return Operands{addresses(x, d)[0]}; },
     .run = [](const Arrays& in, const Draw& d) { return Arrays{gather(in[0], in[1], d.axis)}; }},
    {.name = "take",
     .takes = Takes::any,
     .least_rank = 1,
     .most_rank = 4,
     .others =
         [](const Array& x, const Draw& d) {
           return Operands{{{2, 1 + d.below(0, 3)}, Operand::Kind::indices, x.shape(d.axis)}};
         },
     .run = [](const Arrays& in, const Draw& d) { return Arrays{take(in[0], in[1], d.axis)}; }},
    {.name = "gather_nd",
     .takes = Takes::any,
     .least_rank = 1,
     .others = tuples,
     .run = [](const Arrays& in, const Draw&) { return Arrays{gather_nd(in[0], in[1])}; }},
    {.name = "scatter_add",
     .takes = Takes::any,
     .least_rank = 1,
     .others = addresses,
     .run = [](const Arrays& in,
               const Draw& d) { return Arrays{scatter_add(in[0], in[1], in[2], d.axis)}; }},
    {.name = "select",
     .takes = Takes::any,
     .least_rank = 1,
     .others = [](const Array& x, const Draw& d) { return Operands{slices(x, d)[0]}; },
     .run = [](const Arrays& in, const Draw& d) { return Arrays{select(in[0], in[1], d.axis)}; }},
    {.name = "select_add",
     .takes = Takes::any,
     .least_rank = 1,
     .others = slices,
     .run = [](const Arrays& in,
               const Draw& d) { return Arrays{select_add(in[0], in[1], in[2], d.axis)}; }},
    {.name = "scatter",
     .takes = Takes::any,
     .least_rank = 1,
     .others = addresses,
     .run =
         [](const Arrays& in, const Draw& d) {
           return Arrays{scatter(in[0], in[1], in[2], d.axis, kUpdates[d.below(1, 4)])};
         }},
    {.name = "scatter_mul",
     .takes = Takes::any,
     .least_rank = 1,
     .jumps = true,
     .others = addresses,
     .run =
         [](const Arrays& in, const Draw& d) {
           return Arrays{scatter(in[0], in[1], in[2], d.axis, IndexingUpdateOp::mul)};
         }},
    {.name = "select_assign",
     .takes = Takes::any,
     .least_rank = 1,
     .others = slices,
     .run =
         [](const Arrays& in, const Draw& d) {
           return Arrays{select_assign(in[0], in[1], in[2], d.axis, kUpdates[d.below(1, 4)])};
         }},
    {.name = "select_assign_mul",
     .takes = Takes::any,
     .least_rank = 1,
     .jumps = true,
     .others = slices,
     .run =
         [](const Arrays& in, const Draw& d) {
           return Arrays{select_assign(in[0], in[1], in[2], d.axis, IndexingUpdateOp::mul)};
         }},
    {.name = "scatter_nd",
     .takes = Takes::any,
     .least_rank = 1,
     .others = tuples_and_values,
     .run =
         [](const Arrays& in, const Draw& d) {
           return Arrays{scatter_nd(in[0], in[1], in[2], kUpdates[d.below(1, 4)])};
         }},
    // Moved and repeated.
    {.name = "roll",
     .takes = Takes::any,
     .least_rank = 1,
     .least_size = 0,
     .run = [](const Arrays& in,
               const Draw& d) { return Arrays{roll(in[0], {d.number[0] - 30}, {d.axis})}; }},
    {.name = "pad_constant",
     .takes = Takes::any,
     .least_rank = 1,
     .most_rank = 5,
     .least_size = 0,
     .run = [](const Arrays& in, const Draw& d) { return padded(in[0], d, PadMode::constant); }},
    {.name = "pad_reflect",
     .takes = Takes::any,
     .least_rank = 1,
     .run = [](const Arrays& in, const Draw& d) { return padded(in[0], d, PadMode::reflect); }},
    {.name = "pad_edge",
     .takes = Takes::any,
     .least_rank = 1,
     .run = [](const Arrays& in, const Draw& d) { return padded(in[0], d, PadMode::edge); }},
    {.name = "pad_wrap",
     .takes = Takes::any,
     .least_rank = 1,
     .run = [](const Arrays& in, const Draw& d) { return padded(in[0], d, PadMode::wrap); }},
    {.name = "repeat_interleave",
     .takes = Takes::any,
     .least_rank = 1,
     .run =
         [](const Arrays& in, const Draw& d) {
           return Arrays{repeat_interleave(in[0], 1 + d.below(0, 3), d.axis)};
         }},
};

}  // namespace

std::span<const OpRow> order_rows() { return kRows; }

}  // namespace hearth::testing
