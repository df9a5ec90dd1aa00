#include "core/integer_math.h"
#include "kernels/user/user_op.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "core/axes.h"
#include "graph/hash.h"
#include "hearth/device.h"
#include "kernels/launch/kernel_call.h"
#include "kernels/launch/step_plan.h"
#include "runtime/compile/kernel_registry.h"

namespace hearth::gpu {
namespace {

constexpr std::int64_t kMostUserThreads = 1024;

std::string text_of(const OperandTypes& types) {
  std::string all;
  for (const TensorType& each : types.inputs) {
    all += (all.empty() ? "" : ", ") + std::string(name(each.dtype));
  }
  all = "(" + all + ") -> (";
  for (const TensorType& each : types.outputs) {
    all += (all.ends_with('(') ? "" : ", ") + std::string(name(each.dtype));
  }
  return all + ")";
}

// Appends bytes to whole words; returns where they begin, in bytes.
std::int64_t append(std::vector<std::int64_t>* words, std::span<const std::byte> bytes) {
  const std::size_t first = words->size();
  words->resize(first + ceil_div(bytes.size(), 8));
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<std::byte*>(words->data() + first));
  return static_cast<std::int64_t>(first * 8);
}

// The launch of a kernel of which each of `parameters` gets one of `slots`.
BoundKernel bound(runtime::KernelSource source, std::span<const UserParameter> parameters,
                  std::span<const Slot> slots, const OperandTypes& types,
                  const KernelLaunch& launch) {
  using Use = runtime::KernelParameter::Kind;
  using Argument = BoundKernel::Argument;
  BoundKernel made;
  const runtime::Size3 grid = *launch.grid;
  made.threads = launch.threads;
  made.groups = {static_cast<std::uint32_t>(ceil_div(grid.x, launch.threads.x)),
                 static_cast<std::uint32_t>(ceil_div(grid.y, launch.threads.y)),
                 static_cast<std::uint32_t>(ceil_div(grid.z, launch.threads.z))};
  std::size_t next = 0;
  for (runtime::KernelParameter& parameter : source.parameters) {
    if (parameter.kind == Use::threadgroup) continue;
    if (next == parameters.size()) {  // of a text in Metal's form: the threads of the grid
      const auto offset = append(&made.constants, std::as_bytes(std::span(&grid, 1)));
      made.arguments.push_back({Argument::From::constant, 0, offset, sizeof grid});
      continue;
    }
    const Slot& slot = slots[next];
    const auto at = static_cast<std::size_t>(slot.number);
    switch (slot.from) {
      case Slot::From::input:
        if (parameter.kind == Use::constant && !source.metal) {
          refuse("a kernel of the dialect takes no number by reference; got constant " +
                 parameter.type + "& " + parameter.name + ", expected device const " +
                 parameter.type + "*");
        }
        // A number is computed on the device: the parameter names its memory.
        parameter.kind = Use::read;
        made.arguments.push_back({Argument::From::input, types.numbers[at]});
        break;
      case Slot::From::output:
        made.arguments.push_back({Argument::From::output, slot.number});
        break;
      case Slot::From::constant: {
        const std::vector<std::byte> bytes = constant_bytes(parameters[next], launch.constants[at]);
        const auto offset = append(&made.constants, bytes);
        made.arguments.push_back(
            {Argument::From::constant, 0, offset, static_cast<std::int64_t>(bytes.size())});
        break;
      }
    }
    ++next;
  }
  made.source = std::move(source);
  return made;
}

OperandTypes types_of(const Signature& signature) {
  OperandTypes types;
  for (std::size_t i = 0; i < signature.inputs.size(); ++i) {
    const TensorSpec& spec = signature.inputs[i];
    if (spec.absent) continue;
    types.inputs.push_back({spec.dtype, spec.shape});
    types.numbers.push_back(static_cast<int>(i));
  }
  for (int i = 0; i < signature.output_count(); ++i) {
    types.outputs.push_back({signature.output_at(i).dtype, signature.output_at(i).shape});
  }
  return types;
}

}  // namespace

