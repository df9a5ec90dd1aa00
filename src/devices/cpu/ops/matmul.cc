// matmul: batches over gemm. A batch over which B is the same is more rows of A.
#include "devices/cpu/gemm/gemm.h"
#include "devices/cpu/rows/rows.h"
#include "graph/implementation.h"
#include "ops/definition/defs.h"

namespace hearth::cpu {
namespace {

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

  // The batch axes that are left to loop over, of A, B and C.
  const Strides a_batch = batch_strides(*a.spec, rank - 2),
                b_batch = batch_strides(*b.spec, rank - 2);
  MergedAxes<3> batch;
  for (int i = 0; i < rank - 2; ++i) {
    batch.append(c.shape()[i], {a_batch[i], b_batch[i], c.stride(i)});
  }
  int last = batch.rank - 1;
  if (last >= 0) {
    const std::int64_t a_step = batch.strides[last][0], b_step = batch.strides[last][1];
    if (b_step == 0 && (args.m == 1 || a_step == args.m * args.a_row_stride)) {
      if (args.m == 1) args.a_row_stride = a_step;
      args.m *= batch.extents[last--];
    }
  }
  const auto run = [&](std::int64_t a_at, std::int64_t b_at, std::int64_t c_at) {
    args.a = a.at(a_at);
    args.b = b.at(b_at);
    args.c = c.at(c_at);
    if (last < 0) return gemm(args);
    const auto [a_step, b_step, c_step] = batch.strides[last];
    gemm_batched(args, {batch.extents[last], a_step, b_step, c_step});
  };
  std::int64_t loops = 1;
  for (int i = 0; i < last; ++i) loops *= batch.extents[i];
  for (std::int64_t loop = 0; loop < loops; ++loop) {
    std::int64_t at[3] = {0, 0, 0}, rest = loop;
    for (int i = last - 1; i >= 0; --i) {
      const std::int64_t position = rest % batch.extents[i];
      rest /= batch.extents[i];
      for (std::size_t k = 0; k < 3; ++k) at[k] += position * batch.strides[i][k];
    }
    run(at[0], at[1], at[2]);
  }
}

constexpr Implementation kImplementations[] = {
    {.name = "gemm", .op = &defs::matmul_op, .launch = launch_matmul},
};

}  // namespace

Family matmul_family() { return kImplementations; }

}  // namespace hearth::cpu
