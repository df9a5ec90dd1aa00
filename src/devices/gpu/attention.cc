// attention: kernels/attention_few.h and kernels/attention_tiles.h.
#include <algorithm>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <memory>

#include "devices/gpu/dialect_types.h"
#include "devices/gpu/op_kernels.h"
#include "devices/gpu/region_values.h"
#include "devices/gpu/step_plan.h"
#include "ops/defs.h"

namespace hearth::gpu {
namespace {

constexpr std::int64_t kMostColumns = 256;  // of a row of q, k or v
constexpr std::int64_t kFewRows = 4;
constexpr std::int64_t kVectorBytes = 16;
constexpr std::int64_t kColumnsOfLane = 8;
constexpr int kFewSimdgroups = 4;

// The inputs of a launch, counted from q.
enum Input : int { kQ, kK, kV, kMask, kBias, kInputs };

struct Attention {
  const Signature& signature;
  int first;                            // the input that q is
  std::vector<std::int64_t> constants;  // AttentionParams
  StepArgument arguments[kInputs];
  std::int64_t batch, heads, kv_heads, rows, keys, d, dv;
  bool has_softcap, has_mask, has_bias;

  Attention(const Signature& from, int first_input) : signature(from), first(first_input) {
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
    const double scale = statics.f64(), softcap = statics.f64();
    const bool causal = statics.boolean();
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
                 signature.dynamic,
                 bits(softcap > 0 ? scale / softcap : scale * log2e),
                 bits(softcap * log2e),
                 bits(log2e)};
    for (int i = 0; i < kInputs; ++i) add_operand(i);
  }

