// expert_linear and its gradient: rows are sorted by expert, and each expert's are one product.
//
// Sums of a row depend on extents and strides alone, never on the rows beside it: how a product is
// made is chosen for all experts alike.
#include "devices/cpu/ops/experts/products.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/integer_math.h"
#include "devices/cpu/gemm/gemm.h"
#include "devices/cpu/gemm/kernels.h"
#include "devices/cpu/gemm/skinny.h"
#include "graph/params.h"
#include "graph/switches.h"
#include "ops/definition/defs.h"

namespace hearth::cpu {
namespace {

// Up to so many pairs of a row and an expert, experts have few rows each: reading their weights is
// the work.
constexpr std::int64_t kFewPairs = 64;
// Bytes of weights, and columns of a product of many rows, that are claimed at a time.
constexpr std::int64_t kFewChunkBytes = 1 << 16;
constexpr std::int64_t kLeastExpertColumns = 64, kMostColumns = 512;
constexpr std::int64_t kLeastChunks = 32;  // for threads to share

// As gemm(), by the same kernels for any number of rows.
void multiply_many(const GemmArgs& args) {
  if (args.dtype == DType::bf16) {
    const Bf16Gemm* const tiles = args.k >= 16 && !args.by_row ? amx_gemm() : nullptr;
    const Bf16Gemm* const pairs = tiles != nullptr ? tiles : bf16_gemm();
    if (pairs != nullptr) return gemm_bf16(*pairs, args);
  }
  gemm(args);
}
// Any number of rows has the order of one.
void multiply_few(const GemmArgs& args) { gemm_skinny(args); }

struct ExpertPlan {
  explicit ExpertPlan(const Signature& signature, std::int64_t count, std::int64_t second)
      : extents(expert_extents(signature, count)),
        in(signature.inputs[0].shape.back()),
        width(second),
        size(size_of(signature.output.dtype)) {}
  std::int64_t rows_at() const { return ExpertGroups::bytes(extents); }
  std::int64_t second_at() const {
    return rows_at() + round_up(extents.pairs() * in * size, std::int64_t{64});
  }

