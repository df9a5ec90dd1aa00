// `hearth bench-model`: shapes of models, random weights, and what is measured and printed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "error_text.h"
#include "hearth/ops.h"
#include "hearth/quantization.h"
#include "models/language/read_config.h"
#include "models/loading/load_model.h"
#include "runtime/device/device_spec.h"
#include "tools/json_check.h"
#include "tools/model_bench/measure.h"
#include "tools/model_bench/random_model.h"
#include "tools/model_bench/report.h"
#include "tools/model_bench/shapes.h"
#include "tools/model_bench/sweep.h"
#include "tools/signs_model.h"
#include "tools/tool_folder.h"

namespace hearth::tools {
namespace {

using check::contains;
using check::error_of;

models::ModelContents tiny_files(const std::string& type) {
  return {random_model(model_shape("tiny"), models::quantize_type_from_name(type), 256, Device()),
          models::FileKind::gguf,
          {}};
}

std::int64_t parameters_of(const ModelShape& shape) {
  std::int64_t count = 0;
  for (const ShapeTensor& tensor : shape_tensors(shape)) count += element_count(tensor.shape);
  return count;
}

TEST(ModelBench, ShapesHaveTheSizesOfTheirModels) {
  EXPECT_EQ(parameters_of(model_shape("llama-1b")), 1100048384);
  EXPECT_EQ(parameters_of(model_shape("llama-8b")), 8030261248);
  EXPECT_EQ(parameters_of(model_shape("gemma-270m")), 268098176);
  EXPECT_EQ(parameters_of(model_shape("qwen-0.6b")), 596049920);
  EXPECT_TRUE(contains(error_of([] { model_shape("llama-9b"); }), "expected one of tiny, "));
}

TEST(ModelBench, ShapesAreConfigurationsOfTheirFamilies) {
  for (const ModelShape& shape : model_shapes()) {
    const models::LanguageConfig config =
        models::read_config(shape_metadata(shape, 1000), models::FileKind::gguf);
    EXPECT_EQ(config.architecture, shape.architecture);
    EXPECT_EQ(config.context, 1000);
    ASSERT_EQ(static_cast<std::int64_t>(config.layers.size()), shape.layers) << shape.name;
    EXPECT_EQ(config.layers[0].attention.key_dim, shape.head_dim);
    EXPECT_EQ(config.layers[0].attention.window, shape.window);
    EXPECT_EQ(config.layers[0].experts.count, shape.experts);
  }
}

TEST(ModelBench, RandomModelsRunAndAreOfTheTypeAskedFor) {
  for (const std::string type : {"q4_0", "q8_0", "q6_k", "f16", "f32"}) {
    const models::ModelContents files = tiny_files(type);
    for (const NamedArray& each : files.contents.arrays) {
      if (each.name != "blk.0.ffn_up.weight") continue;
      EXPECT_EQ(each.array.dtype(), models::quantize_type_from_name(type).dtype);
      const Array floats =
          cast(is_packed(each.array.dtype()) ? dequantize(each.array) : each.array, DType::f32);
      EXPECT_NEAR(std::sqrt(mean(floats * floats).item()), 0.02, 0.002) << type;
    }
    const auto rows = measure_model(
        models::make_language_model(files, {.context = 256}),
        {.prompt = 20, .tokens = 3, .depth = 5, .parallel = 2, .repeat = 2, .prefill = 8});
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].test, "pp20 @ d5");
    EXPECT_EQ(rows[1].test, "tg3 x 2 @ d5");
    for (const ModelBenchRow& row : rows) {
      ASSERT_EQ(row.rates.size(), 2u);
      EXPECT_GT(row.best(), 0);
      EXPECT_GE(row.best(), row.mean());
    }
  }
}

