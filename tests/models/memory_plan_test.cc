// The plan of memory beside what is allocated in fact.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <unistd.h>
#include <vector>

#include "error_text.h"
#include "hearth/models.h"
#include "models/language/cache.h"
#include "models/language/mixer.h"
#include "models/serving/cache_plan.h"
#include "models/serving/memory_plan.h"
#include "models/texts_alone.h"

namespace hearth::models {
namespace {

std::int64_t bytes_in(const std::vector<Array>& arrays) {
  std::int64_t bytes = 0;
  for (const Array& each : arrays) {
    if (each.defined()) bytes += bytes_of(each.dtype(), each.size());
  }
  return bytes;
}

ModelContents contents_of_golden(const std::string& name) {
  const testing::GoldenModel golden = testing::read_golden_model(name);
  return {gguf_of_folder(golden.config, testing::golden_weights(golden)), FileKind::folder, {}};
}

class MemoryPlans : public ::testing::TestWithParam<std::string> {};

// Caches of the plan are those that a scheduler of such texts has.
TEST_P(MemoryPlans, IsWhatASchedulerAllocates) {
  const ModelContents files = contents_of_golden(GetParam());
  const LanguageModel model =
      testing::golden_language_model(testing::read_golden_model(GetParam()), DType::f32, 256);
  for (const std::int64_t parallel : {1, 3}) {
    const MemoryPlan plan =
        plan_memory(files, {.context = 100, .parallel = parallel, .keys = "f32", .values = "f16"});
    const SchedulerOptions texts{.pages = 4 * parallel,  // of 32 rows
                                 .cache_bytes = 1000,    // does not count beside pages
                                 .parallel = parallel,
                                 .caches = {DType::f32, DType::f16}};
    const CacheOptions options = with_padding(cache_options(model.config, DType::f32, texts));
    const Cache cache(model.config, options, DType::f32, Device::cpu());
    std::vector<Array> rows, states;
    for (const LayerCache& layer : cache.layers) {
      rows.insert(rows.end(), {layer.keys, layer.values});
      states.insert(states.end(), {layer.convolution, layer.state});
    }
    EXPECT_EQ(plan.caches, bytes_in(rows));
    EXPECT_EQ(plan.states, bytes_in(states));
    EXPECT_EQ(options.saved_states > 1, has_states(model.config));
    std::vector<Array> weights;
    for (const NamedArray& each : files.contents.arrays) weights.push_back(each.array);
    EXPECT_EQ(plan.weights, bytes_in(weights));
    EXPECT_EQ(plan.context, 100);
    EXPECT_EQ(plan.parallel, parallel);
    EXPECT_EQ(plan.all(), plan.weights + plan.caches + plan.states + plan.activations);
  }
}

INSTANTIATE_TEST_SUITE_P(Some, MemoryPlans,
                         ::testing::Values("llama", "qwen3_5", "qwen3_next", "mamba2", "lfm2",
                                           "gemma3"),
                         [](const auto& each) { return each.param; });

TEST(MemoryPlan, GrowsWithWhatIsAskedFor) {
  const ModelContents files = contents_of_golden("llama");
  const MemoryPlan plan = plan_memory(files, {.context = 64});
  const MemoryPlan longer = plan_memory(files, {.context = 4096});
  EXPECT_GT(longer.caches, 40 * plan.caches);
  EXPECT_GT(longer.activations, plan.activations);
  EXPECT_EQ(longer.weights, plan.weights);
  EXPECT_LT(plan_memory(files, {.context = 4096, .keys = "f16", .values = "f16"}).caches,
            longer.caches);
  EXPECT_EQ(plan_memory(files, {.context = 4096, .compute = DType::bf16}).caches,
            longer.caches / 2);
  EXPECT_EQ(plan_memory(files, {.context = 4096, .prefill = 32}).activations,
            plan_memory(files, {.context = 8192, .prefill = 32}).activations);
}

TEST(MemoryPlan, OfAFileNothingIsLoaded) {
  const std::string path = std::filesystem::temp_directory_path() /
                           ("hearth_memory_plan_" + std::to_string(::getpid()) + ".gguf");
  const testing::GoldenModel golden = testing::read_golden_model("qwen3");
  const GgufContents contents = gguf_of_folder(golden.config, testing::golden_weights(golden));
  save_gguf(path, contents.arrays, contents.metadata);
  const MemoryPlan plan = hearth::memory_plan(path, {.context = 64});
  EXPECT_GT(plan.weights, 0);
  EXPECT_GT(plan.activations, 0);
  const auto expect = [&](const MemoryPlanOptions& options, const std::string& part) {
    const std::string error =
        check::error_of(ErrorCode::invalid_argument, [&] { hearth::memory_plan(path, options); });
    EXPECT_TRUE(check::contains(error, part)) << error;
  };
  expect({.context = -1}, "context out of range");
  expect({.parallel = 0}, "memory plan: parallel out of range; got 0");
  expect({.parallel = std::int64_t{1} << 40}, "memory plan: parallel out of range");
  // More pages than caches have; the options do not name pages.
  expect(
      {.context = std::int64_t{1} << 29, .parallel = 2},
      "memory plan: context out of range; got 536870912 for 2 texts, expected at most 268435456");
  expect({.prefill = 0}, "memory plan: prefill out of range; got 0");
  expect({.prefill = std::int64_t{1} << 40}, "memory plan: prefill out of range");
  expect({.context = 64, .keys = "q9"}, "q9");
  expect({.context = std::numeric_limits<std::int64_t>::max()}, "more than any memory");
  std::filesystem::remove(path);
  EXPECT_TRUE(
      check::contains(check::error_of(ErrorCode::io, [&] { hearth::memory_plan(path); }), path));
}

}  // namespace
}  // namespace hearth::models
