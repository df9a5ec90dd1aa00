// `hearth finetune`: texts as windows, and runs on a tiny model.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "error_text.h"
#include "hearth/models.h"
#include "models/language/model/text_loss.h"
#include "models/texts_alone.h"
#include "tools/lm/adapter_trainer.h"
#include "tools/lm/model_options.h"
#include "tools/lm/training_texts.h"
#include "tools/shutdown_signal.h"
#include "tools/signs_model.h"
#include "tools/tool_folder.h"

namespace hearth::tools {
namespace {

using check::error_of;
using models::kNoTarget;

class AdapterOptions : public ToolFolder {};

TEST_F(AdapterOptions, ReadsPathsAndScales) {
  for (const char* name : {"a.gguf", "b", "c:x", "d", "e:", "f:1"})
    std::ofstream(path(name)) << name;
  const auto files = adapter_files(
      {path("a.gguf"), path("b:0.5"), path("c:x"), path("d:-2"), path("e:"), path("f:1:0.25")});
  ASSERT_EQ(files.size(), 6u);
  EXPECT_EQ(files[0].path, path("a.gguf"));
  EXPECT_EQ(files[0].scale, 1);
  EXPECT_EQ(files[1].path, path("b"));
  EXPECT_EQ(files[1].scale, 0.5);
  EXPECT_EQ(files[2].path, path("c:x"));
  EXPECT_EQ(files[3].scale, -2);
  EXPECT_EQ(files[4].path, path("e:"));
  EXPECT_EQ(files[5].path, path("f:1"));
  EXPECT_EQ(files[5].scale, 0.25);
  EXPECT_NE(error_of([] { adapter_files({":2"}); }), "");
  EXPECT_NE(error_of([&] { adapter_files({path("none")}); }).find("--lora: no such file; got"),
            std::string::npos);
}

TEST_F(AdapterOptions, TellOfFoldersWithoutAnAdapter) {
  const auto fault = [&] {
    return error_of([&] { require_adapters("--lora", {{path("run"), 1}}); });
  };
  const auto says = [&](const std::string& part) {
    EXPECT_NE(fault().find(part), std::string::npos) << fault();
  };
  std::filesystem::create_directory(path("run"));
  says("run: adapter: the folder has none; got no adapter_config.json, expected one beside");
  std::ofstream(path("run/checkpoint.safetensors")) << "x";
  says(
      "got checkpoint.safetensors alone, of a run that was stopped, expected what `hearth "
      "finetune` with --resume makes of it");
  EXPECT_NE(error_of([&] {
              load_model(path("run"), {});
            }).find("the folder has no model; got checkpoint.safetensors alone"),
            std::string::npos);
  std::ofstream(path("run/adapter.gguf")) << "x";
  says("got a folder that has adapter.gguf, expected that file's own path");
}

TrainingTexts::Text counting(int count, std::int32_t first) {
  TrainingTexts::Text text;
  text.tokens.resize(static_cast<std::size_t>(count));
  std::iota(text.tokens.begin(), text.tokens.end(), 10);
  text.counts.assign(text.tokens.size(), true);
  text.first = first;
  return text;
}

TEST(TrainingTexts, WindowsFollowTheText) {
  const TrainingTexts texts({counting(20, 1)}, {}, 4);
  EXPECT_FALSE(texts.has_held_out());
  const TokenRows rows = texts.train_batch(7, 3, 5);
  EXPECT_EQ(rows.texts, 5);
  EXPECT_EQ(rows.counted, 20);
  for (std::size_t row = 0; row < 5; ++row) {
    EXPECT_EQ(rows.tokens[4 * row], 1);
    for (std::size_t i = 0; i < 4; ++i) {
      const std::int32_t target = rows.targets[4 * row + i];
      EXPECT_GE(target, 10);
      EXPECT_LT(target, 30);
      if (i > 0) {
        EXPECT_EQ(rows.tokens[4 * row + i], target - 1);
      }
    }
  }
  EXPECT_EQ(texts.train_batch(7, 3, 5).tokens, rows.tokens);
  EXPECT_NE(texts.train_batch(7, 4, 5).tokens, rows.tokens);
  const std::vector<TokenRows> all = texts.evaluation_batches(2);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].targets, (std::vector<std::int32_t>{10, 11, 12, 13, 14, 15, 16, 17}));
  EXPECT_EQ(all[2].texts, 1);
}

