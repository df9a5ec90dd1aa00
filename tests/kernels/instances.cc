#include "kernels/instances.h"

#include <algorithm>

namespace hearth::gpu_test {
namespace {

using runtime::KernelSource;

// "place argument" of each template argument in "name<first, second>"; "" where there is none.
std::set<std::string> arguments_of(const std::string& function) {
  std::set<std::string> arguments = {""};
  int place = 0;
  for (std::size_t at = function.find('<'); at < function.size(); ++place) {
    const std::size_t end = std::min(function.find(", ", at + 1), function.size() - 1);
    arguments.insert(std::to_string(place) + " " + function.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return arguments;
}

bool is_of_a_family(const KernelSource& source) {
  return source.text.starts_with("#include \"kernels/") &&
         source.text.find('\n') + 1 == source.text.size();
}

bool has_doubles(const KernelSource& source) {
  return std::any_of(source.parameters.begin(), source.parameters.end(),
                     [](const auto& parameter) { return parameter.type == "double"; });
}

}  // namespace

void Instances::add(const gpu::KernelPlan& plan) {
  for (const runtime::LazyKernel* kernel : plan.kernels) add(*kernel);
  const auto* const steps = dynamic_cast<const gpu::StepPlan*>(&plan);
  if (steps == nullptr) return;
  for (const gpu::Step& step : steps->steps()) {
    if (step.unaligned_variant != nullptr) add(*step.unaligned_variant->kernel);
  }
  if (steps->fallback() != nullptr) add(*steps->fallback());
}

void Instances::add(const runtime::LazyKernel& kernel) {
  const KernelSource* const source = kernel.source();
  if (source == nullptr || !is_of_a_family(*source) || has_doubles(*source)) return;
  auto& instances = by_function_[source->function.substr(0, source->function.find('<'))];
  if (instances.contains(source->name)) return;
  instances[source->name] = {*source, arguments_of(source->function)};
}

std::vector<KernelSource> Instances::cover() const {
  std::vector<KernelSource> taken;
  for (const auto& [function, instances] : by_function_) {
    std::set<std::string> covered;
    for (;;) {
      const Instance* best = nullptr;
      std::ptrdiff_t most = 0;
      for (const auto& [name, instance] : instances) {
        const std::ptrdiff_t added =
            std::count_if(instance.arguments.begin(), instance.arguments.end(),
                          [&](const std::string& each) { return !covered.contains(each); });
        if (added <= most) continue;
        best = &instance;
        most = added;
      }
      if (best == nullptr) break;
      covered.insert(best->arguments.begin(), best->arguments.end());
      taken.push_back(best->source);
    }
  }
  return taken;
}

}  // namespace hearth::gpu_test
