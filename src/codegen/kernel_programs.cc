#include "codegen/kernel_programs.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "codegen/embedded_texts.h"

namespace hearth::gpu {
namespace {

using runtime::KernelSource;

// Costs in bytes of a kernel's own text, which is what is known before it is compiled.
constexpr double kProgram = 16000;  // reading what all programs begin with, one after the other
constexpr double kKernel = 4000;    // of any kernel

// A kernel's own text with the files that are no headers.
std::size_t own_bytes(std::string_view text) {
  constexpr std::string_view kInclude = "#include \"kernels/";
  std::size_t bytes = text.size();
  for (std::size_t at = 0; (at = text.find(kInclude, at)) != text.npos;) {
    at += kInclude.size();
    const std::string_view path = text.substr(at, text.find('"', at) - at);
    if (path.ends_with(".h")) continue;
    for (const EmbeddedText& file : embedded_texts()) {
      if (file.path == path) bytes += own_bytes(file.text);
    }
  }
  return bytes;
}

struct Program {
  double cost = 0;
  std::vector<const KernelSource*> sources;

  bool takes(const KernelSource& source) const {
    if (source.metal || sources.front()->metal) return false;
    return std::none_of(sources.begin(), sources.end(),
                        [&](const KernelSource* other) { return other->name == source.name; });
  }
};

// n programs take n * kProgram, and then the n-th part of what the kernels cost.
int program_count(double cost, int threads) {
  return std::clamp(static_cast<int>(std::lround(std::sqrt(cost / kProgram))), 1, threads);
}

}  // namespace

std::vector<std::vector<const KernelSource*>> divide_among_programs(
    std::span<const KernelSource* const> sources, int threads) {
  // The most expensive first; of equal ones the first given.
  std::vector<std::pair<double, std::size_t>> costs;
  double all = 0;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    costs.emplace_back(-kKernel - static_cast<double>(own_bytes(sources[i]->text)), i);
    all -= costs.back().first;
  }
  std::sort(costs.begin(), costs.end());
  const auto count = static_cast<std::size_t>(program_count(all, threads));
  std::vector<Program> programs;
  for (const auto& [negative_cost, i] : costs) {
    const KernelSource* const source = sources[i];
    Program* least = nullptr;
    for (Program& program : programs) {
      if (!program.takes(*source)) continue;
      if (least == nullptr || program.cost < least->cost) least = &program;
    }
    if (least == nullptr || programs.size() < count) least = &programs.emplace_back();
    least->cost -= negative_cost;
    least->sources.push_back(source);
  }
  std::vector<std::vector<const KernelSource*>> divided;
  for (Program& program : programs) divided.push_back(std::move(program.sources));
  return divided;
}

}  // namespace hearth::gpu
