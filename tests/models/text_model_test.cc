// The public API of language models, on a file of a tiny one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "error_text.h"
#include "hearth/hearth.h"
#include "models/language/folder/file_layout.h"
#include "models/texts_alone.h"

namespace hearth::models {
namespace {

// The sign of a token from 3 on: U+4E00 and what follows, in UTF-8.
std::string sign(std::int32_t token) {
  return {'\xe4', static_cast<char>(0xb8 + token / 64), static_cast<char>(0x80 + token % 64)};
}

GgufMetadata signs_metadata(std::int64_t vocabulary) {
  std::vector<std::string> texts = {"<unk>", "<s>", "</s>"};
  std::vector<std::int32_t> types = {2, 3, 3};
  while (std::ssize(texts) < vocabulary) {
    texts.push_back(sign(static_cast<std::int32_t>(texts.size())));
    types.push_back(1);
  }
  return {{"tokenizer.ggml.model", "llama"},
          {"tokenizer.ggml.tokens", texts},
          {"tokenizer.ggml.token_type", types},
          {"tokenizer.ggml.scores", std::vector<float>(texts.size(), 0)},
          {"tokenizer.ggml.add_space_prefix", false}};
}

// A GGUF file of a golden model, with a sign for each token; it is there while the object lives.
class SignsFile {
 public:
  explicit SignsFile(const std::string& name) {
    const testing::GoldenModel golden = testing::read_golden_model(name);
    GgufContents contents = gguf_of_folder(golden.config, testing::golden_weights(golden));
    lay_out_as_file(contents);
    for (const GgufEntry& entry : signs_metadata(golden.width())) {
      contents.metadata.set(entry.key, entry.value);
    }
    save_gguf(path(), contents.arrays, contents.metadata);
  }

  std::string path() const { return folder_.path() / "model.gguf"; }

