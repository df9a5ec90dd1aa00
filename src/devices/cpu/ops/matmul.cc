// matmul: batches over gemm. A batch over which B is the same is more rows of A.
#include "devices/cpu/gemm/gemm.h"
#include "devices/cpu/kernels.h"
#include "devices/cpu/rows/rows.h"
#include "ops/defs.h"

namespace hearth::cpu {
namespace {

// The batch axes that are left to loop over, outermost first.
struct BatchAxis {
  std::int64_t extent, a, b, c;
};

void launch_matmul(const Launch& launch) {
  const Operand a = input_of(launch, 0), b = input_of(launch, 1), c = output_of(launch);
  const int rank = c.shape().rank(), a_rank = a.shape().rank(), b_rank = b.shape().rank();
  if (element_count(c.shape()) == 0) return;
  GemmArgs args;
  args.m = c.shape()[rank - 2];
  args.n = c.shape()[rank - 1];
  args.k = a.shape()[a_rank - 1];
  args.a_row_stride = a.stride(a_rank - 2);
  args.a_col_stride = a.stride(a_rank - 1);
  args.b_row_stride = b.stride(b_rank - 2);
  args.b_col_stride = b.stride(b_rank - 1);
  args.c_row_stride = args.n;
  args.dtype = a.dtype();
  args.c_dtype = c.dtype();

  const Strides a_batch = batch_strides(*a.spec, rank - 2),
                b_batch = batch_strides(*b.spec, rank - 2);
  BatchAxis axes[kMaxRank];
  int count = 0;
  std::int64_t c_stride = args.m * args.n;
  for (int i = rank - 3; i >= 0; --i) {  // innermost first while merging
    const std::int64_t extent = c.shape()[i];
    if (extent == 1) continue;
    const BatchAxis axis{extent, a_batch[i], b_batch[i], c_stride};
    c_stride *= extent;
    const bool rows_follow = axis.a == args.m * args.a_row_stride || args.m == 1;
    if (count == 0 && axis.b == 0 && rows_follow) {
      if (args.m == 1) args.a_row_stride = axis.a;
      args.m *= extent;
      continue;
    }
    if (count > 0 && axes[count - 1].extent * axes[count - 1].a == axis.a &&
        axes[count - 1].extent * axes[count - 1].b == axis.b) {
      axes[count - 1].extent *= extent;
      continue;
    }
    axes[count++] = axis;
  }
  const auto run = [&](std::int64_t a_at, std::int64_t b_at, std::int64_t c_at) {
    args.a = a.at(a_at);
    args.b = b.at(b_at);
    args.c = c.at(c_at);
    if (count == 0) return gemm(args);
    gemm_batched(args, {axes[0].extent, axes[0].a, axes[0].b, axes[0].c});
  };
  std::int64_t loops = 1;
  for (int i = 1; i < count; ++i) loops *= axes[i].extent;
  for (std::int64_t loop = 0; loop < loops; ++loop) {
    std::int64_t at[3] = {0, 0, 0}, rest = loop;
    for (int i = 1; i < count; ++i) {
      const std::int64_t position = rest % axes[i].extent;
      rest /= axes[i].extent;
      at[0] += position * axes[i].a;
      at[1] += position * axes[i].b;
      at[2] += position * axes[i].c;
    }
    run(at[0], at[1], at[2]);
  }
}

}  // namespace

void add_matmul_kernels(KernelTable& table) {
  table.add({.op = &defs::matmul_op, .launch = launch_matmul});
}

}  // namespace hearth::cpu
