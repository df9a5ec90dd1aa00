// Random tensors and arange: kernels/random/random.metal.
#include <algorithm>
#include <memory>

#include "codegen/dialect_types.h"
#include "kernels/launch/op_kernels.h"
#include "kernels/launch/step_plan.h"
#include "ops/defs.h"

namespace hearth::gpu {
namespace {

// A kernel whose threads make `per_thread` elements of the output each. With `rare`, it is compiled
// when it is launched.
Step drawn_step(StepPlan& plan, const Signature& signature, const std::string& function,
                const std::vector<std::string>& arguments, std::int64_t per_thread, bool rare) {
  const TensorSpec& output = signature.output;
  const std::int64_t count = element_count(output.shape);
  const char* const type = dialect_type(output.dtype);
  runtime::KernelSource source;
  source.name =
      entry_name(function, arguments.empty() ? std::vector<std::string>{type} : arguments);
  source.text = "#include \"kernels/random/random.metal\"\n";
  source.function = arguments.empty() ? function : instance(function, arguments);
  source.parameters = {{Kind::write, type, "y"},
                       {Kind::read, "ulong", "dynamics"},
                       {Kind::constant, "RandomParams", "p"}};
  source.max_threads = static_cast<int>(kThreads);
  Step step;
  step.kernel = &plan.add_kernel(std::move(source), rare);
  step.groups = groups_for(parts(count, per_thread));
  step.threads = {kThreads};
  step.constants = {count, signature.dynamic};
  step.arguments = {
      {StepArgument::From::operand, 0, 0, count * size_of(output.dtype)}, kDynamics, kConstants};
  return step;
}

Prepared prepare_drawn(const Signature& signature, const std::string& function,
                       const std::vector<std::string>& arguments, std::int64_t per_thread) {
  auto plan = std::make_shared<StepPlan>();
  if (element_count(signature.output.shape) > 0) {
    plan->add_step(drawn_step(*plan, signature, function, arguments, per_thread, false));
  }
  return prepared_steps(std::move(plan));
}

// The same for kernels that store a thread's elements at once, where the output is aligned.
Prepared prepare_packed(const Signature& signature, const std::string& function,
                        std::vector<std::string> arguments, std::int64_t per_thread) {
  auto plan = std::make_shared<StepPlan>();
  if (element_count(signature.output.shape) == 0) return prepared_steps(std::move(plan));
  arguments.insert(arguments.begin(), dtype_struct(signature.output.dtype));
  plan->add_step(true, [&](bool packed, bool rare) {
    std::vector<std::string> all = arguments;
    all.emplace_back(truth(packed));
    Step step = drawn_step(*plan, signature, function, all, per_thread, rare);
    const std::int64_t bytes = per_thread * size_of(signature.output.dtype);
    if (packed) step.arguments[0].alignment = std::min(bytes, kPacketBytes);
    return step;
  });
  return prepared_steps(std::move(plan));
}

bool is_f64(const Signature& signature) { return signature.output.dtype == DType::f64; }

Prepared prepare_bits(const Signature& signature) {
  return prepare_packed(signature, "random_bits", {}, size_of(signature.output.dtype) == 8 ? 2 : 4);
}

Prepared prepare_uniform(const Signature& signature) {
  if (is_f64(signature)) return prepare_drawn(signature, "random_uniform64", {}, 2);
  return prepare_packed(signature, "random_uniform", {}, 4);
}

Prepared prepare_normal(const Signature& signature) {
  if (is_f64(signature)) return prepare_drawn(signature, "random_normal64", {}, 2);
  return prepare_packed(signature, "random_normal", {}, 4);
}

Prepared prepare_bernoulli(const Signature& signature) {
  return prepare_packed(signature, "random_bernoulli", {}, 4);
}

Prepared prepare_integers(const Signature& signature) {
  const DType dtype = signature.output.dtype;
  const char* const by = dtype == DType::f64 ? "double" : is_float(dtype) ? "float" : "long";
  return prepare_packed(signature, "random_integers", {by}, 2);
}

Prepared prepare_arange(const Signature& signature) {
  const DType dtype = signature.output.dtype;
  if (is_f64(signature)) return prepare_drawn(signature, "arange_double", {}, 1);
  return prepare_drawn(signature, is_float(dtype) ? "arange_float" : "arange_int",
                       {dialect_type(dtype)}, 1);
}

}  // namespace

void add_random_kernels(KernelTable& table) {
  const auto add = [&table](const OpDef& op, Prepared (*prepare)(const Signature&)) {
    table.add({.op = &op, .prepare = prepare, .launch = launch_steps});
  };
  add(defs::random_bits_op, prepare_bits);
  add(defs::random_uniform_op, prepare_uniform);
  add(defs::random_normal_op, prepare_normal);
  add(defs::random_bernoulli_op, prepare_bernoulli);
  add(defs::random_integers_op, prepare_integers);
  add(defs::arange_op, prepare_arange);
}

}  // namespace hearth::gpu
