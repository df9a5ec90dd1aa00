// The options that commands of language models share, on tiny models.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "hearth/error.h"
#include "hearth/io.h"
#include "models/loading/load_model.h"
#include "tools/serve/loaded_service.h"
#include "tools/signs_model.h"
#include "tools/tool_folder.h"

namespace hearth::tools {
namespace {

#ifdef HEARTH_TOOL

class CommandOptions : public ToolFolder {
 protected:
  void SetUp() override {
    ToolFolder::SetUp();
    write_signs_model(path("m.gguf"), "qwen3", kSignsTemplate);
  }

  static void expect_says(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  void expect_refused_with(const std::vector<std::string>& arguments, const std::string& part) {
    const Outcome outcome = run(arguments);
    expect_refused(outcome);
    expect_says(outcome.err, part);
  }
  std::string written(const std::vector<std::string>& arguments, const std::string& input = "") {
    const Outcome outcome = run(arguments, input);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.out;
  }
  bool has_http() const {
    return run({"serve", path("none.gguf"), "--port", "0"}).err.find("cpp-httplib") ==
           std::string::npos;
  }
  // What a server says until it is ready, and then told to end.
  Outcome served(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "serve");
    arguments.insert(arguments.end(), {"--port", "0"});
    std::filesystem::remove(path("stdout"));  // of an earlier server
    const pid_t server = start(arguments, path("stdout"));
    while (contents(path("stdout")).find("is ready") == std::string::npos) {
      if (waitpid(server, nullptr, WNOHANG) != 0) return {-1, "", contents(path("stderr"))};
      usleep(10'000);
    }
    kill(server, SIGTERM);
    return finish(server);
  }
};

TEST_F(CommandOptions, HaveTheNamesThatUsersOfOthersKnow) {
  const std::string model = path("m.gguf"), prompt = sign(5) + sign(9);
  const std::string text =
      written({"generate", "--model", model, "--prompt", prompt, "--tokens", "6", "--temperature",
               "0.9", "--top-k", "9", "--seed", "3", "--context", "40", "--threads", "1"});
  EXPECT_EQ(text.rfind(prompt, 0), 0u) << text;
  EXPECT_EQ(written({"generate", "-m", model, "-p", prompt, "-n", "6", "--temp", "0.9", "--top-k",
                     "9", "-s", "3", "-c", "40", "-t", "1"}),
            text);
  EXPECT_EQ(written({"generate", model, "-p", prompt, "--max-tokens", "6", "--temp", "0.9",
                     "--top-k", "9", "-s", "3", "--ctx-size", "40", "--cache-type", "F32"}),
            text);
  for (const char* command : {"generate", "chat", "serve", "perplexity", "bench-model", "embed"}) {
    const std::string help = written({command, "--help"});
    for (const char* names : {"-m,--model", "-t,--threads", "--dtype", "--device"}) {
      expect_says(help, names);
    }
    if (std::string(command) == "embed") continue;
    for (const char* names : {"--cache-type", "-ctk,--cache-type-k", "-ctv,--cache-type-v"}) {
      expect_says(help, names);
    }
  }
}

TEST_F(CommandOptions, PromptsComeFromFilesAndStandardInput) {
  const std::string model = path("m.gguf"), prompt = sign(5) + sign(9);
  const std::vector<std::string> rest = {"-n", "4", "--temp", "0"};
  const auto with = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"generate", model});
    arguments.insert(arguments.end(), rest.begin(), rest.end());
    return arguments;
  };
  const std::string text = written(with({"-p", prompt}));
  std::ofstream(path("prompt")) << prompt << "\n";
  EXPECT_EQ(written(with({"-f", path("prompt")})), text);
  EXPECT_EQ(written(with({"--prompt-file", path("prompt")})), text);
  EXPECT_EQ(written(with({"-p", "-"}), prompt + "\n"), text);
  expect_refused_with(with({"-p", prompt, "-f", path("prompt")}), "--prompt: two prompts");
  expect_refused_with(with({"-f", path("none")}), "none");
}