UserKernel::UserKernel(const CustomOpSpec& spec) : spec_(spec) {
  const std::string op = "custom_op: " + spec.name + ": ";
  if (!spec.kernel.empty() && !spec.kernels.empty()) {
    refuse(op + "two kinds of kernels; got kernel and kernels, expected one of them");
  }
  if (!spec.kernel_entry.empty() && spec.kernel.empty()) {
    refuse(op + "an entry point of nothing; got '" + spec.kernel_entry + "', expected a kernel");
  }
  std::optional<Error> wrong;  // with the first of them; another one may be right
  const auto fits = [&](const std::string& what, const std::vector<UserParameter>& parameters) {
    try {
      check_parameters(spec, parameters);
      return true;
    } catch (const Error& error) {
      if (!wrong) wrong.emplace(error.code(), op + what + ": " + error.what());
      return false;
    }
  };
  bool any = !is_defined() && spec.kernel.empty();
  for (const runtime::KernelSource& source : spec.kernels) {
    any |= fits(source.name, user_parameters(source));
  }
  if (!spec.kernel.empty()) {
    try {
      text_ = std::make_unique<ParsedSource>(spec.kernel, spec.kernel_entry);
      for (const EntryPoint& entry_point : text_->entry_points()) {
        any |= fits(entry_point.name, text_->parameters(entry_point));
      }
    } catch (const Error& error) {
      throw Error(error.code(), op + error.what());
    }
  }
  if (!any) throw Error(*wrong);
}

KernelLaunch UserKernel::launch_for(const OperandTypes& types) const {
  KernelLaunch launch;
  if (spec_.launch != nullptr) launch = spec_.launch(types.inputs, types.outputs);
  const runtime::Size3 group = launch.threads;
  const std::int64_t threads = group.product();
  if (threads < 32 || threads > kMostUserThreads || threads % 32 != 0) {
    refuse("threadgroup of a wrong size; got " + std::to_string(group.x) + " x " +
           std::to_string(group.y) + " x " + std::to_string(group.z) +
           " threads, expected a multiple of 32 up to " + std::to_string(kMostUserThreads));
  }
  if (!launch.grid) {
    const std::int64_t count = element_count(types.outputs.front().shape);
    for (std::size_t i = 1; i < types.outputs.size(); ++i) {
      const std::int64_t more = element_count(types.outputs[i].shape);
      if (more <= count) continue;
      refuse("a result larger than the first; got " + std::to_string(more) +
             " elements of result " + std::to_string(i) + " and " + std::to_string(count) +
             " of the first, expected KernelLaunch::grid");
    }
    // A launch is of whole threadgroups, whose threads are counted with 32 bits.
    if (count > std::numeric_limits<std::uint32_t>::max() - kMostUserThreads) {
      refuse("too many threads; got " + std::to_string(count) +
             " elements, expected KernelLaunch::grid to say how threads share them");
    }
    launch.grid = runtime::Size3{static_cast<std::uint32_t>(count)};
  }
  const bool has_work =
      std::any_of(types.outputs.begin(), types.outputs.end(),
                  [](const TensorType& each) { return element_count(each.shape) > 0; });
  if (has_work && std::min({launch.grid->x, launch.grid->y, launch.grid->z}) == 0) {
    refuse(
        "nobody writes the results; got a grid of no threads, expected KernelLaunch::grid to have "
        "some where a result has elements");
  }
  return launch;
}