TEST(TrainingTexts, ShortTextsArePaddedAndWhatDoesNotCountIsNoTarget) {
  TrainingTexts::Text text = counting(3, -1);
  text.counts[1] = false;
  const TrainingTexts texts({text}, {}, 4);
  const TokenRows rows = texts.train_batch(0, 0, 1);
  EXPECT_EQ(rows.tokens, (std::vector<std::int32_t>{10, 11, 12, 0}));
  EXPECT_EQ(rows.targets, (std::vector<std::int32_t>{kNoTarget, 12, kNoTarget, kNoTarget}));
  EXPECT_EQ(rows.counted, 1);
}

class Finetune : public ToolFolder {
 protected:
  void SetUp() override {
    ToolFolder::SetUp();
    write_signs_model(path("model.gguf"), "qwen3", kSignsTemplate);
    std::ofstream text(path("text"));
    for (int i = 0; i < 40; ++i) text << sign(5) << sign(17) << sign(30) << sign(40 + i % 3);
  }

  FinetuneOptions options(const std::string& out) const {
    FinetuneOptions made;
    made.model = path("model.gguf");
    made.text = path("text");
    made.out = path(out);
    made.rank = 4;
    made.context = 12;
    made.batch = 2;
    made.steps = 24;
    made.checkpoint_every = 8;
    made.learning_rate = 2e-2;
    made.weight_decay = 0;
    made.warm_up = 2;
    return made;
  }

  void write_chats(const std::string& text) const { std::ofstream(path("chats.jsonl")) << text; }
  std::string chats_error() const {
    const models::LoadedModel loaded = models::load_language_model(path("model.gguf"));
    return error_of([&] { TrainingTexts::open(path("chats.jsonl"), loaded, 8); });
  }
};

TEST_F(Finetune, LearnsAndWritesAnAdapterThatGivesTheSame) {
  AdapterTrainer trainer(options("out"));
  const double before = trainer.evaluate().loss;
  const TrainingResult result = trainer.run();
  EXPECT_EQ(result.steps, 24);
  EXPECT_LT(result.held_out.loss, before - 0.5);
  const std::vector<std::string> paths = trainer.write_adapter();
  ASSERT_EQ(paths.size(), 2u);
  EXPECT_FALSE(std::filesystem::exists(path("out/config.json")));
  const std::vector<std::int32_t> tokens = {1, 5, 17, 30, 41};
  const auto scores = [&](const std::vector<AdapterFile>& adapters) {
    TextModelOptions with;
    with.adapters = adapters;
    return TextModel::load(path("model.gguf"), with).logits(tokens).to_vector<float>();
  };
  const auto adapted = scores({{paths.front()}});
  EXPECT_EQ(adapted, scores({{path("out")}}));
  EXPECT_NE(adapted, scores({}));
  EXPECT_EQ(scores({{paths.front(), 0.0}}), scores({}));
}

TEST_F(Finetune, GoesOnWhereItStopped) {
  AdapterTrainer whole(options("whole"));
  whole.run();
  struct Stopped : AdapterTrainer {
    using AdapterTrainer::AdapterTrainer;
    Array loss(std::int64_t step) override {
      if (step == 19) throw Error(ErrorCode::io, "stopped");
      return AdapterTrainer::loss(step);
    }
  };
  EXPECT_EQ(error_of([&] { Stopped(options("parts")).run(); }), "stopped");
  AdapterTrainer(options("parts")).run();
  expect_same_weights(path("whole"), path("parts"));
  FinetuneOptions other = options("parts");
  other.rank = 5;
  EXPECT_NE(error_of([&] { AdapterTrainer again(other); }).find("checkpoint of another run"),
            std::string::npos);
}