  const TensorSpec& input(int i) const {
    return signature.inputs[static_cast<std::size_t>(first + i)];
  }
  bool has(int i) const {
    return static_cast<std::size_t>(first + i) < signature.inputs.size() && !input(i).absent;
  }
  DType dtype() const { return input(kQ).dtype; }
  const char* memory_type() const { return dialect_type(dtype()); }
  const char* value_type() const { return sum_type(dtype()); }
  // Of a kernel: what `arguments` and the dynamic block are for, then `more`.
  std::vector<KernelParameter> parameters(std::initializer_list<KernelParameter> more) const {
    const std::string type = memory_type();
    std::vector<KernelParameter> all = {
        {Kind::read, type, "q"},    {Kind::read, type, "k"},
        {Kind::read, type, "v"},    {Kind::read, "uchar", "mask"},
        {Kind::read, type, "bias"}, {Kind::read, "ulong", "dynamics"}};
    all.insert(all.end(), more);
    return all;
  }
  // 8, 16 or 32 lanes hold a row.
  std::int64_t lanes() const {
    const std::int64_t columns = std::max(d, dv);
    return columns <= 64 ? 8 : columns <= 128 ? 16 : 32;
  }
  // Whether rows of q, k and v can be loaded in vectors where the addresses fit.
  bool rows_fit_vectors() const {
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

 private:
  void add_operand(int i) {
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
};

// Steps for addresses that fit vectors, and for any.
class AttentionPlan final : public KernelPlan {
 public:
  AttentionPlan(std::shared_ptr<const StepPlan> vectors, std::shared_ptr<const StepPlan> any)
      : vectors_(std::move(vectors)), any_(std::move(any)) {
    kernels = (vectors_ != nullptr ? vectors_ : any_)->kernels;
  }
  void launch(const Launch& launch) const {
    bool fits = vectors_ != nullptr;
    for (int i = kQ; i <= kV && fits; ++i) {
      fits = reinterpret_cast<std::uintptr_t>(launch.operands[i]) % kVectorBytes == 0;
    }
    launch_steps(fits ? *vectors_ : *any_, launch);
  }

 private:
  std::shared_ptr<const StepPlan> vectors_, any_;
};

// attention_few and attention_combine.
std::shared_ptr<const StepPlan> few_steps(const Attention& a, bool vectors) {
  // As many threadgroups as fill a large GPU, none with less than a step of keys.
  constexpr std::int64_t kEnoughGroups = 396;
  auto plan = std::make_shared<StepPlan>();
  const std::int64_t lanes = a.lanes(), queries = a.heads / a.kv_heads * a.rows;
  const std::int64_t most = a.dtype() == DType::f64 ? 2 : 8;
  std::int64_t together = 1;
  while (together < std::min(queries, most)) together *= 2;
  const std::int64_t blocks = (queries + together - 1) / together;
  const std::int64_t unroll = 4;
  const std::int64_t step = kFewSimdgroups * unroll * (32 / lanes);
  const std::int64_t stretches =
      std::clamp<std::int64_t>(kEnoughGroups / (a.batch * a.kv_heads * blocks), 1,
                               std::max<std::int64_t>(1, (a.keys + step - 1) / step));
  const std::int64_t lines = a.batch * a.heads * a.rows * stretches;
  const std::int64_t bytes = a.dtype() == DType::f64 ? 8 : 4;
  const StepArgument parts{StepArgument::From::workspace, 0,
                           plan->add_workspace(lines * a.dv * bytes), lines * a.dv * bytes};
  const StepArgument marks{StepArgument::From::workspace, 0, plan->add_workspace(lines * 2 * bytes),
                           lines * 2 * bytes};
  const std::string memory = a.memory_type(), value = a.value_type();

  const std::vector<std::string> arguments = {dtype_struct(a.dtype()),  std::to_string(lanes),
                                              std::to_string(together), std::to_string(unroll),
                                              truth(vectors),           truth(a.has_softcap),
                                              truth(a.has_mask),        truth(a.has_bias)};
  Step few;
  few.kernel = &plan->add_kernel(library_kernel(
      "attention_few.h", "attention_few", arguments,
      a.parameters({{Kind::write, value, "parts"},
                    {Kind::write, value, "marks"},
                    {Kind::constant, "FewParams", "p"},
                    {Kind::threadgroup, value, "shared", together * (lanes * 8 + 8)}}),
      kFewSimdgroups * 32));
  few.groups = {static_cast<std::uint32_t>(stretches),
                static_cast<std::uint32_t>(a.kv_heads * blocks),
                static_cast<std::uint32_t>(a.batch)};
  few.threads = {kFewSimdgroups * 32};
  few.arguments.assign(a.arguments, a.arguments + kInputs);
  few.arguments.insert(few.arguments.end(), {kDynamics, parts, marks, kConstants});
  few.constants = a.constants;
  few.constants.push_back(stretches);

  // More of an f64 would be more threadgroup memory than every GPU has.
  const int combining = a.dtype() == DType::f64 ? 8 : 16;
  const std::vector<std::string> combined = {dtype_struct(a.dtype()), std::to_string(lanes),
                                             std::to_string(unroll)};
  Step combine;
  combine.kernel =
      &plan->add_kernel(library_kernel("attention_few.h", "attention_combine", combined,
                                       {{Kind::read, value, "parts"},
                                        {Kind::read, value, "marks"},
                                        {Kind::read, "ulong", "dynamics"},
                                        {Kind::write, memory, "out"},
                                        {Kind::constant, "FewParams", "p"},
                                        {Kind::threadgroup, value, "shared", combining * 257}},
                                       combining * 32));
  combine.groups = {static_cast<std::uint32_t>(a.heads * a.rows),
                    static_cast<std::uint32_t>(a.batch)};
  combine.threads = {static_cast<std::uint32_t>(combining * 32)};
  combine.arguments = {
      parts, marks, kDynamics,
      strided_operand(a.signature.output, static_cast<int>(a.signature.inputs.size())).argument,
      kConstants};
  combine.constants = few.constants;
  plan->add_step(std::move(few));
  plan->add_step(std::move(combine));
  return plan;
}

bool accepts_few(const Signature& signature) {
  const Shape& q = signature.inputs[kQ].shape;
  const Shape& v = signature.inputs[kV].shape;
  return q[2] <= kFewRows && q[3] <= kMostColumns && v[3] <= kMostColumns;
}

Prepared prepare_few(const Signature& signature) {
  if (element_count(signature.output.shape) == 0) {
    return prepared_steps(std::make_shared<StepPlan>());
  }
  const Attention attention(signature, kQ);
  auto any = few_steps(attention, false);
  auto vectors = attention.rows_fit_vectors() ? few_steps(attention, true) : nullptr;
  const std::int64_t workspace = prepared_steps(any).workspace_bytes;
  return prepared(std::make_shared<AttentionPlan>(std::move(vectors), std::move(any)), workspace);
}

// attention_tiles.
Prepared prepare_tiles(const Signature& signature) {
  constexpr std::int64_t kTile = 64;
  auto plan = std::make_shared<StepPlan>();
  if (element_count(signature.output.shape) == 0) return prepared_steps(std::move(plan));
  const Attention a(signature, kQ);
  const std::int64_t columns = a.dv <= 64 ? 64 : a.dv <= 128 ? 128 : 256;
  const std::string memory = a.memory_type(), value = a.value_type();
  const std::vector<std::string> arguments = {dtype_struct(a.dtype()), std::to_string(columns),
                                              truth(a.has_softcap), truth(a.has_mask),
                                              truth(a.has_bias)};
  Step step;
  step.kernel = &plan->add_kernel(
      library_kernel("attention_tiles.h", "attention_tiles", arguments,
                     a.parameters({{Kind::write, memory, "out"},
                                   {Kind::constant, "AttentionParams", "p"},
                                   {Kind::threadgroup, value, "slices", 2048},
                                   {Kind::threadgroup, value, "weights", kTile * kTile}}),
                     kThreads));
  step.groups = {static_cast<std::uint32_t>((a.rows + kTile - 1) / kTile),
                 static_cast<std::uint32_t>(a.heads), static_cast<std::uint32_t>(a.batch)};
  step.threads = {kThreads};
  step.arguments.assign(a.arguments, a.arguments + kInputs);
  step.arguments.insert(
      step.arguments.end(),
      {kDynamics,
       strided_operand(signature.output, static_cast<int>(signature.inputs.size())).argument,
       kConstants});
  step.constants = a.constants;
  plan->add_step(std::move(step));
  return prepared_steps(std::move(plan));
}

// Tiles of f64 would be more threadgroup memory than every GPU has.
bool accepts_tiles(const Signature& signature) {
  return signature.output.dtype != DType::f64 && signature.inputs[kV].shape[3] <= kMostColumns;
}

void launch_few(const Launch& launch) { plan_as<AttentionPlan>(launch).launch(launch); }

}  // namespace

void add_attention_kernels(KernelTable& table) {
  table.add({.op = &defs::attention_op,
             .accepts = accepts_few,
             .priority = 1,
             .prepare = prepare_few,
             .launch = launch_few});
  table.add({.op = &defs::attention_op,
             .accepts = accepts_tiles,
             .prepare = prepare_tiles,
             .launch = launch_steps});
}

}  // namespace hearth::gpu