TEST_F(CommandOptions, RenderedPromptsHaveControlTokensWithSpecial) {
  const auto generated = [&](const std::string& prompt, const std::vector<std::string>& rest) {
    std::vector<std::string> all = {
        "generate", path("m.gguf"),        "-p",       prompt, "-n", "4", "--temp",
        "0",        "--no-display-prompt", "--verbose"};
    all.insert(all.end(), rest.begin(), rest.end());
    const Outcome outcome = run(all);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome;
  };
  const std::string text = sign(5) + sign(9);
  const Outcome bare = generated(text, {});
  const Outcome rendered = generated("<s>" + text, {"--special"});
  EXPECT_EQ(rendered.out, bare.out);
  const std::string note = "generate: \"<s>\" in the prompt is letters; with --special";
  EXPECT_EQ(rendered.err.find(note), std::string::npos) << rendered.err;
  EXPECT_EQ(bare.err.find(note), std::string::npos) << bare.err;
  expect_says(generated("<s>" + text, {}).err, note);
}

TEST_F(CommandOptions, WhatIsPipedIntoGenerateIsThePrompt) {
  const std::string model = path("m.gguf"), prompt = sign(5) + sign(9);
  const std::vector<std::string> bare = {"generate", model, "-n", "4", "--temp", "0"};
  auto given = bare, empty = bare;
  given.insert(given.end(), {"-p", prompt});
  empty.insert(empty.end(), {"-p", ""});
  const std::string text = written(given), none = written(empty);
  ASSERT_NE(text, none);
  EXPECT_EQ(written(bare, prompt + "\n"), text);  // a file
  EXPECT_EQ(written(bare, ""), none);
  EXPECT_EQ(written(empty, prompt), none);
  EXPECT_EQ(written(given, sign(20)), text);
  EXPECT_EQ(finish(start(bare, path("stdout"), "/dev/null")).out, none);

  const auto piped = [&](const std::string& said, bool stays_open) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    for (const int end : ends) fcntl(end, F_SETFD, FD_CLOEXEC);
    EXPECT_EQ(write(ends[1], said.data(), said.size()), static_cast<ssize_t>(said.size()));
    const pid_t child = start(bare, path("stdout"), "/dev/fd/" + std::to_string(ends[0]));
    if (!stays_open) close(ends[1]);
    const Outcome outcome = finish(child);
    if (stays_open) close(ends[1]);
    close(ends[0]);
    return outcome;
  };
  EXPECT_EQ(piped(prompt + "\n", false).out, text);
  const Outcome closed = piped("", false);
  EXPECT_EQ(closed.out, none);
  EXPECT_EQ(closed.err, "");
  const Outcome silent = piped("", true);
  EXPECT_EQ(silent.out, "");
  EXPECT_NE(silent.status, 0);
  EXPECT_NE(
      silent.err.find(
          "got nothing from standard input within 2 s, expected --prompt TEXT (\"\" for none)"),
      std::string::npos)
      << silent.err;
}

TEST_F(CommandOptions, ATextNeedsSomethingToBeginWith) {
  write_signs_model(path("bare.gguf"), "qwen3", "",
                    {{"tokenizer.ggml.bos_token_id", std::int32_t{-1}}});
  expect_refused_with({"generate", path("bare.gguf"), "-p", "", "-n", "2"},
                      "generate: nothing to begin with; got no prompt ");
  EXPECT_EQ(run({"generate", path("bare.gguf"), "-p", sign(5), "-n", "2", "-s", "1"}).status, 0);
}

TEST_F(CommandOptions, ASeedIsSaidAndDrawsTheSameAgain) {
  const std::vector<std::string> arguments = {"generate", path("m.gguf"), "-p",
                                              sign(5),    "-n",           "12"};
  const Outcome first = run(arguments);
  ASSERT_EQ(first.status, 0) << first.err;
  std::smatch found;
  ASSERT_TRUE(std::regex_search(first.err, found, std::regex("generate: --seed ([0-9]+) draws")))
      << first.err;
  auto again = arguments;
  again.insert(again.end(), {"--seed", found[1].str()});
  const Outcome second = run(again);
  EXPECT_EQ(second.out, first.out);
  EXPECT_EQ(second.err, "");
  again = arguments;
  again.insert(again.end(), {"--temp", "0"});
  EXPECT_EQ(run(again).err, "");
  // Nothing was drawn.
  again = arguments;
  again.back() = "0";
  EXPECT_EQ(run(again).err, "");
}