// Which comes while a step is made.
struct Signalled : AdapterTrainer {
  Signalled(const FinetuneOptions& options, std::int64_t step)
      : AdapterTrainer(options), step_(step) {}
  Array loss(std::int64_t step) override {
    if (step == step_) std::raise(SIGTERM);
    return AdapterTrainer::loss(step);
  }
  std::int64_t step_;
};

TEST_F(Finetune, ASignalEndsItBehindTheStep) {
  AdapterTrainer whole(options("whole"));
  whole.run();
  FinetuneOptions stopped = options("parts");
  stopped.checkpoint_every = 1000;
  // An evaluation is due behind the second of these steps, and not behind the first.
  for (const std::int64_t step : {6, 11, 23}) {
    ::testing::internal::CaptureStderr();
    int signal = 0;
    try {
      Signalled(stopped, step).run();
    } catch (const Interrupted& interrupted) {
      signal = interrupted.signal;
    }
    EXPECT_EQ(signal, SIGTERM);
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("stopped by SIGTERM at step " + std::to_string(step + 1) +
                        " of 24; the run so far is in \"" + path("parts") +
                        "\", and the same command goes on from there"),
              std::string::npos)
        << said;
    EXPECT_NO_THROW(require_adapters("--lora", {{path("parts"), 1}}));
  }
  AdapterTrainer(stopped).run();
  expect_same_weights(path("whole"), path("parts"));
}

TEST_F(Finetune, TimeBringsCheckpointsWithAdapters) {
  struct Stopped : AdapterTrainer {
    using AdapterTrainer::AdapterTrainer;
    Array loss(std::int64_t step) override {
      if (step == 3) throw Error(ErrorCode::io, "stopped");
      return AdapterTrainer::loss(step);
    }
  };
  FinetuneOptions made = options("out");
  made.checkpoint_every = 1000;
  EXPECT_EQ(error_of([&] { Stopped(made).run(); }), "stopped");
  EXPECT_FALSE(has_checkpoint(path("out")));
  made.checkpoint_seconds = 0;
  EXPECT_EQ(error_of([&] { Stopped(made).run(); }), "stopped");
  EXPECT_TRUE(has_checkpoint(path("out")));
  for (const char* adapter : {"out", "out/adapter.gguf"}) {
    EXPECT_NO_THROW(require_adapters("--lora", {{path(adapter), 1}}));
  }
}

TEST_F(Finetune, ResumesWithMoreStepsOnlyWhereAsked) {
  FinetuneOptions more = options("out");
  more.resume = true;
  EXPECT_NE(error_of([&] { AdapterTrainer none(more); }).find("nothing to resume"),
            std::string::npos);
  AdapterTrainer(options("out")).run();
  more.resume = false;
  more.steps = 30;
  EXPECT_NE(error_of([&] { AdapterTrainer other(more); }).find("--resume"), std::string::npos);
  more.resume = true;
  std::int64_t steps = 0;
  struct Counted : AdapterTrainer {
    Counted(const FinetuneOptions& options, std::int64_t& steps)
        : AdapterTrainer(options), steps_(steps) {}
    Array loss(std::int64_t step) override {
      ++steps_;
      return AdapterTrainer::loss(step);
    }
    std::int64_t& steps_;
  };
  EXPECT_EQ(Counted(more, steps).run().steps, 30);
  EXPECT_EQ(steps, 6);
  more.steps = 29;
  EXPECT_NE(error_of([&] { AdapterTrainer fewer(more); })
                .find("fewer steps than the run has done already; got --steps 29, expected at "
                      "least 30"),
            std::string::npos);
  more.steps = 30;
  EXPECT_EQ(AdapterTrainer(more).run().steps, 30);
  more.rank = 5;
  EXPECT_NE(error_of([&] { AdapterTrainer other(more); }).find("got rank 4, expected rank 5"),
            std::string::npos);
  more.fresh = true;
  EXPECT_NE(error_of([&] { AdapterTrainer other(more); }).find("got --fresh too"),
            std::string::npos);
}

