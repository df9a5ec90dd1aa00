// attention: kernels/attention_few.h and kernels/attention_tiles.h.
#include <algorithm>
#include <memory>

#include "devices/gpu/attention_inputs.h"
#include "devices/gpu/dialect_types.h"
#include "devices/gpu/op_kernels.h"
#include "devices/gpu/region_values.h"
#include "ops/defs.h"

namespace hearth::gpu {
namespace {

constexpr std::int64_t kMostColumns = 256;  // of a row of q, k or v
constexpr std::int64_t kFewRows = 4;
constexpr std::int64_t kVectorBytes = 16;
constexpr int kFewSimdgroups = 4;

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
std::shared_ptr<const StepPlan> few_steps(const AttentionInputs& a, bool vectors) {
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
  const AttentionInputs attention(signature, kQ);
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
  const AttentionInputs a(signature, kQ);
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
