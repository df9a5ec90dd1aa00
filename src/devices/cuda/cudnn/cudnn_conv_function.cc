#include "devices/cuda/cudnn/cudnn_conv_function.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include "devices/cuda/cudnn/cudnn_conv.h"
#include "devices/cuda/driver/trial_runs.h"
#include "hearth/error.h"
#include "runtime/trace/timeline.h"

namespace hearth::cuda {
namespace {

// Of what the heuristics propose. Further ones are rarely fast.
constexpr std::size_t kMaxEngines = 8;
// No further engine is made ready after this: some are compiled by the library.
constexpr auto kMaking = std::chrono::milliseconds(300);

constexpr std::string_view kEngineFamily = "cudnn/";

std::string engine_name(std::size_t i) { return std::string(kEngineFamily) + std::to_string(i); }

// The bytes of the operands, in the order of the call.
std::array<std::int64_t, 3> bytes_of(const gpu::ConvProblem& p) {
  std::int64_t x = p.batch * p.inputs, weight = p.outputs * (p.inputs / p.groups);
  std::int64_t y = p.batch * p.outputs;
  for (std::int64_t i = 0; i < p.axes; ++i) {
    x *= p.extent[i];
    weight *= p.kernel[i];
    y *= p.positions[i];
  }
  for (std::int64_t* each : {&x, &weight, &y}) *each *= size_of(static_cast<DType>(p.dtype));
  switch (p.kind) {
    case gpu::ConvProblem::input_gradient:
      return {y, weight, x};
    case gpu::ConvProblem::weight_gradient:
      return {x, y, weight};
    default:
      return {x, weight, y};
  }
}

}  // namespace

CudnnConvFunction::CudnnConvFunction(Cudnn& library, Context& context,
                                     const runtime::LibraryCall& call, runtime::Autotuner& tuner)
    : LibraryFunction(context, call),
      library_(library),
      call_(call),
      problem_(gpu::conv_problem(call)),
      tuner_(tuner) {
  plan_ = library_.plan(name(), conv_graph(library_.api(), problem_), problem_.workspace_bytes,
                        notes_unwanted_by(problem_));
}

void CudnnConvFunction::make_ready(const runtime::Command& command) const {
  if (is_chosen_) return;
  check_arguments(command);
  is_chosen_ = true;
  choose(command.arguments[gpu::kConvWorkspaceParameter].address);
}

void CudnnConvFunction::enqueue(const runtime::Command& command, Stream stream) const {
  make_ready(command);
  const std::array<void*, 3> memory = {command.arguments[0].address, command.arguments[1].address,
                                       command.arguments[2].address};
  run(*plan_, memory, command.arguments[gpu::kConvWorkspaceParameter].address, stream);
}

void CudnnConvFunction::run(const CudnnPlan& plan, std::span<void* const> memory, void* workspace,
                            Stream stream) const {
  const std::lock_guard lock(library_.lock());
  plan.run(library_.handle(stream), memory, workspace);
}

// The class of the problem, for the tuner: all that the engines depend on.
std::string CudnnConvFunction::text() const {
  std::string text = name();
  for (const std::int64_t word : call_.problem) text += " " + std::to_string(word);
  return text + ", cuDNN " + std::to_string(library_.api()->cudnnGetVersion());
}

void CudnnConvFunction::choose(void* workspace) const {
  const runtime::HostSpan span("choose convolution");
  const std::string problem = text();
  const CudnnGraph graph = conv_graph(library_.api(), problem_);
  const CudnnEngines engines = [&] {
    const std::lock_guard lock(library_.lock());
    return graph.engines(library_.handle(context().stream()), CudnnApi::HeuristicsMode::a,
                         problem_.workspace_bytes, notes_unwanted_by(problem_));
  }();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(engines.count(), kMaxEngines); ++i) {
    names.push_back(engine_name(i));
  }
  if (names.size() < 2) return;
  const auto plan_of = [&](std::size_t engine) {
    const std::lock_guard lock(library_.lock());
    return engines.plan(engine);
  };
  std::vector<Plan> plans(names.size());
  const auto kept = tuner_.times("conv", problem, names, [&] {
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < plans.size(); ++i) {
      if (std::chrono::steady_clock::now() - begin < kMaking) plans[i] = plan_of(i);
    }
    return seconds_of(plans, workspace);
  });
  if (!kept) return;
  const auto chosen =
      static_cast<std::size_t>(std::find(names.begin(), names.end(), kept->chosen) - names.begin());
  if (chosen == names.size()) return;
  if (plans[chosen] == nullptr) plans[chosen] = plan_of(chosen);
  if (plans[chosen] != nullptr) plan_ = std::move(plans[chosen]);
}

std::optional<runtime::CandidateSeconds> CudnnConvFunction::seconds_of(
    const std::vector<Plan>& plans, void* workspace) const {
  const TrialOperands operands(context(), static_cast<DType>(problem_.dtype), bytes_of(problem_));
  if (!operands) return std::nullopt;
  const std::array<void*, 3> memory = {operands.a.address(), operands.b.address(),
                                       operands.c.address()};
  return time_candidates(context(), plans.size(), [&](std::size_t i, Stream stream) {
    if (plans[i] == nullptr) return false;
    try {
      run(*plans[i], memory, workspace, stream);
    } catch (const Error&) {
      return false;
    }
    return true;
  });
}

}  // namespace hearth::cuda
