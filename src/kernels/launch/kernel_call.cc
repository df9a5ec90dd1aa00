#include "kernels/launch/kernel_call.h"

#include <algorithm>
#include <utility>

namespace hearth::gpu {

std::string instance(const std::string& function, const std::vector<std::string>& arguments) {
  if (arguments.empty()) return function;
  std::string text = function + "<";
  for (std::size_t i = 0; i < arguments.size(); ++i) text += (i == 0 ? "" : ", ") + arguments[i];
  return text + ">";
}

void append_axes(const Axes<kRuntimeRank>& axes, std::vector<std::int64_t>* words) {
  words->push_back(axes.base);
  words->insert(words->end(), axes.shape->begin(), axes.shape->end());
  words->insert(words->end(), axes.strides->begin(), axes.strides->end());
}

// The entry point is "name_float_3".
KernelCall::KernelCall(const std::string& file, const std::string& function,
                       const std::vector<std::string>& arguments) {
  source_.name = function;
  for (const std::string& argument : arguments) source_.name += "_" + argument;
  source_.text = "#include \"kernels/" + file + "\"\n";
  source_.function = instance(function, arguments);
}

KernelCall& KernelCall::read(std::string type, std::string name, StepArgument argument) {
  return add(Kind::read, std::move(type), std::move(name), argument);
}

KernelCall& KernelCall::write(std::string type, std::string name, StepArgument argument) {
  return add(Kind::write, std::move(type), std::move(name), argument);
}

KernelCall& KernelCall::read_write(std::string type, std::string name, StepArgument argument) {
  return add(Kind::read_write, std::move(type), std::move(name), argument);
}

KernelCall& KernelCall::dynamics() { return add(Kind::read, "ulong", "dynamics", kDynamics); }

KernelCall& KernelCall::threadgroup(std::string type, std::string name, std::int64_t count) {
  source_.parameters.push_back({Kind::threadgroup, std::move(type), std::move(name), count});
  return *this;
}

KernelCall& KernelCall::constants(std::string type, std::vector<std::int64_t> words) {
  step_.constants = std::move(words);
  return add(Kind::constant, std::move(type), "p", kConstants);
}

KernelCall& KernelCall::align_operands(std::int64_t bytes) {
  for (StepArgument& argument : step_.arguments) {
    if (argument.from == StepArgument::From::operand) argument.alignment = bytes;
  }
  return *this;
}

KernelCall& KernelCall::shares(runtime::Command::Shares shares) {
  step_.shares = shares;
  return *this;
}

KernelCall& KernelCall::work(double work) {
  step_.work = work;
  return *this;
}

Step KernelCall::step(StepPlan& plan, Size3 groups, Size3 threads, std::int64_t most_threads,
                      bool rare) const {
  runtime::KernelSource source = source_;
  source.max_threads = static_cast<int>(most_threads);
  Step step = step_;
  step.kernel = &plan.add_kernel(std::move(source), rare);
  step.groups = groups;
  if (step.shares.most > 0) step.groups.x = std::min(step.shares.most, step.shares.at_once);
  step.threads = threads;
  return step;
}

KernelCall& KernelCall::add(Kind kind, std::string type, std::string name,
                            const StepArgument& argument) {
  source_.parameters.push_back({kind, std::move(type), std::move(name)});
  step_.arguments.push_back(argument);
  return *this;
}

}  // namespace hearth::gpu
