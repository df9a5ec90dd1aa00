// cdist: kernels/cdist/cdist.metal.
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "codegen/dialect_types.h"
#include "kernels/launch/kernel_call.h"
#include "ops/definition/defs.h"

namespace hearth::gpu {

#include "kernels/cdist/params.h"

namespace {

// The axes before the last two.
struct CdistBatch {
  CdistBatch(const TensorSpec& a, const TensorSpec& b)
      : shape(a.shape), left(a.strides), right(b.strides) {
    for (int i = 0; i < 2; ++i) {
      shape.erase(shape.rank() - 1);
      left.erase(left.rank() - 1);
      right.erase(right.rank() - 1);
    }
    merge_kernel_axes(&shape, {&left, &right});
  }
  Shape shape;
  Strides left, right;
};

int cdist_sum(double p) {
  if (std::isinf(p)) return kCdistLargest;
  return p == 2 ? kCdistSquares : p == 1 ? kCdistMagnitudes : kCdistPowers;
}

std::int64_t cdist_tiles(const Signature& signature) {
  const Shape& shape = signature.output.shape;
  const std::int64_t m = shape[shape.rank() - 2], n = shape.back();
  const std::int64_t down = ceil_div(m, kCdistTile), across = ceil_div(n, kCdistTile);
  return element_count(shape) / std::max<std::int64_t>(m * n, 1) * down * across;
}

Prepared prepare_cdist(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  if (element_count(signature.output.shape) == 0) return prepared_steps(std::move(plan));
  const TensorSpec &a = signature.inputs[0], &b = signature.inputs[1];
  const int rank = a.shape.rank();
  const CdistBatch batch(a, b);
  const StridedOperand left = strided_operand(a, 0), right = strided_operand(b, 1);
  const double p = ParamReader(signature.statics).f64();
  const std::int64_t m = a.shape[rank - 2], n = b.shape[rank - 2];
  const CdistParams<kRuntimeRank> params{
      .rows = m,
      .columns = n,
      .length = a.shape.back(),
      .tiles_down = ceil_div(m, kCdistTile),
      .tiles_across = ceil_div(n, kCdistTile),
      .power = a.dtype == DType::f64
                   ? std::bit_cast<std::int64_t>(p)
                   : std::int64_t{std::bit_cast<std::uint32_t>(static_cast<float>(p))},
      .a_row = a.strides[rank - 2],
      .a_column = a.strides[rank - 1],
      .b_row = b.strides[rank - 2],
      .b_column = b.strides[rank - 1],
      .a = {left.base, &batch.shape, &batch.left},
      .b = {right.base, &batch.shape, &batch.right}};
  const std::int64_t columns = a.dtype == DType::f64 ? kCdistWideSlice : kCdistSlice;
  const std::int64_t slice = kCdistPitch * columns;
  const char* const type = dialect_type(a.dtype);
  plan->add_step(KernelCall("cdist/cdist.metal", "cdist",
                            {dtype_struct(a.dtype), std::to_string(cdist_sum(p)),
                             std::to_string(batch.shape.rank())})
                     .read(type, "a", left.argument)
                     .read(type, "b", right.argument)
                     .write(type, "y", output_argument(signature))
                     .constants(params)
                     .threadgroup(sum_type(a.dtype), "left", slice)
                     .threadgroup(sum_type(a.dtype), "right", slice)
                     .work(product_work(element_count(batch.shape), m, n, 2 * a.shape.back()))
                     .step(*plan, {static_cast<std::uint32_t>(cdist_tiles(signature))},
                           {kCdistThreads}, kCdistThreads));
  return prepared_steps(std::move(plan));
}

// Of fewer results than threads a region's sums over simdgroups are faster.
bool accepts_cdist(const Signature& signature) {
  return element_count(signature.output.shape) >= kCdistThreads &&
         cdist_tiles(signature) < std::numeric_limits<std::int32_t>::max();
}

constexpr Implementation kCdistFamily[] = {
    {.name = "tiles",
     .op = &defs::cdist_op,
     .accepts = accepts_cdist,
     .prepare = prepare_cdist,
     .launch = launch_steps},
};

}  // namespace

Family cdist_family() { return kCdistFamily; }

}  // namespace hearth::gpu
