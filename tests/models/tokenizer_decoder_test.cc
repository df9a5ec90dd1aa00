#include <gtest/gtest.h>

#include "error_text.h"
#include "models/tokenizer/from_json.h"

namespace hearth::models {
namespace {

using check::contains;
using check::error_of;
using Ids = std::vector<std::int32_t>;

// Ids by place, behind the decoder that reads them. What they are decoded to is that of Hugging
// Face's tokenizers.
Tokenizer with_decoder(const std::string& decoder) {
  return tokenizer_from_json(
      R"({"model": {"type": "BPE", "merges": [], "vocab": {"a": 0, "b": 1, "▁a▁": 2, "▁▁": 3,
          "##a": 4, "_a_": 5, "xy": 6, "<0xC3>": 7, "<0xA9>": 8, "é": 9, ".": 10}},
          "decoder": )" +
          decoder + "}",
      "t.json");
}

TEST(TokenizerDecoder, TheFirstTokenHasNoMarks) {
  const Tokenizer tokenizer = with_decoder(R"({"type": "Metaspace", "split": false})");
  EXPECT_EQ(tokenizer.decode(Ids{2, 1}), "ab");
  EXPECT_EQ(tokenizer.decode(Ids{1, 2}), "b a ");
  EXPECT_EQ(tokenizer.decode(Ids{3, 2}), " a ");
  EXPECT_EQ(with_decoder(R"({"type": "Metaspace", "prepend_scheme": "never"})").decode(Ids{2, 1}),
            " a b");
}

TEST(TokenizerDecoder, TheFirstTokenIsAWord) {
  const Tokenizer tokenizer = with_decoder(R"({"type": "WordPiece"})");
  EXPECT_EQ(tokenizer.decode(Ids{4, 4, 1, 10}), "##aa b.");
  EXPECT_EQ(tokenizer.decode(Ids{1, 4}), "ba");
}

TEST(TokenizerDecoder, StepsOfTokensAndOfTexts) {
  EXPECT_EQ(
      with_decoder(R"({"type": "Strip", "content": "_", "start": 1, "stop": 1})").decode(Ids{5, 5}),
      "aa");
  EXPECT_EQ(with_decoder(R"({"type": "Replace", "pattern": {"Regex": "[xy]"}, "content": "-"})")
                .decode(Ids{6, 0}),
            "--a");
  const std::string marks = R"({"type": "Replace", "pattern": {"String": "▁"}, "content": " "})";
  const Tokenizer bytes = with_decoder(
      R"({"type": "Sequence", "decoders": [)" + marks +
      R"(, {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "start": 1}]})");
  EXPECT_EQ(bytes.decode(Ids{3, 0, 7, 8}), " aé");
  EXPECT_EQ(with_decoder(R"({"type": "Sequence", "decoders": [{"type": "Fuse"}, )" + marks + "]}")
                .decode(Ids{3, 0}),
            "  a");
}

TEST(TokenizerDecoder, RefusesWhatSeesSeveralTokens) {
  const auto refused = [](const std::string& steps, const std::string& part) {
    const std::string error = error_of(ErrorCode::unsupported, [&] {
      static_cast<void>(with_decoder(R"({"type": "Sequence", "decoders": [)" + steps + "]}"));
    });
    EXPECT_TRUE(contains(error, "t.json.decoder.decoders[") && contains(error, part)) << error;
  };
  refused(R"({"type": "Fuse"}, {"type": "WordPiece"})", "one text already; got \"WordPiece\"");
  refused(R"({"type": "ByteLevel"}, {"type": "Metaspace"})", "one text already");
  refused(R"({"type": "ByteFallback"}, {"type": "ByteLevel"})", "ByteLevel behind ByteFallback");
  refused(R"({"type": "ByteFallback"}, {"type": "Strip", "start": 1})", "Strip of tokens");
  refused(R"({"type": "Fuse"}, {"type": "Strip", "start": 2})", "strips more than one");
  refused(R"({"type": "Fuse"}, {"type": "Replace", "pattern": {"String": "ab"}, "content": ""})",
          "begin in one token");
  refused(R"({"type": "CTC"})", "\"CTC\"");
}

// Texts show them as the normalizer leaves them.
TEST(TokenizerDecoder, AddedTokensThatAreNormalized) {
  const Tokenizer tokenizer = tokenizer_from_json(
      R"({"model": {"type": "BPE", "merges": [], "vocab": {"a": 0, "b": 1}},
          "normalizer": {"type": "Lowercase"}, "decoder": {"type": "Fuse"},
          "added_tokens": [{"id": 2, "content": "<Tool>", "normalized": true},
                           {"id": 3, "content": "<X>", "normalized": false}]})",
      "t.json");
  EXPECT_EQ(tokenizer.encode("A<TOOL>b<X>"), (Ids{0, 2, 1, 3}));
  EXPECT_EQ(tokenizer.decode(Ids{0, 2, 1, 3}), "a<tool>b<X>");
  EXPECT_EQ(tokenizer.text(2), "<Tool>");
}

}  // namespace
}  // namespace hearth::models