TEST_F(CommandOptions, RefusalsSayWhatIsMeant) {
  const std::string model = path("m.gguf");
  expect_refused_with({"generate", model, "-m", model, "-p", "x"},
                      "--model is given more than once; got 2 values, expected one");
  EXPECT_EQ(written({}), written({"--help"}));
  expect_refused_with({"generate", path("."), "-p", "x"}, "expected one with config.json");
  expect_refused_with({"generate", model, "hi"},
                      "unexpected argument; got hi, expected --prompt in front of a text");
  expect_refused_with({"info", model, "hi"}, "unexpected argument; got hi, expected options only");
  expect_refused_with({"generate", model, "--frobnicate"}, "expected an option of this command");
  expect_refused_with({"generate"},
                      "model is missing; got no model, expected a FILE or --model FILE");
  expect_refused_with({"quantize", model}, "out is missing; got no out, expected a FILE");
  expect_refused_with({"generate", model, "-p"},
                      "--prompt has no value; got --prompt alone, expected --prompt TEXT");
  expect_refused_with({"--frobnicate"},
                      "no such option; got --frobnicate, expected a subcommand in front of it");
  expect_refused_with({"bench-model"}, "nothing to measure; got neither --model nor --shape");
  expect_refused_with({"generate", model, "--max-token", "3"}, "expected perhaps --max-tokens");
  for (const char* joined : {"-nope", "-cnv", "-hf", "-sys"}) {
    expect_refused_with({"generate", model, joined, "9"},
                        std::string("no such option; got ") + joined);
  }
  EXPECT_EQ(run({"generate", model, "-p", "-ab", "-n2"}).status, 0);
  expect_refused_with({"generate", model, "--xtc-threshold", "0"}, "expected a number of (0, 1]");
  expect_refused_with({"generate", model, "-p", "x", "--lora", "none.gguf"},
                      "--lora: no such file; got \"none.gguf\"");
  save_gguf(path("adapter.gguf"), {}, {{"general.type", "adapter"}});
  for (std::vector<std::string> arguments : std::vector<std::vector<std::string>>{
           {"generate", "-p", "x"}, {"chat"}, {"perplexity", "--file", model}, {"embed"}}) {
    arguments.insert(arguments.end(), {"--model", path("adapter.gguf")});
    expect_refused_with(arguments,
                        "this is an adapter, not a model; got \"" + path("adapter.gguf"));
    expect_refused_with(arguments, ": --model FILE --lora " + path("adapter.gguf"));
  }
}

TEST_F(CommandOptions, StandardInputMayBeADevice) {
  const std::string model = path("m.gguf");
  const auto given_nothing = [&](const std::vector<std::string>& arguments) {
    return finish(start(arguments, path("stdout"), "/dev/null"));
  };
  const Outcome tokens = given_nothing({"tokenize", model});
  EXPECT_EQ(tokens.status, 0) << tokens.err;
  EXPECT_EQ(tokens.out, run({"tokenize", model, "--text", ""}).out);
  const Outcome text = given_nothing({"generate", model, "-p", "-", "-n", "3", "--temp", "0"});
  const Outcome same = run({"generate", model, "-p", "", "-n", "3", "--temp", "0"});
  EXPECT_EQ(text.status, same.status);
  EXPECT_EQ(text.out, same.out);
  EXPECT_EQ(text.err, same.err);
}

// A line break at the end of a file is a part of the text, as llama-tokenize has it.
TEST_F(CommandOptions, TokenizeTakesFilesAsTheyAre) {
  const std::string model = path("m.gguf"), file = path("text.txt");
  std::ofstream(file, std::ios::binary) << "ab\n";
  const Outcome given = run({"tokenize", model, "--text", "ab\n"});
  ASSERT_EQ(given.status, 0) << given.err;
  EXPECT_EQ(run({"tokenize", model, "-f", file}).out, given.out);
  EXPECT_NE(run({"tokenize", model, "--text", "ab"}).out, given.out);
  expect_refused_with({"tokenize", model, "-f", file, "--text", "x"},
                      "two texts; got --text and --text-file, expected one of them");
  expect_refused_with({"tokenize", model, "-f", path("none")}, "none");
}

TEST_F(CommandOptions, TokenizeNamesTheLineThatIsWrong) {
  const std::string model = path("m.gguf");
  const auto expect_wrong = [&](std::vector<std::string> more, const std::string& input,
                                const std::string& part) {
    more.insert(more.begin(), {"tokenize", model, "--lines"});
    const Outcome outcome = run(more, input);
    expect_refused(outcome);
    expect_says(outcome.err, part);
  };
  expect_wrong({}, "\"ab\"\n\"\"\nab\n", "line 3: tokenize: the line is no text in JSON; got ");
  expect_wrong({}, "\"ab\"\n\n", "line 2: tokenize: the line is no text in JSON; got ");
  expect_wrong({"--decode"}, "1 2\n3 x\n", "line 2: tokenize: not a list of ids; got ");
  expect_wrong({"--decode"}, "1\n999999999\n", "line 2: ");
}

