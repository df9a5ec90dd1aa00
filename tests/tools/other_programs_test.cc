// What people type who know other programs, llama.cpp's above all: names of options, escapes, words
// of dtypes, chats of one turn, and hints where there is no such option.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "models/sampling/sampling_fields.h"
#include "tools/command_hints.h"
#include "tools/lm/escapes.h"
#include "tools/lm/model_name.h"
#include "tools/option_hints.h"
#include "tools/short_names.h"
#include "tools/signs_model.h"
#include "tools/tool_folder.h"

namespace hearth::tools {
namespace {

TEST(Escapes, AreThoseOfLlamaCpp) {
  EXPECT_EQ(without_escapes(R"(a\nb\r\t\\n\"\'\x41\x7A)"), "a\nb\r\t\\n\"'Az");
  // Others stay, and so does what is not whole.
  EXPECT_EQ(without_escapes(R"(\q\x4\x4g\)"), R"(\q\x4\x4g\)");
  EXPECT_EQ(without_escapes(R"(\x00)"), std::string(1, '\0'));
  EXPECT_EQ(without_escapes(""), "");
  EXPECT_EQ((EscapeOption{.is_on = false}.read(R"(a\n)")), R"(a\n)");
  const std::vector<std::string> both = {"\n", "b"};
  EXPECT_EQ((EscapeOption{}.read(std::vector<std::string>{R"(\n)", "b"})), both);
}

TEST(ShortNames, AreSplitFromTheNamesThatAreKnown) {
  const SplitNames split = split_names("-s,-sys,--system,!--no-system,word");
  EXPECT_EQ(split.known, "-s,--system,!--no-system,word");
  EXPECT_EQ(split.short_names, std::vector<std::string>{"-sys"});
}

TEST(OptionHints, KnowWholeNames) {
  for (const char* known : {"-ngl", "--n-gpu-layers", "-fa", "--flash-attn", "--mlock", "--no-mmap",
                            "-cnv", "--jinja", "--color", "--log-disable", "-cb", "-ub", "-hf",
                            "--rope-scaling", "--rope-scaling=yarn", "-i"}) {
    EXPECT_NE(option_hint(known), nullptr) << known;
  }
  for (const char* unknown :
       {"-", "--", "", " ", "-ng", "--rope", "ngl", "-ngl ", "--mlock --mmap"}) {
    EXPECT_EQ(option_hint(unknown), nullptr) << unknown;
  }
}

TEST(CommandHints, KnowWholeNames) {
  for (const auto& [command, part] : {std::pair{"run", "hearth chat"},
                                      {"pull", "curl -LO"},
                                      {"convert", "--type keep"},
                                      {"imatrix", "llama.cpp's `llama-imatrix "},
                                      {"llama-imatrix", "--imatrix FILE"},
                                      {"ps", "a process with one model"}}) {
    const char* const hint = command_hint(command);
    ASSERT_NE(hint, nullptr) << command;
    EXPECT_NE(std::string(hint).find(part), std::string::npos) << hint;
  }
  for (const char* unknown : {"", " ", "ru", "run ", "pull push", "chats"}) {
    EXPECT_EQ(command_hint(unknown), nullptr) << unknown;
  }
}

TEST(ModelNames, AreToldFromPaths) {
  const struct {
    const char* name;
    const char* part;
  } names[] = {
      {"Qwen/Qwen3-0.6B",
       "`hf download Qwen/Qwen3-0.6B --local-dir Qwen3-0.6B` does, and Qwen3-0.6B is"},
      {"https://huggingface.co/Qwen/Qwen3-0.6B", "`hf download Qwen/Qwen3-0.6B --local-dir"},
      {"ggml-org/gemma-3-270m-GGUF",
       "`hf download ggml-org/gemma-3-270m-GGUF --include '*Q4_K_M*' --local-dir "
       "gemma-3-270m-GGUF`"},
      {"hf.co/owner/name:Q8_0", "`hf download owner/name --include '*Q8_0*' --local-dir name`"},
      {"gemma3", "`hf download OWNER/NAME --local-dir NAME`"},
      {"llama3.2:1b", "https://huggingface.co/models"},
  };
  for (const auto& [name, part] : names) {
    const std::string fault = model_name_fault(name);
    EXPECT_EQ(
        fault.rfind("no such file or folder; got \"" + std::string(name) + "\", expected ", 0), 0u)
        << fault;
    EXPECT_NE(fault.find(part), std::string::npos) << fault;
  }
  for (const char* path : {"", ".", "/none", "./gemma3", "../gemma3", "gemma3/", "gemma3.gguf",
                           "models/a/b", "Once upon a time", "tokenizer.json", "/tmp"}) {
    EXPECT_EQ(model_name_fault(path), "") << path;
  }
}

TEST(OptionHints, AreTheCommandsOwnFirst) {
  EXPECT_EQ(option_hint("--temp", "generate"), nullptr);
  EXPECT_EQ(option_hint("--no-bos"), nullptr);
  const struct {
    const char* option;
    const char* command;
    const char* part;
  } cases[] = {
      {"--temp", "serve", "requests say these"},
      {"--n-predict", "serve", "requests say these"},
      {"--ignore-eos", "serve", "requests say these"},
      {"--ignore-eos", "bench-model", "--ignore-eos of `hearth generate`"},
      {"--no-webui", "chat", "`hearth serve` alone"},
      {"--no-slots", "serve", "cannot be turned off"},
      {"--slots", "serve", "always there"},
      {"--models-dir", "serve", "each `hearth serve` has one"},
      {"--rerank", "serve", "models that rank are refused"},
      {"-ctxcp", "serve", "keeps what prompts begin with"},
      {"--sleep-idle-seconds", "serve", "stays loaded"},
      {"--max_new_tokens", "generate", "--tokens"},
      {"--max_new_tokens", "serve", "requests say these"},
      {"--do-sample", "generate", "--temperature 0"},
      {"--num-beams", "generate", "without beams"},
      {"--api-prefix", "serve", "takes the prefix off"},
      {"--ssl-key-file", "serve", "no TLS"},
      {"-ub", "bench-model", "--prefill"},
      {"-ub", "serve", "--prefill"},
      {"--no-bos", "tokenize", "--plain"},
      {"--ids", "tokenize", "--json"},
      {"--stdin", "tokenize", "standard input"},
      {"--show-count", "tokenize", "wc -w"},
      {"--no-parse-special", "tokenize", "without --special"},
      {"--keep", "chat", "--keep of `hearth generate`"},
      {"--context-shift", "generate", "last half"},
      {"--no-context-shift", "generate", "--tokens -1"},
      {"-sp", "generate", "--special of `hearth generate`"},
      {"--pooling", "generate", "--pooling of `hearth embed`"},
      {"--embedding", "serve", "--pooling"},
      {"--display-prompt", "generate", "--no-display-prompt"},
      {"--list-devices", "generate", "`hearth devices`"},
      {"--penalize-nl", "generate", "line breaks"},
      {"--tfs", "generate", "--min-p"},
      {"-dt", "serve", "pages"},
      {"-gan", "generate", "positions"},
      {"-bf", "generate", "--prompt-file"},
      {"--reasoning-budget", "generate", "--chat-template-kwargs"},
      // MLX's.
      {"--kv-bits", "generate", "--cache-type q8_0"},
      {"--max-kv-size", "generate", "--context"},
      {"--prompt-cache-file", "generate", "`hearth serve` keeps"},
      {"--num-draft-tokens", "serve", "--drafts"},
      {"--adapter-path", "generate", "--lora"},
      {"--adapter-path", "finetune", "--out"},
      {"--iters", "finetune", "--steps"},
      {"--q-bits", "quantize", "q4_k_m"},
      {"--prefill-step-size", "serve", "--prefill"},
      {"--extra-eos-token", "generate", "--stop"},
      // Those of other trainers and of llama.cpp's scripts.
      {"--lora-alpha", "finetune", "--alpha"},
      {"--target-modules", "finetune", "--lora-layers"},
      {"--qlora", "finetune", "trained on as they are"},
      {"--outtype", "quantize", "--type"},
      {"--model-alias", "serve", "--name"},
      {"--greedy", "generate", "--temperature 0"},
      // vLLM's.
      {"--max-model-len", "serve", "--context"},
      {"--gpu-memory-utilization", "serve", "--memory"},
      {"--max-num-seqs", "serve", "--parallel"},
      {"--max-num-batched-tokens", "serve", "--prefill"},
      {"--tensor-parallel-size", "serve", "one device"},
      {"-tp", "serve", "one device"},
      {"--served-model-name", "serve", "--name"},
      {"--kv-cache-dtype", "serve", "--cache-type"},
      {"--enable-prefix-caching", "serve", "keeps what prompts begin with"},
      {"--tool-call-parser", "serve", "the model's template"},
      {"--lora-modules", "serve", "--lora"},
      {"--allowed-origins", "serve", "--cors"},
      {"--speculative-config", "serve", "--draft-model"},
      {"--uvicorn-log-level", "serve", "no log"},
      {"--max-logprobs", "serve", "top_logprobs"},
      {"--min-tokens", "serve", "min_tokens in requests"},
      {"--min-tokens", "generate", "--ignore-eos"},
      {"--reasoning-format", "serve", "reasoning_content"},
      {"--reasoning-format", "chat", "dimmed"},
      {"--system", "serve", "role system"},
      {"--system", "generate", "`hearth chat`"},
      {"--show-timings", "serve", "`timings`"},
      {"--show-timings", "generate", "bench-model"},
      {"--verbose", "serve", "/metrics"},
      {"-v", "generate", "no log"},
      {"--file", "embed", "< FILE"},
      // Ollama's.
      {"--num-ctx", "generate", "--context"},
      {"--keepalive", "chat", "stays loaded"},
      {"--format", "generate", "--json-schema"},
      {"--format", "serve", "response_format"},
      {"--stream", "generate", "while it is written"},
      {"--stream", "serve", "requests say these"},
      {"--echo", "generate", "--no-display-prompt"},
  };
  for (const auto& each : cases) {
    const char* const hint = option_hint(each.option, each.command);
    ASSERT_NE(hint, nullptr) << each.option;
    EXPECT_NE(std::string(hint).find(each.part), std::string::npos) << each.option << ": " << hint;
  }
}

TEST(OptionHints, OfServeNameAllThatOtherCommandsDrawBy) {
  for (const models::SamplingField& field : models::sampling_fields()) {
    std::stringstream flags{std::string(field.flags)};
    for (std::string flag; std::getline(flags, flag, ',');) {
      const char* const hint = option_hint(flag + "=1", "serve");
      ASSERT_NE(hint, nullptr) << flag;
      EXPECT_NE(std::string(hint).find("requests say these"), std::string::npos) << flag;
      EXPECT_EQ(option_hint(flag, "generate"), nullptr) << flag;
    }
  }
  for (const char* own : {"--mirostat", "--samplers", "--logit-bias", "--seed"}) {
    EXPECT_NE(option_hint(own, "serve"), nullptr) << own;
  }
  for (const char* unknown : {"--temperature,--temp", "--top", ",", "--top-kk"}) {
    EXPECT_EQ(option_hint(unknown, "serve"), nullptr) << unknown;
  }
}

#ifdef HEARTH_TOOL

class OtherPrograms : public ToolFolder {
 protected:
  void SetUp() override {
    ToolFolder::SetUp();
    write_signs_model(path("m.gguf"), "qwen3", kSignsTemplate);
  }

