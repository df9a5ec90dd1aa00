// Conversations that go on: what was said stays in the caches.
#include "models/chat/conversation.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "error_text.h"
#include "models/golden_language_model.h"
#include "models/golden_model.h"
#include "models/tokenizer/from_gguf.h"

namespace hearth::models {
namespace {

// A letter for each token from 3 on: U+0103, U+0104...
std::string letter(std::int32_t token) {
  const unsigned code = 0x100 + static_cast<unsigned>(token);
  return {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
}

LoadedModel loaded_letters(const std::string& name) {
  const testing::GoldenModel golden = testing::read_golden_model(name);
  LanguageModel model = testing::golden_language_model(golden, DType::f32, 256);
  model.config.context = 256;
  std::vector<std::string> texts = {"<unk>", "<s>", "</s>"};
  std::vector<std::int32_t> types = {2, 3, 3};
  for (std::int32_t i = 3; i < static_cast<std::int32_t>(model.vocabulary()); ++i) {
    texts.push_back(letter(i));
    types.push_back(1);
  }
  return {std::move(model),
          tokenizer_from_gguf({{"tokenizer.ggml.model", "llama"},
                               {"tokenizer.ggml.tokens", texts},
                               {"tokenizer.ggml.token_type", types},
                               {"tokenizer.ggml.scores", std::vector<float>(texts.size(), 0.0F)},
                               {"tokenizer.ggml.add_space_prefix", false},
                               {"tokenizer.ggml.add_bos_token", false}},
                              "test")};
}

std::string letters(std::initializer_list<std::int32_t> tokens) {
  std::string text;
  for (const std::int32_t token : tokens) text += letter(token);
  return text;
}

// Each message, and a letter behind it.
std::string chat_of_letters() {
  return "{% for m in messages %}{{ m.content }}" + letter(9) + "{% endfor %}";
}

class ConversationTurns : public ::testing::TestWithParam<std::string> {
 protected:
  ConversationTurns() : loaded_(loaded_letters(GetParam())) {
    options_.system = letters({20, 21, 22});
    options_.most_tokens = 12;
    options_.sampling.seed = 4;
    options_.sampling.suppressed = {0, 1, 2};
  }

  ChatFormat format() const { return {loaded_.tokenizer, chat_of_letters()}; }

  LoadedModel loaded_;
  ConversationOptions options_;
  AnswerWriter silent_{.content = [](std::string_view) {}, .reasoning = {}, .is_stopped = {}};
};

TEST_P(ConversationTurns, EachTurnGoesOnFromTheLast) {
  Scheduler scheduler(loaded_, {.pages = 40, .page_size = 8, .parallel = 1});
  Conversation session(scheduler, format(), options_);
  std::int64_t known = 0;
  for (int turn = 0; turn < 3; ++turn) {
    std::string shown;
    AnswerWriter writer = silent_;
    writer.content = [&](std::string_view text) { shown += text; };
    const GenerationPiece last = session.say(letters({30, 31 + turn, 5}), writer);
    EXPECT_EQ(last.finish, FinishReason::length);
    EXPECT_EQ(last.cached_tokens, known) << turn;
    known = last.prompt_tokens + last.new_tokens - 1;
    EXPECT_EQ(session.messages().back().content, shown);
    EXPECT_EQ(shown.size(), 24u);
  }
  EXPECT_EQ(session.messages().size(), 7u);
  // Without what was known the same is said.
  Scheduler other(loaded_, {.pages = 40, .page_size = 8, .shares_prefixes = false});
  Conversation fresh(other, format(), options_);
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_EQ(fresh.say(letters({30, 31 + turn, 5}), silent_).cached_tokens, 0);
  }
  for (std::size_t i = 0; i < session.messages().size(); ++i) {
    EXPECT_EQ(fresh.messages()[i].content, session.messages()[i].content) << i;
  }
  session.reset();
  EXPECT_EQ(session.messages().size(), 1u);
}

// A template that has answers without their first letter in what is over.
TEST_P(ConversationTurns, GoesOnFromWhereAnAnswerIsRenderedOtherwise) {
  const ChatFormat format(loaded_.tokenizer,
                          "{% for m in messages %}{{ m.content[1:] if m.role == 'assistant' else "
                          "m.content }}" +
                              letter(9) + "{% endfor %}");
  Scheduler scheduler(loaded_, {.pages = 40, .page_size = 8, .parallel = 1});
  Conversation session(scheduler, format, options_);
  const GenerationPiece first = session.say(letters({30, 31, 5}), silent_);
  const GenerationPiece second = session.say(letters({30, 32, 5}), silent_);
  // What stands behind the first prompt may begin as the answer does, where letters repeat.
  const std::string& answer = session.messages()[2].content;
  std::int64_t alike = 0;
  while (alike < 11 && answer.substr(2 * static_cast<std::size_t>(alike), 2) ==
                           answer.substr(2 * static_cast<std::size_t>(alike) + 2, 2)) {
    ++alike;
  }
  const bool has_states = GetParam() != "llama";
  if (has_states) {
    EXPECT_LE(second.cached_tokens, first.prompt_tokens + alike);
  } else {
    EXPECT_EQ(second.cached_tokens, first.prompt_tokens + alike);
  }
  // The same answer as without what was known.
  Scheduler other(loaded_, {.pages = 40, .page_size = 8, .shares_prefixes = false});
  Conversation fresh(other, format, options_);
  fresh.say(letters({30, 31, 5}), silent_);
  fresh.say(letters({30, 32, 5}), silent_);
  EXPECT_EQ(fresh.messages().back().content, session.messages().back().content);
}

INSTANTIATE_TEST_SUITE_P(Some, ConversationTurns,
                         ::testing::Values("llama", "gemma3", "mamba2", "qwen3_5"),
                         [](const auto& each) { return each.param; });

TEST(Conversation, StopsAndRefusals) {
  const LoadedModel loaded = loaded_letters("llama");
  const ChatFormat format(loaded.tokenizer, chat_of_letters());
  Scheduler scheduler(loaded, {.pages = 8, .page_size = 8, .parallel = 1});
  ConversationOptions options;
  options.sampling.suppressed = {0, 1, 2};
  Conversation session(scheduler, format, options);
  std::string shown;
  AnswerWriter writer{.content = [&](std::string_view text) { shown += text; },
                      .reasoning = {},
                      .is_stopped = [&] { return !shown.empty(); }};
  const GenerationPiece last = session.say(letters({5, 6}), writer);
  EXPECT_TRUE(last.finish == FinishReason::cancelled || last.finish == FinishReason::length);
  EXPECT_EQ(session.messages().back().content, shown);
  std::string longer;
  for (int i = 0; i < 80; ++i) longer += letter(7);
  EXPECT_TRUE(check::contains(
      check::error_of(ErrorCode::invalid_argument, [&] { session.say(longer, writer); }),
      "too long"));
  EXPECT_EQ(session.messages().size(), 2u);
}

// Seeds rise with each answer, those before reset() among them, but for what failed.
TEST(Conversation, SeedsOfAnswers) {
  const LoadedModel loaded = loaded_letters("llama");
  const ChatFormat format(loaded.tokenizer, chat_of_letters());
  Scheduler scheduler(loaded, {.pages = 40, .page_size = 8, .parallel = 1});
  ConversationOptions options;
  options.most_tokens = 12;
  options.sampling.suppressed = {0, 1, 2};
  options.sampling.seed = 70;
  const AnswerWriter silent{.content = [](std::string_view) {}, .reasoning = {}, .is_stopped = {}};
  const auto first_answer = [&](std::uint64_t seed) {
    ConversationOptions own = options;
    own.sampling.seed = seed;
    Conversation fresh(scheduler, format, own);
    fresh.say(letters({5, 6}), silent);
    return fresh.messages().back().content;
  };
  Conversation session(scheduler, format, options);
  std::string longer;
  for (int i = 0; i < 400; ++i) longer += letter(7);
  for (std::uint64_t turn = 0; turn < 3; ++turn) {
    EXPECT_THROW(session.say(longer, silent), Error);
    session.say(letters({5, 6}), silent);
    EXPECT_EQ(session.messages().back().content, first_answer(70 + turn)) << turn;
    session.reset();
  }
  EXPECT_NE(first_answer(70), first_answer(71));
}

}  // namespace
}  // namespace hearth::models
