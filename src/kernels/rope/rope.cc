// rope: kernels/rope/rope.metal.
#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <numbers>

#include "codegen/dialect_types.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/occupancy.h"
#include "kernels/launch/row_split.h"
#include "ops/definition/defs.h"

namespace hearth::gpu {

#include "kernels/rope/params.h"

namespace {

constexpr int kPowers = 16;
constexpr std::uint32_t kRopeThreads = 128;
// How often a device is filled; beyond, each thread rotates several outer rows.
constexpr std::int64_t kFillings = 2;

// A number from 0 to 1 in units of 2^-64.
std::int64_t fraction(long double x) {
  const long double scaled = std::round(std::ldexp(x, 64));
  if (scaled >= std::ldexp(1.0L, 64)) return -1;  // the largest there is
  return std::bit_cast<std::int64_t>(static_cast<std::uint64_t>(scaled));
}

Prepared prepare_rope(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const TensorSpec& x = signature.inputs[0];
  if (element_count(x.shape) == 0) return prepared_steps(std::move(plan));
  ParamReader statics(signature.statics);
  const auto base = static_cast<long double>(statics.f64());
  const bool interleaved = statics.boolean(), inverse = statics.boolean();
  const int rank = x.shape.rank();
  const std::int64_t pairs = x.shape[rank - 1] / 2, sequence = x.shape[rank - 2];
  const std::int64_t count = kPacketBytes / size_of(x.dtype), packets = ceil_div(pairs, count);
  Shape outer = x.shape;
  Strides strides = x.strides;
  const std::int64_t sequence_step = strides[rank - 2];
  for (int i = 0; i < 2; ++i) {
    outer.erase(outer.rank() - 1);
    strides.erase(strides.rank() - 1);
  }
  const std::int64_t layers = element_count(outer);
  merge_kernel_axes(&outer, {&strides});
  const std::string outer_rank = std::to_string(outer.rank());
  const char* const type = dialect_type(x.dtype);
  const StridedOperand from = strided_operand(x, 0);
  RopeParams<kRuntimeRank> params{.outer = layers,
                                  .sequence = sequence,
                                  .pairs = pairs,
                                  .packets = packets,
                                  .inverse = inverse ? 1 : 0,
                                  .dynamic = signature.dynamic,
                                  .turn = fraction(0.5L / std::numbers::pi_v<long double>),
                                  .power = {},
                                  .sequence_step = sequence_step,
                                  .x = {from.base, &outer, &strides}};
  static_assert(std::size(params.power) == kPowers);
  for (int k = 0; k < kPowers; ++k) {
    const auto exponent = static_cast<long double>(std::int64_t{1} << k);
    params.power[k] = fraction(std::pow(base, -exponent / static_cast<long double>(pairs)));
  }
  const std::int64_t threads = sequence * packets;
  const std::int64_t each = std::clamp<std::int64_t>(
      threads * layers / (kFillings * resident_threads(*signature.device)), 1, 16);
  const Size3 groups = {static_cast<std::uint32_t>(ceil_div(threads, kRopeThreads)),
                        static_cast<std::uint32_t>(std::min(ceil_div(layers, each), kMaxLayers))};
  plan->add_step(
      KernelCall("rope/rope.metal", "rope", {dtype_struct(x.dtype), truth(interleaved), outer_rank})
          .read(type, "x", from.argument)
          .write(type, "y", output_argument(signature))
          .dynamics()
          .constants(params)
          .step(*plan, groups, {kRopeThreads}, kRopeThreads));
  return prepared_steps(std::move(plan));
}

// Turns of a position are at most one; positions in a row and threads have 32 bits.
bool rope_accepts(const Signature& signature) {
  const Shape& shape = signature.inputs[0].shape;
  const std::int64_t pairs = shape.back() / 2;
  return ParamReader(signature.statics).f64() >= 1 && pairs < (1 << kPowers) && fits_rows(shape) &&
         shape[shape.rank() - 2] * shape.back() < std::numeric_limits<std::int32_t>::max();
}

constexpr Implementation kRopeFamily[] = {
    {.name = "pairs",
     .op = &defs::rope_op,
     .accepts = rope_accepts,
     .layout = LayoutNeed::last_axis_dense,
     .prepare = prepare_rope,
     .launch = launch_steps},
};

}  // namespace

Family rope_family() { return kRopeFamily; }

}  // namespace hearth::gpu