TEST_F(CommandOptions, ScoresThatAreNoNumbersNameTheDtype) {
  GgufContents contents = load_gguf(path("m.gguf"));
  for (NamedArray& each : contents.arrays) {
    if (each.name != "output_norm.weight") continue;
    // Beyond f16, not beyond f32.
    each.array =
        Array::from_data(std::vector<float>(static_cast<std::size_t>(each.array.size()), 1e6f),
                         each.array.shape(), Device::cpu());
  }
  save_gguf(path("large.gguf"), contents.arrays, contents.metadata);
  std::string text;
  for (int i = 0; i < 20; ++i) text += sign(5 + i);
  std::ofstream(path("text")) << text;
  const std::vector<std::string> scores = {
      "perplexity", path("large.gguf"), "-f", path("text"), "-c", "8", "--dtype"};
  const auto with = [](std::vector<std::string> arguments, const std::string& dtype) {
    arguments.push_back(dtype);
    return arguments;
  };
  expect_refused_with(with(scores, "f16"), "scores are no numbers; got such with --dtype f16");
  written(with(scores, "f32"));
  std::vector<std::string> draws = {"generate", path("large.gguf"), "-p", sign(5), "-n",
                                    "2",        "--dtype"};
  expect_refused_with(with(draws, "f16"),
                      "got scores that are no numbers, computed in f16, expected numbers: f16 "
                      "overflows in some models, bf16 and f32 do not; --dtype");
  draws.insert(draws.begin() + 2, {"--logit-bias", "7=1"});
  expect_refused_with(with(draws, "f16"), "got scores that are no numbers, computed in f16");
}

// Before the model is read, which takes long, and without a trace.
TEST_F(CommandOptions, ScoresAreSavedWhereTheyCanBe) {
  const std::string model = path("m.gguf");
  std::string text;
  for (int i = 0; i < 20; ++i) text += sign(5 + i);
  std::ofstream(path("text")) << text;
  const auto save = [&](const std::string& from, const std::string& to) {
    return std::vector<std::string>{"perplexity", from, "-f",          path("text"),
                                    "-c",         "8",  "--save-base", to};
  };
  const std::string none = path("none.gguf");
  expect_refused_with(save(none, path("no/folder")), "--save-base: expected a file that can be");
  expect_refused_with(save(none, path(".")), "--save-base: expected a file that can be");
  expect_refused_with(save(model, model), "perplexity: a file that is read would be written over");
  expect_refused_with(save(model, path("text")), "would be written over");
  written(save(model, path("scores")));
  const auto size = std::filesystem::file_size(path("scores"));
  expect_refused(run(save(none, path("scores"))));
  EXPECT_EQ(std::filesystem::file_size(path("scores")), size);
  expect_refused(run(save(none, path("others"))));
  EXPECT_FALSE(std::filesystem::exists(path("others")));
}

TEST_F(CommandOptions, TextsThatAreEmptyAreNoneOfOptions) {
  const std::string model = path("m.gguf");
  for (const char* option : {"--grammar", "--json-schema", "--draft-model", "--lora", "--samplers",
                             "--sampling-seq", "--device", "--stop", "--prompt-file"}) {
    expect_refused_with({"generate", model, "-p", sign(5), option, ""},
                        "empty; got \"\", expected");
  }
  for (const char* option : {"--chat-template", "--chat-template-kwargs"}) {
    expect_refused_with({"chat", model, "-p", sign(5), option, ""}, ": empty; got \"\", expected");
  }
  expect_refused_with({"chat", model, "--chat-template", ""},
                      "--chat-template: empty; got \"\", expected FILE");
  expect_refused_with({"generate", "", "-p", "x"}, "--model: empty; got \"\", expected FILE");
  expect_refused_with({"generate", model, "-p", sign(5), "--cache-type", ""},
                      "expected one of f32");
  expect_refused_with({"serve", model, "--api-key", ""}, "--api-key: empty");
}