TEST_F(Finetune, ARunThatGoesOnKnowsTheLossBeforeIt) {
  AdapterTrainer first(options("out"));
  const LossPoint before = first.first_loss();
  EXPECT_EQ(before.step, 0);
  EXPECT_EQ(before.loss, first.evaluate().loss);
  first.run();
  FinetuneOptions more = options("out");
  more.resume = true;
  more.steps = 30;
  const LossPoint again = AdapterTrainer(more).first_loss();
  EXPECT_EQ(again.step, 0);
  EXPECT_EQ(again.loss, before.loss);
  // A checkpoint without it.
  AdapterTrainer(options("other")).run();
  more.out = path("other");
  AdapterTrainer other(more);
  EXPECT_EQ(other.first_loss().step, 24);
  EXPECT_EQ(other.first_loss().loss, other.evaluate().loss);
}

TEST_F(Finetune, AnotherTemplateWritesTheConversations) {
  std::ofstream(path("chats.jsonl"))
      << "{\"messages\": [{\"role\": \"user\", \"content\": \"" << sign(5)
      << "\"}, {\"role\": \"assistant\", \"content\": \"" << sign(7) << "\"}]}\n";
  write_signs_model(path("plain.gguf"), "qwen3", "");
  FinetuneOptions plain = options("out");
  plain.model = path("plain.gguf");
  plain.text = path("chats.jsonl");
  plain.steps = 1;
  EXPECT_NE(error_of([&] { AdapterTrainer without(plain); }).find("--chat-template FILE"),
            std::string::npos);
  std::ofstream(path("template")) << kSignsTemplate;
  plain.chat_template = path("template");
  EXPECT_EQ(AdapterTrainer(plain).run().steps, 1);
}

TEST_F(Finetune, LearnsWhatAssistantsSay) {
  write_chats("{\"messages\": [{\"role\": \"user\", \"content\": \"" + sign(5) + sign(6) +
              "\"}, {\"role\": \"assistant\", \"content\": \"" + sign(7) + sign(8) + "\"}]}\n\n");
  const models::LoadedModel loaded = models::load_language_model(path("model.gguf"));
  const TrainingTexts texts = TrainingTexts::open(path("chats.jsonl"), loaded, 8);
  const TokenRows rows = texts.train_batch(0, 0, 1);
  EXPECT_EQ(rows.tokens, (std::vector<std::int32_t>{1, 5, 6, 9, 7, 8, 2, 0}));
  EXPECT_EQ(rows.targets, (std::vector<std::int32_t>{kNoTarget, kNoTarget, kNoTarget, 7, 8, 2,
                                                     kNoTarget, kNoTarget}));
}

TEST_F(Finetune, LearnsLinesOfTexts) {
  write_signs_model(path("plain.gguf"), "qwen3", "");
  const models::LoadedModel loaded = models::load_language_model(path("plain.gguf"));
  const auto rows_of = [&](const std::string& line, std::int64_t context) {
    write_chats(line + "\n");
    return TrainingTexts::open(path("chats.jsonl"), loaded, context).train_batch(0, 0, 1);
  };
  const std::int32_t none = kNoTarget;
  TokenRows rows = rows_of(R"({"text": ")" + sign(5) + sign(6) + "\"}", 5);
  EXPECT_EQ(rows.tokens, (std::vector<std::int32_t>{1, 5, 6, 2, 0}));
  EXPECT_EQ(rows.targets, (std::vector<std::int32_t>{5, 6, 2, none, none}));
  // Control tokens that are there already are no second time.
  rows = rows_of(R"({"id": 7, "text": "<s>)" + sign(5) + "</s>\"}", 5);
  EXPECT_EQ(rows.tokens, (std::vector<std::int32_t>{1, 5, 2, 0, 0}));
  EXPECT_EQ(rows.targets, (std::vector<std::int32_t>{5, 2, none, none, none}));
  // Long ones are windows, at any place.
  rows = rows_of(R"({"text": ")" + sign(5) + sign(6) + sign(7) + sign(8) + "\"}", 2);
  EXPECT_EQ(rows.counted, 2);
}

