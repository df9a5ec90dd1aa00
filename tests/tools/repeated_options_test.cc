// Options that may be given several times take one word each: what stands behind it is none of
// theirs.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "tools/command_line.h"
#include "tools/signs_model.h"
#include "tools/tool_folder.h"

namespace hearth::tools {
namespace {

struct Read {
  std::vector<std::string> values;
  std::string model;
};

// What a command makes of these words behind its name.
Read read(std::vector<std::string> words) {
  words.insert(words.begin(), {"program", "command"});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  Read got;
  CommandLine line("program", "A program.", "0");
  Command command = line.add_command("command", "A command");
  command.option("-r,--stop,-st", got.values, "A text");
  command.option("-m,--model,model", got.model, "A file").required();
  command.action([] {});
  line.run(static_cast<int>(argv.size()), argv.data());
  return got;
}

TEST(RepeatedOptions, TakeOneWordEach) {
  using Values = std::vector<std::string>;
  const struct {
    Values words;
    Values values;
  } cases[] = {
      {{"--stop", "a", "M"}, {"a"}},
      {{"-r", "a", "M"}, {"a"}},
      {{"-st", "a", "M"}, {"a"}},
      {{"--stop=a", "M"}, {"a"}},
      {{"--stop=a=b", "--stop", "c", "M"}, {"a=b", "c"}},
      {{"--stop", "a", "M", "--stop", "b"}, {"a", "b"}},
      {{"--stop", "a", "--stop", "a", "-m", "M"}, {"a", "a"}},
      {{"--stop", "-a", "--", "M"}, {"-a"}},
      {{"--stop", "[a,b]", "M"}, {"[a,b]"}},
  };
  for (const auto& each : cases) {
    const Read got = read(each.words);
    EXPECT_EQ(got.model, "M") << each.words[0];
    EXPECT_EQ(got.values, each.values) << each.words[0];
  }
  try {
    read({"M", "--stop", "a", "b"});
    ADD_FAILURE() << "a word that no option takes";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("unexpected argument; got b"), std::string::npos)
        << error.what();
  }
}

#ifdef HEARTH_TOOL

class RepeatedOptionsOfCommands : public ToolFolder {
 protected:
  void expect_says(const std::vector<std::string>& arguments, const std::string& part) {
    const Outcome outcome = run(arguments);
    expect_refused(outcome);
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  }
};

TEST_F(RepeatedOptionsOfCommands, StandInFrontOfTheModel) {
  const std::string none = path("none.gguf"), model = path("m.gguf");
  const struct {
    std::string command, option, value;
    std::vector<std::string> rest;
  } cases[] = {
      {"generate", "--stop", "a", {none, "-p", "x"}},
      {"generate", "-r", "a", {none, "-p", "x"}},
      {"generate", "--logit-bias", "7=1", {none, "-p", "x"}},
      {"generate", "--dry-sequence-breaker", "a", {none, "-p", "x"}},
      {"generate", "--lora", none, {model, "-p", "x"}},
      {"chat", "--stop", "a", {none}},
      {"chat", "--lora", none, {model}},
      {"perplexity", "--lora", none, {model, "-f", model}},
      {"serve", "--lora", none, {model}},
      {"serve", "--api-key", "a", {none}},
      {"serve", "--cors", "*", {none}},
      {"embed", "--text", "a", {none}},
      {"embed", "-p", "a", {none}},
      {"finetune", "--base-lora", none, {model, "-f", model}},
      {"quantize", "--lora", none, {model, path("out.gguf"), "q8_0"}},
      {"bench-model", "--prompt", "8", {none}},
      {"bench-model", "-n", "8", {none}},
      {"bench-model", "-pg", "8,8", {none}},
      {"bench-model", "--depth", "8", {none}},
      {"bench-model", "--parallel", "1", {none}},
      {"bench-model", "--prefill", "8", {none}},
      {"bench-model", "--threads", "1", {none}},
      {"check-kernel", "--kernel", "a", {none}},
      {"check-kernel", "--value", "a=f32[1]", {none}},
      {"check-kernel", "--constant", "a=1", {none}},
      {"check-kernel", "--define", "A=1", {none}},
      {"check-kernel", "--include", ".", {none}},
  };
  write_signs_model(model, "qwen3", kSignsTemplate);
  for (const auto& each : cases) {
    std::vector<std::string> arguments = {each.command, each.option, each.value};
    arguments.insert(arguments.end(), each.rest.begin(), each.rest.end());
    const Outcome outcome = run(arguments);
    expect_refused(outcome);
    EXPECT_EQ(outcome.err.find(" is missing"), std::string::npos) << outcome.err;
    if (each.option.starts_with("--")) {
      arguments.erase(arguments.begin() + 2);
      arguments[1] += "=" + each.value;
      EXPECT_EQ(run(arguments).err, outcome.err);
    }
    if (outcome.err.find("cpp-httplib") != std::string::npos) continue;  // built without HTTP
    EXPECT_NE(outcome.err.find("none.gguf"), std::string::npos) << each.option << outcome.err;
  }
}

TEST_F(RepeatedOptionsOfCommands, LeaveFilesAndTextsAlone) {
  const std::string model = path("m.gguf");
  write_signs_model(model, "qwen3", kSignsTemplate);
  const Outcome text = run({"generate", "--stop", "foo", model, "-p", sign(5), "-n", "3", "--temp",
                            "0", "--logit-bias", "7=1"});
  EXPECT_EQ(text.status, 0) << text.err;
  expect_says({"generate", model, "-p", "x", "--stop", "town", "small"},
              "unexpected argument; got small");
  expect_says({"quantize", model, "--lora", path("notes"), path("out.gguf"), "q8_0"},
              "--lora: no such file; got \"" + path("notes"));
}

#endif

}  // namespace
}  // namespace hearth::tools
