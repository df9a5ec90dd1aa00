// rope: kernels/rope/rope.metal.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>

#include "codegen/dialect_types.h"
#include "kernels/launch/op_kernels.h"
#include "kernels/launch/row_split.h"
#include "kernels/regions/region_values.h"
#include "ops/defs.h"

namespace hearth::gpu {
namespace {

constexpr int kPowers = 16;
constexpr std::uint32_t kRopeThreads = 128;
// Threads that fill a large GPU; beyond, each turns several outer rows.
constexpr std::int64_t kManyThreads = 1 << 19;
constexpr std::int64_t kMostLayers = 65535;  // of threadgroups: what every API allows

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
  const std::int64_t count = 16 / size_of(x.dtype), packets = parts(pairs, count);
  Shape outer = x.shape;
  Strides strides = x.strides;
  const std::int64_t sequence_step = strides[rank - 2];
  for (int i = 0; i < 2; ++i) {
    outer.erase(outer.rank() - 1);
    strides.erase(strides.rank() - 1);
  }
  const std::int64_t layers = element_count(outer);
  merge_axes(&outer, {&strides});
  const std::string outer_rank = std::to_string(outer.rank());
  const char* const type = dialect_type(x.dtype);

  Step step;
  step.kernel = &plan->add_kernel(library_kernel(
      "rope/rope.metal", "rope", {dtype_struct(x.dtype), truth(interleaved), outer_rank},
      {{Kind::read, type, "x"},
       {Kind::write, type, "y"},
       {Kind::read, "ulong", "dynamics"},
       {Kind::constant, "RopeParams<" + outer_rank + ">", "p"}},
      kRopeThreads));
  const std::int64_t threads = sequence * packets;
  const std::int64_t each = std::clamp<std::int64_t>(threads * layers / kManyThreads, 1, 16);
  step.groups = {static_cast<std::uint32_t>(parts(threads, kRopeThreads)),
                 static_cast<std::uint32_t>(std::min(parts(layers, each), kMostLayers))};
  step.threads = {kRopeThreads};
  step.constants = {layers,
                    sequence,
                    pairs,
                    packets,
                    inverse ? 1 : 0,
                    signature.dynamic,
                    fraction(0.5L / std::numbers::pi_v<long double>)};
  for (int k = 0; k < kPowers; ++k) {
    const auto exponent = static_cast<long double>(std::int64_t{1} << k);
    step.constants.push_back(fraction(std::pow(base, -exponent / static_cast<long double>(pairs))));
  }
  step.constants.push_back(sequence_step);
  const StridedOperand from = strided_operand(x, 0);
  append_axes(outer, strides, from.base, &step.constants);
  step.arguments = {from.argument, strided_operand(signature.output, 1).argument, kDynamics,
                    kConstants};
  plan->add_step(std::move(step));
  return prepared_steps(std::move(plan));
}

// Turns of a position are at most one; positions in a row and threads have 32 bits.
bool accepts(const Signature& signature) {
  const Shape& shape = signature.inputs[0].shape;
  const std::int64_t pairs = shape.back() / 2;
  return ParamReader(signature.statics).f64() >= 1 && pairs < (1 << kPowers) && fits_rows(shape) &&
         shape[shape.rank() - 2] * shape.back() < std::numeric_limits<std::int32_t>::max();
}

}  // namespace

void add_rope_kernels(KernelTable& table) {
  table.add({.op = &defs::rope_op,
             .accepts = accepts,
             .layout = LayoutNeed::last_axis_dense,
             .prepare = prepare_rope,
             .launch = launch_steps});
}

}  // namespace hearth::gpu
