#include "tools/info/memory_plan.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "hearth/quantization.h"
#include "models/language/cache.h"
#include "models/language/read_config.h"
#include "tools/output.h"

namespace hearth::tools {
namespace {

std::string mebibytes_of(std::int64_t bytes) {
  return decimal(static_cast<double>(bytes) / (1 << 20), 1) + " MiB";
}

}  // namespace

MemoryPlan plan_memory(const models::ModelContents& files, const MemoryOptions& options) {
  constexpr std::int64_t kPageRows = 32;
  const models::LanguageConfig config =
      models::read_config(files.contents.metadata, files.kind);
  MemoryPlan plan;
  plan.options = options;
  if (options.context == 0) plan.options.context = config.context;
  for (const NamedArray& each : files.contents.arrays) {
    plan.weights += bytes_of(each.array.dtype(), each.array.size());
  }
  if (!config.is_causal) return plan;  // encoders remember nothing
  const std::int64_t pages =
      (plan.options.context + kPageRows - 1) / kPageRows * options.sequences;
  plan.caches = models::cache_bytes(
      config, {.pages = pages, .page_size = kPageRows, .states = 0, .dtype = options.cache});
  plan.states = models::cache_bytes(config, {.pages = 0,
                                             .page_size = kPageRows,
                                             .states = options.sequences,
                                             .dtype = options.cache});
  return plan;
}

std::string memory_text(const MemoryPlan& plan) {
  const MemoryOptions& options = plan.options;
  std::string text = "memory for " + std::to_string(options.sequences) +
                     (options.sequences == 1 ? " sequence of " : " sequences of ") +
                     std::to_string(options.context) + " tokens, keys and values in " +
                     std::string(name(options.cache)) + "\n";
  const std::vector<std::pair<std::string, std::int64_t>> parts = {{"weights", plan.weights},
                                                                   {"caches ", plan.caches},
                                                                   {"states ", plan.states},
                                                                   {"all    ", plan.all()}};
  std::size_t width = 0;
  for (const auto& part : parts) width = std::max(width, mebibytes_of(part.second).size());
  for (const auto& [label, bytes] : parts) {
    const std::string size = mebibytes_of(bytes);
    text += "  " + label + "  " + std::string(width - size.size(), ' ') + size + "\n";
  }
  return text;
}

JsonObject memory_document(const MemoryPlan& plan) {
  return {{"context", plan.options.context},
          {"sequences", plan.options.sequences},
          {"cache", std::string(name(plan.options.cache))},
          {"weights", plan.weights},
          {"caches", plan.caches},
          {"states", plan.states},
          {"all", plan.all()}};
}

}  // namespace hearth::tools
