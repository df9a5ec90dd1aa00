#include "kernels/attention/inputs.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "codegen/dialect_types.h"

namespace hearth::gpu {
namespace {

constexpr std::int64_t kColumnsOfLane = 8;

}  // namespace

AttentionInputs::AttentionInputs(const Signature& from, int first_input)
    : signature(from), first(first_input) {
  const Shape& q = input(kQ).shape;
  const Shape& k = input(kK).shape;
  batch = q[0];
  heads = q[1];
  rows = q[2];
  d = q[3];
  kv_heads = k[1];
  keys = k[2];
  dv = input(kV).shape[3];
  has_mask = has(kMask);
  has_bias = has(kBias);
  ParamReader statics(signature.statics);
  scale = statics.f64();
  const double softcap = statics.f64();
  causal = statics.boolean();
  bounded = statics.boolean();
  // What reaches past all keys and rows hides nothing.
  const std::int64_t window = std::min(statics.i64(), keys + rows);
  has_bounds = has(kLengths) || has(kStarts);
  has_range = has_bounds || window > 0;
  has_sinks = has(kSinks);
  has_softcap = softcap > 0;
  const auto bits = [](double x) { return std::bit_cast<std::int64_t>(x); };
  const double log2e = 1 / std::log(2.0);
  params = {.heads = heads,
            .kv_heads = kv_heads,
            .rows = rows,
            .keys = keys,
            .d = d,
            .dv = dv,
            .causal = causal ? 1 : 0,
            .dynamic = bounded ? signature.dynamic : -1,
            .scale = bits(softcap > 0 ? scale / softcap : scale * log2e),
            .softcap = bits(softcap * log2e),
            .log2e = bits(log2e),
            .q = add_operand(kQ),
            .k = add_operand(kK),
            .v = add_operand(kV),
            .mask = add_operand(kMask),
            .bias = add_operand(kBias),
            .window = window,
            .lengths = add_bounds_operand(kLengths),
            .starts = add_bounds_operand(kStarts),
            .sinks = has_sinks ? 1 : 0,
            .sink = add_operand(kSinks)};
}

const char* AttentionInputs::memory_type() const { return dialect_type(dtype()); }

const char* AttentionInputs::value_type() const { return sum_type(dtype()); }

KernelCall AttentionInputs::call(const std::string& file, const std::string& function,
                                 const std::vector<std::string>& template_arguments,
                                 std::int64_t bytes) const {
  const std::string type = memory_type();
  return KernelCall(file, function, template_arguments)
      .read(type, "q", aligned(arguments[kQ], bytes))
      .read(type, "k", aligned(arguments[kK], bytes))
      .read(type, "v", aligned(arguments[kV], bytes))
      .read("uchar", "mask", arguments[kMask])
      .read(type, "bias", arguments[kBias])
      .read("int", "lengths", arguments[kLengths])
      .read("int", "starts", arguments[kStarts])
      .dynamics();
}

KernelCall& AttentionInputs::add_bounds(KernelCall& call) const {
  return call.read("int", "lengths", arguments[kLengths]).read("int", "starts", arguments[kStarts]);
}

KernelCall& AttentionInputs::add_sinks(KernelCall& call) const {
  return call.read(memory_type(), "sinks", arguments[kSinks]);
}

std::int64_t AttentionInputs::lanes() const {
  const std::int64_t columns = std::max(d, dv);
  return columns <= 64 ? 8 : columns <= 128 ? 16 : 32;
}

bool AttentionInputs::rows_fit_vectors() const {
  for (int i = kQ; i <= kV; ++i) {
    const TensorSpec& spec = input(i);
    const std::int64_t vector = std::max(kPacketBytes / size_of(spec.dtype), kColumnsOfLane);
    if (spec.shape[3] % vector != 0 || spec.strides[3] != 1) return false;
    for (int axis = 0; axis < 3; ++axis) {
      if (spec.shape[axis] != 1 && spec.strides[axis] % vector != 0) return false;
    }
  }
  return true;
}

AttentionOperand AttentionInputs::add_operand(int i) {
  if (!has(i)) {  // never read
    arguments[i] = arguments[kQ];
    return {};
  }
  const TensorSpec& spec = input(i);
  const StridedOperand operand = strided_operand(spec, first + i);
  arguments[i] = operand.argument;
  const auto step = [&spec](int axis) {
    const int at = axis - (4 - spec.shape.rank());
    return at < 0 || spec.shape[at] == 1 ? 0 : spec.strides[at];
  };
  return {
      .base = operand.base, .item = step(0), .head = step(1), .row = step(2), .column = step(3)};
}

AttentionBounds AttentionInputs::add_bounds_operand(int i) {
  const AttentionOperand operand = add_operand(i);
  // In words of 32 bits, the lower of an i64 first.
  const std::int64_t words = has(i) ? size_of(input(i).dtype) / size_of(DType::i32) : 0;
  return {.words = words, .base = operand.base * words, .item = operand.column * words};
}

}  // namespace hearth::gpu
