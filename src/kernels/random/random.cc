// Random tensors, dropout, and arange: kernels/random/random.metal.
#include <algorithm>
#include <memory>

#include "codegen/dialect_types.h"
#include "graph/record/node.h"
#include "kernels/launch/kernel_call.h"
#include "ops/definition/defs.h"

namespace hearth::gpu {

#include "kernels/random/params.h"

namespace {

constexpr std::int64_t kThreadElements = kThreadBlocks * kBlockWords;

// A kernel whose threads make `per_thread` elements of the output each, and store `bytes` bytes at
// a time. With `rare`, it is compiled when it is launched.
Step drawn_step(StepPlan& plan, const Signature& signature, const std::string& function,
                const std::vector<std::string>& arguments, std::int64_t per_thread,
                std::int64_t bytes, bool rare) {
  const std::int64_t count = element_count(signature.output.shape);
  return KernelCall("random/random.metal", function, arguments)
      .write(dialect_type(signature.output.dtype), "y", aligned(output_argument(signature), bytes))
      .dynamics()
      .constants(RandomParams{.count = count, .dynamic = signature.dynamic})
      .step(plan, groups_for(ceil_div(count, per_thread)), {kThreads}, kThreads, rare);
}

Prepared prepare_drawn(const Signature& signature, const std::string& function,
                       const std::vector<std::string>& arguments, std::int64_t per_thread) {
  auto plan = std::make_shared<StepPlan>();
  if (element_count(signature.output.shape) > 0) {
    plan->add_step(drawn_step(*plan, signature, function, arguments, per_thread, 1, false));
  }
  return prepared_steps(std::move(plan));
}

// The same for kernels that store a thread's elements together where the output is aligned.
Prepared prepare_packed(const Signature& signature, const std::string& function,
                        std::vector<std::string> arguments, std::int64_t per_thread) {
  auto plan = std::make_shared<StepPlan>();
  if (element_count(signature.output.shape) == 0) return prepared_steps(std::move(plan));
  arguments.insert(arguments.begin(), dtype_struct(signature.output.dtype));
  plan->add_step(true, [&](bool packed, bool rare) {
    std::vector<std::string> all = arguments;
    all.emplace_back(truth(packed));
    const std::int64_t bytes = per_thread * size_of(signature.output.dtype);
    return drawn_step(*plan, signature, function, all, per_thread,
                      packed ? std::min(bytes, kPacketBytes) : 1, rare);
  });
  return prepared_steps(std::move(plan));
}

bool is_f64(const Signature& signature) { return signature.output.dtype == DType::f64; }

Prepared prepare_bits(const Signature& signature) {
  return prepare_packed(signature, "random_bits", {}, size_of(signature.output.dtype) == 8 ? 2 : 4);
}

Prepared prepare_uniform(const Signature& signature) {
  if (is_f64(signature)) return prepare_drawn(signature, "random_uniform64", {}, 2);
  return prepare_packed(signature, "random_uniform", {}, kThreadElements);
}

Prepared prepare_normal(const Signature& signature) {
  if (is_f64(signature)) return prepare_drawn(signature, "random_normal64", {}, 2);
  return prepare_packed(signature, "random_normal", {}, kThreadElements);
}

Prepared prepare_bernoulli(const Signature& signature) {
  return prepare_packed(signature, "random_bernoulli", {}, kThreadElements);
}

Prepared prepare_integers(const Signature& signature) {
  const DType dtype = signature.output.dtype;
  const char* const by = dtype == DType::f64 ? "double" : is_float(dtype) ? "float" : "long";
  return prepare_packed(signature, "random_integers", {by}, 2);
}

// An addition of an array like the result may follow.
bool fuses_sum(const Signature& signature) {
  if (signature.epilogue.size() != 1) return signature.epilogue.empty();
  const Epilogue& step = signature.epilogue.front();
  if (step.op != &defs::add_op || step.input < 0) return false;
  const TensorSpec& other = signature.inputs[static_cast<std::size_t>(step.input)];
  return other.dtype == signature.output.dtype && other.dtype == signature.inputs[0].dtype &&
         other.shape == signature.output.shape && is_dense(other.shape, other.strides);
}

Prepared prepare_dropout(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const std::int64_t count = element_count(signature.output.shape);
  if (count == 0) return prepared_steps(std::move(plan));
  const TensorSpec& x = signature.inputs[0];
  Shape shape = x.shape;
  Strides strides = x.strides;
  const bool dense = is_dense(shape, strides);
  merge_kernel_axes(&shape, {&strides});
  const StridedOperand from = strided_operand(x, 0);
  const bool adds = !signature.epilogue.empty();
  const StepArgument added =
      adds ? input_argument(signature, signature.epilogue.front().input) : from.argument;
  const char* const type = dialect_type(x.dtype);
  plan->add_step(dense, [&](bool packed, bool rare) {
    const std::int64_t bytes = packed ? kPacketBytes : 1;
    return KernelCall("random/random.metal", "dropout",
                      {dtype_struct(x.dtype), index_type(count), truth(packed), truth(adds),
                       std::to_string(shape.rank())})
        .read(type, "x", aligned(from.argument, bytes))
        .read(type, "added", aligned(added, bytes))
        .write(type, "y", aligned(output_argument(signature), bytes))
        .dynamics()
        .constants(DropoutParams<kRuntimeRank>{
            .count = count, .dynamic = signature.dynamic, .x = {from.base, &shape, &strides}})
        .step(*plan, groups_for(ceil_div(count, kThreadElements)), {kThreads}, kThreads, rare);
  });
  return prepared_steps(std::move(plan));
}

Prepared prepare_arange(const Signature& signature) {
  const DType dtype = signature.output.dtype;
  if (is_f64(signature)) return prepare_drawn(signature, "arange_double", {}, 1);
  return prepare_drawn(signature, is_float(dtype) ? "arange_float" : "arange_int",
                       {dialect_type(dtype)}, 1);
}

constexpr Implementation elements(const OpDef& op, Prepared (*prepare)(const Signature&)) {
  return {.name = "elements", .op = &op, .prepare = prepare, .launch = launch_steps};
}

constexpr Implementation kRandomFamily[] = {
    elements(defs::random_bits_op, prepare_bits),
    elements(defs::random_uniform_op, prepare_uniform),
    elements(defs::random_normal_op, prepare_normal),
    elements(defs::random_bernoulli_op, prepare_bernoulli),
    elements(defs::random_integers_op, prepare_integers),
    {.name = "elements",
     .op = &defs::dropout_op,
     .fuses = fuses_sum,
     .prepare = prepare_dropout,
     .launch = launch_steps},
    elements(defs::arange_op, prepare_arange),
};

}  // namespace

Family random_family() { return kRandomFamily; }

}  // namespace hearth::gpu