TEST_F(Finetune, LearnsWhatCompletesPrompts) {
  write_signs_model(path("plain.gguf"), "qwen3", "");
  const models::LoadedModel loaded = models::load_language_model(path("plain.gguf"));
  const std::string line =
      R"({"prompt": ")" + sign(5) + sign(6) + R"(", "completion": ")" + sign(7) + "\"}\n";
  write_chats(line);
  TokenRows rows = TrainingTexts::open(path("chats.jsonl"), loaded, 6).train_batch(0, 0, 1);
  const std::int32_t none = kNoTarget;
  EXPECT_EQ(rows.tokens, (std::vector<std::int32_t>{1, 5, 6, 7, 2, 0}));
  EXPECT_EQ(rows.targets, (std::vector<std::int32_t>{none, none, 7, 2, none, none}));
  // One whose prompt fills the context is left out.
  write_chats(line + R"({"prompt": ")" + sign(5) + sign(6) + sign(5) + sign(6) + sign(5) + sign(6) +
              R"(", "completion": ")" + sign(7) + "\"}\n");
  const TrainingTexts texts = TrainingTexts::open(path("chats.jsonl"), loaded, 6);
  EXPECT_EQ(texts.cuts().lines, 2);
  EXPECT_EQ(texts.cuts().left_out, 1);
}

TEST_F(Finetune, LearnsEachAnswerOfAConversation) {
  const auto chats = [](const std::string& first, const std::string& last) {
    return R"({"messages": [{"role": "user", "content": ")" + sign(5) +
           R"("}, {"role": "assistant", "content": ")" + sign(7) + "\"" + first +
           R"(}, {"role": "user", "content": ")" + sign(6) +
           R"("}, {"role": "assistant", "content": ")" + sign(8) + "\"" + last + "}]}\n";
  };
  const std::string thought = R"(, "reasoning_content": ")" + sign(12) + "\"";
  models::LoadedModel loaded = models::load_language_model(path("model.gguf"));
  write_chats(chats("", ""));
  TokenRows rows = TrainingTexts::open(path("chats.jsonl"), loaded, 10).train_batch(0, 0, 1);
  EXPECT_EQ(rows.tokens, (std::vector<std::int32_t>{1, 5, 9, 7, 2, 6, 9, 8, 2, 0}));
  EXPECT_EQ(rows.targets, (std::vector<std::int32_t>{kNoTarget, kNoTarget, 7, 2, kNoTarget,
                                                     kNoTarget, 8, 2, kNoTarget, kNoTarget}));
  // Reasoning of the last answer alone: what the first messages are written as depends on others.
  loaded.chat_template =
      "{{ '<s>' }}{% for m in messages %}{{ m['reasoning_content'] if loop.last }}"
      "{{ m['content'] }}{{ '</s>' if m['role'] == 'assistant' else '\xe4\xb8\x89' }}{% endfor %}";
  write_chats(chats("", thought));
  rows = TrainingTexts::open(path("chats.jsonl"), loaded, 10).train_batch(0, 0, 1);
  EXPECT_EQ(rows.targets, (std::vector<std::int32_t>{kNoTarget, kNoTarget, 7, 2, kNoTarget,
                                                     kNoTarget, 12, 8, 2, kNoTarget}));
  write_chats(chats(thought, ""));
  EXPECT_NE(error_of([&] {
              TrainingTexts::open(path("chats.jsonl"), loaded, 10);
            }).find("line 1: the model's template writes an answer otherwise once others follow"),
            std::string::npos);
}

TEST_F(Finetune, CountsConversationsThatDoNotFit) {
  const auto chat = [](const std::string& asked, const std::string& answer) {
    return "{\"messages\": [{\"role\": \"user\", \"content\": \"" + asked +
           "\"}, {\"role\": \"assistant\", \"content\": \"" + answer + "\"}]}\n";
  };
  std::string longer;
  for (int i = 0; i < 12; ++i) longer += sign(6);
  write_chats(chat(sign(5), sign(7)) + chat(longer, sign(7)) + chat(sign(5), longer));
  const models::LoadedModel loaded = models::load_language_model(path("model.gguf"));
  const TrainingTexts texts = TrainingTexts::open(path("chats.jsonl"), loaded, 8);
  EXPECT_EQ(texts.cuts().lines, 3);
  EXPECT_EQ(texts.cuts().left_out, 1);
  EXPECT_EQ(texts.cuts().shortened, 1);
}