  ExpertExtents extents;
  std::int64_t in, width;  // of rows of x, and of what lies behind them in the workspace
  std::int64_t size;       // of an element
  bool by_row = switches().batch_invariant;
};

// ---- expert_linear

Prepared prepare_experts(const Signature& signature) {
  const auto plan = std::make_shared<const ExpertPlan>(signature, signature.inputs[1].shape[0],
                                                       signature.output.shape.back());
  const std::int64_t sum = signature.output.dtype == DType::f64 ? 8 : 4;
  return {plan, plan->second_at() + plan->extents.pairs() * plan->width * sum};
}

// Results of one expert's rows, columns [begin, end), go from sums to their places.
template <class T>
void put_rows(const ExpertGroups& groups, std::int64_t expert, const T* sums, std::int64_t stride,
              const T* addends, const Operand& output, std::int64_t begin, std::int64_t end) {
  const std::int64_t count = end - begin;
  T* const copy = scratch<T>(3, count);
  for (std::int64_t i = 0; i < groups.count(expert); ++i) {
    const T* row = sums + i * stride;
    if (addends != nullptr) {
      for (std::int64_t j = 0; j < count; ++j) copy[j] = row[j] + addends[j];
      row = copy;
    }
    write_row(output, groups.pairs(expert)[i] * stride + begin, row, count);
  }
}

template <class T, void (*kMultiply)(const GemmArgs&)>
void run_experts(const Launch& launch, const ExpertPlan& plan, bool is_few) {
  auto* const memory = reinterpret_cast<std::byte*>(launch.workspace);
  const ExpertGroups groups(plan.extents, input_of(launch, 2), memory);
  const Operand x = input_of(launch, 0), weight = input_of(launch, 1), output = output_of(launch);
  const bool has_bias = has_input(launch, 3);
  const Operand bias = input_of(launch, has_bias ? 3 : 0);
  clear_without_expert(groups, output);
  if (groups.chosen() == 0) return;
  std::byte* const rows = memory + plan.rows_at();
  T* const sums = reinterpret_cast<T*>(memory + plan.second_at());
  gather_expert_rows(groups, x, plan.extents.rows_of_line(), rows);

  const std::int64_t in = plan.in, out = plan.width;
  const std::int64_t most =
      is_few ? std::max(kFewChunkBytes / std::max<std::int64_t>(in * plan.size, 1),
                        kLeastExpertColumns)
             : std::clamp(out * groups.chosen() / kLeastChunks, kLeastExpertColumns, kMostColumns);
  // Equal parts: none is so narrow that it would be multiplied in another way.
  const std::int64_t parts = ceil_div(out, most);
  groups.for_parts([&](std::int64_t) { return parts; },
                   [&](std::int64_t e, std::int64_t part) {
                     const std::int64_t begin = out * part / parts, end = out * (part + 1) / parts;
                     GemmArgs args;
                     args.m = groups.count(e);
                     args.n = end - begin;
                     args.k = in;
                     args.a = rows + groups.first(e) * in * plan.size;
                     args.a_row_stride = in;
                     args.b = weight.at(e * weight.stride(0) + begin * weight.stride(1));
                     args.b_row_stride = weight.stride(2);
                     args.b_col_stride = weight.stride(1);
                     args.c = sums + groups.first(e) * out + begin;
                     args.c_row_stride = out;
                     args.dtype = output.dtype();
                     args.c_dtype = dtype_of_v<T>;
                     args.by_row = plan.by_row;
                     args.threads = 1;
                     kMultiply(args);
                     const T* addends = nullptr;
                     if (has_bias) {
                       addends = read_row(bias, e * bias.stride(0) + begin * bias.stride(1),
                                          bias.stride(1), end - begin, scratch<T>(4, end - begin));
                     }
                     put_rows(groups, e, sums + groups.first(e) * out + begin, out, addends, output,
                              begin, end);
                   });
}

template <void (*kMultiply)(const GemmArgs&), bool kIsFew>
void launch_experts(const Launch& launch) {
  const auto& plan = *static_cast<const ExpertPlan*>(launch.state);
  with_compute_type(launch.signature->output.dtype,
                    [&]<class T>() { run_experts<T, kMultiply>(launch, plan, kIsFew); });
}

bool accepts_few(const Signature& signature) {
  const Shape& output = signature.output.shape;
  return output[0] * output[1] <= kFewPairs && output[2] >= kLeastExpertColumns &&
         can_be_skinny(signature.output.dtype, 1, output[2], signature.inputs[0].shape.back());
}

bool fits_few(const Signature& signature) {
  const Strides& strides = signature.inputs[1].strides;
  return strides[1] == 1 || strides[2] == 1;
}

// ---- Its gradient

Prepared prepare_expert_gradient(const Signature& signature) {
  const auto plan = std::make_shared<const ExpertPlan>(signature, signature.output.shape[0],
                                                       signature.output.shape[1]);
  return {plan, plan->second_at() + plan->extents.pairs() * plan->width * plan->size};
}

void launch_expert_gradient(const Launch& launch) {
  const auto& plan = *static_cast<const ExpertPlan*>(launch.state);
  auto* const memory = reinterpret_cast<std::byte*>(launch.workspace);
  const ExpertGroups groups(plan.extents, input_of(launch, 2), memory);
  const Operand output = output_of(launch);
  std::byte* const rows = memory + plan.rows_at();
  std::byte* const grads = memory + plan.second_at();
  gather_expert_rows(groups, input_of(launch, 0), plan.extents.rows_of_line(), rows);
  gather_expert_rows(groups, input_of(launch, 1), 1, grads);
  const std::int64_t in = plan.in, out = plan.width;
  for (std::int64_t e = 0; e < groups.expert_count(); ++e) {
    GemmArgs args;
    args.m = out;
    args.n = in;
    args.k = groups.count(e);
    args.a = grads + groups.first(e) * out * plan.size;
    args.a_row_stride = 1;
    args.a_col_stride = out;
    args.b = rows + groups.first(e) * in * plan.size;
    args.b_row_stride = in;
    args.c = output.at(e * out * in);
    args.c_row_stride = in;
    args.dtype = args.c_dtype = output.dtype();
    gemm(args);
  }
}

constexpr Implementation kExperts[] = {
    {.name = "few",
     .op = &defs::expert_linear_op,
     .accepts = accepts_few,
     .fits = fits_few,
     .prepare = prepare_experts,
     .launch = launch_experts<multiply_few, true>},
    {.name = "grouped",
     .op = &defs::expert_linear_op,
     .prepare = prepare_experts,
     .launch = launch_experts<multiply_many, false>},
    {.name = "grouped",
     .op = &defs::expert_linear_weight_gradient_op,
     .prepare = prepare_expert_gradient,
     .launch = launch_expert_gradient},
    {.name = "grouped",
     .op = &defs::packed_expert_linear_op,
     .accepts = [](const Signature& signature) { return signature.output.dtype != DType::f64; },
     .layout = LayoutNeed::last_axis_dense,
     .prepare = prepare_packed_experts,
     .launch = launch_packed_experts},
};

}  // namespace

ExpertExtents expert_extents(const Signature& signature, std::int64_t expert_count) {
  const Shape& experts = signature.inputs[2].shape;
  return {experts[0], experts[1], expert_count, signature.inputs[0].shape.rank() == 3};
}

Family experts_family() { return kExperts; }

}  // namespace hearth::cpu