TEST_F(CommandOptions, SeedsOutOfRangeAreRefused) {
  const std::string model = path("m.gguf");
  for (const char* seed : {"9223372036854775808", "-9223372036854775809", "0xfffffffffffffffff"}) {
    expect_refused_with({"generate", model, "-p", sign(5), "--seed", seed},
                        "--seed: out of range; got " + std::string(seed));
  }
  written({"generate", model, "-p", sign(5), "-n", "2", "--seed", "9223372036854775807"});
  // Where an option has a range of its own, that is named.
  expect_refused_with({"serve", model, "--port", "99999999999999999999"},
                      "expected a whole number from 0 to 65535");
}

TEST_F(CommandOptions, EncodersAreForEmbed) {
  const std::string model = path("encoder.gguf");
  write_signs_model(model, "bert", "",
                    {{"tokenizer.ggml.cls_token_id", std::uint32_t{1}},
                     {"tokenizer.ggml.seperator_token_id", std::uint32_t{2}}});
  std::ofstream(path("text")) << sign(5) << sign(6) << sign(7);
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"generate", model, "-p", sign(5)},
                                             {"chat", model},
                                             {"perplexity", model, "-f", path("text")}}) {
    expect_refused_with(arguments, arguments[0] + ": ");
    const std::string refusal = run(arguments).err;
    expect_says(refusal, " of an encoder; got one of the family bert");
    expect_says(refusal, "`hearth embed`");
  }
  EXPECT_NE(written({"embed", model, "-p", sign(5)}), "");
}

TEST_F(CommandOptions, ChatNamesWhatAModelWithoutATemplateNeeds) {
  write_signs_model(path("plain.gguf"), "qwen3", "");
  expect_refused_with({"chat", path("plain.gguf")}, "--chat-template FILE gives it one");
  std::ofstream(path("template")) << kSignsTemplate;
  EXPECT_NE(written({"chat", path("plain.gguf"), "--chat-template", path("template"), "-n", "3",
                     "--temp", "0"},
                    sign(5) + "\n"),
            "\n");
}

TEST_F(CommandOptions, ServeNamesWhatAModelWithoutATemplateNeeds) {
  write_signs_model(path("plain.gguf"), "qwen3", "");
  serve::LoadedService service(models::load_language_model(path("plain.gguf")), "plain", {});
  try {
    service.chat();
    ADD_FAILURE() << "a chat without a template";
  } catch (const Error& error) {
    expect_says(error.what(), "chat: the model has no chat template; got neither one nor ");
    expect_says(error.what(), "; --chat-template FILE gives it one where the server is started");
  }
  if (!has_http()) GTEST_SKIP() << "built without HTTP";
  const std::string note =
      "serve: the model has no chat template, so that chats are refused; --chat-template FILE "
      "gives "
      "it one\n";
  EXPECT_EQ(served({path("plain.gguf")}).err, note);
  EXPECT_EQ(served({path("plain.gguf"), "--chat-template", kSignsTemplate}).err, "");
  EXPECT_EQ(served({path("m.gguf")}).err, "");
}

TEST_F(CommandOptions, ServeTellsWhatAnEncoderIsFor) {
  write_signs_model(path("encoder.gguf"), "bert", "",
                    {{"tokenizer.ggml.cls_token_id", std::uint32_t{1}},
                     {"tokenizer.ggml.seperator_token_id", std::uint32_t{2}}});
  serve::LoadedService service(models::load_language_model(path("encoder.gguf")), "e", {});
  try {
    service.chat();
    ADD_FAILURE() << "a chat with a model that writes none";
  } catch (const Error& error) {
    expect_says(error.what(), "serve: a chat with a model that writes none; got ");
  }
}

TEST_F(CommandOptions, AnAnswerThatTheContextCutsOffIsSaid) {
  const std::vector<std::string> arguments = {"chat", path("m.gguf"), "-c",    "32", "--temp",
                                              "0",    "--logit-bias", "2=-100"};
  auto brief = arguments;
  brief.insert(brief.end(), {"-n", "3"});
  EXPECT_EQ(run(brief, sign(5) + "\n").err.find("cut off"), std::string::npos);
  const Outcome cut = run(arguments, sign(5) + "\n");
  EXPECT_EQ(cut.status, 0);
  expect_says(cut.err,
              "chat: line 1: the answer is cut off: the context is full, which is 32 "
              "tokens; --context has more (/reset begins");
}

