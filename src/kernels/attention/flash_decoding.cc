// attention of few rows: kernels/attention/flash_decoding.metal, and
// kernels/attention/flash_decoding_mma.metal where a GPU has tensor cores.
#include <algorithm>
#include <memory>

#include "codegen/dialect_types.h"
#include "kernels/attention/inputs.h"
#include "kernels/launch/fast_divmod.h"
#include "kernels/launch/op_kernels.h"
#include "ops/defs.h"

namespace hearth::gpu {
namespace {

constexpr std::int64_t kMostColumns = 256;  // of a row of q, k or v
constexpr std::int64_t kMatrixColumns = 8;  // of a vector of attention_matrix()
constexpr std::int64_t kMostMatrixColumns = 128;
constexpr std::int64_t kMostCombining = 1024;  // threads

using Plan = std::shared_ptr<const StepPlan>;

// Steps for addresses that fit vectors, and for any.
class FewPlan final : public KernelPlan {
 public:
  FewPlan(Plan vectors, Plan any) : vectors_(std::move(vectors)), any_(std::move(any)) {
    kernels = (vectors_ != nullptr ? vectors_ : any_)->kernels;
  }
  void launch(const Launch& launch) const {
    constexpr std::uintptr_t kVectorBytes = 16;
    bool fits = vectors_ != nullptr;
    for (int i = kQ; i <= kV && fits; ++i) {
      fits = reinterpret_cast<std::uintptr_t>(launch.operands[i]) % kVectorBytes == 0;
    }
    launch_steps(fits ? *vectors_ : *any_, launch);
  }
  static Prepared prepare(Plan vectors, Plan any) {
    std::int64_t workspace = prepared_steps(any).workspace_bytes;
    if (vectors != nullptr) {
      workspace = std::max(workspace, prepared_steps(vectors).workspace_bytes);
    }
    return prepared(std::make_shared<FewPlan>(std::move(vectors), std::move(any)), workspace);
  }

 private:
  Plan vectors_, any_;
};

// How the queries and keys of a launch are shared out.
struct Shares {
  std::int64_t together;   // queries of a threadgroup
  std::int64_t blocks;     // threadgroups that share those of a group of heads
  std::int64_t stretches;  // threadgroups that share the keys
  int shift;               // stretches are multiples of 1 << shift keys