TEST(ModelBench, WeightsWithoutRoomAreNotMade) {
  const Device device = Device::cpu();
  const models::QuantizeType type = models::quantize_type_from_name("f16");
  double done = 0;
  const auto make = [&] {
    random_model(model_shape("tiny"), type, 256, device, [&](double share) { done = share; });
  };
  const std::int64_t in_use = device.memory().in_use + device.memory().arena;
  const std::int64_t limit = in_use + device.impl().room();
  device.set_memory_limit(in_use + (std::int64_t{1} << 20));
  const std::string error = error_of(make);
  device.set_memory_limit(limit);
  EXPECT_TRUE(contains(error, "the weights are larger than the memory of cpu:0; got ")) << error;
  EXPECT_TRUE(contains(error, " MiB, expected at most 1 MiB: a smaller --shape")) << error;
  EXPECT_EQ(done, 0);
  make();
  EXPECT_EQ(done, 1);
}

TEST(ModelBench, RowsAreSummedUp) {
  const ModelBenchRow row{"pp1", {1, 2, 6}};
  EXPECT_DOUBLE_EQ(row.mean(), 3);
  EXPECT_NEAR(row.deviation(), std::sqrt(7.0), 1e-12);
  EXPECT_EQ(row.best(), 6);
  EXPECT_EQ((ModelBenchRow{"pp1", {4}}).deviation(), 0);
}

TEST(ModelBench, ReadsListsAsLlamaBenchDoes) {
  using Counts = std::vector<std::int64_t>;
  const auto read = [](const std::vector<std::string>& lists) {
    return counts_of_lists("--prompt", lists, 0, 5000);
  };
  EXPECT_EQ(read({"512"}), Counts{512});
  EXPECT_EQ(read({"512,1024"}), (Counts{512, 1024}));
  EXPECT_EQ(read({"1", "0,7"}), (Counts{1, 0, 7}));
  EXPECT_EQ(read({"3-6"}), (Counts{3, 4, 5, 6}));
  EXPECT_EQ(read({"0-10+4,9"}), (Counts{0, 4, 8, 9}));
  EXPECT_EQ(read({"16-100*2"}), (Counts{16, 32, 64}));
  for (const std::string bad : {"", ",", "1,", "a", "-1", "1-", "2-1", "1-9*1", "0-9*2", "1-9+0",
                                "1-9/2", "5001", "1-6000", "1 2", "1-9+2x", "0-9+99999999999"}) {
    const std::string message = error_of([&] { read({bad}); });
    EXPECT_TRUE(contains(message, "bench-model: --prompt: no list of numbers")) << bad << message;
  }
  EXPECT_TRUE(contains(error_of([&] { read({"0-5000"}); }), "too many numbers"));
}

TEST(ModelBench, MeasuresEveryCombination) {
  ModelBenchSweep sweep;
  sweep.prompts = {8, 16};
  sweep.tokens = {0, 4};
  sweep.depths = {0, 32};
  sweep.prefills = {4, 8};
  sweep.threads = {1, 2};
  EXPECT_EQ(sweep.most_rows(), 48);
  const auto steps = steps_of(sweep, {.repeat = 3}, true);
  ASSERT_EQ(steps.size(), 3u * 2 * 2 * 2);
  const auto expect_step = [&](std::size_t at, std::vector<std::int64_t> expected) {
    const ModelBenchOptions& one = steps[at].options;
    EXPECT_EQ((std::vector<std::int64_t>{one.prompt, one.tokens, one.depth, one.prefill,
                                         steps[at].threads, one.repeat}),
              expected)
        << at;
  };
  expect_step(0, {8, 0, 0, 4, 1, 3});
  expect_step(1, {16, 0, 0, 4, 1, 3});
  expect_step(2, {0, 4, 0, 4, 1, 3});
  expect_step(3, {8, 0, 32, 4, 1, 3});
  expect_step(6, {8, 0, 0, 8, 1, 3});
  expect_step(23, {0, 4, 32, 8, 2, 3});
  sweep.parallel.assign(256, 1);
  EXPECT_TRUE(contains(error_of([&] { steps_of(sweep, {}, true); }), "too many combinations"));
}