 private:
  testing::TemporaryFolder folder_;
};

std::string signs_of(std::int64_t count) {
  std::string text;
  for (std::int64_t i = 0; i < count; ++i) text += sign(3 + static_cast<std::int32_t>(i % 20));
  return text;
}

class CachesOfATextModel : public ::testing::TestWithParam<std::string> {};

TEST_P(CachesOfATextModel, HoldATextOfTheContext) {
  const SignsFile file(GetParam());
  for (const std::int64_t context : {40, 2048}) {
    const TextModel model = TextModel::load(file.path(), {.context = context});
    EXPECT_EQ(model.context(), context);
    // Beside the token that texts begin with.
    const GeneratedText made = model.generate(signs_of(context - 3), {.tokens = 2});
    EXPECT_EQ(made.prompt_tokens, context - 2);
    EXPECT_LE(made.tokens.size(), 2u);
    EXPECT_TRUE(check::contains(
        check::error_of(ErrorCode::invalid_argument, [&] { model.generate(signs_of(context)); }),
        "a prompt too long"));
  }
}

TEST_P(CachesOfATextModel, HoldTheContextThatTheModelTells) {
  const SignsFile file(GetParam());
  const auto context_with = [&](std::int64_t bytes) {
    return TextModel::load(file.path(), {.context = 1 << 16, .cache_bytes = bytes, .parallel = 1})
        .context();
  };
  std::int64_t bytes = 1 << 16;
  while (context_with(2 * bytes) < 256) bytes *= 2;
  const TextModel model =
      TextModel::load(file.path(), {.context = 1 << 16, .cache_bytes = bytes, .parallel = 1});
  const std::int64_t most = std::min<std::int64_t>(model.context(), 1024);
  EXPECT_EQ(model.generate(signs_of(most - 2), {.tokens = 1}).prompt_tokens, most - 1);
  if (most == model.context()) {
    EXPECT_TRUE(check::contains(
        check::error_of(ErrorCode::invalid_argument, [&] { model.generate(signs_of(most)); }),
        "of a context of " + std::to_string(most)));
  }
  // What holds no text is refused before one is asked for.
  EXPECT_TRUE(
      check::contains(check::error_of(ErrorCode::invalid_argument,
                                      [&] { TextModel::load(file.path(), {.cache_bytes = 8}); }),
                      "cache_bytes too small; got 8 bytes"));
}

INSTANTIATE_TEST_SUITE_P(Some, CachesOfATextModel,
                         ::testing::Values("mamba2", "qwen3_5", "qwen3_next", "gemma3", "llama"),
                         [](const auto& each) { return each.param; });

// The library knows no command's options: it names the dtype.
TEST(TextModelErrors, ScoresThatAreNoNumbersNameTheDtype) {
  const testing::GoldenModel golden = testing::read_golden_model("qwen3");
  GgufContents contents = gguf_of_folder(golden.config, testing::golden_weights(golden));
  for (NamedArray& each : contents.arrays) {
    if (each.name != "output_norm.weight") continue;
    // Beyond f16, not beyond f32.
    each.array = full(each.array.shape(), 1e6, DType::f32, Device::cpu());
  }
  for (const GgufEntry& entry : signs_metadata(golden.width())) {
    contents.metadata.set(entry.key, entry.value);
  }
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() / "large.gguf";
  save_gguf(path, contents.arrays, contents.metadata);
  EXPECT_EQ(TextModel::load(path).generate(sign(5), {.tokens = 1}).prompt_tokens, 2);
  const TextModel model = TextModel::load(path, {.compute = DType::f16});
  std::string error =
      check::error_of(ErrorCode::dtype, [&] { model.generate(sign(5), {.tokens = 1}); });
  EXPECT_TRUE(check::contains(error, "scores that are no numbers, computed in f16")) << error;
  EXPECT_FALSE(check::contains(error, "--")) << error;
  // Also where some are banned.
  error = check::error_of(ErrorCode::dtype, [&] {
    model.generate(sign(5), {.tokens = 1, .sampling = {.suppressed = {7}}});
  });
  EXPECT_TRUE(check::contains(error, "scores that are no numbers, computed in f16")) << error;
}

// A GGUF file of the golden model qwen3, whose rows are the same in files and folders, with a sign
// for each token.
class TextModels : public ::testing::Test {
 protected:
  TextModels() : loaded_(loaded_golden("qwen3")) {
    const testing::GoldenModel golden = testing::read_golden_model("qwen3");
    GgufContents contents = gguf_of_folder(golden.config, testing::golden_weights(golden));
    for (const GgufEntry& entry : signs_metadata(loaded_.model.vocabulary())) {
      contents.metadata.set(entry.key, entry.value);
    }
    path_ = std::filesystem::temp_directory_path() /
            ("hearth_text_model_" + std::to_string(::getpid()) + ".gguf");
    loaded_.tokenizer = tokenizer_from_gguf(signs_metadata(loaded_.model.vocabulary()), "test");
    save_gguf(path_, contents.arrays, contents.metadata);
  }
  ~TextModels() override { std::filesystem::remove(path_); }

  // A prompt as text, and its tokens.
  GenerationRequest request(std::uint64_t seed) {
    GenerationRequest request = request_of(loaded_, seed, 12, 30);
    request.tokens.insert(request.tokens.begin(), 1);
    return request;
  }
  std::string text_of(const Tokens& tokens) { return loaded_.tokenizer.decode(tokens); }

