// matmul: batches of products, by gemm() or gemm_skinny(). A batch over which B is the same is more
// rows of A.
#include <memory>

#include "devices/cpu/gemm/gemm.h"
#include "devices/cpu/gemm/skinny.h"
#include "devices/cpu/rows/rows.h"
#include "graph/implementation.h"
#include "graph/switches.h"
#include "ops/definition/defs.h"

namespace hearth::cpu {
namespace {

// What a matmul comes to. Steps of batch axes are of A, B and C.
struct Product {
  explicit Product(const Signature& signature);

  GemmArgs args;  // without addresses
  GemmBatch inner;
  MergedAxes<3> outer;
};

Product::Product(const Signature& signature) {
  const TensorSpec& a = signature.inputs[0];
  const TensorSpec& b = signature.inputs[1];
  const TensorSpec& c = signature.output;
  const int rank = c.shape.rank(), a_rank = a.shape.rank(), b_rank = b.shape.rank();
  args.m = c.shape[rank - 2];
  args.n = c.shape[rank - 1];
  args.k = a.shape[a_rank - 1];
  args.a_row_stride = a.strides[a_rank - 2];
  args.a_col_stride = a.strides[a_rank - 1];
  args.b_row_stride = b.strides[b_rank - 2];
  args.b_col_stride = b.strides[b_rank - 1];
  args.c_row_stride = args.n;
  args.dtype = a.dtype;
  args.c_dtype = c.dtype;
  args.by_row = switches().batch_invariant;

  const Strides a_batch = batch_strides(a, rank - 2), b_batch = batch_strides(b, rank - 2);
  for (int i = 0; i < rank - 2; ++i) {
    outer.append(c.shape[i], {a_batch[i], b_batch[i], c.strides[i]});
  }
  const auto take_innermost = [&] {
    const int last = --outer.rank;
    const auto [a_step, b_step, c_step] = outer.strides[last];
    inner = {outer.extents[last], a_step, b_step, c_step};
  };
  if (outer.rank == 0) return;
  take_innermost();
  if (inner.b_stride != 0 || (args.m != 1 && inner.a_stride != args.m * args.a_row_stride)) {
    return;
  }
  if (args.m == 1) args.a_row_stride = inner.a_stride;
  args.m *= inner.count;
  inner = {};
  if (outer.rank > 0) take_innermost();
}

Prepared prepare_matmul(const Signature& signature) {
  return {std::make_shared<const Product>(signature), 0};
}

template <void (*kMultiply)(const GemmArgs&, const GemmBatch&)>
void launch_matmul(const Launch& launch) {
  const auto& product = *static_cast<const Product*>(launch.state);
  const Operand a = input_of(launch, 0), b = input_of(launch, 1), c = output_of(launch);
  GemmArgs args = product.args;
  const MergedAxes<3>& outer = product.outer;
  std::int64_t loops = 1;
  for (int i = 0; i < outer.rank; ++i) loops *= outer.extents[i];
  for (std::int64_t loop = 0; loop < loops; ++loop) {
    std::int64_t at[3] = {0, 0, 0}, rest = loop;
    for (int i = outer.rank - 1; i >= 0; --i) {
      const std::int64_t position = rest % outer.extents[i];
      rest /= outer.extents[i];
      for (std::size_t k = 0; k < 3; ++k) at[k] += position * outer.strides[i][k];
    }
    args.a = a.at(at[0]);
    args.b = b.at(at[1]);
    args.c = c.at(at[2]);
    kMultiply(args, product.inner);
  }
}

bool accepts_skinny(const Signature& signature) {
  const Shape& c = signature.output.shape;
  return can_be_skinny(signature.output.dtype, c[c.rank() - 2], c.back(),
                       signature.inputs[0].shape.back());
}

bool fits_skinny(const Signature& signature) { return is_skinny(Product(signature).args); }

constexpr Implementation kImplementations[] = {
    {.name = "skinny",
     .op = &defs::matmul_op,
     .accepts = accepts_skinny,
     .fits = fits_skinny,
     .prepare = prepare_matmul,
     .launch = launch_matmul<gemm_skinny>},
    {.name = "gemm",
     .op = &defs::matmul_op,
     .prepare = prepare_matmul,
     .launch = launch_matmul<gemm>},
};

}  // namespace

Family matmul_family() { return kImplementations; }

}  // namespace hearth::cpu