  void expect_refused_with(const std::vector<std::string>& arguments, const std::string& part) {
    const Outcome outcome = run(arguments);
    expect_refused(outcome);
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  }
  std::string written(std::vector<std::string> arguments, const std::vector<std::string>& more = {},
                      const std::string& input = "") {
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = run(arguments, input);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    return outcome.out;
  }
};

TEST_F(OtherPrograms, NamesOfSeveralLettersBehindOneDash) {
  const std::vector<std::string> base = {"generate", "-m", path("m.gguf"), "-p", sign(5),
                                         "-n",       "6",  "--temp",       "0"};
  const std::string text = written(base, {"--cache-type-k", "bf16", "--cache-type-v", "f16"});
  EXPECT_EQ(written(base, {"-ctk", "bf16", "-ctv", "f16"}), text);
  expect_refused_with({"generate", path("m.gguf"), "-ctk", "q9"}, "--cache-type-k: no such value");
  // A value that looks like such a name is a value.
  EXPECT_EQ(written({"generate", path("m.gguf"), "-n", "0", "--temp", "0", "-p", "-ctk"}),
            "-ctk\n");
  const std::string help = written({"serve", "--help"});
  for (const char* names : {"-np,--parallel", "-ctk,--cache-type-k", "-md,--draft-model",
                            "--chat-template,--chat-template-file"}) {
    EXPECT_NE(help.find(names), std::string::npos) << names;
  }
}

TEST_F(OtherPrograms, AModelIsAskedForOnce) {
  const std::string help = written({"generate", "--help"});
  EXPECT_EQ(help.find("REQUIRED"), help.rfind("REQUIRED")) << help;
  EXPECT_NE(help.find("Another way to give model"), std::string::npos) << help;
  EXPECT_NE(help.find("--escape,--no-escape "), std::string::npos) << help;
  const std::string perplexity = written({"perplexity", "--help"});
  EXPECT_NE(perplexity.find("-c,--context,--ctx-size INT:4 to 16777216"), std::string::npos)
      << perplexity;
}

TEST_F(OtherPrograms, OptionsThatAreNotThereSayWhatIs) {
  const struct {
    std::vector<std::string> words;
    const char* hint;
  } cases[] = {
      {{"-ngl", "99"}, "got -ngl, expected --device cuda"},
      {{"--n-gpu-layers", "99"}, "expected --device cuda"},
      {{"-hf", "owner/name"}, "huggingface.co"},
      {{"-fa", "off"}, "expected the command without it: attention"},
      {{"-cnv"}, "`hearth chat` talks"},
      {{"-i"}, "`hearth chat` talks"},
      {{"--jinja"}, "always run"},
      {{"-ub", "512"}, "--prefill of `hearth serve`"},
      {{"-cb"}, "expected the command without it: texts that run together"},
      {{"--rope-scaling", "yarn"}, "as the model's files say"},
      {{"--color"}, "expected the command without it"},
      {{"-np", "2"}, "--parallel of `hearth serve`"},
  };
  for (const auto& each : cases) {
    std::vector<std::string> arguments = {"generate", path("m.gguf"), "-p", "x"};
    arguments.insert(arguments.end(), each.words.begin(), each.words.end());
    expect_refused_with(arguments, each.hint);
  }
}

TEST_F(OtherPrograms, NamesOfModelsSayWhatFetchesThem) {
  const std::string name = "Qwen/Qwen3-0.6B", fetch = "`hf download Qwen/Qwen3-0.6B --local-dir";
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"chat", name},
                                             {"serve", "-m", name},
                                             {"embed", name},
                                             {"info", name},
                                             {"tokenize", name},
                                             {"quantize", name, path("out.gguf")},
                                             {"bench-model", name},
                                             {"perplexity", name, "-f", path("m.gguf")},
                                             {"finetune", name, "-f", path("m.gguf")},
                                             {"generate", path("m.gguf"), "-md", name}}) {
    expect_refused_with(arguments, "no such file or folder; got \"" + name);
    expect_refused_with(arguments, fetch);
  }
}

