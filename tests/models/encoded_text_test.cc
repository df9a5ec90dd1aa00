// Texts that begin as others do, of which nothing is encoded twice: their tokens are the same.
#include "models/tokenizer/encoded_text.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "models/tokenizer/byte_tokenizer.h"
#include "models/tokenizer/from_gguf.h"
#include "models/tokenizer/from_json.h"
#include "models/tokenizer/tokenizer.h"

namespace hearth::models {
namespace {

struct OwnedPart {
  std::string text;
  bool parse_special;
};

std::vector<TextPart> views(const std::vector<OwnedPart>& parts) {
  std::vector<TextPart> made;
  for (const OwnedPart& part : parts) made.push_back({part.text, part.parse_special});
  return made;
}

// Tokens that take spaces beside them, that are words alone, and that are found in normal text.
Tokenizer with_added_tokens() {
  return tokenizer_from_json(R"({
    "model": {"type": "BPE", "merges": ["a b", "\n \n", "< s"], "vocab": {"a": 0, "b": 1, "ab": 2,
        " ": 3, "\n": 4, "\n\n": 5, "<": 6, "s": 7, "<s": 8, ">": 9, "/": 10, "t": 11}},
    "normalizer": {"type": "Lowercase"},
    "added_tokens": [
      {"id": 12, "content": "</s>", "special": true},
      {"id": 13, "content": "<t>", "special": false, "normalized": false, "lstrip": true,
       "rstrip": true},
      {"id": 14, "content": "aa", "special": false, "normalized": false, "single_word": true},
      {"id": 15, "content": "</s>\n", "special": true},
      {"id": 16, "content": "bb", "special": false, "normalized": true}]})",
                             "test");
}

Tokenizer of_scores() {
  const std::string space = "\xe2\x96\x81";
  const std::vector<std::string> texts = {"<unk>", "<s>", "</s>", space,  "a",
                                          "b",     "ab",  "\n",   "\n\n", space + "a"};
  return tokenizer_from_gguf(
      {{"tokenizer.ggml.model", "llama"},
       {"tokenizer.ggml.tokens", texts},
       {"tokenizer.ggml.token_type", std::vector<std::int32_t>{2, 3, 3, 1, 1, 1, 1, 1, 1, 1}},
       {"tokenizer.ggml.scores", std::vector<float>{0, 0, 0, -3, -3, -3, -1, -3, -1, -2}}},
      "test");
}

std::vector<OwnedPart> random_parts(std::mt19937& engine) {
  static const std::vector<std::string> kTexts = {
      "a", "b", "ab", "aa", "bb", "BB", " ", "  ", "\n", "<", "</", "s", ">", "</s>", "<t>", "<s>"};
  std::vector<OwnedPart> parts;
  for (std::size_t i = engine() % 8; i > 0; --i) {
    parts.push_back({"", engine() % 3 != 0});
    for (std::size_t j = engine() % 6; j > 0; --j) {
      parts.back().text += kTexts[engine() % kTexts.size()];
    }
  }
  return parts;
}

// Ends somewhere in the first ones, and goes on with others.
std::vector<OwnedPart> beginning_alike(std::vector<OwnedPart> parts, std::mt19937& engine) {
  parts.resize(engine() % (parts.size() + 1));
  if (!parts.empty()) {
    std::string& last = parts.back().text;
    last.resize(engine() % (last.size() + 1));
    if (engine() % 8 == 0) parts.back().parse_special = !parts.back().parse_special;
  }
  if (engine() % 2 == 0) {
    for (OwnedPart& part : random_parts(engine)) parts.push_back(part);
  }
  return parts;
}

TEST(EncodedText, TextsThatBeginAlikeHaveTheTokensThatTheyHaveAlone) {
  std::mt19937 engine(std::random_device{}());
  for (const Tokenizer& tokenizer :
       {with_added_tokens(), of_scores(), tokenizer_from_json(byte_tokenizer_json(), "test")}) {
    for (int round = 0; round < 3000; ++round) {
      const std::vector<OwnedPart> parts = random_parts(engine);
      const EncodedText first = tokenizer.encoded(views(parts));
      EXPECT_EQ(first.tokens, tokenizer.encode(views(parts), false));
      for (int other = 0; other < 4; ++other) {
        const std::vector<OwnedPart> alike = beginning_alike(parts, engine);
        ASSERT_EQ(tokenizer.encode(views(alike), first), tokenizer.encode(views(alike), false))
            << first.text << "\n--\n"
            << tokenizer.encoded(views(alike)).text;
      }
    }
  }
}

TEST(EncodedText, IsCutBehindTokensOfTheTextItself) {
  const Tokenizer tokenizer = with_added_tokens();
  const EncodedText made = tokenizer.encoded(views({{"ab</s>b <t> ", true}, {"</s>a", false}}));
  ASSERT_EQ(made.cuts.size(), 2u);
  EXPECT_EQ(made.cuts[0].bytes, 6u);
  EXPECT_EQ(made.cuts[0].tokens, 2u);
  EXPECT_EQ(made.cuts[1].bytes, 12u);
  EXPECT_EQ(made.cuts[1].tokens, 4u);
}

}  // namespace
}  // namespace hearth::models
