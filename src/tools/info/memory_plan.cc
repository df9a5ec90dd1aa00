#include "tools/info/memory_plan.h"

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

#include "hearth/error.h"
#include "models/language/cache.h"
#include "models/language/read_config.h"
#include "tools/output.h"

namespace hearth::tools {
namespace {

std::string mebibytes_of(std::int64_t bytes) {
  return decimal(static_cast<double>(bytes) / (1 << 20), 1) + " MiB";
}

// At least the bytes of caches and states, where they may be more than an integer holds.
double most_bytes(const models::LanguageConfig& config, double rows, double sequences) {
  const auto product = [](std::initializer_list<std::int64_t> sizes) {
    double all = 1;
    for (const std::int64_t size : sizes) all *= static_cast<double>(size);
    return all;
  };
  double elements = 0;
  for (const models::LayerConfig& layer : config.layers) {
    const models::AttentionConfig& attention = layer.attention;
    elements += rows * (product({attention.kv_heads, attention.key_dim}) +
                        product({attention.kv_heads, attention.value_dim}));
    if (attention.latent) {
      elements +=
          rows * (product({attention.latent->rank}) + product({attention.latent->rope_dims}));
    }
  }
  const models::DeltaConfig& delta = config.delta;
  const models::ScanConfig& scan = config.scan;
  const double channels = 2 * product({delta.key_heads, delta.key_dim}) +
                          product({delta.value_heads, delta.value_dim}) +
                          product({scan.heads, scan.head_dim}) +
                          2 * product({scan.groups, scan.state});
  const double of_layer = product({delta.value_heads, delta.key_dim, delta.value_dim}) +
                          product({scan.heads, scan.head_dim, scan.state}) +
                          channels * (product({delta.kernel}) + product({scan.kernel}));
  return 8 * (elements + static_cast<double>(config.layers.size()) * sequences * of_layer);
}

}  // namespace

MemoryPlan plan_memory(const models::ModelContents& files, const MemoryOptions& options) {
  const models::LanguageConfig config = models::read_config(files.contents.metadata, files.kind);
  MemoryPlan plan;
  plan.options = options;
  if (options.context == 0) plan.options.context = config.context;
  for (const NamedArray& each : files.contents.arrays) {
    plan.weights += bytes_of(each.array.dtype(), each.array.size());
  }
  if (!config.is_causal) return plan;  // encoders remember nothing
  const double rows = (static_cast<double>(plan.options.context) + models::kPageRows) *
                      static_cast<double>(options.sequences);
  if (most_bytes(config, rows, static_cast<double>(options.sequences)) > 0x1p60) {
    throw Error(ErrorCode::invalid_argument,
                "info: more than any memory; got " + std::to_string(options.sequences) +
                    " sequences of " + std::to_string(plan.options.context) +
                    " tokens, expected less than 2^60 bytes of caches");
  }
  const std::int64_t pages = models::pages_of(plan.options.context) * options.sequences;
  plan.caches = models::cache_bytes(
      config, {.pages = pages, .states = 0, .keys = options.cache, .values = options.cache});
  plan.states = models::cache_bytes(
      config,
      {.pages = 0, .states = options.sequences, .keys = options.cache, .values = options.cache});
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
