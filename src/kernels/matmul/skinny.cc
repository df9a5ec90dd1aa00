// Products of a matrix and a few vectors: kernels/matmul/skinny.metal.
#include <algorithm>
#include <memory>

#include "codegen/dialect_types.h"
#include "graph/switches.h"
#include "kernels/launch/op_kernels.h"
#include "kernels/launch/step_plan.h"

namespace hearth::gpu {
namespace {

constexpr std::int64_t kMostVectors = 16;
constexpr std::int64_t kPacket = 4;  // elements
// Positions in a row are ints.
constexpr std::int64_t kLongest = std::int64_t{1} << 30;
// Threadgroups that keep a large GPU busy, and how many of them share the length for that at most,
// of so many elements at least.
constexpr std::int64_t kBusy = 256;
constexpr std::int64_t kMostShares = 8;
constexpr std::int64_t kShortestShare = 1024;
// Rows beyond so many lengths make a matrix no larger: short vectors are staged for too little.
constexpr std::int64_t kTallest = 4;

// How the kernel is made for up to so many vectors.
struct Form {
  std::int64_t vectors, rows, steps, threads;
  std::int64_t most_threads;  // leaves so many registers to each that several threadgroups fit

  std::int64_t rows_of_group() const { return rows * threads / 32; }
};
constexpr Form kForms[] = {{4, 8, 2, 256, 512}, {8, 4, 2, 256, 512}, {16, 4, 2, 256, 512}};

const Form& form_for(std::int64_t vectors) {
  return *std::find_if(std::begin(kForms), std::end(kForms),
                       [&](const Form& form) { return vectors <= form.vectors; });
}

std::int64_t shares_of(const Form& form, std::int64_t rows, std::int64_t length) {
  const std::int64_t groups = parts(rows, form.rows_of_group());
  std::int64_t shares = 1;
  while (shares < kMostShares && 2 * shares * groups <= kBusy &&
         length >= 2 * shares * kShortestShare) {
    shares *= 2;
  }
  return shares;
}

bool has_packets(const TensorSpec& spec, int line, int element) {
  const std::int64_t step = spec.strides[line];
  return spec.strides[element] == 1 && step > 0 && step % kPacket == 0;
}

}  // namespace

bool is_matvec_few(const Signature& signature, std::int64_t large) {
  const TensorSpec& x = signature.inputs[0];
  const TensorSpec& w = signature.inputs[1];
  const TensorSpec& y = signature.output;
  const int last = y.shape.rank() - 1, x_last = x.shape.rank() - 1, w_last = w.shape.rank() - 1;
  const std::int64_t vectors = y.shape[last - 1], rows = y.shape[last], length = x.shape[x_last];
  return y.dtype == DType::f32 && !switches().tf32 && vectors > 1 && vectors <= kMostVectors &&
         element_count(y.shape) == vectors * rows && rows >= form_for(vectors).rows &&
         std::min(rows, kTallest * length) * length >= large && length % kPacket == 0 &&
         length < kLongest && has_packets(x, x_last - 1, x_last) &&
         has_packets(w, w_last, w_last - 1) && y.strides[last] == 1;
}

Prepared matvec_few(const Signature& signature) {
  const TensorSpec& x = signature.inputs[0];
  const TensorSpec& w = signature.inputs[1];
  const TensorSpec& y = signature.output;
  const int last = y.shape.rank() - 1;
  const std::int64_t vectors = y.shape[last - 1], rows = y.shape[last];
  const std::int64_t length = x.shape.back();
  const Form& form = form_for(vectors);
  const std::int64_t shares = shares_of(form, rows, length);

  auto plan = std::make_shared<StepPlan>();
  const StepArgument result =
      strided_operand(y, static_cast<int>(signature.inputs.size())).argument;
  StepArgument sums = result;  // not touched where there is one share
  if (shares > 1) {
    const std::int64_t bytes = shares * vectors * rows * size_of(DType::f32);
    sums = {StepArgument::From::workspace, 0, plan->add_workspace(bytes), bytes};
  }
  const std::vector<std::int64_t> constants = {vectors,
                                               rows,
                                               length,
                                               w.strides[w.shape.rank() - 1],
                                               x.strides[x.shape.rank() - 2],
                                               y.strides[last - 1],
                                               shares};
  plan->add_step(true, [&](bool packed, bool rare) {
    Step step;
    step.kernel = &plan->add_kernel(
        library_kernel("matmul/skinny.metal", "matvec_few",
                       {truth(packed), std::to_string(form.rows), std::to_string(form.vectors),
                        std::to_string(form.steps), std::to_string(form.threads)},
                       {{Kind::read, "float", "w"},
                        {Kind::read, "float", "x"},
                        {Kind::write, "float", "y"},
                        {Kind::write, "float", "parts"},
                        {Kind::constant, "MatvecFewParams", "p"},
                        {Kind::threadgroup, "float4", "stage", 64 * form.steps * form.vectors}},
                       form.most_threads),
        rare);
    step.groups = {static_cast<std::uint32_t>(parts(rows, form.rows_of_group())),
                   static_cast<std::uint32_t>(shares)};
    step.threads = {static_cast<std::uint32_t>(form.threads)};
    step.constants = constants;
    step.arguments = {strided_operand(w, 1).argument, strided_operand(x, 0).argument, result, sums,
                      kConstants};
    if (packed) step.arguments[0].alignment = step.arguments[1].alignment = kPacketBytes;
    return step;
  });
  if (shares > 1) {
    Step join;
    join.kernel =
        &plan->add_kernel(library_kernel("matmul/skinny.metal", "matvec_few_join", {"float"},
                                         {{Kind::read, "float", "parts"},
                                          {Kind::write, "float", "y"},
                                          {Kind::constant, "MatvecFewParams", "p"}},
                                         kThreads));
    join.groups = groups_for(vectors * rows);
    join.threads = {kThreads};
    join.constants = constants;
    join.arguments = {sums, result, kConstants};
    plan->add_step(std::move(join));
  }
  return prepared_steps(std::move(plan));
}

}  // namespace hearth::gpu
