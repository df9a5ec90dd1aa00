#include "models/serving/memory_plan.h"

#include <algorithm>
#include <string>

#include "core/counted.h"
#include "hearth/error.h"
#include "models/files/tensor_roles.h"
#include "models/language/mixer.h"
#include "models/language/read_config.h"
#include "models/serving/cache_plan.h"

namespace hearth::models {
namespace {

double elements_of(const Shape& shape) {
  if (shape.empty()) return 0;
  double all = 1;
  for (const std::int64_t extent : shape) all *= static_cast<double>(extent);
  return all;
}

// At least the bytes of caches and states, where they may be more than an integer holds.
double most_bytes(const LanguageConfig& config, double rows, double states) {
  double elements = 0;
  for (const LayerConfig& layer : config.layers) {
    const MixerMemory memory = definition_of(layer.mixer).memory(config, layer);
    elements += rows * (elements_of(memory.keys) + elements_of(memory.values)) +
                states * (elements_of(memory.convolution) + elements_of(memory.state));
  }
  return 8 * elements;
}

// Columns of the arrays that live at once in the widest block, of one row.
std::int64_t widest_columns(const LanguageConfig& config) {
  std::int64_t widest = 0;
  for (const LayerConfig& layer : config.layers) {
    const std::int64_t mixer = definition_of(layer.mixer).widest_columns(config, layer);
    // Gate and up; their product takes the gate's place.
    const std::int64_t feed_forward = 2 * layer.hidden + 2 * layer.experts.shared_hidden +
                                      2 * layer.experts.used * layer.experts.hidden;
    widest = std::max({widest, mixer, feed_forward});
  }
  // The residual, its norm, and what a block gives.
  return widest + 3 * config.dim;
}

void require_plan_options(const MemoryPlanOptions& options) {
  const auto refuse = [](const char* name, std::int64_t value, const std::string& expected) {
    throw Error(ErrorCode::invalid_argument, std::string("memory plan: ") + name +
                                                 " out of range; got " + std::to_string(value) +
                                                 ", expected " + expected);
  };
  if (options.context < 0) refuse("context", options.context, "at least 0");
  const auto require_rows = [&](const char* name, std::int64_t value) {
    if (value >= 1 && value <= kMostStepRows) return;
    refuse(name, value, "1 to " + std::to_string(kMostStepRows));
  };
  require_rows("parallel", options.parallel);
  require_rows("prefill", options.prefill);
}

}  // namespace

MemoryPlan plan_memory(const ModelContents& files, const MemoryPlanOptions& options) {
  require_plan_options(options);
  const LanguageConfig config = read_config(files.contents.metadata, files.kind);
  MemoryPlan plan;
  plan.trained_context = config.context;
  plan.context = options.context == 0 ? config.context : options.context;
  plan.parallel = options.parallel;
  for (const NamedArray& each : files.contents.arrays) {
    plan.weights += bytes_of(each.array.dtype(), each.array.size());
  }
  const SchedulerOptions defaults;
  const auto texts = static_cast<double>(options.parallel);
  const double rows =
      (static_cast<double>(plan.context) + static_cast<double>(defaults.page_size)) * texts;
  const double columns = static_cast<double>(widest_columns(config)) +
                         static_cast<double>(vocabulary_of(files.contents.arrays));
  const double of_states = texts * static_cast<double>(1 + kSavedStatesOfText) + 1;
  if (most_bytes(config, rows, of_states) + 16 * rows * columns > 0x1p62) {
    throw Error(ErrorCode::invalid_argument,
                "memory plan: more than any memory; got " + counted(options.parallel, "text") +
                    " of " + counted(plan.context, "token") + ", expected less than 2^62 bytes");
  }
  const std::int64_t rows_of_step = config.gives_scores()
                                        ? std::min(options.prefill, plan.context) + options.parallel
                                        : plan.context * options.parallel;
  const std::int64_t scores =
      config.gives_scores() ? options.parallel * vocabulary_of(files.contents.arrays) : 0;
  const auto size = static_cast<std::int64_t>(size_of(options.compute));
  plan.activations =
      rows_of_step * widest_columns(config) * size + 2 * scores * std::max<std::int64_t>(size, 4);
  if (!config.gives_scores()) return plan;  // encoders remember nothing
  const std::int64_t most_pages = kMostPages / options.parallel;
  if (pages_of(plan.context, defaults.page_size) > most_pages) {
    throw Error(ErrorCode::invalid_argument,
                "memory plan: context out of range; got " + std::to_string(plan.context) + " for " +
                    counted(options.parallel, "text") + ", expected at most " +
                    std::to_string(most_pages * defaults.page_size));
  }
  const SchedulerOptions scheduler =
      with_pages_for({.parallel = options.parallel,
                      .prefill = std::min(options.prefill, plan.context),
                      .caches = cache_types_from_names(options.keys, options.values)},
                     plan.context);
  const CacheOptions caches = with_padding(cache_options(config, options.compute, scheduler));
  CacheOptions pages = caches, states = caches;
  pages.states = pages.saved_states = 0;
  states.pages = 0;
  states.window_pages = 0;
  plan.caches = bytes_of_caches(config, pages, options.compute);
  plan.states = bytes_of_caches(config, states, options.compute);
  return plan;
}

}  // namespace hearth::models

namespace hearth {
inline namespace v0 {

MemoryPlan memory_plan(const std::string& path, const MemoryPlanOptions& options) {
  return models::plan_memory(models::read_model_contents(path), options);
}

}  // namespace v0
}  // namespace hearth