TEST_F(OtherPrograms, TextsOfOptionsHaveEscapesAndFilesHaveNone) {
  const std::vector<std::string> base = {"generate", path("m.gguf"), "-n", "0", "--temp", "0"};
  const std::string escaped = sign(5) + "\\n" + sign(6), plain = sign(5) + "\n" + sign(6);
  EXPECT_EQ(written(base, {"-p", escaped}), plain + "\n");
  EXPECT_EQ(written(base, {"-e", "-p", escaped}), plain + "\n");
  EXPECT_EQ(written(base, {"--no-escape", "-p", escaped}), escaped + "\n");
  std::ofstream(path("prompt")) << escaped << "\n";
  EXPECT_EQ(written(base, {"-f", path("prompt")}), escaped + "\n");
  EXPECT_EQ(written(base, {"-p", "-"}, escaped + "\n"), escaped + "\n");
  const std::string model = path("m.gguf"), hex = R"(\x41)";
  EXPECT_EQ(written({"tokenize", model, "-p", hex}), written({"tokenize", model, "-p", "A"}));
  EXPECT_NE(written({"tokenize", model, "--no-escape", "-p", hex}),
            written({"tokenize", model, "-p", "A"}));
}

TEST_F(OtherPrograms, AReversePromptIsAStop) {
  const std::vector<std::string> base = {"generate", path("m.gguf"), "-p",     sign(5),
                                         "-n",       "12",           "--temp", "0"};
  const std::string text = written(base);
  const std::string fourth = text.substr(9, 3);
  const std::string cut = text.substr(0, text.find(fourth, 3)) + "\n";
  EXPECT_EQ(written(base, {"-r", fourth}), cut);
  EXPECT_EQ(written(base, {"--reverse-prompt", fourth}), cut);
  EXPECT_EQ(written(base, {"--no-display-prompt"}), text.substr(sign(5).size()));
}

