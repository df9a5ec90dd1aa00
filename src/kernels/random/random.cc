// Random tensors and arange: kernels/random/random.metal.
#include <algorithm>
#include <memory>

#include "codegen/dialect_types.h"
#include "kernels/launch/kernel_call.h"
#include "ops/definition/defs.h"

namespace hearth::gpu {

#include "kernels/random/params.h"

namespace {

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

constexpr Implementation elements(const OpDef& op, Prepared (*prepare)(const Signature&)) {
  return {.name = "elements", .op = &op, .prepare = prepare, .launch = launch_steps};
}

constexpr Implementation kRandomFamily[] = {
    elements(defs::random_bits_op, prepare_bits),
    elements(defs::random_uniform_op, prepare_uniform),
    elements(defs::random_normal_op, prepare_normal),
    elements(defs::random_bernoulli_op, prepare_bernoulli),
    elements(defs::random_integers_op, prepare_integers),
    elements(defs::arange_op, prepare_arange),
};

}  // namespace

Family random_family() { return kRandomFamily; }

}  // namespace hearth::gpu