TEST(ModelBench, PromptsAndWhatFollowsThemAreMeasuredTogether) {
  using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;
  const auto read = [](const std::vector<std::string>& lists) {
    return pairs_of_lists("--prompt-tokens", lists, 5000);
  };
  EXPECT_EQ(read({}), Pairs{});
  EXPECT_EQ(read({"512,128", "16,1"}), (Pairs{{512, 128}, {16, 1}}));
  for (const std::string bad : {"", "512", "0,5", "5,0", "1,2,3", "5001,1", "a,b"}) {
    EXPECT_TRUE(contains(error_of([&] { read({bad}); }), "bench-model: --prompt-tokens: no "))
        << bad;
  }
  ModelBenchSweep sweep;
  sweep.pairs = {{500, 100}, {16, 8}};
  sweep.depths = {0, 32};
  EXPECT_EQ(sweep.most_rows(), 632);
  const auto steps = steps_of(sweep, {}, true);
  ASSERT_EQ(steps.size(), 8u);
  for (const std::size_t at : {0u, 1u, 4u, 5u}) EXPECT_FALSE(steps[at].options.together);
  for (const auto& [at, prompt, tokens, depth] :
       std::vector<std::array<std::size_t, 4>>{{2, 500, 100, 0}, {3, 16, 8, 0}, {7, 16, 8, 32}}) {
    const ModelBenchOptions& one = steps[at].options;
    EXPECT_TRUE(one.together);
    EXPECT_EQ(one.prompt, static_cast<std::int64_t>(prompt));
    EXPECT_EQ(one.tokens, static_cast<std::int64_t>(tokens));
    EXPECT_EQ(one.depth, static_cast<std::int64_t>(depth));
  }
  EXPECT_TRUE(contains(error_of([&] { steps_of(sweep, {}, false); }), "writes no texts"));
}

TEST(ModelBench, PrefillsAreAColumnWhereTheyDiffer) {
  ModelBenchReport report;
  report.sweep.prefills = {4, 8};
  report.sweep.threads = {1, 2};
  report.rows = {{.test = "pp8", .rates = {1}, .threads = 1, .prefill = 4},
                 {.test = "pp8", .rates = {2}, .threads = 2, .prefill = 8}};
  const std::string table = model_bench_table(report);
  EXPECT_TRUE(contains(table, "| threads | n_batch | test |")) << table;
  EXPECT_TRUE(contains(table, "|       2 |       8 |  pp8 |")) << table;
  const JsonValue document = *parse_json(json_text(model_bench_document(report)));
  EXPECT_EQ(check::list(document, "threads").size(), 2u);
  EXPECT_EQ(*check::member(document, "prompt"), JsonValue(std::int64_t{512}));
  EXPECT_EQ(*check::member(check::list(document, "rows")[1], "piece"), JsonValue(std::int64_t{8}));
}