TEST_F(OtherPrograms, AChatMayBeginWithAMessage) {
  const std::vector<std::string> base = {"chat", path("m.gguf"), "-n", "3", "--temp", "0"};
  const std::string both = written(base, {}, sign(5) + "\n" + sign(7) + "\n");
  const std::string first = written(base, {}, sign(5) + "\n");
  EXPECT_EQ(written(base, {"-p", sign(5)}, sign(7) + "\n"), both);
  EXPECT_EQ(written(base, {"-p", sign(5), "-st"}, sign(7) + "\n"), first);
  EXPECT_EQ(written(base, {"-st"}, sign(5) + "\n" + sign(7) + "\n"), first);
  std::ofstream(path("message")) << sign(5) << "\n";
  EXPECT_EQ(written(base, {"-f", path("message"), "--single-turn"}), first);
  EXPECT_EQ(written(base, {"-sys", sign(30), "-p", sign(5), "-st"}),
            written(base, {"--system", sign(30)}, sign(5) + "\n"));
}

TEST_F(OtherPrograms, ATemplateMayBeATextWithArguments) {
  const std::vector<std::string> base = {"chat", path("m.gguf"), "-p", sign(5), "-st", "-n",
                                         "3",    "--temp",       "0"};
  const std::string said = "{{ messages[0].content }}";
  const std::string longer = written(base, {"--chat-template", said + sign(7)});
  EXPECT_NE(written(base, {"--chat-template", said}), longer);
  const std::vector<std::string> more = {"--chat-template", said + "{{ more }}",
                                         "--chat-template-kwargs",
                                         "{\"more\": \"" + sign(7) + "\"}"};
  EXPECT_EQ(written(base, more), longer);
  std::ofstream(path("t.jinja")) << said << sign(7);
  EXPECT_EQ(written(base, {"--chat-template-file", path("t.jinja")}), longer);
  for (const char* bad : {"{", "[]", "x"}) {
    for (const char* command : {"chat", "serve"}) {
      expect_refused_with({command, path("m.gguf"), "--chat-template-kwargs", bad},
                          "--chat-template-kwargs: not a JSON object; got ");
    }
  }
  expect_refused_with({"chat", path("m.gguf"), "--chat-template", "chatml"},
                      "no names of templates are built in");
}

