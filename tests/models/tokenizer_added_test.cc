#include <gtest/gtest.h>

#include "models/tokenizer/from_json.h"

namespace hearth::models {
namespace {

using Ids = std::vector<std::int32_t>;

// What is expected is what Hugging Face's tokenizers give.

// It finds tokens of its own vocabulary only.
TEST(TokenizerAdded, TheModelDoesNotFindThem) {
  const Tokenizer tokenizer = tokenizer_from_json(
      R"({"model": {"type": "WordPiece", "unk_token": "[U]", "vocab": {"[U]": 0, "a": 1, "##b": 2,
                                                                     "##c": 3}},
          "added_tokens": [{"id": 4, "content": "ab", "single_word": true, "normalized": false}]})",
      "t.json");
  EXPECT_EQ(tokenizer.encode("abc"), (Ids{1, 2, 3}));
  EXPECT_EQ(tokenizer.encode("ab"), Ids{4});
}

// Letters in circles and joiners are parts of words.
TEST(TokenizerAdded, BesideWhatMakesWords) {
  const Tokenizer tokenizer = tokenizer_from_json(
      R"({"model": {"type": "BPE", "merges": [], "vocab": {"a": 0, "b": 1}},
          "added_tokens": [{"id": 2, "content": "ab", "single_word": true, "normalized": false}]})",
      "t.json");
  EXPECT_EQ(tokenizer.encode("\u24d2ab"), (Ids{0, 1}));
  EXPECT_EQ(tokenizer.encode("ab\u200d"), (Ids{0, 1}));
  EXPECT_EQ(tokenizer.encode("\u2192ab"), Ids{2});
}

// What a normalizer drops was the start.
TEST(TokenizerAdded, MarksBeforeTheStartOfAText) {
  const Tokenizer tokenizer = tokenizer_from_json(
      R"({"model": {"type": "BPE", "merges": [], "vocab": {"a": 0, "▁": 1}},
          "normalizer": {"type": "Strip", "strip_left": true, "strip_right": true},
          "pre_tokenizer": {"type": "Metaspace", "prepend_scheme": "first"}})",
      "t.json");
  EXPECT_EQ(tokenizer.encode("a "), (Ids{1, 0}));
  EXPECT_EQ(tokenizer.encode(" a"), Ids{0});
}

}  // namespace
}  // namespace hearth::models
