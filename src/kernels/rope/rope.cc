// rope: kernels/rope/rope.metal.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <type_traits>

#include "codegen/dialect_types.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/occupancy.h"
#include "kernels/launch/row_split.h"
#include "ops/attention/rope_settings.h"
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

constexpr int kPositionsInput = 1, kFrequenciesInput = 2;

bool has_input(const Signature& signature, int i) {
  const auto at = static_cast<std::size_t>(i);
  return at < signature.inputs.size() && !signature.inputs[at].absent;
}

// Whether each item has positions of its own.
bool has_items(const Signature& signature, const RopeSettings& settings) {
  if (!has_input(signature, kPositionsInput)) return false;
  return signature.inputs[kPositionsInput].shape.rank() == (settings.sections.empty() ? 2 : 3);
}

// What positions are turned by, and where their sections end.
void set_turns(const RopeSettings& settings, RopeParams<kRuntimeRank>* params) {
  const auto base = static_cast<long double>(settings.base);
  static_assert(std::extent_v<decltype(params->power)> == kPowers);
  for (int k = 0; k < kPowers; ++k) {
    const auto exponent = static_cast<long double>(std::int64_t{1} << k);
    params->power[k] =
        fraction(std::pow(base, -exponent / static_cast<long double>(params->pairs)));
  }
  std::int64_t section_end = 0;
  for (int i = 0; i < settings.sections.rank(); ++i) {
    section_end = settings.mixed ? settings.section_count() * settings.sections[i]
                                 : section_end + settings.sections[i];
    params->section_end[i] = section_end;
  }
}

StepArgument set_positions(const Signature& signature, const RopeSettings& settings,
                           RopeParams<kRuntimeRank>* params) {
  const TensorSpec& spec = signature.inputs[kPositionsInput];
  const StridedOperand operand = strided_operand(spec, kPositionsInput);
  const int last = spec.shape.rank() - 1;
  params->position_base = operand.base;
  params->position_row = spec.strides[last];
  if (has_items(signature, settings)) params->position_item = spec.strides[last - 1];
  if (!settings.sections.empty()) params->position_section = spec.strides[0];
  return operand.argument;
}

StepArgument set_frequencies(const Signature& signature, RopeParams<kRuntimeRank>* params) {
  const TensorSpec& spec = signature.inputs[kFrequenciesInput];
  const StridedOperand operand = strided_operand(spec, kFrequenciesInput);
  const int last = spec.shape.rank() - 1;
  params->frequency_base = operand.base;
  params->frequency_step = spec.strides[last];
  params->parts = last + 1;
  if (last == 1) params->frequency_part = spec.strides[0];
  return operand.argument;
}

Prepared prepare_rope(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const TensorSpec& x = signature.inputs[0];
  if (element_count(x.shape) == 0) return prepared_steps(std::move(plan));
  const RopeSettings settings = RopeSettings::of(ParamReader(signature.statics));
  const int rank = x.shape.rank();
  const std::int64_t columns = x.shape[rank - 1], sequence = x.shape[rank - 2];
  const std::int64_t pairs = settings.pairs(columns);
  // Sines take long: a thread has one pair where all run at the same time.
  const bool all_run = element_count(x.shape) / 2 <= resident_threads(*signature.device);
  const std::int64_t count = all_run ? 1 : kPacketBytes / size_of(x.dtype);
  const std::int64_t packets = ceil_div(pairs, count);
  const std::int64_t row_threads = packets + ceil_div(columns - 2 * pairs, count);
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
  const char* const position_type = dialect_type(
      has_input(signature, kPositionsInput) ? signature.inputs[kPositionsInput].dtype : DType::i32);
  const StridedOperand from = strided_operand(x, 0);
  const bool placed = has_input(signature, kPositionsInput);
  const bool given = has_input(signature, kFrequenciesInput);
  const std::int64_t items = has_items(signature, settings) ? x.shape[0] : 1;
  RopeParams<kRuntimeRank> params{.outer = layers / items,
                                  .sequence = sequence,
                                  .pairs = pairs,
                                  .columns = columns,
                                  .packets = packets,
                                  .threads = row_threads,
                                  .inverse = settings.inverse ? 1 : 0,
                                  .dynamic = signature.dynamic,
                                  .turn = fraction(0.5L / std::numbers::pi_v<long double>),
                                  .power = {},
                                  .magnitude = std::bit_cast<std::int64_t>(settings.magnitude),
                                  .position_base = 0,
                                  .position_section = 0,
                                  .position_item = 0,
                                  .position_row = 0,
                                  .sections = settings.section_count(),
                                  .mixed = settings.mixed ? 1 : 0,
                                  .section_end = {},
                                  .frequency_base = 0,
                                  .frequency_part = 0,
                                  .frequency_step = 0,
                                  .parts = 1,
                                  .sequence_step = sequence_step,
                                  .x = {from.base, &outer, &strides}};
  set_turns(settings, &params);
  // Read only where they are given.
  const StepArgument positions =
      placed ? set_positions(signature, settings, &params) : from.argument;
  const StepArgument frequencies = given ? set_frequencies(signature, &params) : from.argument;
  const std::int64_t threads = sequence * row_threads;
  const std::int64_t each = std::clamp<std::int64_t>(
      threads * layers / (kFillings * resident_threads(*signature.device)), 1, 16);
  const Size3 groups = {
      static_cast<std::uint32_t>(ceil_div(threads, kRopeThreads)),
      static_cast<std::uint32_t>(std::min(ceil_div(params.outer, each), kMaxLayers)),
      static_cast<std::uint32_t>(items)};
  plan->add_step(KernelCall("rope/rope.metal", "rope",
                            {dtype_struct(x.dtype), position_type, truth(settings.interleaved),
                             truth(placed), truth(given), std::to_string(count), outer_rank})
                     .read(type, "x", from.argument)
                     .read(position_type, "positions", positions)
                     .read("float", "frequencies", frequencies)
                     .write(type, "y", output_argument(signature))
                     .dynamics()
                     .constants(params)
                     .step(*plan, groups, {kRopeThreads}, kRopeThreads));
  return prepared_steps(std::move(plan));
}

// Turns of a position are at most one; positions in a row and threads have 32 bits.
bool rope_accepts(const Signature& signature) {
  const Shape& shape = signature.inputs[0].shape;
  const RopeSettings settings = RopeSettings::of(ParamReader(signature.statics));
  const std::int64_t pairs = settings.pairs(shape.back());
  const bool has_turns = has_input(signature, kFrequenciesInput) || settings.base >= 1;
  const bool many_items = has_items(signature, settings) && shape[0] > kMaxLayers;
  return has_turns && !many_items && pairs > 0 && pairs < (1 << kPowers) && fits_rows(shape) &&
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