std::shared_ptr<const BoundKernel> UserKernel::choose(const OperandTypes& types) const {
  const KernelLaunch launch = launch_for(types);
  std::string wrong;
  ErrorCode code = ErrorCode::invalid_argument;
  std::shared_ptr<const BoundKernel> made;
  const auto attempt = [&](const std::string& what, auto make) {
    if (made != nullptr) return;
    try {
      made = std::make_shared<const BoundKernel>(make());
    } catch (const Error& error) {
      code = error.code();
      wrong += (wrong.empty() ? "" : "; ") + what + ": " + error.what();
    }
  };
  for (const runtime::KernelSource& source : spec_.kernels) {
    attempt(source.name, [&] {
      const std::vector<UserParameter> parameters = user_parameters(source);
      const std::vector<Slot> slots = slots_of(spec_, parameters, types, launch);
      check_types(parameters, slots, types);
      return bound(source, parameters, slots, types, launch);
    });
  }
  if (text_ != nullptr) {
    for (const EntryPoint& entry_point : text_->entry_points()) {
      attempt(entry_point.name, [&] {
        const std::vector<UserParameter> raw = text_->parameters(entry_point);
        const std::vector<Slot> slots = slots_of(spec_, raw, types, launch);
        runtime::KernelSource source = text_->kernel(entry_point, raw, slots, types, launch);
        const std::vector<UserParameter> parameters = user_parameters(source);
        check_types(parameters, slots, types);
        return bound(std::move(source), parameters, slots, types, launch);
      });
    }
  }
  if (made == nullptr) throw Error(code, "no kernel for " + text_of(types) + "; " + wrong);
  return made;
}

std::size_t UserKernel::Hash::operator()(const OperandTypes& types) const noexcept {
  std::uint64_t hash = types.inputs.size();
  const auto add = [&hash](const TensorType& type) {
    hash = mix(hash, static_cast<std::uint64_t>(type.dtype));
    for (const std::int64_t extent : type.shape)
      hash = mix(hash, static_cast<std::uint64_t>(extent));
  };
  for (const int number : types.numbers) hash = mix(hash, static_cast<std::uint64_t>(number));
  for (const TensorType& each : types.inputs) add(each);
  for (const TensorType& each : types.outputs) add(each);
  return hash;
}

std::shared_ptr<UserKernel::Known> UserKernel::known(const OperandTypes& types) {
  {
    const std::lock_guard lock(mutex_);
    const auto at = known_.find(types);
    if (at != known_.end()) return at->second;
  }
  // Outside of the lock: KernelLaunch is the user's function, which may call the op.
  auto made = std::make_shared<Known>();
  try {
    made->kernel = choose(types);
  } catch (const Error& error) {
    throw Error(error.code(), spec_.name + ": " + error.what());
  }
  const std::lock_guard lock(mutex_);
  if (known_.size() >= kMaxKnown) known_.clear();
  return known_.emplace(types, std::move(made)).first->second;
}

void UserKernel::compile(const OperandTypes& types, DeviceImpl& device) {
  const std::shared_ptr<Known> found = known(types);
  {
    const std::lock_guard lock(mutex_);
    if (found->devices.contains(&device)) return;
  }
  try {
    device.registry()->get(found->kernel->source);
  } catch (const Error& error) {
    throw Error(error.code(),
                spec_.name + ": no kernel for " + Device(&device).name() + ": " + error.what());
  }
  const std::lock_guard lock(mutex_);
  found->devices.insert(&device);
}

Prepared prepare_user_kernel(const Signature& signature) {
  const auto kernel = user(*signature.op).kernels.bind(types_of(signature));
  auto plan = std::make_shared<StepPlan>();
  Step step;
  step.kernel = &plan->add_kernel(kernel->source);
  step.groups = kernel->groups;
  step.threads = kernel->threads;
  step.constants = kernel->constants;
  for (const BoundKernel::Argument& argument : kernel->arguments) {
    switch (argument.from) {
      case BoundKernel::Argument::From::input:
        step.arguments.push_back(input_argument(signature, argument.number));
        break;
      case BoundKernel::Argument::From::output:
        step.arguments.push_back(output_argument(signature, argument.number));
        break;
      case BoundKernel::Argument::From::constant:
        step.arguments.push_back(
            {StepArgument::From::constants, 0, argument.offset, argument.bytes});
        break;
    }
  }
  plan->add_step(std::move(step));
  return prepared_steps(std::move(plan));
}

}  // namespace hearth::gpu