TEST_F(Finetune, LearnsCallsOfToolsWhereTheTemplateWritesThem) {
  const std::string call =
      R"({"type": "function", "function": {"name": ")" + sign(8) + R"(", "arguments": "{}"}})";
  write_chats(R"({"tools": [{"type": "function", "function": {"name": ")" + sign(8) +
              R"("}}], "messages": [{"role": "user", "content": ")" + sign(5) +
              R"("}, {"role": "assistant", "content": null, "tool_calls": [)" + call + "]}]}\n");
  EXPECT_NE(chats_error().find("line 1: chat: the model's chat template knows no tools"),
            std::string::npos)
      << chats_error();
  write_chats(R"({"messages": [{"role": "user", "content": ")" + sign(5) +
              R"("}, {"role": "assistant", "content": null, "tool_calls": [)" + call + "]}]}\n");
  EXPECT_NE(chats_error().find("line 1: messages[1].tool_calls: not written"), std::string::npos)
      << chats_error();
  models::LoadedModel loaded = models::load_language_model(path("model.gguf"));
  loaded.chat_template =
      "{{ '<s>' }}{% for m in messages %}{{ m['content'] or '' }}{% for c in m['tool_calls'] or [] "
      "%}{{ c['function']['name'] }}{% endfor %}{{ '</s>' if m['role'] == 'assistant' else "
      "'\xe4\xb8\x89' }}{% endfor %}";
  const TrainingTexts texts = TrainingTexts::open(path("chats.jsonl"), loaded, 8);
  EXPECT_EQ(texts.train_batch(0, 0, 1).targets,
            (std::vector<std::int32_t>{kNoTarget, kNoTarget, 8, 2, kNoTarget, kNoTarget, kNoTarget,
                                       kNoTarget}));
}

// As by a checkpoint of the same shape whose weights are others.
TEST_F(Finetune, DoesNotGoOnWithAnotherModel) {
  FinetuneOptions first = options("out");
  first.steps = 2;
  AdapterTrainer(first).run();
  GgufContents other = load_gguf(path("model.gguf"));
  for (NamedArray& each : other.arrays) {
    if (each.name == "output_norm.weight") each.array = each.array * 2;
  }
  save_gguf(path("other.gguf"), other.arrays, other.metadata);
  first.model = path("other.gguf");
  EXPECT_NE(error_of([&] { AdapterTrainer again(first); }).find("checkpoint of another run"),
            std::string::npos);
}

TEST_F(Finetune, RefusesWhatIsNoConversation) {
  const auto says = [&](const std::string& text, const std::string& part) {
    write_chats(text + "\n");
    EXPECT_NE(chats_error().find(part), std::string::npos) << chats_error();
  };
  // Whether the model has a template or not.
  write_signs_model(path("model.gguf"), "qwen3", "");
  says("{}", "line 1: nothing to learn from; got no members, expected \"messages\", or");
  says(R"({"instruction": "a", "output": "b"})",
       R"(got the members "instruction", "output", expected "messages")");
  says(R"({"prompt": "a"})", R"(got the members "prompt", expected)");
  says(R"({"prompt": "a", "completion": [1]})",
       R"(completion: no text; got [1], expected a string (a conversation goes into "messages"))");
  says("[1]", "line 1: no object; got another value");
  says("{", "line 1: no JSON");
  says(R"({"messages": [{"role": "user", "content": "x"}]})", "--chat-template FILE");
  write_signs_model(path("model.gguf"), "qwen3", kSignsTemplate);
  write_chats("\n{\"messages\": [{\"role\": \"user\"}]}\n");
  EXPECT_NE(chats_error().find("line 2: messages[0].content: is missing"), std::string::npos)
      << chats_error();
  write_chats("{\"messages\": [{\"role\": \"user\", \"content\": \"x\"}]}\n");
  EXPECT_NE(chats_error().find("nothing to learn from"), std::string::npos) << chats_error();
}