  Shares(const AttentionInputs& a, std::int64_t most) {
    const std::int64_t queries = a.heads / a.kv_heads * a.rows;
    together = 1;
    while (together < std::min(queries, most)) together *= 2;
    blocks = parts(queries, together);
    stretches = 1;
    shift = 0;
  }
  std::int64_t groups(const AttentionInputs& a) const { return a.batch * a.kv_heads * blocks; }
};

// Adds what computes parts, a kernel of `parameters` and FewParams, and attention_combine.
void add_few(StepPlan& plan, const AttentionInputs& a, const Shares& shares,
             const std::string& file, const std::string& function,
             const std::vector<std::string>& kernel_arguments, std::int64_t simdgroups,
             std::int64_t shared) {
  constexpr std::int64_t kTurn = 16;  // stretches that attention_combine() reads at once
  const std::int64_t lines = a.batch * a.heads * a.rows * shares.stretches;
  const std::int64_t bytes = a.dtype() == DType::f64 ? 8 : 4;
  const StepArgument partial{StepArgument::From::workspace, 0,
                             plan.add_workspace(lines * a.dv * bytes), lines * a.dv * bytes};
  const StepArgument marks{StepArgument::From::workspace, 0, plan.add_workspace(lines * 2 * bytes),
                           lines * 2 * bytes};
  const std::string memory = a.memory_type(), value = a.value_type();
  const auto u32 = [](std::int64_t x) { return static_cast<std::uint32_t>(x); };

  Step few;
  few.kernel =
      &plan.add_kernel(library_kernel(file, function, kernel_arguments,
                                      a.parameters({{Kind::write, value, "parts"},
                                                    {Kind::write, value, "marks"},
                                                    {Kind::constant, "FewParams", "p"},
                                                    {Kind::threadgroup, value, "shared", shared}}),
                                      simdgroups * 32));
  few.groups = {u32(shares.stretches), u32(a.kv_heads), u32(a.batch * shares.blocks)};
  few.threads = {u32(simdgroups * 32)};
  few.arguments.assign(a.arguments, a.arguments + kInputs);
  few.arguments.insert(few.arguments.end(), {kDynamics, partial, marks, kConstants});
  few.constants = a.constants;
  const Divisor divisor = divisor_of(shares.stretches);
  few.constants.insert(few.constants.end(), {a.heads / a.kv_heads, shares.blocks, shares.stretches,
                                             shares.shift, divisor.magic, divisor.shift});

  const std::int64_t columns = (a.dv + 31) / 32 * 32;
  const std::int64_t most_turns = kMostCombining / columns;
  Step combine;
  combine.kernel = &plan.add_kernel(
      library_kernel("attention/split_kv.metal", "attention_combine", {dtype_struct(a.dtype())},
                     {{Kind::read, value, "parts"},
                      {Kind::read, value, "marks"},
                      {Kind::read, "ulong", "dynamics"},
                      {Kind::write, memory, "out"},
                      {Kind::constant, "FewParams", "p"},
                      {Kind::threadgroup, value, "shared", kMostCombining * 3}},
                     kMostCombining));
  combine.groups = {u32(a.heads * a.rows), u32(a.batch)};
  combine.threads = {u32(columns),
                     u32(std::clamp<std::int64_t>(parts(shares.stretches, kTurn), 1, most_turns))};
  combine.arguments = {
      partial, marks, kDynamics,
      strided_operand(a.signature.output, static_cast<int>(a.signature.inputs.size())).argument,
      kConstants};
  combine.constants = few.constants;
  plan.add_step(std::move(few));
  plan.add_step(std::move(combine));
}

// attention_few.
Plan few_steps(const AttentionInputs& a, bool vectors) {
  // As many threadgroups as fill a large GPU, none with less than a step of keys.
  constexpr std::int64_t kEnoughGroups = 396, kSimdgroups = 4, kUnroll = 4;
  const std::int64_t lanes = a.lanes();
  Shares shares(a, a.dtype() == DType::f64 ? 2 : 8);
  const std::int64_t step = kSimdgroups * kUnroll * (32 / lanes);
  while ((std::int64_t{1} << shares.shift) < step) ++shares.shift;
  shares.stretches = std::clamp<std::int64_t>(kEnoughGroups / shares.groups(a), 1,
                                              std::max<std::int64_t>(1, parts(a.keys, step)));
  auto plan = std::make_shared<StepPlan>();
  add_few(*plan, a, shares, "attention/flash_decoding.metal", "attention_few",
          {dtype_struct(a.dtype()), std::to_string(lanes), std::to_string(shares.together),
           std::to_string(kUnroll), truth(vectors), truth(a.has_softcap), truth(a.has_mask),
           truth(a.has_bias)},
          kSimdgroups, shares.together * (lanes * 8 + 8));
  return plan;
}

// How many threadgroups share the keys of each of `groups`: as many as fill all `places` of a GPU
// best, where every filling costs a twentieth of the first one in starting and ending.
std::int64_t best_share(std::int64_t groups, std::int64_t places, std::int64_t most) {
  std::int64_t best = 1;
  double least = 0;
  for (std::int64_t share = 1; share <= most; ++share) {
    const std::int64_t fillings = parts(groups * share, places);
    const double filled = static_cast<double>(groups * share) / static_cast<double>(places);
    const double time = (1 / filled + 0.05) * static_cast<double>(fillings);
    if (share == 1 || time < least) {
      best = share;
      least = time;
    }
  }
  return best;
}

// attention_matrix.
Plan matrix_steps(const AttentionInputs& a) {
  // Processors of a large GPU: kernels are prepared for signatures, which do not name the device.
  constexpr std::int64_t kProcessors = 132;
  constexpr std::int64_t kSimdgroups = 8, kLeastKeys = 64;
  const bool narrow = std::max(a.d, a.dv) <= 64;
  const std::int64_t columns = narrow ? 64 : 128;
  Shares shares(a, 8);
  shares.shift = 4;
  // A processor holds one threadgroup of wide rows, or two of narrow ones.
  const std::int64_t places = kProcessors * (narrow ? 2 : 1);
  shares.stretches = best_share(shares.groups(a), places,
                                std::clamp<std::int64_t>(a.keys / kLeastKeys, 1, places));
  const std::int64_t pass = narrow || shares.together > 4 ? 1 : 2;
  auto plan = std::make_shared<StepPlan>();
  add_few(*plan, a, shares, "attention/flash_decoding_mma.metal", "attention_matrix",
          {dtype_struct(a.dtype()), std::to_string(columns), std::to_string(pass),
           std::to_string(shares.together), truth(a.d == columns && a.dv == columns),
           truth(a.has_softcap), truth(a.has_mask), truth(a.has_bias)},
          kSimdgroups, kSimdgroups * shares.together * (64 * pass + 6));
  return plan;
}

bool accepts_few(const Signature& signature) {
  const Shape& q = signature.inputs[kQ].shape;
  const Shape& v = signature.inputs[kV].shape;
  return q[2] <= kFewAttentionRows && q[3] <= kMostColumns && v[3] <= kMostColumns;
}

bool accepts_matrix(const Signature& signature) {
  const DType dtype = signature.inputs[kQ].dtype;
  const std::int64_t d = signature.inputs[kQ].shape[3], dv = signature.inputs[kV].shape[3];
  return (dtype == DType::f16 || dtype == DType::bf16) && accepts_few(signature) &&
         element_count(signature.output.shape) > 0 && signature.inputs[kK].shape[2] > 0 &&
         d % kMatrixColumns == 0 && dv % kMatrixColumns == 0 &&
         std::max(d, dv) <= kMostMatrixColumns;
}

Prepared prepare_few(const Signature& signature) {
  if (element_count(signature.output.shape) == 0) {
    return prepared_steps(std::make_shared<StepPlan>());
  }
  const AttentionInputs a(signature, kQ);
  return FewPlan::prepare(a.rows_fit_vectors() ? few_steps(a, true) : nullptr, few_steps(a, false));
}

Prepared prepare_matrix(const Signature& signature) {
  const AttentionInputs a(signature, kQ);
  return FewPlan::prepare(a.rows_fit_vectors() ? matrix_steps(a) : nullptr, few_steps(a, false));
}

void launch_few(const Launch& launch) { plan_as<FewPlan>(launch).launch(launch); }

}  // namespace

void add_few_attention(KernelTable& table) {
  table.add({.op = &defs::attention_op,
             .accepts = accepts_few,
             .priority = 1,
             .prepare = prepare_few,
             .launch = launch_few});
}

void add_matrix_attention(KernelTable& table) {
  table.add({.op = &defs::attention_op,
             .accepts = accepts_matrix,
             .priority = 2,
             .prepare = prepare_matrix,
             .launch = launch_few});
}

}  // namespace hearth::gpu
