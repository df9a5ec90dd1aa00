// Texts that are encoded no further than they may be long.
#include "models/tokenizer/encode_limits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "models/tokenizer/byte_tokenizer.h"
#include "models/tokenizer/from_gguf.h"
#include "models/tokenizer/from_json.h"
#include "models/tokenizer/tokenizer.h"

namespace hearth::models {
namespace {

using Ids = std::vector<std::int32_t>;
using Texts = std::vector<std::string>;
using Types = std::vector<std::int32_t>;

const std::string kLimitMark = "\xe2\x96\x81";

Tokenizer merging_by_score() {
  Texts texts = {"<unk>", "<s>", "</s>"};
  Types types = {2, 3, 3};
  for (int byte = 0; byte < 256; ++byte) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    texts.push_back(std::string("<0x") + kDigits[byte >> 4] + kDigits[byte & 15] + ">");
    types.push_back(6);
  }
  std::vector<float> scores(texts.size());
  for (const auto& [text, score] :
       std::vector<std::pair<std::string, float>>{{"a", -9},
                                                  {"b", -9},
                                                  {"ab", -1},
                                                  {kLimitMark, -9},
                                                  {kLimitMark + "a", -2},
                                                  {"bb", -1}}) {
    texts.push_back(text);
    types.push_back(1);
    scores.push_back(score);
  }
  return tokenizer_from_gguf({{"tokenizer.ggml.model", "llama"},
                              {"tokenizer.ggml.tokens", texts},
                              {"tokenizer.ggml.token_type", types},
                              {"tokenizer.ggml.scores", scores}},
                             "test");
}

Tokenizer word_pieces() {
  return tokenizer_from_gguf(
      {{"tokenizer.ggml.model", "bert"},
       {"tokenizer.ggml.tokens", Texts{"[PAD]", "[UNK]", "[CLS]", "[SEP]", kLimitMark + "a", "b"}},
       {"tokenizer.ggml.token_type", Types{3, 3, 3, 3, 1, 1}},
       {"tokenizer.ggml.cls_token_id", std::uint32_t{2}},
       {"tokenizer.ggml.seperator_token_id", std::uint32_t{3}},
       {"tokenizer.ggml.unknown_token_id", std::uint32_t{1}}},
      "test");
}

Tokenizer best_sums() {
  return tokenizer_from_gguf(
      {{"tokenizer.ggml.model", "t5"},
       {"tokenizer.ggml.tokens",
        Texts{"<pad>", "</s>", "<unk>", kLimitMark, "a", "b", kLimitMark + "ab", "ab"}},
       {"tokenizer.ggml.token_type", Types{3, 3, 2, 1, 1, 1, 1, 1}},
       {"tokenizer.ggml.scores", std::vector<float>{0, 0, 0, -2, -3, -3, -9, -5}}},
      "test");
}

// Compositions make the text shorter before it is encoded.
Tokenizer composing() {
  return tokenizer_from_json(
      R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "é": 3},
                    "merges": ["a b"]}, "normalizer": {"type": "NFC"}})",
      "test");
}

std::vector<Tokenizer> all_kinds() {
  return {merging_by_score(), word_pieces(), best_sums(), composing(),
          tokenizer_from_json(byte_tokenizer_json(), "test")};
}

std::string random_text(std::mt19937& engine) {
  static const Texts kParts = {
      "a", "b", "ab", "bb", " ", "  ", "x", "e\xcc\x81", "\xf0\x9f\x99\x82", "\n", "\xff", "</s>"};
  std::string text;
  for (std::size_t i = engine() % 40; i > 0; --i) text += kParts[engine() % kParts.size()];
  return text;
}

TEST(EncodeLimits, OfAnyTextNoMoreTokensThanItMayHave) {
  std::mt19937 engine(std::random_device{}());
  for (const Tokenizer& tokenizer : all_kinds()) {
    for (int round = 0; round < 200; ++round) {
      const std::string text = random_text(engine);
      const Ids whole = tokenizer.encode(text);
      EXPECT_EQ(tokenizer.encode(text, {}, {.most = whole.size()}), whole);
      if (whole.empty()) continue;
      const std::size_t most = engine() % whole.size();
      try {
        static_cast<void>(tokenizer.encode(text, {}, {.most = most}));
        ADD_FAILURE() << text << " has " << whole.size() << " tokens, of which " << most << " fit";
      } catch (const TooManyTokens& error) {
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
        EXPECT_EQ(error.most(), most);
        EXPECT_GT(error.least(), most);
        EXPECT_LE(error.least(), whole.size()) << text;
      }
    }
  }
}

TEST(EncodeLimits, WhatIsCutKeepsItsEnd) {
  std::mt19937 engine(std::random_device{}());
  for (const Tokenizer& tokenizer : all_kinds()) {
    const std::size_t around = tokenizer.encode("").size();
    for (int round = 0; round < 200; ++round) {
      const std::string text = random_text(engine);
      const Ids own = tokenizer.encode(text, {.add_special = false});
      const Ids whole = tokenizer.encode(text);
      if (own.empty()) continue;
      ASSERT_EQ(whole.size(), own.size() + around);
      // Each puts one token before a text at most.
      const bool has_before = !std::equal(own.begin(), own.end(), whole.begin());
      const std::size_t behind = around - (has_before ? 1 : 0);
      const std::size_t most = around + 1 + engine() % own.size();
      Ids expected(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(most));
      std::copy(whole.end() - static_cast<std::ptrdiff_t>(behind), whole.end(),
                expected.end() - static_cast<std::ptrdiff_t>(behind));
      EXPECT_EQ(tokenizer.encode(text, {}, {.most = most, .cuts = true}), expected) << text;
    }
  }
}

// A text of megabytes is refused by its length alone.
TEST(EncodeLimits, NobodyWaitsForATextThatCannotFit) {
  const std::string text(std::size_t{16} << 20, 'a');
  for (const Tokenizer& tokenizer :
       {merging_by_score(), tokenizer_from_json(byte_tokenizer_json(), "test")}) {
    int looks = 0;
    EXPECT_THROW(
        static_cast<void>(tokenizer.encode(text, {}, {.most = 1000, .watch = [&] { ++looks; }})),
        TooManyTokens);
    EXPECT_EQ(looks, 0);
  }
}

// Whatever a tokenizer does for long, whoever waits is asked in between.
TEST(EncodeLimits, WhatTheWatchThrowsEndsIt) {
  struct Gone {};
  std::string text;
  for (int i = 0; i < 1 << 19; ++i) text += i % 7 == 0 ? " e\xcc\x81" : "abbab";
  for (const Tokenizer& tokenizer : all_kinds()) {
    int looks = 0;
    const auto watch = [&] {
      if (++looks == 2) throw Gone();
    };
    EXPECT_THROW(static_cast<void>(tokenizer.encode(text, {}, {.watch = watch})), Gone);
    EXPECT_EQ(looks, 2);
  }
}

}  // namespace
}  // namespace hearth::models