TEST_F(CommandOptions, ChatObeysLinesThatBeginWithASlash) {
  const std::vector<std::string> arguments = {"chat", path("m.gguf"), "-n", "3", "--temp", "0"};
  const std::string first = written(arguments, sign(5) + "\n");
  EXPECT_EQ(written(arguments, sign(7) + "\n/reset\n" + sign(5) + "\n"),
            written(arguments, sign(7) + "\n") + first);
  EXPECT_EQ(written(arguments, sign(7) + "\n/clear\n" + sign(5) + "\n"),
            written(arguments, sign(7) + "\n") + first);
  EXPECT_EQ(written(arguments, sign(5) + "\n/bye\n" + sign(5) + "\n"), first);
  auto told = arguments;
  told.insert(told.end(), {"--system", sign(30)});
  EXPECT_EQ(written(arguments, "/system " + sign(30) + "\n" + sign(5) + "\n"),
            written(told, sign(5) + "\n"));
  EXPECT_EQ(written(told, "/system\n" + sign(5) + "\n"), first);
  const Outcome helped = run(arguments, "/help\n");
  EXPECT_EQ(helped.out, "");
  expect_says(helped.err, "/reset");
  expect_says(run(arguments, "/?\n").err, "/reset");
  const Outcome unknown = run(arguments, "/rest now\n");
  EXPECT_EQ(unknown.out, "");
  EXPECT_EQ(unknown.status, 2);
  expect_says(unknown.err,
              "chat: line 1: no such command; got /rest, expected one that /help lists");
  expect_says(run(arguments, "/set parameter temperature 1\n").err,
              "no such command; got /set, expected options of `hearth chat`, such as --temp");
  expect_says(run(arguments, "/show info\n").err, "got /show, expected `hearth info FILE`");
  EXPECT_EQ(run(arguments, "/" + sign(5) + "/" + sign(6) + "\n").err.find("command"),
            std::string::npos);
}

TEST_F(CommandOptions, StopsMayBeWrittenAsInC) {
  const std::vector<std::string> arguments = {"generate", path("m.gguf"), "-p",     sign(5),
                                              "-n",       "12",           "--temp", "0"};
  const std::string text = written(arguments);
  auto stopped = arguments;
  const std::string fourth = text.substr(9, 3);
  stopped.insert(stopped.end(), {"--stop", fourth, "--stop", "\\n"});
  const std::string cut = written(stopped);
  EXPECT_EQ(cut, text.substr(0, text.find(fourth, 3)) + "\n");
}