TEST_F(OtherPrograms, TypesHaveNumbersAndThreadsBehindThem) {
  const std::string model = path("m.gguf");
  const auto bytes = [&](const std::vector<std::string>& words) {
    std::vector<std::string> arguments = {"quantize", model, path("out.gguf")};
    arguments.insert(arguments.end(), words.begin(), words.end());
    written(arguments);
    std::ifstream file(path("out.gguf"), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string named = bytes({"q8_0"});
  EXPECT_EQ(bytes({"7"}), named);
  EXPECT_EQ(bytes({"Q8_0", "1"}), named);
  EXPECT_EQ(bytes({"--type", "7", "--threads", "1"}), named);
  EXPECT_NE(bytes({"2"}), named);
  EXPECT_EQ(bytes({"2"}), bytes({"q4_0"}));
  EXPECT_EQ(bytes({"15", "2"}), bytes({"q4_k_m"}));
  expect_refused_with({"quantize", model, path("x.gguf"), "99"}, "--type: no such value; got 99");
  expect_refused_with({"quantize", model, path("x.gguf"), "7", "none"}, "not a whole number");
  expect_refused_with({"quantize", model, "q4_k_m", "8"}, "no file to write; got the type");
}

TEST_F(OtherPrograms, DtypesHavePyTorchsWords) {
  const std::vector<std::string> base = {"generate", path("m.gguf"), "-p", sign(5), "-n",
                                         "6",        "--temp",       "0"};
  const std::string text = written(base, {"--dtype", "bf16", "--cache-type", "f16"});
  EXPECT_EQ(written(base, {"--dtype", "BFloat16", "--cache-type", "half"}), text);
  const auto memory = [&](const std::string& dtype) {
    return written({"info", path("m.gguf"), "--context", "64", "--dtype", dtype});
  };
  EXPECT_EQ(memory("float16"), memory("f16"));
  EXPECT_NE(memory("float16"), memory("float32"));
  std::vector<std::string> automatic = base;
  automatic.insert(automatic.end(), {"--dtype", "auto"});
  expect_refused_with(automatic, "--dtype: no such value; got auto, expected f32, which it is");
  expect_refused_with({"generate", path("m.gguf"), "--dtype", "float64"},
                      "--dtype: no such value; got f64, expected one of f32, bf16, f16");
}

TEST_F(OtherPrograms, WrongFilesNameTheirOption) {
  const std::string model = path("m.gguf"), none = path("none"), words = path("words");
  std::ofstream(words) << "just some words\n";
  const struct {
    std::vector<std::string> arguments;
    const char* begin;
  } cases[] = {
      {{"perplexity", model, "-f", none}, "--file: expected a text; "},
      {{"perplexity", model, "-f", path("text"), "-c", "8", "--kl-base", none},
       "--kl-base: expected what --save-base wrote of the same text; "},
      {{"perplexity", model, "-f", path("text"), "-c", "8", "--kl-base", words},
       "--kl-base: expected what --save-base wrote of the same text; "},
      {{"perplexity", none, "-f", path("text"), "--kl-base", model},
       "--kl-base: expected what --save-base wrote of the same text; perplexity: a model, not its "
       "scores; got "},
      {{"perplexity", none, "-f", path("text"), "--kl-base", path("folder")},
       "perplexity: a model, not its scores; got "},
      {{"quantize", model, path("out"), "q4_0", "--imatrix", none},
       "--imatrix: expected a file of llama-imatrix; "},
      {{"quantize", model, path("out"), "q4_0", "--imatrix", words},
       "--imatrix: expected a file of llama-imatrix; "},
      {{"generate", model, "-p", "x", "--lora", none}, "--lora: no such file; got "},
      {{"generate", model, "-p", "x", "--lora", words}, "--lora: expected "},
      {{"generate", model, "-p", "x", "--grammar-file", none},
       "--grammar: expected a grammar of GBNF, or a file with one; "},
      {{"generate", model, "-p", "x", "--grammar-file", words}, "--grammar: "},
      {{"generate", model, "-p", "x", "--json-schema-file", none},
       "--json-schema: expected a JSON schema, or a file with one; "},
      {{"generate", model, "-f", none}, "--prompt-file: expected a text; "},
      {{"chat", model, "--chat-template", none},
       "--chat-template: expected a file in the language of jinja2, or its text (no names of "
       "templates are built in); "},
  };
  std::string text;
  for (int i = 0; i < 20; ++i) text += sign(5 + i);
  std::ofstream(path("text")) << text;
  std::filesystem::create_directory(path("folder"));
  std::ofstream(path("folder/config.json")) << "{}";
  expect_refused_with({"perplexity", model, "-f", path("text"), "--kl-base", model},
                      "`hearth perplexity --model " + model + " --file TEXT --save-base FILE`");
  for (const auto& each : cases) {
    SCOPED_TRACE(each.begin);
    expect_refused_with(each.arguments, each.begin);
    // Which of the files it was.
    const std::string& file = each.arguments.back();
    EXPECT_NE(run(each.arguments).err.find(file), std::string::npos) << run(each.arguments).err;
  }
}

TEST_F(OtherPrograms, TemplatesAreRenderedWithTheDefaultsOfTheServer) {
  std::ofstream(path("t.jinja"))
      << "{{ messages[0].content }}{% if add_generation_prompt %}|{% endif %}{{ effort }}";
  const auto rendered = [&](const std::string& members) {
    std::ofstream(path("in.json"))
        << R"({"messages": [{"role": "user", "content": "a"}])" << members << "}";
    return written({"render-template", path("t.jinja"), "--input", path("in.json")});
  };
  EXPECT_EQ(rendered(""), "a|");
  EXPECT_EQ(rendered(R"(, "add_generation_prompt": false)"), "a");
  EXPECT_EQ(rendered(R"(, "continue_final_message": true, "effort": "!")"), "a");
  EXPECT_EQ(rendered(R"(, "effort": "b")"), "a|b");
  EXPECT_EQ(rendered(R"(, "chat_template_kwargs": {"effort": "b"})"), "a|b");
  std::ofstream(path("in.json")) << R"({"messages": [], "add_generation_prompt": 1})";
  expect_refused_with({"render-template", path("t.jinja"), "--input", path("in.json")},
                      "render-template: add_generation_prompt: is of the wrong type");
}

TEST_F(OtherPrograms, InputsOfTemplatesMayBeBareAndComeFromStandardInput) {
  std::ofstream(path("t.jinja")) << "{{ messages[0].content }}{{ bos_token }}";
  const std::string messages = R"([{"role": "user", "content": "a"}])";
  const std::vector<std::string> base = {"render-template", path("t.jinja"), "--input"};
  std::ofstream(path("in.json")) << messages;
  EXPECT_EQ(written(base, {path("in.json")}), "a");
  EXPECT_EQ(written(base, {"-"}, messages), "a");
  EXPECT_EQ(written(base, {"-"}, R"({"bos_token": "b", "messages": )" + messages + "}"), "ab");
  for (const char* bad : {"3", "{", "\"a\"", ""}) {
    std::ofstream(path("in.json")) << bad;
    expect_refused_with({"render-template", path("t.jinja"), "--input", path("in.json")},
                        "render-template: the input is neither a JSON object nor an array; got ");
  }
}

TEST_F(OtherPrograms, ModelsRenderWithTheirOwnTemplates) {
  const std::string messages = R"([{"role": "user", "content": "a"}])";
  const auto rendered = [&](const std::string& model, const std::string& input) {
    return written({"render-template", model, "--input", "-"}, {}, input);
  };
  write_signs_model(path("own.gguf"), "qwen3", "{{ bos_token }}|{{ messages[0].content }}",
                    {{"tokenizer.chat_template.tool_use", std::string("tools")}});
  EXPECT_EQ(rendered(path("own.gguf"), messages), "<s>|a");
  EXPECT_EQ(rendered(path("own.gguf"), R"({"bos_token": "", "messages": )" + messages + "}"), "|a");
  EXPECT_EQ(rendered(path("own.gguf"), R"({"tools": [], "messages": )" + messages + "}"), "<s>|a");
  EXPECT_EQ(rendered(path("own.gguf"), R"({"tools": [{}], "messages": )" + messages + "}"),
            "tools");
  write_signs_model(path("plain.gguf"), "qwen3", "");
  std::ofstream(path("in.json")) << messages;
  expect_refused_with({"render-template", path("plain.gguf"), "--input", path("in.json")},
                      "the model has no chat template");
}

#endif

}  // namespace
}  // namespace hearth::tools