TEST(ModelBench, NamesModelsByTheirParameters) {
  EXPECT_EQ(parameters_name(1'100'048'384), "1.1B");
  EXPECT_EQ(parameters_name(8'030'261'248), "8B");
  EXPECT_EQ(parameters_name(70'553'706'496), "70.6B");
  EXPECT_EQ(parameters_name(268'098'176), "268M");
  EXPECT_EQ(parameters_name(1'500'000), "1.5M");
  EXPECT_EQ(parameters_name(12'000), "12K");
}

TEST(ModelBench, PrintsATableAndJson) {
  ModelBenchReport report;
  report.model = "tiny q4_0";
  report.type = "llama 1.5M Q4_0";
  report.bytes = 3 << 20;
  report.parameters = 1500000;
  report.device = "cpu:0";
  report.sweep.threads = {2};
  report.rows = {{"pp512", {10, 30}}, {"tg128", {5}}};
  for (ModelBenchRow& row : report.rows) {
    row.threads = 2;
    row.prefill = 512;
  }
  EXPECT_EQ(model_bench_table(report),
            "|           model |     size | params | device | threads |  test |            t/s |  "
            "best |\n"
            "|----------------:|---------:|-------:|-------:|--------:|------:|---------------:|---"
            "---:|\n"
            "| llama 1.5M Q4_0 | 3.00 MiB | 1.50 M |  cpu:0 |       2 | pp512 | 20.00 +- 14.14 | "
            "30.00 |\n"
            "| llama 1.5M Q4_0 | 3.00 MiB | 1.50 M |  cpu:0 |       2 | tg128 |   5.00 +- 0.00 |  "
            "5.00 |\n");
  const JsonValue document = *parse_json(json_text(model_bench_document(report)));
  EXPECT_EQ(check::text(document, "model"), "tiny q4_0");
  EXPECT_EQ(*check::member(document, "sequences"), JsonValue(std::int64_t{1}));
  const auto& rows = check::list(document, "rows");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(check::text(rows[1], "test"), "tg128");
  EXPECT_EQ(check::list(rows[0], "samples").size(), 2u);
  report.model = "a \"b\"";
  report.values = DType::q8_0;
  report.path = "at/a \"b\"";
  report.backend = "CPU";
  report.rows[0].prompt = 512;
  report.rows[0].time = report.rows[1].time = "2026-01-31T23:59:59Z";
  report.rows[1].tokens = 128;
  report.rows[1].parallel = 2;
  const std::string model =
      "\"CPU\",\"at/a \"\"b\"\"\",\"llama 1.5M Q4_0\",\"3145728\",\"1500000\",\"512\",\"512\","
      "\"2\",\"f32\",\"q8_0\",";
  // 512 tokens at 10 and 30 a second; 256 at 5.
  EXPECT_EQ(
      model_bench_csv(report),
      "\"backends\",\"model_filename\",\"model_type\",\"model_size\",\"model_n_params\","
      "\"n_batch\",\"n_ubatch\",\"n_threads\",\"type_k\",\"type_v\",\"n_prompt\",\"n_gen\","
      "\"n_depth\",\"test_time\",\"avg_ns\",\"stddev_ns\",\"avg_ts\",\"stddev_ts\",\"device\","
      "\"test\",\"best_ts\"\n" +
          model +
          "\"512\",\"0\",\"0\",\"2026-01-31T23:59:59Z\",\"34133333333\",\"24135911465\","
          "\"20.000000\",\"14.142136\",\"cpu:0\",\"pp512\",\"30.000000\"\n" +
          model +
          "\"0\",\"128\",\"0\",\"2026-01-31T23:59:59Z\",\"51200000000\",\"0\","
          "\"5.000000\",\"0.000000\",\"cpu:0\",\"tg128\",\"5.000000\"\n");
  const JsonValue named = *parse_json(json_text(model_bench_document(report)));
  const JsonValue& first = check::list(named, "rows")[0];
  EXPECT_EQ(json_text(*check::member(first, "samples_ns")), "[51200000000,17066666667]");
  EXPECT_EQ(check::list(first, "samples_ts").size(), 2u);
  EXPECT_EQ(*check::member(first, "n_prompt"), JsonValue(std::int64_t{512}));
  EXPECT_EQ(check::text(first, "type_v"), "q8_0");
  report.bytes = std::int64_t{3} << 30;
  report.parameters = 7'500'000'000;
  const std::string large = model_bench_table(report);
  EXPECT_NE(large.find(" 3.00 GiB |"), std::string::npos) << large;
  EXPECT_NE(large.find(" 7.50 B |"), std::string::npos) << large;
}

#if defined(HEARTH_TOOL) && !defined(_WIN32)
class ModelBenchFiles : public ToolFolder {};

TEST_F(ModelBenchFiles, SavedModelsAreMeasuredAgain) {
  const Outcome saved = run({"bench-model", "--shape", "tiny", "--type", "q8_0", "--prompt", "8",
                             "--tokens", "2", "--repeat", "1", "--save", path("m.gguf")});
  ASSERT_EQ(saved.status, 0) << saved.err;
  const Outcome again = run({"bench-model", "--model", path("m.gguf"), "--prompt", "8", "--tokens",
                             "0", "--repeat", "1", "--threads", "1", "--json"});
  ASSERT_EQ(again.status, 0) << again.err;
  const JsonValue document = *parse_json(again.out);
  const Outcome brief = run({"bench-model", path("m.gguf"), "-p", "8", "-n", "2", "-d", "3", "-b",
                             "4", "-r", "1", "-t", "1", "--cache-type-v", "F16", "-o", "csv"});
  EXPECT_EQ(brief.status, 0) << brief.err;
  EXPECT_NE(brief.out.find("\"4\",\"4\",\"1\",\"f32\",\"f16\",\"8\",\"0\",\"3\",\"20"),
            std::string::npos)
      << brief.out;
  EXPECT_NE(brief.out.find("\"CPU\",\"" + path("m.gguf") + "\",\"llama "), std::string::npos)
      << brief.out;
  const Outcome lists = run({"bench-model", path("m.gguf"), "-p", "4,8", "-n", "1-2", "-d", "0",
                             "-d", "3", "-b", "2,8", "-r", "1", "-t", "1,2", "-o", "csv"});
  EXPECT_EQ(lists.status, 0) << lists.err;
  EXPECT_EQ(std::ranges::count(lists.out, '\n'), 1 + 4 * 2 * 2 * 2) << lists.out;
  EXPECT_NE(lists.out.find("\"8\",\"8\",\"2\",\"f32\",\"f32\",\"0\",\"2\",\"3\",\"20"),
            std::string::npos)
      << lists.out;
  const Outcome beside = run({"bench-model", path("m.gguf"), "-p", "0", "-n", "1", "--parallel",
                              "2", "--prefill", "4", "-r", "1", "--json"});
  ASSERT_EQ(beside.status, 0) << beside.err;
  const JsonValue of_two = *parse_json(beside.out);
  EXPECT_EQ(*check::member(of_two, "sequences"), JsonValue(std::int64_t{2}));
  EXPECT_EQ(*check::member(check::list(of_two, "rows")[0], "piece"), JsonValue(std::int64_t{4}));
  const std::string help = run({"bench-model", "--help"}).out;
  for (const char* names : {"-np,--parallel,--sequences", "-b,--prefill,--piece,--batch-size"}) {
    EXPECT_TRUE(contains(help, names)) << help;
  }
  EXPECT_TRUE(contains(run({"bench-model", path("m.gguf"), "-p", "8,x"}).err,
                       "--prompt: no list of numbers; got \"x\""));
  EXPECT_EQ(check::text(document, "model"), "m.gguf");
  EXPECT_EQ(*check::member(document, "threads"), JsonValue(std::int64_t{1}));
  EXPECT_EQ(*check::member(document, "parameters"), JsonValue(parameters_of(model_shape("tiny"))));
  const JsonArray& rows = check::list(document, "rows");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_TRUE(check::text(rows[0], "model_type").ends_with("M Q8_0"));
}

// Prompts of drafts have 16 tokens at least, whatever else is measured.
TEST_F(ModelBenchFiles, ShortTextsHaveDrafts) {
  write_signs_model(path("m.gguf"), "llama", "");
  const Outcome drafted = run({"bench-model", path("m.gguf"), "-p", "4", "-n", "2", "-r", "1",
                               "--drafts", "3", "-o", "csv"});
  ASSERT_EQ(drafted.status, 0) << drafted.err;
  EXPECT_TRUE(contains(drafted.out, "\"tg2 + 3 drafts")) << drafted.out;
}

// Where most parameters have another dtype, as those of a small model's mix do.
TEST_F(ModelBenchFiles, TypesAreThoseThatFilesSay) {
  ASSERT_EQ(run({"bench-model", "--shape", "tiny", "--type", "f16", "--prompt", "1", "--tokens",
                 "0", "--repeat", "1", "--save", path("m.gguf")})
                .status,
            0);
  const auto type_with = [&](std::int64_t number) {
    GgufContents contents = load_gguf(path("m.gguf"));
    contents.metadata.erase("general.file_type");
    if (number >= 0) {
      contents.metadata.set("general.file_type", static_cast<std::uint32_t>(number));
    }
    save_gguf(path("typed.gguf"), contents.arrays, contents.metadata);
    const Outcome bench =
        run({"bench-model", path("typed.gguf"), "-p", "1", "-n", "0", "-r", "1", "-o", "json"});
    EXPECT_EQ(bench.status, 0) << bench.err;
    const std::string type =
        check::text(check::list(*parse_json(bench.out), "rows").at(0), "model_type");
    return type.substr(type.find("M ") + 2);
  };
  EXPECT_EQ(type_with(15), "Q4_K - Medium");
  EXPECT_EQ(type_with(9999), "F16");
  EXPECT_EQ(type_with(-1), "F16");
}

TEST_F(ModelBenchFiles, RefusesNeitherAndBoth) {
  EXPECT_TRUE(
      contains(run({"bench-model"}).err, "got neither --model nor --shape, expected one of them"));
  EXPECT_TRUE(contains(run({"bench-model", "--model", path("x"), "--shape", "tiny"}).err,
                       "got both --model and --shape"));
}

TEST_F(ModelBenchFiles, InfoPlansTheirMemory) {
  ASSERT_EQ(run({"bench-model", "--shape", "tiny", "--type", "f16", "--prompt", "1", "--tokens",
                 "0", "--repeat", "1", "--save", path("m.gguf")})
                .status,
            0);
  const Outcome planned = run({"info", path("m.gguf"), "--context", "1000", "--parallel", "3",
                               "--cache-type", "f16", "--json"});
  ASSERT_EQ(planned.status, 0) << planned.err;
  for (const char* other : {"-np", "--sequences"}) {
    EXPECT_EQ(run({"info", path("m.gguf"), "--context", "1000", other, "3", "--cache-type", "f16",
                   "--json"})
                  .out,
              planned.out);
  }
  const JsonValue memory = *check::member(*parse_json(planned.out), "memory");
  // Keys and values of 32 pages of 32 rows for each and one for padding, 2 heads of 64, in 2
  // layers.
  constexpr std::int64_t kCaches = std::int64_t{3 * 32 + 1} * 32 * 2 * (2 * 64) * 2 * 2;
  EXPECT_EQ(*check::member(memory, "caches"), JsonValue(kCaches));
  EXPECT_EQ(*check::member(memory, "states"), JsonValue(std::int64_t{0}));
  std::int64_t weights = 0;
  for (const ShapeTensor& tensor : shape_tensors(model_shape("tiny"))) {
    weights += element_count(tensor.shape) * (tensor.shape.rank() == 1 ? 4 : 2);
  }
  EXPECT_EQ(*check::member(memory, "weights"), JsonValue(weights));
  const auto activations = std::get<std::int64_t>(*check::member(memory, "activations"));
  EXPECT_GT(activations, 0);
  const Outcome fewer = run({"info", path("m.gguf"), "--context", "1000", "--parallel", "3",
                             "--prefill", "8", "--cache-type", "f16", "--json"});
  ASSERT_EQ(fewer.status, 0) << fewer.err;
  EXPECT_LT(std::get<std::int64_t>(
                *check::member(*check::member(*parse_json(fewer.out), "memory"), "activations")),
            activations);
  EXPECT_EQ(*check::member(memory, "all"), JsonValue(weights + kCaches + activations));
  const Outcome text = run({"info", path("m.gguf"), "--context", "0"});
  EXPECT_TRUE(contains(text.out, "memory for 1 text of 4096 tokens, keys and values in f32"))
      << text.out;
  // Caches are of the dtype, as those of commands that run the model.
  const Outcome halved = run({"info", path("m.gguf"), "--context", "1000", "--parallel", "3",
                              "--dtype", "bf16", "--json"});
  ASSERT_EQ(halved.status, 0) << halved.err;
  const JsonValue in_bf16 = *check::member(*parse_json(halved.out), "memory");
  EXPECT_EQ(check::text(in_bf16, "cache"), "bf16");
  EXPECT_EQ(*check::member(in_bf16, "caches"), JsonValue(kCaches));
  EXPECT_LT(std::get<std::int64_t>(*check::member(in_bf16, "activations")), activations);
  const Outcome plain = run({"info", path("m.gguf")});
  EXPECT_FALSE(contains(plain.out, "memory for"));
  EXPECT_EQ(plain.err, "");
  const Outcome beyond = run({"info", path("m.gguf"), "--context", "5000", "--json"});
  EXPECT_TRUE(contains(beyond.err,
                       "info: warning: 5000 tokens of context, and the model was made "
                       "for 4096"))
      << beyond.err;
  EXPECT_EQ(*check::member(*check::member(*parse_json(beyond.out), "memory"), "trained_context"),
            JsonValue(std::int64_t{4096}));
}
#endif

}  // namespace
}  // namespace hearth::tools