TEST_F(CommandOptions, AShorterContextIsSaidOrRefused) {
  write_signs_model(path("long.gguf"), "qwen3", kSignsTemplate,
                    {{"qwen3.context_length", std::uint32_t{100'000}}});
  const Outcome talked = run({"chat", path("long.gguf"), "-n", "2", "--temp", "0"}, sign(5) + "\n");
  EXPECT_EQ(talked.err,
            "chat: 8192 tokens of context, of the model's 100000: --context has more\n");
  EXPECT_EQ(run({"chat", path("long.gguf"), "-c", "9000", "-n", "2", "--temp", "0"}, "").err, "");

  if (!has_http()) GTEST_SKIP() << "built without HTTP";
  const Outcome refused =
      run({"serve", path("long.gguf"), "--port", "0", "--memory", "1", "-c", "90000"});
  expect_refused(refused);
  EXPECT_TRUE(std::regex_search(
      refused.err, std::regex("serve: --context too long; got 90000, expected at most [0-9]+: "
                              "--memory 1 MiB holds no more; --memory [0-9]+ holds a whole text")))
      << refused.err;
  write_signs_model(path("states.gguf"), "mamba2", kSignsTemplate);
  expect_refused_with({"serve", path("states.gguf"), "--port", "0", "--memory", "1", "-np", "256"},
                      "serve: --memory too small; got 1 MiB, expected at least ");
  const Outcome brief = served({path("long.gguf"), "--memory", "1"});
  EXPECT_EQ(brief.status, 0);
  EXPECT_TRUE(std::regex_search(
      brief.err, std::regex("^serve: [0-9]+ tokens of context, of the model's 100000: --memory 1 "
                            "MiB holds no more; --memory [0-9]+ holds a whole text\n$")))
      << brief.err;
}

TEST_F(CommandOptions, AContextBeyondTheModelsIsWarnedOf) {
  write_signs_model(path("short.gguf"), "qwen3", kSignsTemplate,
                    {{"qwen3.context_length", std::uint32_t{64}}});
  const std::string warning = ": warning: 500 tokens of context, and the model was made for 64";
  const std::vector<std::string> rest = {path("short.gguf"), "-n", "2", "--temp", "0", "-c"};
  const auto noted = [&](const std::string& command, const std::string& context) {
    std::vector<std::string> arguments = {command};
    arguments.insert(arguments.end(), rest.begin(), rest.end());
    arguments.push_back(context);
    if (command == "generate") arguments.insert(arguments.end(), {"-p", sign(5)});
    const Outcome outcome = run(arguments, sign(5) + "\n");
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.err;
  };
  for (const char* command : {"generate", "chat"}) {
    expect_says(noted(command, "500"), command + warning);
    EXPECT_EQ(noted(command, "64"), "");
  }
  std::string text;
  for (int i = 0; i < 600; ++i) text += sign(5 + i % 60);
  std::ofstream(path("text")) << text;
  const std::vector<std::string> scored = {"perplexity", path("short.gguf"), "-f", path("text")};
  const auto with = [](std::vector<std::string> arguments, const std::vector<std::string>& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  const Outcome longer = run(with(scored, {"-c", "500"}));
  EXPECT_EQ(longer.status, 0);
  expect_says(longer.err, "perplexity" + warning);
  expect_says(longer.out, " in 1 chunk of 500\n");
  const Outcome usual = run(with(scored, {"--chunks", "2"}));
  EXPECT_EQ(usual.err, "");
  EXPECT_EQ(usual.out, written(with(scored, {"--chunks", "2", "-c", "64"})));
  const std::vector<std::string> learned = {
      "finetune", path("short.gguf"), "-f", path("text"), "--steps",
      "1",        "--batch",          "1",  "--out",      path("adapter")};
  expect_says(run(with(learned, {"-c", "500"})).err, "finetune" + warning);
  EXPECT_EQ(run(with(learned, {"-c", "64", "--fresh"})).err.find("warning"), std::string::npos);
}

TEST_F(CommandOptions, TextsWithoutAnEndAreAsLongAsAsked) {
  // The end of a text is the likeliest token.
  const std::vector<std::string> ends = {"-n", "7", "--temp", "0", "--logit-bias", "2=1000"};
  const auto with = [&](std::vector<std::string> arguments, const std::vector<std::string>& more) {
    arguments.insert(arguments.end(), ends.begin(), ends.end());
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  const std::vector<std::string> generate = {"generate", path("m.gguf"), "--prompt", sign(5)};
  const std::vector<std::string> chat = {"chat", path("m.gguf"), "-st", "--prompt", sign(5)};
  const std::size_t one = sign(5).size();
  EXPECT_EQ(written(with(generate, {})), sign(5) + "\n");
  EXPECT_EQ(written(with(generate, {"--ignore-eos"})).size(), 8 * one + 1);
  EXPECT_EQ(written(with(chat, {})), "\n");
  EXPECT_EQ(written(with(chat, {"--ignore-eos"})).size(), 7 * one + 1);
  for (const auto& [option, value] :
       {std::pair{"--grammar", "root ::= \"a\""}, std::pair{"--json-schema", "{}"}}) {
    expect_refused_with(
        with(generate, {"--ignore-eos", option, value}),
        "--ignore-eos: no text of the grammar could end; got " + std::string(option) + " too");
  }
}

TEST_F(CommandOptions, TimesAreSaidWhereAsked) {
  const std::vector<std::string> generate = {"generate", path("m.gguf"), "-p", sign(5),       "-n",
                                             "6",        "--temp",       "0",  "--ignore-eos"};
  const std::string text = written(generate);
  auto verbose = generate;
  verbose.push_back("--verbose");
  const Outcome timed = run(verbose);
  EXPECT_EQ(timed.out, text);
  const std::string seconds = "[0-9]+\\.[0-9]{2} s", rate = " \\([0-9.]+ tokens/s\\)";
  const std::string answer = "; answer: 6 tokens in " + seconds + "(" + rate + ")?\n";
  EXPECT_TRUE(std::regex_match(
      timed.err, std::regex("generate: model loaded in " + seconds + "; prompt: [0-9]+ tokens in " +
                            seconds + "(" + rate + ")?" + answer)))
      << timed.err;
  const Outcome talked =
      run({"chat", path("m.gguf"), "-n", "6", "--temp", "0", "--ignore-eos", "--verbose"},
          sign(5) + "\n" + sign(7) + "\n");
  EXPECT_EQ(talked.status, 0);
  const std::string prompt = "chat: prompt: [0-9]+ tokens";
  EXPECT_TRUE(std::regex_match(
      talked.err,
      std::regex("chat: model loaded in " + seconds + "\n" + prompt + " in " + seconds + "(" +
                 rate + ")?" + answer + prompt + "(, [0-9]+ of them known before,)? in " + seconds +
                 "(" + rate + ")?" + answer)))
      << talked.err;
}

TEST_F(CommandOptions, HelpOfACommandIsItsOwn) {
  const std::string own = written({"generate", "--help"});
  EXPECT_EQ(written({"help", "generate"}), own);
  EXPECT_EQ(written({"help"}), written({"--help"}));
  expect_refused_with({"help", "run"}, "no such subcommand; got \"run\", expected `hearth chat");
}

TEST_F(CommandOptions, QuantizeWarnsOfWhatCostsMost) {
  write_signs_model(path("in.gguf"), "qwen3", "");
  const Outcome first = run({"quantize", path("in.gguf"), path("q8.gguf"), "Q8_0"});
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_EQ(first.err.find("packed already"), std::string::npos) << first.err;
  const Outcome again = run({"quantize", path("q8.gguf"), path("q4.gguf"), "--type", "Q4_0"});
  EXPECT_EQ(again.status, 0) << again.err;
  expect_says(again.err, "quantize: warning: the weights are packed already, such as ");
  EXPECT_EQ(run({"quantize", path("q8.gguf"), path("kept.gguf"), "keep"}).err, "");
  const Outcome coarse = run({"quantize", path("in.gguf"), path("iq2.gguf"), "IQ2_XS"});
  EXPECT_EQ(coarse.status, 0) << coarse.err;
  expect_says(coarse.err, "iq2_xs without an importance matrix");
  expect_says(coarse.err, "--imatrix FILE names one, which llama.cpp's llama-imatrix makes");
  expect_refused_with({"quantize", path("in.gguf"), path("x.gguf"), "Q4_K_X"}, "expected one of");
  expect_refused_with({"quantize", path("in.gguf"), "Q8_0"},
                      "no file to write; got the type \"Q8_0\" alone, expected IN OUT TYPE");
}

TEST_F(CommandOptions, QuantizeSaysWhatIsNotAsAsked) {
  // Rows of 48, 64 and 80.
  write_signs_model(path("in.gguf"), "qwen3", "");
  const Outcome some = run({"quantize", path("in.gguf"), path("q8.gguf"), "q8_0"});
  EXPECT_EQ(some.status, 0) << some.err;
  EXPECT_TRUE(std::regex_match(
      some.err, std::regex("quantize: warning: 14 of 16 matrices are not packed, such as "
                           "\"[a-z0-9_.]+\" in f32: blocks of 32 values do not divide rows of "
                           "(48|80)\n")))
      << some.err;
  EXPECT_EQ(load_gguf(path("q8.gguf")).metadata.as_int("general.file_type"), 0);
  const Outcome larger = run({"quantize", path("in.gguf"), path("q4.gguf"), "q4_k_m"});
  expect_says(larger.err, "in f32: neither blocks of 256 values nor of 32 divide rows of ");
  expect_says(
      larger.err,
      "quantize: 2 of 16 matrices are of larger types than q4_k_m has, such as "
      "\"blk.0.attn_output.weight\" in q5_0: blocks of 256 values do not divide rows of 64\n");
  EXPECT_EQ(run({"quantize", path("in.gguf"), path("f16.gguf"), "f16"}).err, "");
  EXPECT_EQ(load_gguf(path("f16.gguf")).metadata.as_int("general.file_type"), 1);

  std::filesystem::create_directories(path("folder"));
  const testing::GoldenModel golden = testing::read_golden_model("qwen3");
  testing::write_model_folder(golden.config, testing::golden_weights(golden), path("folder"));
  const Outcome bare = run({"quantize", path("folder"), path("bare.gguf"), "f16"});
  EXPECT_EQ(bare.status, 0) << bare.err;
  EXPECT_EQ(bare.err, "quantize: warning: \"" + path("bare.gguf") +
                          "\" has no tokenizer, and so reads and writes no texts: \"" +
                          path("folder") + "\" has no tokenizer.json\n");
}

#endif

}  // namespace
}  // namespace hearth::tools
