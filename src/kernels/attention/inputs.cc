#include "kernels/attention/inputs.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "codegen/dialect_types.h"
#include "kernels/regions/region_values.h"

namespace hearth::gpu {
namespace {

constexpr std::int64_t kVectorBytes = 16;
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
  has_softcap = softcap > 0;
  const auto bits = [](double x) { return std::bit_cast<std::int64_t>(x); };
  const double log2e = 1 / std::log(2.0);
  constants = {heads,
               kv_heads,
               rows,
               keys,
               d,
               dv,
               causal ? 1 : 0,
               bounded ? signature.dynamic : -1,
               bits(softcap > 0 ? scale / softcap : scale * log2e),
               bits(softcap * log2e),
               bits(log2e)};
  for (int i = 0; i < kInputs; ++i) add_operand(i);
}

const char* AttentionInputs::memory_type() const { return dialect_type(dtype()); }

const char* AttentionInputs::value_type() const { return sum_type(dtype()); }

std::vector<KernelParameter> AttentionInputs::parameters(
    std::initializer_list<KernelParameter> more) const {
  const std::string type = memory_type();
  std::vector<KernelParameter> all = {
      {Kind::read, type, "q"},       {Kind::read, type, "k"},    {Kind::read, type, "v"},
      {Kind::read, "uchar", "mask"}, {Kind::read, type, "bias"}, {Kind::read, "ulong", "dynamics"}};
  all.insert(all.end(), more);
  return all;
}

std::int64_t AttentionInputs::lanes() const {
  const std::int64_t columns = std::max(d, dv);
  return columns <= 64 ? 8 : columns <= 128 ? 16 : 32;
}

bool AttentionInputs::rows_fit_vectors() const {
  for (int i = kQ; i <= kV; ++i) {
    const TensorSpec& spec = input(i);
    const std::int64_t vector = std::max(kVectorBytes / size_of(spec.dtype), kColumnsOfLane);
    if (spec.shape[3] % vector != 0 || spec.strides[3] != 1) return false;
    for (int axis = 0; axis < 3; ++axis) {
      if (spec.shape[axis] != 1 && spec.strides[axis] % vector != 0) return false;
    }
  }
  return true;
}

void AttentionInputs::add_operand(int i) {
  if (!has(i)) {  // never read
    arguments[i] = arguments[kQ];
    constants.insert(constants.end(), 5, 0);
    return;
  }
  const TensorSpec& spec = input(i);
  const StridedOperand operand = strided_operand(spec, first + i);
  arguments[i] = operand.argument;
  constants.push_back(operand.base);
  const int rank = spec.shape.rank();
  for (int axis = 0; axis < 4; ++axis) {
    const int at = axis - (4 - rank);
    constants.push_back(at < 0 || spec.shape[at] == 1 ? 0 : spec.strides[at]);
  }
}

}  // namespace hearth::gpu
