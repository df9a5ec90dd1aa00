#include "tools/info/memory_plan.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/counted.h"
#include "tools/output.h"

namespace hearth::tools {
namespace {

std::string mebibytes_of(std::int64_t bytes) {
  return decimal(static_cast<double>(bytes) / (1 << 20), 1) + " MiB";
}

}  // namespace

std::string memory_text(const MemoryPlan& plan, const std::string& cache) {
  std::string text = "memory for " + counted(plan.parallel, "text") + " of " +
                     counted(plan.context, "token") + ", keys and values in " + cache + "\n";
  const std::vector<std::pair<std::string, std::int64_t>> parts = {
      {"weights    ", plan.weights},
      {"caches     ", plan.caches},
      {"states     ", plan.states},
      {"activations", plan.activations},
      {"all        ", plan.all()}};
  std::size_t width = 0;
  for (const auto& part : parts) width = std::max(width, mebibytes_of(part.second).size());
  for (const auto& [label, bytes] : parts) {
    const std::string size = mebibytes_of(bytes);
    text += "  " + label + "  " + std::string(width - size.size(), ' ') + size + "\n";
  }
  return text;
}

JsonObject memory_document(const MemoryPlan& plan, const std::string& cache) {
  return {{"context", plan.context},    {"trained_context", plan.trained_context},
          {"sequences", plan.parallel}, {"cache", cache},
          {"weights", plan.weights},    {"caches", plan.caches},
          {"states", plan.states},      {"activations", plan.activations},
          {"all", plan.all()}};
}

}  // namespace hearth::tools