TEST_F(Finetune, RefusesSettingsThatCannotBe) {
  FinetuneOptions wrong = options("out");
  wrong.context = 1;
  EXPECT_NE(error_of([&] { AdapterTrainer trainer(wrong); }).find("a context of at least 2"),
            std::string::npos);
  wrong = options("out");
  wrong.layers = "none";
  EXPECT_NE(error_of([&] { AdapterTrainer trainer(wrong); }).find("no layers to train"),
            std::string::npos);
  wrong = options("out");
  wrong.text = path("absent");
  EXPECT_NE(error_of([&] { AdapterTrainer trainer(wrong); }), "");
}

#ifdef HEARTH_TOOL
TEST_F(Finetune, TheCommandWritesWhatOthersRead) {
  const Outcome trained = run({"finetune", "--lora", "--model", path("model.gguf"), "--text",
                               path("text"), "--out", path("out"), "--steps", "5", "--context",
                               "12", "--batch", "2", "--rank", "2", "--rate", "0.01"});
  EXPECT_EQ(trained.status, 0) << trained.err;
  EXPECT_NE(trained.out.find("finetune: steps=5 loss_before="), std::string::npos) << trained.out;
  for (const std::string& adapter : {path("out"), path("out/adapter.gguf:0.5")}) {
    const Outcome written = run({"generate", "--model", path("model.gguf"), "--lora", adapter,
                                 "--prompt", sign(5), "--tokens", "4"});
    EXPECT_EQ(written.status, 0) << written.err;
  }
  // What an adapter changes is rounded again, even where types are kept.
  ASSERT_EQ(run({"quantize", path("model.gguf"), path("q8.gguf"), "q8_0"}).status, 0);
  EXPECT_EQ(run({"quantize", path("q8.gguf"), path("kept.gguf"), "keep"}).err, "");
  const Outcome kept =
      run({"quantize", path("q8.gguf"), path("more.gguf"), "keep", "--lora", path("out")});
  EXPECT_EQ(kept.status, 0) << kept.err;
  EXPECT_NE(kept.err.find("quantize: warning: the weights are packed already"), std::string::npos)
      << kept.err;
  expect_refused(run({"generate", "--model", path("model.gguf"), "--lora", path("text"), "--prompt",
                      sign(5), "--tokens", "4"}));
  const Outcome info = run({"info", path("out")});
  EXPECT_EQ(info.status, 0) << info.err;
  EXPECT_NE(info.out.find("peft folder"), std::string::npos) << info.out;
}

#ifndef _WIN32
TEST_F(Finetune, TheCommandEndsByTheSignalAndLeavesAnAdapter) {
  std::signal(SIGINT, SIG_DFL);  // which a shell may have set otherwise for the tests
  const pid_t child = start({"finetune", "--model", path("model.gguf"), "--text", path("text"),
                             "--out", path("out"), "--steps", "1000000", "--context", "12",
                             "--batch", "2", "--rank", "2", "--checkpoint-every", "1"},
                            path("stdout"));
  int status = 0;
  while (!has_checkpoint(path("out")) && waitpid(child, &status, WNOHANG) == 0) usleep(10'000);
  kill(child, SIGINT);
  ASSERT_EQ(waitpid(child, &status, 0), child) << contents(path("stderr"));
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) << status;
  const std::string said = contents(path("stderr"));
  EXPECT_NE(said.find("finetune: stopped by SIGINT at step "), std::string::npos) << said;
  EXPECT_NE(contents(path("stdout")).find("wrote \"" + path("out/adapter.gguf") + "\"\n"),
            std::string::npos);
  const Outcome written = run({"generate", "--model", path("model.gguf"), "--lora", path("out"),
                               "--prompt", sign(5), "--tokens", "4"});
  EXPECT_EQ(written.status, 0) << written.err;
}
#endif
#endif

}  // namespace
}  // namespace hearth::tools