  LoadedModel loaded_;
  std::string path_;
};

// After warm_up() the first text builds no plan, but for the copy of a page of which it takes the
// token that texts begin with, and is what it would have been. Caches of sizes of their own have
// plans of their own.
TEST_F(TextModels, AreWarmedUp) {
  const GenerateOptions options{.tokens = 8, .sampling = {.temperature = 0}};
  const std::string prompt = text_of(request(1).tokens);
  const auto misses_of = [&](const TextModel& model, GeneratedText* text) {
    const std::int64_t before = statistics().plan_misses;
    *text = model.generate(prompt, options);
    return statistics().plan_misses - before;
  };
  GeneratedText expected, got;
  EXPECT_GT(misses_of(TextModel::load(path_, {.context = kContext - 40}), &expected), 1);
  const TextModel warm = TextModel::load(path_, {.context = kContext - 80});
  warm.warm_up();
  EXPECT_LE(misses_of(warm, &got), got.cached_tokens);
  EXPECT_EQ(got.tokens, expected.tokens);
  EXPECT_LE(got.cached_tokens, 1);
}

TEST_F(TextModels, WritesWhatTheModelWrites) {
  for (const std::int64_t drafts : {0, 8}) {
    const TextModel model =
        TextModel::load(path_, {.compute = DType::f64, .context = kContext, .drafts = drafts});
    EXPECT_EQ(model.family(), "qwen3");
    EXPECT_EQ(model.vocabulary(), loaded_.model.vocabulary());
    EXPECT_FALSE(model.is_encoder());
    std::vector<std::thread> threads;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      threads.emplace_back([&, seed] {
        const GenerationRequest asked = request(seed);
        std::string text;
        const GeneratedText made = model.generate(
            text_of(asked.tokens), {.tokens = asked.most_tokens, .sampling = asked.sampling},
            [&](std::string_view piece) {
              text += piece;
              return true;
            });
        EXPECT_EQ(made.text, text);
        EXPECT_EQ(made.text, model.detokenize(made.tokens));
        const Tokens alone = tokens_alone(loaded_, asked);
        ASSERT_LE(made.tokens.size(), alone.size());
        EXPECT_EQ(made.tokens, Tokens(alone.begin(), alone.begin() + std::ssize(made.tokens)));
        EXPECT_EQ(made.prompt_tokens, std::ssize(asked.tokens));
        const bool is_whole = made.tokens.size() == alone.size();
        EXPECT_EQ(made.finish, is_whole ? FinishReason::length : FinishReason::stop);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

TEST_F(TextModels, ScoresAreThoseOfTheModel) {
  const TextModel model = TextModel::load(path_);
  const testing::GoldenModel golden = testing::read_golden_model("qwen3");
  const testing::GoldenPrompt& prompt = golden.prompts.back();
  const Tokens tokens(prompt.tokens.begin(), prompt.tokens.end());
  const auto all = cast(model.logits(tokens), DType::f64).to_vector<double>();
  const std::vector<double> part(all.begin() + prompt.first * golden.width(), all.end());
  EXPECT_LE(testing::normalized_error(part, prompt), 1e-11);
}

// Rows of a GPU have the same bits in any company only where this is asked for.
TEST_F(TextModels, ComputesWithTheNumericsOfTheThreadThatLoadedIt) {
  const Numerics before = numerics();
  Numerics invariant = before;
  invariant.batch_invariant = true;
  const auto load = [&](const Numerics& wanted) {
    const WithNumerics own(wanted);
    return TextModel::load(path_, {.device = Device::named("sim")});
  };
  const TextModel model = load(invariant);
  const Tokens tokens = model.tokenize(signs_of(24));
  const std::vector<float> all = model.logits(tokens).to_vector<float>();
  const std::vector<float> first = model.logits(std::span(tokens).first(5)).to_vector<float>();
  EXPECT_TRUE(std::equal(first.begin(), first.end(), all.begin()));
  EXPECT_EQ(numerics(), before);
  {
    const WithNumerics ours(invariant);
    EXPECT_NE(load(before).logits(tokens).to_vector<float>(), all);
  }
}

TEST_F(TextModels, EndsWhereTheReaderHasEnough) {
  const TextModel model = TextModel::load(path_);
  int pieces = 0;
  std::string text;
  const GeneratedText made =
      model.generate(text_of(request(1).tokens), {.tokens = 100}, [&](std::string_view piece) {
        text += piece;
        return ++pieces < 2;
      });
  EXPECT_EQ(made.text, text);
  // All may have come before the second was read.
  EXPECT_LE(pieces, 2);
  EXPECT_TRUE(made.finish == FinishReason::cancelled || made.tokens.size() == 100);
}

TEST_F(TextModels, KeepsToAGrammar) {
  const TextModel model = TextModel::load(path_);
  const GeneratedText made = model.generate(
      text_of(request(1).tokens),
      {.tokens = 4, .grammar = "root ::= (\"" + sign(5) + "\" | \"" + sign(7) + "\")+ \"!\""});
  ASSERT_FALSE(made.tokens.empty());
  for (const std::int32_t token : made.tokens) EXPECT_TRUE(token == 5 || token == 7) << token;
}

std::string signs(std::initializer_list<std::int32_t> tokens) {
  std::string text;
  for (const std::int32_t token : tokens) text += sign(token);
  return text;
}

// Conversations of one model go on where they were, share how they begin, and are what they would
// be alone.
TEST_F(TextModels, TalksInSeveralSessions) {
  const TextModel model =
      TextModel::load(path_, {.compute = DType::f64, .context = kContext, .cache_bytes = 4 << 20});
  hearth::ChatSessionOptions options;
  for (std::int32_t token = 3; token < 43; ++token) options.system += sign(token);
  options.chat_template = "{% for m in messages %}{{ m.content }}" + sign(9) + "{% endfor %}";
  options.tokens = 8;
  options.sampling.suppressed = {0, 1, 2};
  hearth::ChatSession first(model, options);
  std::string shown;
  const ChatAnswer one = first.say(signs({5, 6}), [&](const ChatPart& part) {
    shown += part.content;
    EXPECT_TRUE(part.reasoning.empty() && part.tool_calls.empty());
    return true;
  });
  EXPECT_EQ(one.message.content, shown);
  EXPECT_EQ(one.message.role, "assistant");
  EXPECT_EQ(one.finish, FinishReason::length);
  EXPECT_EQ(one.new_tokens, 8);
  EXPECT_EQ(one.cached_tokens, 0);
  hearth::ChatSession second(model, options);
  const ChatAnswer other = second.say(signs({5, 6}));
  EXPECT_GT(other.cached_tokens, 32);
  EXPECT_EQ(other.message.content, one.message.content);
  const ChatAnswer two = first.say(signs({7}));
  EXPECT_GE(two.cached_tokens, one.prompt_tokens);
  EXPECT_EQ(first.messages().size(), 5u);
  EXPECT_EQ(second.messages().size(), 3u);
  EXPECT_EQ(first.messages()[3].content, signs({7}));
  first.reset();
  EXPECT_EQ(first.messages().size(), 1u);
  hearth::ChatSession moved = std::move(second);
  EXPECT_EQ(moved.answer({{"user", signs({7})}}).message.content, two.message.content);
}

// Of a vocabulary with tokens that are a whole reasoning and a whole call, which a grammar asks
// for.
TEST_F(TextModels, TellsToolsAndReasoningApart) {
  GgufContents contents = map_gguf(path_);
  std::vector<std::string> texts = contents.metadata.as_texts("tokenizer.ggml.tokens");
  texts[10] = "<think>hm</think>";
  texts[11] = R"(<tool_call>{"name": "look", "arguments": {"at": "sky"}}</tool_call>)";
  contents.metadata.set("tokenizer.ggml.tokens", texts);
  const std::string path = path_ + ".tools";
  save_gguf(path, contents.arrays, contents.metadata);
  const TextModel model = TextModel::load(path, {.context = kContext});
  std::filesystem::remove(path);
  hearth::ChatSession session(
      model, {.tools = R"([{"type": "function", "function": {"name": "look", "parameters": {}}}])",
              .chat_template = "{# <tool_call> #}{% set known = tools %}{% for m in messages %}"
                               "{{ m.content }}" +
                               sign(9) + "{% endfor %}",
              .tokens = 2,
              .grammar = R"(root ::= "<think>hm</think>" "<tool_call>{\"name\": \"look\", )"
                         R"(\"arguments\": {\"at\": \"sky\"}}</tool_call>")"});
  std::string reasoning;
  std::vector<ToolCall> calls;
  const ChatAnswer answer = session.say(sign(5), [&](const ChatPart& part) {
    reasoning += part.reasoning;
    calls.insert(calls.end(), part.tool_calls.begin(), part.tool_calls.end());
    return true;
  });
  EXPECT_EQ(reasoning, "hm");
  EXPECT_EQ(answer.message.reasoning, "hm");
  EXPECT_EQ(answer.message.content, "");
  ASSERT_EQ(answer.message.tool_calls.size(), 1u);
  EXPECT_EQ(answer.message.tool_calls[0].name, "look");
  EXPECT_EQ(answer.message.tool_calls[0].arguments, R"({"at":"sky"})");
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].id, answer.message.tool_calls[0].id);
  // What the tool found is the next message.
  const ChatAnswer next =
      session.answer({{.role = "tool", .content = sign(6), .tool_call_id = calls[0].id}},
                     [](const auto&) { return false; });
  EXPECT_EQ(session.messages().size(), 4u);
  EXPECT_GT(next.prompt_tokens, answer.prompt_tokens);
}

TEST_F(TextModels, RefusesConversationsThatItCannotHave) {
  const TextModel model = TextModel::load(path_, {.context = kContext});
  hearth::ChatSession session(model, {.chat_template = "{{ messages[0].content }}", .tokens = 4});
  const auto expect = [&](ErrorCode code, const std::string& part,
                          const hearth::ChatSessionOptions& wrong) {
    const std::string error = check::error_of(code, [&] { hearth::ChatSession(model, wrong); });
    EXPECT_TRUE(check::contains(error, part)) << error;
  };
  expect(ErrorCode::unsupported, "the model has no chat template", {});
  expect(ErrorCode::invalid_argument, "tools", {.tools = "{}", .chat_template = "x"});
  expect(ErrorCode::invalid_argument, "template arguments",
         {.template_arguments = "[", .chat_template = "x"});
  expect(ErrorCode::invalid_argument, "two grammars",
         {.chat_template = "x", .grammar = "root ::= \"a\"", .json_schema = "{}"});
  std::string longer;
  for (int i = 0; i < 200; ++i) longer += sign(7);
  EXPECT_TRUE(check::contains(
      check::error_of(ErrorCode::invalid_argument, [&] { session.say(longer); }), "too long"));
  EXPECT_TRUE(session.messages().empty());
}

TEST_F(TextModels, RefusesWhatItCannotDo) {
  const TextModel model = TextModel::load(path_, {.context = 32});
  const auto expect = [](ErrorCode code, const std::string& part, auto call) {
    const std::string error = check::error_of(code, call);
    EXPECT_TRUE(check::contains(error, part)) << error;
  };
  expect(ErrorCode::io, "nowhere.gguf", [] { TextModel::load("nowhere.gguf"); });
  expect(ErrorCode::invalid_argument, "parallel 0",
         [&] { TextModel::load(path_, {.parallel = 0}); });
  expect(ErrorCode::invalid_argument, "prefill 0", [&] { TextModel::load(path_, {.prefill = 0}); });
  expect(ErrorCode::invalid_argument, "prefill out of range; got 1099511627776",
         [&] { TextModel::load(path_, {.prefill = std::int64_t{1} << 40}); });
  expect(ErrorCode::invalid_argument, "no such type; got q5_0",
         [&] { TextModel::load(path_, {.keys = "q5_0"}); });
  expect(ErrorCode::invalid_argument, "no such type; got f8",
         [&] { TextModel::load("nowhere.gguf", {.values = "f8"}); });
  expect(ErrorCode::invalid_argument, "prompt too long",
         [&] { model.generate(text_of(request_of(loaded_, 1, 60, 1).tokens)); });
  expect(ErrorCode::invalid_argument, "two grammars",
         [&] { model.generate(sign(5), {.grammar = "root ::= \"a\"", .json_schema = "{}"}); });
  expect(ErrorCode::invalid_argument, "json_schema: no JSON",
         [&] { model.generate(sign(5), {.json_schema = "{"}); });
  expect(ErrorCode::unsupported, "embed", [&] {
    const std::vector<std::string> texts = {sign(5)};
    static_cast<void>(model.embed(texts));
  });
  expect(ErrorCode::invalid_argument, "scores of so many tokens; got 0",
         [&] { static_cast<void>(model.logits({})); });
  expect(ErrorCode::invalid_argument, "token outside the vocabulary; got -1", [&] {
    const std::vector<std::int32_t> tokens = {5, -1};
    static_cast<void>(model.logits(tokens));
  });
}

}  // namespace
}  // namespace hearth::models
