#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "devices_under_test.h"
#include "error_text.h"
#include "hearth/io.h"
#include "models/loading/load_model.h"
#include "tools/commands.h"
#include "tools/lm/text_trainer.h"
#include "tools/tool_folder.h"
#include "tools/training/checkpoint.h"

namespace hearth::tools {
namespace {

namespace fs = std::filesystem;

class Training : public ToolFolder {
 protected:
  void SetUp() override {
    ToolFolder::SetUp();
    std::ofstream text(path("text"));
    for (int i = 0; i < 400; ++i) text << "the " << i % 17 << " quick foxes jump. ";
  }

  TextTrainingOptions options(const std::string& out) const {
    TextTrainingOptions made;
    made.text = path("text");
    made.out = path(out);
    made.model.dim = 16;
    made.model.layers = 1;
    made.model.heads = 2;
    made.model.kv_heads = 1;
    made.model.context = 16;
    made.batch = 4;
    made.steps = 30;
    made.checkpoint_every = 10;
    made.learning_rate = 1e-2;
    made.warm_up = 5;
    return made;
  }
};

TEST_F(Training, LearnsAndWritesWhatItPromises) {
  TextTrainer trainer(options("model"));
  const double before = trainer.evaluate().loss;
  const TrainingResult result = trainer.run();
  EXPECT_EQ(result.steps, 30);
  EXPECT_LT(result.held_out.loss, before - 1);
  EXPECT_GT(result.plan_hit_rate, 0.5);
  for (const char* name : {"config.json", "tokenizer.json", "loss.svg", "checkpoint.safetensors"}) {
    EXPECT_TRUE(fs::exists(path("model") + "/" + name)) << name;
  }
  const GgufContents read = models::read_model_contents(path("model")).contents;
  const auto norm = std::ranges::find(read.arrays, "output_norm.weight", &NamedArray::name);
  ASSERT_NE(norm, read.arrays.end());
  EXPECT_EQ(norm->array.to_doubles(), trainer.model().norm.weight.array().to_doubles());
}

TEST_F(Training, AFinishedRunStaysFinished) {
  TextTrainer(options("model")).run();
  EXPECT_EQ(TextTrainer(options("model")).run().steps, 30);
}

TEST_F(Training, RefusesACheckpointOfOtherSettings) {
  TextTrainer(options("model")).run();
  TextTrainingOptions other = options("model");
  other.learning_rate = 2e-2;
  const std::string what = check::error_of([&] { TextTrainer{other}; });
  EXPECT_NE(what.find("another run; got lr 0.01, expected lr 0.02 ("), std::string::npos) << what;
  other.fresh = true;
  EXPECT_NO_THROW(TextTrainer{other});
}

// Steps and losses of a run, the last of them on all held-out text.
std::vector<double> losses(const TextTrainingOptions& options) {
  TextTrainer(options).run();
  Device::set_default(Device::cpu());
  std::vector<double> all;
  for (const NamedArray& named : load_safetensors(checkpoint_path(options.out)).arrays) {
    if (named.name.rfind("curve.", 0) != 0) continue;
    for (const double value : named.array.to_doubles()) all.push_back(value);
  }
  return all;
}

TEST_F(Training, AGpuLearnsWhatTheCpuLearns) {
  for (const auto& [dtype, tolerance] : {std::pair(DType::f32, 1e-3), {DType::f64, 1e-9}}) {
    if (!testing::is_under_test(dtype)) continue;
    TextTrainingOptions made = options("cpu" + std::string(name(dtype)));
    made.dtype = dtype;
    made.steps = 15;
    made.device = "cpu";
    const std::vector<double> expected = losses(made);
    made.out = path("gpu" + std::string(name(dtype)));
    made.device = testing::kernel_device_under_test().name();
    const std::vector<double> got = losses(made);
    ASSERT_EQ(got.size(), expected.size());
    ASSERT_GE(got.size(), 8u);
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_NEAR(got[i], expected[i], tolerance) << name(dtype) << " " << i;
    }
  }
}

// What a subcommand writes.
std::string output_of(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  CommandLine line("hearth", "", "");
  add_train(line);
  add_generate(line);
  ::testing::internal::CaptureStdout();
  line.run(static_cast<int>(argv.size()), argv.data());
  Device::set_default(Device::cpu());
  return ::testing::internal::GetCapturedStdout();
}

TEST_F(Training, AGpuTrainsAndWritesText) {
  const auto on = [&](const std::string& device, const std::string& out) {
    return output_of({"hearth",  "train", "--text",    path("text"), "--out",   path(out),
                      "--steps", "20",    "--layers",  "1",          "--dim",   "16",
                      "--heads", "2",     "--context", "16",         "--batch", "4",
                      "--lr",    "0.01",  "--device",  device});
  };
  const auto text = [&](const std::string& device) {
    return output_of({"hearth", "generate", "--model", path("gpu"), "--prompt", "the quick",
                      "--tokens", "24", "--temperature", "0", "--device", device});
  };
  const std::string gpu = testing::kernel_device_under_test().name();
  const auto held_out = [](const std::string& output) {
    const std::size_t at = output.find("held_out=");
    return at == std::string::npos ? -1 : std::stod(output.substr(at + 9));
  };
  const double learned = held_out(on(gpu, "gpu"));
  EXPECT_GT(learned, 0);
  EXPECT_NEAR(learned, held_out(on("cpu", "cpu")), 1e-2);
  const std::string got = text(gpu);
  EXPECT_EQ(got.substr(0, 9), "the quick");
  EXPECT_GE(got.size(), 34u);
  EXPECT_EQ(got, text("cpu"));
}

TEST_F(Training, RefusesADamagedCheckpoint) {
  TextTrainer(options("model")).run();
  const std::string file = checkpoint_path(path("model"));
  fs::resize_file(file, fs::file_size(file) / 2);
  EXPECT_THROW(TextTrainer(options("model")), Error);
}

#if defined(HEARTH_TOOL) && !defined(_WIN32)

class Tool : public Training {
 protected:
  std::vector<std::string> train(const std::string& out, int steps = 200) const {
    return {"train",
            "--text",
            path("text"),
            "--out",
            path(out),
            "--steps",
            std::to_string(steps),
            "--layers",
            "1",
            "--dim",
            "16",
            "--heads",
            "2",
            "--context",
            "16",
            "--batch",
            "4",
            "--checkpoint-every",
            "7"};
  }
};

TEST_F(Tool, KilledRunsGoOnBitForBit) {
  ASSERT_EQ(run(train("whole")).status, 0);
  // Killed again and again, each time a little later.
  for (int i = 0; i < 200; ++i) {
    const pid_t child = start(train("killed"), path("stdout"));
    std::this_thread::sleep_for(std::chrono::milliseconds(30 + 15 * i));
    kill(child, SIGKILL);
    if (finish(child).status == 0) break;
  }
  ASSERT_EQ(run(train("killed")).status, 0);
  expect_same_weights(path("whole"), path("killed"));
}

TEST_F(Tool, StoppedRunsGoOnBitForBit) {
  ASSERT_EQ(run(train("whole")).status, 0);
  for (int i = 0; i < 2; ++i) {
    const pid_t child = start(train("stopped"), path("stdout"));
    while (!fs::exists(checkpoint_path(path("stopped"))) && waitpid(child, nullptr, WNOHANG) == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    if (i > 0) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    kill(child, SIGTERM);
    finish(child);
  }
  ASSERT_EQ(run(train("stopped")).status, 0);
  expect_same_weights(path("whole"), path("stopped"));
}

TEST_F(Tool, GeneratesTheSameTextForTheSameSeed) {
  ASSERT_EQ(run(train("model", 20)).status, 0);
  const std::vector<std::string> generate = {"generate", "--model",      path("model"), "--prompt",
                                             "the ",     "--tokens",     "40",          "--seed",
                                             "3",        "--logit-bias", "0=-inf"};  // the end
  const Outcome one = run(generate);
  EXPECT_EQ(one.status, 0) << one.err;
  EXPECT_GE(one.out.size(), 4u + 40u + 1u);
  EXPECT_EQ(one.out.rfind("the ", 0), 0u);
  EXPECT_EQ(run(generate).out, one.out);
  // What is refused leaves nothing behind, the prompt neither.
  for (const char* bias : {"5=nan", "99999999=1", "-1=1"}) {
    std::vector<std::string> refused = generate;
    refused.insert(refused.end(), {"--logit-bias", bias});
    const Outcome outcome = run(refused);
    expect_refused(outcome);
    EXPECT_EQ(outcome.out, "") << bias;
  }
}

TEST_F(Tool, RefusesInOneLine) {
  expect_refused(run({"train", "--text", path("missing"), "--out", path("model")}));
  expect_refused(run({"train", "--text", path("text"), "--batch", "0"}));
  const Outcome rate = run({"train", "--text", path("text"), "--lr", "0"});
  expect_refused(rate);
  EXPECT_NE(rate.err.find("got 0, expected a number from 1e-12 to 1000 (hearth train --help"),
            std::string::npos)
      << rate.err;
  expect_refused(run({"train", "--text", path("text"), "--out", path("model"), "--context", "16",
                      "--batch", "1073741824"}));
  expect_refused(run({"train", "--text", path("text"), "--no-such-flag"}));
  const auto says = [&](const std::vector<std::string>& arguments, const std::string& what) {
    const Outcome outcome = run(arguments);
    expect_refused(outcome);
    EXPECT_EQ(outcome.err.find("hearth: " + what), 0u) << outcome.err;
  };
  says({"train"}, "--text is missing; got no --text, expected --text FILE");
  says({"train", "--text"}, "--text has no value; got --text alone, expected --text FILE");
  says({"train", "--seed", "1", "--seed", "2"},
       "--seed is given more than once; got 2 values, expected one");
  says({"train", "--text", path("text"), "--layer", "2"},
       "no such option; got --layer, expected perhaps --layers");
  says({"train", "--text", path("text"), "--layers", "two"},
       "--layers: not a whole number; got two, expected a whole number");
  says({"generate", "--model", path("model"), "--dtype", "f64"},
       "--dtype: no such value; got f64, expected one of f32, bf16");
  says({"bench", "--threads", "0"}, "--threads: out of range; got 0, expected");
  expect_refused(run({"train", "--text", path("text"), "--out", path("model"), "--lr", "nan"}));
  expect_refused(run({"train", "--text", path("text"), "--out", path("model"), "--seed", "-1"}));
  expect_refused(run({"train", "--text", folder_.string(), "--out", path("model")}));
  expect_refused(
      run({"train", "--text", path("text"), "--out", path("text") + "/model", "--context", "16"}));
  expect_refused(run({"train", "--text", path("text"), "--out", path("model"), "--context", "16",
                      "--dim", "1073741824", "--heads", "1"}));
  expect_refused(run({"train", "--text", path("text"), "--out", path("model"), "--context", "16",
                      "--dim", "48", "--heads", "5"}));
  expect_refused(run({"train", "--text", path("text"), "--out", path("model"), "--context", "16",
                      "--device", "abacus"}));
  expect_refused(run({"generate", "--model", path("nothing")}));
  expect_refused(run({"frobnicate"}));
  std::ofstream(path("config.json")) << "{";
  expect_refused(run({"generate", "--model", folder_.string()}));
}

TEST_F(Tool, AFullDiskEndsInOneLine) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "the system has no /dev/full";
  const Outcome outcome = finish(start({"ops"}, "/dev/full"));
  expect_refused(outcome);
}

TEST_F(Tool, ListsDevicesAndOps) {
  EXPECT_NE(run({"devices"}).out.find("cpu:0"), std::string::npos);
  EXPECT_NE(run({"ops"}).out.find("rms_norm"), std::string::npos);
  const std::string ops = run({"ops"}).out;
  EXPECT_NE(ops.find("\nconv_transpose "), std::string::npos) << "a function made of ops";
  EXPECT_NE(ops.find("\npad "), std::string::npos);
  EXPECT_NE(run({"ops", "conv_transpose"}).out.find("Array conv_transpose(const Array& x"),
            std::string::npos);
  EXPECT_NE(run({"ops", "pad"}).out.find("Array pad(const Array& x"), std::string::npos);
  EXPECT_NE(run({"ops", "rms_norm"}).out.find("Array rms_norm("), std::string::npos);
  expect_refused(run({"ops", "frobnicate"}));
  EXPECT_NE(run({"ops", "cum"}).err.find("perhaps cummax, cummax_with_indices, "),
            std::string::npos);
  const std::string all = run({"ops"}).out;
  EXPECT_EQ(all.find("\ngenerator "), std::string::npos);
  EXPECT_EQ(all.find("\nseed "), std::string::npos);
  expect_refused(run({"ops", "--json", "frobnicate"}));
  const std::string one = run({"ops", "--json", "rms_norm"}).out;
  EXPECT_NE(one.find("\"name\": \"rms_norm\""), std::string::npos);
  EXPECT_EQ(one.find("\"name\": \"attention\""), std::string::npos);
  const std::string json = run({"ops", "--json"}).out;
  EXPECT_EQ(json.front(), '{');
  EXPECT_NE(json.find("\"name\": \"attention\""), std::string::npos);
}

TEST_F(Tool, DemoEndsWithItsVerdict) {
  const Outcome outcome =
      run({"demo", "--text", path("text"), "--out", path("demo"), "--seconds", "0.5"});
  EXPECT_TRUE(outcome.status == 0 || outcome.status == 1) << outcome.err;
  const std::string verdict = outcome.status == 0 ? "demo: ok loss=" : "demo: short loss=";
  const std::size_t last = outcome.out.rfind('\n', outcome.out.size() - 2);
  EXPECT_EQ(outcome.out.compare(last + 1, verdict.size(), verdict), 0) << outcome.out;
}

#endif

}  // namespace
}  // namespace hearth::tools
