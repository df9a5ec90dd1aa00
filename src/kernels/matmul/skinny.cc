// Products of a matrix and a few vectors: kernels/matmul/skinny.metal.
#include <algorithm>
#include <memory>

#include "codegen/dialect_types.h"
#include "graph/switches.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/occupancy.h"
#include "kernels/matmul/matmul.h"

namespace hearth::gpu {

#include "kernels/matmul/params.h"

namespace {

constexpr std::int64_t kMaxVectors = 16;
constexpr std::int64_t kPacket = 4;  // elements
// Threadgroups of a processor that keep its memory busy. Where rows give fewer, the length is split
// over up to kMaxShares threadgroups, each of kMinShareLength elements at least.
constexpr std::int64_t kBusyGroups = 2;
constexpr std::int64_t kMaxShares = 8;
constexpr std::int64_t kMinShareLength = 1024;
// Rows beyond this many times the length do not count: staging short vectors costs too much.
constexpr std::int64_t kMaxAspect = 4;

// The kernel's template arguments for up to `vectors` vectors.
struct SkinnyForm {
  std::int64_t vectors, rows, steps, threads;
  std::int64_t registers;  // of a thread, so that several threadgroups fit

  std::int64_t rows_of_group() const { return rows * threads / kSimdWidth; }
};
constexpr SkinnyForm kSkinnyForms[] = {
    {4, 8, 2, 256, 128}, {8, 4, 2, 256, 128}, {16, 4, 2, 256, 128}};

const SkinnyForm& form_for(std::int64_t vectors) {
  return *std::find_if(std::begin(kSkinnyForms), std::end(kSkinnyForms),
                       [&](const SkinnyForm& form) { return vectors <= form.vectors; });
}

std::int64_t shares_of(const runtime::DeviceTraits& device, const SkinnyForm& form,
                       std::int64_t rows, std::int64_t length) {
  const std::int64_t busy = kBusyGroups * processors(device);
  const std::int64_t groups = ceil_div(rows, form.rows_of_group());
  std::int64_t shares = 1;
  while (shares < kMaxShares && 2 * shares * groups <= busy &&
         length >= 2 * shares * kMinShareLength) {
    shares *= 2;
  }
  return shares;
}

bool has_packets(const TensorSpec& spec, int line, int element) {
  const std::int64_t step = spec.strides[line];
  return spec.strides[element] == 1 && step > 0 && step % kPacket == 0;
}

}  // namespace

bool is_skinny(const Signature& signature, std::int64_t large) {
  const TensorSpec& x = signature.inputs[0];
  const TensorSpec& w = signature.inputs[1];
  const TensorSpec& y = signature.output;
  const int last = y.shape.rank() - 1, x_last = x.shape.rank() - 1, w_last = w.shape.rank() - 1;
  const std::int64_t vectors = y.shape[last - 1], rows = y.shape[last], length = x.shape[x_last];
  return y.dtype == DType::f32 && !switches().tf32 && vectors > 1 && vectors <= kMaxVectors &&
         element_count(y.shape) == vectors * rows && rows >= form_for(vectors).rows &&
         std::min(rows, kMaxAspect * length) * length >= large && length % kPacket == 0 &&
         length < kMaxRowLength && has_packets(x, x_last - 1, x_last) &&
         has_packets(w, w_last, w_last - 1) && y.strides[last] == 1;
}

Prepared prepare_skinny(const Signature& signature) {
  const TensorSpec& x = signature.inputs[0];
  const TensorSpec& w = signature.inputs[1];
  const TensorSpec& y = signature.output;
  const int last = y.shape.rank() - 1;
  const std::int64_t vectors = y.shape[last - 1], rows = y.shape[last];
  const std::int64_t length = x.shape.back();
  const SkinnyForm& form = form_for(vectors);
  const std::int64_t shares = shares_of(*signature.device, form, rows, length);

  auto plan = std::make_shared<StepPlan>();
  const StepArgument result = output_argument(signature);
  StepArgument sums = result;  // not touched where there is one share
  if (shares > 1) sums = workspace(*plan, shares * vectors * rows * size_of(DType::f32));
  const MatmulSkinnyParams params{.vectors = vectors,
                                  .rows = rows,
                                  .length = length,
                                  .row_step = w.strides[w.shape.rank() - 1],
                                  .x_step = x.strides[x.shape.rank() - 2],
                                  .y_step = y.strides[last - 1],
                                  .parts = shares};
  const Size3 groups = {static_cast<std::uint32_t>(ceil_div(rows, form.rows_of_group())),
                        static_cast<std::uint32_t>(shares)};
  const std::int64_t most_threads =
      register_threads(*signature.device, form.registers, form.threads);
  plan->add_step(true, [&](bool packed, bool rare) {
    const std::int64_t bytes = packed ? kPacketBytes : 1;
    return KernelCall("matmul/skinny.metal", "matmul_skinny",
                      {truth(packed), std::to_string(form.rows), std::to_string(form.vectors),
                       std::to_string(form.steps), std::to_string(form.threads)})
        .read("float", "w", aligned(input_argument(signature, 1), bytes))
        .read("float", "x", aligned(input_argument(signature, 0), bytes))
        .write("float", "y", result)
        .write("float", "parts", sums)
        .constants(params)
        .threadgroup("float4", "stage", 64 * form.steps * form.vectors)
        .step(*plan, groups, {static_cast<std::uint32_t>(form.threads)}, most_threads, rare);
  });
  if (shares > 1) {
    plan->add_step(KernelCall("matmul/skinny.metal", "matmul_skinny_join", {"float"})
                       .read("float", "parts", sums)
                       .write("float", "y", result)
                       .constants(params)
                       .step(*plan, groups_for(vectors * rows), {kThreads}, kThreads));
  }
  return prepared_steps(std::move(plan));
}

}  // namespace hearth::gpu
