#include <gtest/gtest.h>

#include "error_text.h"
#include "models/tokenizer/from_json.h"

namespace hearth::models {
namespace {

using check::contains;
using check::error_of;
using Ids = std::vector<std::int32_t>;

constexpr EncodeOptions kPlain{.add_special = false};

// A file with these fields besides a model.
std::string file_of(const std::string& model, const std::string& fields = "") {
  return "{\"model\": " + model + (fields.empty() ? "" : ", " + fields) + "}";
}

const std::string kBpe = R"({"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "Ġ": 3, "Ġa": 4},
                             "merges": ["a b", ["Ġ", "a"]]})";
const std::string kByteLevel =
    R"("pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
       "decoder": {"type": "ByteLevel"})";

TEST(TokenizerJson, ByteLevel) {
  const Tokenizer tokenizer = tokenizer_from_json(file_of(kBpe, kByteLevel), "test");
  EXPECT_EQ(tokenizer.encode("ab a"), (Ids{2, 4}));
  EXPECT_EQ(tokenizer.decode(Ids{2, 4}), "ab a");
  EXPECT_EQ(tokenizer.encode("axb"), (Ids{0, 1}));  // what has no token is dropped
  EXPECT_EQ(tokenizer.size(), 5u);
}

// Models have more rows than tokens where their makers have rounded them up.
TEST(TokenizerJson, RowsWithoutATokenAreUnusedTokens) {
  const std::string unigram =
      file_of(R"({"type": "Unigram", "unk_id": 0, "vocab": [["a", 0], ["b", -1]]})", R"("x": 0)");
  for (const std::string& file : {file_of(kBpe, kByteLevel), unigram}) {
    const std::size_t own = tokenizer_from_json(file, "test").size();
    EXPECT_EQ(tokenizer_from_json(file, "test", "", {}, 1).size(), own);
    const Tokenizer tokenizer = tokenizer_from_json(file, "test", "", {}, 9);
    ASSERT_EQ(tokenizer.size(), 9u);
    for (auto id = static_cast<std::int32_t>(own); id < 9; ++id) {
      EXPECT_EQ(tokenizer.type(id), TokenType::unused);
      EXPECT_EQ(tokenizer.bytes(id), "");
      EXPECT_EQ(tokenizer.decode(Ids{0, id, 1}), tokenizer.decode(Ids{0, 1}));
      EXPECT_FALSE(tokenizer.is_end_of_generation(id));
    }
    EXPECT_EQ(tokenizer.encode("ab"), tokenizer_from_json(file, "test").encode("ab"));
  }
}

// Contents that multiply a text, by each step again.
TEST(TokenizerJson, NormalizersHaveAnEnd) {
  const std::string content(1000, 'a');
  for (const char* pattern : {R"({"String": "a"})", R"({"Regex": "a"})"}) {
    const std::string step = R"({"type": "Replace", "pattern": )" + std::string(pattern) +
                             R"(, "content": ")" + content + R"("})";
    const Tokenizer tokenizer = tokenizer_from_json(
        file_of(kBpe, kByteLevel + R"(, "normalizer": {"type": "Sequence", "normalizers": [)" +
                          step + ", " + step + ", " + step + "]}"),
        "test");
    EXPECT_TRUE(contains(error_of(ErrorCode::invalid_argument,
                                  [&] { static_cast<void>(tokenizer.encode("aaa", kPlain)); }),
                         "normalizers make too much of a text; got over 65728 bytes"));
    EXPECT_EQ(tokenizer.encode("b", kPlain), Ids{1});
  }
}

TEST(TokenizerJson, NormalizersOfAddedTokensHaveAnEnd) {
  const std::string step = R"({"type": "Replace", "pattern": {"String": "a"}, "content": ")" +
                           std::string(1000, 'a') + R"("})";
  const std::string file =
      file_of(kBpe, R"("added_tokens": [{"id": 5, "content": "a", "normalized": true}],
               "normalizer": {"type": "Sequence", "normalizers": [)" +
                        step + ", " + step + "]}");
  EXPECT_TRUE(
      contains(error_of(ErrorCode::corrupt_file, [&] { tokenizer_from_json(file, "t.json"); }),
               "added token \"a\": tokenizer: normalizers make too much of a text"));
}

// The same of what tokens add to a text.
TEST(TokenizerJson, DecodersHaveAnEnd) {
  const auto file = [](int steps) {
    const std::string step = R"({"type": "Replace", "pattern": {"String": "a"}, "content": "aa"})";
    std::string all = step;
    for (int i = 1; i < steps; ++i) all += ", " + step;
    return file_of(kBpe, R"("decoder": {"type": "Sequence", "decoders": [)" + all + "]}");
  };
  const Tokenizer grown = tokenizer_from_json(file(10), "t.json");
  EXPECT_EQ(grown.bytes(0), std::string(1024, 'a'));
  EXPECT_EQ(grown.bytes(1), "b");
  const std::string error =
      error_of(ErrorCode::corrupt_file, [&] { tokenizer_from_json(file(200), "t.json"); });
  EXPECT_TRUE(contains(error, "t.json: the decoder makes too much of the tokens; got ")) << error;
  EXPECT_TRUE(contains(error, " bytes of \"a\", expected at most ")) << error;
}

TEST(TokenizerJson, ErrorsSayWhatWasExpected) {
  const auto error = [](ErrorCode code, const std::string& members) {
    return error_of(code, [&] { tokenizer_from_json(file_of(kBpe, members), "t.json"); });
  };
  EXPECT_TRUE(contains(error(ErrorCode::corrupt_file, R"("added_tokens": 1)"),
                       "t.json: added_tokens is of the wrong type; got \"1\", expected an array"));
  EXPECT_TRUE(contains(error(ErrorCode::corrupt_file, R"("decoder": {})"),
                       "t.json.decoder: type is missing; got no such key, expected one"));
  EXPECT_TRUE(contains(error(ErrorCode::unsupported, R"("normalizer": {"type": "None"})"),
                       "got \"None\", expected one of Sequence, NFC, "));
}

// Ids may have gaps, but not ones that make a large vocabulary of a small file.
TEST(TokenizerJson, GapsBetweenIds) {
  const auto file = [](const std::string& id) {
    return file_of(kBpe, R"("added_tokens": [{"content": "x", "id": )" + id + "}]");
  };
  EXPECT_EQ(tokenizer_from_json(file("60000"), "t.json").size(), 60'001u);
  EXPECT_TRUE(contains(
      error_of(ErrorCode::corrupt_file, [&] { tokenizer_from_json(file("16000000"), "t.json"); }),
      "the id of token \"x\" is none; got 16000000, expected 0 to 65547"));
}

// Which of two tokens a reader takes for an id would be its own choice.
TEST(TokenizerJson, IdsAreOfOneToken) {
  const auto fault = [](const std::string& file) {
    return error_of(ErrorCode::corrupt_file, [&] { tokenizer_from_json(file, "t.json"); });
  };
  EXPECT_EQ(fault(file_of(R"({"type": "BPE", "vocab": {"a": 0, "b": 0}, "merges": []})")),
            "t.json.model: two tokens have the id 0; got \"a\" and \"b\", expected an id for each");
  // Of a key that stands twice the last counts, as in other JSON.
  const Tokenizer last = tokenizer_from_json(
      file_of(R"({"type": "BPE", "vocab": {"a": 2, "b": 0, "a": 1}, "merges": []})", kByteLevel),
      "t.json");
  EXPECT_EQ(last.encode("ab"), (Ids{1, 0}));
  EXPECT_EQ(last.size(), 2u);
  EXPECT_EQ(
      fault(file_of(kBpe, R"("added_tokens": [{"id": 5, "content": "<s>"},
                                                    {"id": 5, "content": "<t>"}])")),
      "t.json.added_tokens: two tokens have the id 5; got \"<s>\" and \"<t>\", expected an id "
      "for each");
  // The same token again is no other one, and one of the model may be there under a new text.
  const std::string added = R"("added_tokens": [{"id": 5, "content": "<s>"},
                                                {"id": 5, "content": "<s>"},
                                                {"id": 4, "content": "b"},
                                                {"id": 1, "content": "<b>"}])";
  EXPECT_EQ(tokenizer_from_json(file_of(kBpe, kByteLevel + ", " + added), "t.json").size(), 6u);
  // So may one of tokenizer.json in tokenizer_config.json.
  const std::string config = R"({"added_tokens_decoder": {"5": {"content": "<u>"}}})";
  EXPECT_EQ(tokenizer_from_json(file_of(kBpe, kByteLevel + ", " + added), "t.json", config)
                .encode("<u>", {.add_special = false, .parse_special = true}),
            Ids{5});
}

TEST(TokenizerJson, AddedTokens) {
  const std::string added = R"("added_tokens": [
      {"id": 5, "content": "<s>", "special": true},
      {"id": 6, "content": "<t>", "special": false, "lstrip": true, "rstrip": true},
      {"id": 7, "content": "aa", "special": false, "single_word": true}])";
  const Tokenizer tokenizer = tokenizer_from_json(file_of(kBpe, kByteLevel + ", " + added), "test");
  const EncodeOptions trusted{.add_special = false, .parse_special = true};
  EXPECT_EQ(tokenizer.encode("a<s>b", trusted), (Ids{0, 5, 1}));
  EXPECT_EQ(tokenizer.encode("a<s>b", kPlain), (Ids{0, 1}));
  EXPECT_EQ(tokenizer.encode("a \n<t> \tb"), (Ids{0, 6, 1}));
  EXPECT_EQ(tokenizer.encode("aa baa aa"), (Ids{7, 3, 1, 0, 0, 3, 7}));
  EXPECT_EQ(tokenizer.decode(Ids{0, 5, 6}), "a<t>");
  EXPECT_EQ(tokenizer.type(6), TokenType::user_defined);
  EXPECT_TRUE(tokenizer.is_control(5));
}

TEST(TokenizerJson, WhatStandsAroundATextAndItsRoles) {
  const std::string post = R"("added_tokens": [{"id": 5, "content": "<s>", "special": true},
                                               {"id": 6, "content": "</s>", "special": true}],
    "post_processor": {"type": "Sequence", "processors": [{"type": "ByteLevel"},
      {"type": "TemplateProcessing",
       "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A"}},
                  {"SpecialToken": {"id": "</s>", "type_id": 0}}],
       "special_tokens": {"<s>": {"ids": [5]}, "</s>": {"ids": [6]}}}]})";
  const Tokenizer tokenizer =
      tokenizer_from_json(file_of(kBpe, kByteLevel + ", " + post), "test",
                          R"({"eos_token": {"content": "</s>"}, "pad_token": "ab"})");
  EXPECT_EQ(tokenizer.encode("ab"), (Ids{5, 2, 6}));
  EXPECT_EQ(tokenizer.special().bos, 5);
  EXPECT_EQ(tokenizer.special().eos, 6);
  EXPECT_EQ(tokenizer.special().padding, 2);
  EXPECT_TRUE(tokenizer.is_end_of_generation(6));
}

TEST(TokenizerJson, TokensThatOnlyTheConfigurationHas) {
  const std::string added = R"("added_tokens": [{"id": 5, "content": "<s>", "special": true}])";
  const std::string config = R"({"eos_token": "<end>", "added_tokens_decoder": {
      "5": {"content": "<s>", "special": false},
      "7": {"content": "<end>", "special": true, "normalized": false},
      "6": {"content": "<t>", "special": false, "rstrip": true, "normalized": false}}})";
  const Tokenizer tokenizer =
      tokenizer_from_json(file_of(kBpe, kByteLevel + ", " + added), "test", config);
  EXPECT_EQ(tokenizer.size(), 8u);
  const EncodeOptions special{.add_special = false, .parse_special = true};
  EXPECT_EQ(tokenizer.encode("<s>ab<t>  b<end>", special), (Ids{5, 2, 6, 1, 7}));
  EXPECT_EQ(tokenizer.special().eos, 7);
  EXPECT_TRUE(tokenizer.is_end_of_generation(7));
  EXPECT_TRUE(tokenizer.is_control(5));  // as tokenizer.json has it
  EXPECT_EQ(tokenizer.type(6), TokenType::user_defined);
  const auto refused = [](const std::string& text) {
    return error_of(ErrorCode::corrupt_file,
                    [&] { tokenizer_from_json(file_of(kBpe, kByteLevel), "t.json", text); });
  };
  EXPECT_TRUE(contains(refused(R"({"added_tokens_decoder": {"x": {"content": "a"}}})"),
                       "no id of a token; got \"x\""));
  EXPECT_TRUE(contains(refused(R"({"added_tokens_decoder": {"-3": {"content": "y"}}})"), "\"y\""));
  EXPECT_TRUE(contains(refused(R"({"added_tokens_decoder": {"7": 1}})"), "7"));
  EXPECT_TRUE(contains(refused(R"({"eos_token": "<none>"})"),
                       "eos_token is no token of the model; got \"<none>\""));
}

TEST(TokenizerJson, EndsThatOtherFilesName) {
  const auto made = [](const std::string& config, const std::vector<std::int64_t>& ends) {
    return tokenizer_from_json(file_of(kBpe, kByteLevel), "test", config, ends);
  };
  const Tokenizer own = made(R"({"eos_token": "a"})", {2, 3, 1, -1});
  EXPECT_EQ(own.special().eos, 0);
  EXPECT_EQ(own.special().eot, 2);
  EXPECT_EQ(own.special().eom, 3);
  for (std::int32_t id = 0; id < 4; ++id) EXPECT_TRUE(own.is_end_of_generation(id)) << id;
  EXPECT_FALSE(own.is_end_of_generation(4));
  EXPECT_EQ(made("", {4, 1}).special().eos, 4);
  for (const std::int64_t id : {std::int64_t{5}, std::int64_t{1} << 31, std::int64_t{-2}}) {
    const std::string error =
        error_of(ErrorCode::corrupt_file, [&] { static_cast<void>(made("", {1, id})); });
    EXPECT_TRUE(contains(error, "eos_token_id of its configuration is no token; got " +
                                    std::to_string(id) + ", expected 0 to 5 - 1"))
        << error;
  }
}

TEST(TokenizerJson, SentencePieceAsPairs) {
  const std::string model = R"({"type": "BPE", "unk_token": "<u>", "byte_fallback": true,
    "fuse_unk": true, "vocab": {"<u>": 0, "▁": 1, "a": 2, "▁a": 3, "<0xC3>": 4, "<0xA9>": 5},
    "merges": ["▁ a"]})";
  const std::string parts = R"("normalizer": {"type": "Sequence", "normalizers": [
      {"type": "Prepend", "prepend": "▁"},
      {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
    "decoder": {"type": "Sequence", "decoders": [
      {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"},
      {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})";
  const Tokenizer tokenizer = tokenizer_from_json(file_of(model, parts), "test");
  EXPECT_EQ(tokenizer.encode("a a\xc3\xa9"), (Ids{3, 3, 4, 5}));
  EXPECT_EQ(tokenizer.encode("axyz"), (Ids{3, 0}));  // neighbours are one
  EXPECT_EQ(tokenizer.decode(Ids{3, 3, 4, 5}), "a a\xc3\xa9");
}

TEST(TokenizerJson, WordPieces) {
  const std::string model = R"({"type": "WordPiece", "unk_token": "[UNK]",
    "continuing_subword_prefix": "##", "max_input_chars_per_word": 6,
    "vocab": {"[UNK]": 0, "un": 1, "##able": 2, "##a": 3, "!": 4, "[C]": 5, "[S]": 6}})";
  const std::string parts = R"("normalizer": {"type": "BertNormalizer"},
    "pre_tokenizer": {"type": "BertPreTokenizer"}, "decoder": {"type": "WordPiece"},
    "post_processor": {"type": "BertProcessing", "sep": ["[S]", 6], "cls": ["[C]", 5]})";
  const Tokenizer tokenizer = tokenizer_from_json(file_of(model, parts), "test");
  EXPECT_EQ(tokenizer.encode("UN\xc3\xa1 unable!"), (Ids{5, 1, 3, 1, 2, 4, 6}));
  EXPECT_EQ(tokenizer.encode("unable unablea", kPlain), (Ids{1, 2, 0}));
  EXPECT_EQ(tokenizer.decode(Ids{1, 2, 4, 1}), "unable! un");
}

// What Unicode has not assigned, or only later, is no control character; the formats that the
// normalizer of Hugging Face knows are.
TEST(TokenizerJson, WhatBertCleansAway) {
  const std::string model = R"({"type": "WordPiece", "unk_token": "[UNK]",
    "continuing_subword_prefix": "##", "max_input_chars_per_word": 6,
    "vocab": {"[UNK]": 0, "ab": 1}})";
  const std::string parts = R"("normalizer": {"type": "BertNormalizer", "strip_accents": false},
                               "pre_tokenizer": {"type": "BertPreTokenizer"})";
  const Tokenizer tokenizer = tokenizer_from_json(file_of(model, parts), "test");
  for (const char* const dropped : {"\u00ad", "\u200d", "\x07", "\u180e", "\ue000"}) {
    EXPECT_EQ(tokenizer.encode("a" + std::string(dropped) + "b"), Ids{1});
  }
  for (const char* const kept : {"\u0378", "\u17ee", "\u0890", "\u08e2", "\U0001fae9"}) {
    EXPECT_EQ(tokenizer.encode("a" + std::string(kept) + "b"), Ids{0}) << kept;
  }
}

// Rust's \w and Oniguruma's differ: joiners belong to words for the one, fractions for the other.
TEST(TokenizerJson, WordsOfWhitespaceAndOfPatterns) {
  const std::string model = R"({"type": "WordPiece", "unk_token": "[UNK]",
    "continuing_subword_prefix": "##", "max_input_chars_per_word": 20,
    "vocab": {"[UNK]": 0, "a\u200cb": 1, "a": 2, "b": 3, "\u200c": 4, "\u24b6b": 5, "a\u00bd": 6,
              "\u00bd": 7, "\ud83c\udd30b": 8}})";
  const Tokenizer words =
      tokenizer_from_json(file_of(model, R"("pre_tokenizer": {"type": "Whitespace"})"), "test");
  EXPECT_EQ(words.encode("a\u200cb a \u24b6b a\u00bd \U0001f130b"), (Ids{1, 2, 5, 2, 7, 8}));
  const Tokenizer pattern = tokenizer_from_json(
      file_of(model, R"("pre_tokenizer": {"type": "Split", "pattern": {"Regex": "\\w+"},
                                          "behavior": "Isolated", "invert": false})"),
      "test");
  EXPECT_EQ(pattern.encode("a\u200cb"), (Ids{2, 4, 3}));
  EXPECT_EQ(pattern.encode("\u24b6b"), Ids{5});
  EXPECT_EQ(pattern.encode("a\u00bd"), Ids{6});
}

// What has no token is dropped before pairs are joined.
TEST(TokenizerJson, PairsJoinAcrossWhatIsDropped) {
  EXPECT_EQ(tokenizer_from_json(file_of(kBpe), "test").encode("axb\u00e9"), Ids{2});
  EXPECT_EQ(tokenizer_from_json(file_of(kBpe), "test").encode("xyz"), Ids{});
  const std::string marks = R"({"type": "BPE", "vocab": {"a": 0, "\u2581": 1, "a\u2581": 2},
                                "merges": ["a \u2581"]})";
  EXPECT_EQ(tokenizer_from_json(file_of(marks), "test").encode("ax\u2581"), Ids{2});
  const std::string falls_back =
      R"({"type": "BPE", "byte_fallback": true, "vocab": {"a": 0, "b": 1, "ab": 2, "<0x78>": 3},
          "merges": ["a b"]})";
  const Tokenizer bytes = tokenizer_from_json(file_of(falls_back), "test");
  EXPECT_EQ(bytes.encode("axb"), (Ids{0, 3, 1}));
  EXPECT_EQ(bytes.encode("ayb"), Ids{2});
}

TEST(TokenizerJson, Unigram) {
  const std::string model = R"({"type": "Unigram", "unk_id": 0,
    "vocab": [["<u>", 0], ["▁", -2], ["a", -3], ["▁a", -4], ["aa", -1.5]]})";
  const std::string parts = R"("pre_tokenizer": {"type": "Metaspace"},
                               "decoder": {"type": "Metaspace"})";
  const Tokenizer tokenizer = tokenizer_from_json(file_of(model, parts), "test");
  EXPECT_EQ(tokenizer.encode("a aa b"), (Ids{3, 1, 4, 1, 0}));
  EXPECT_EQ(tokenizer.decode(Ids{3, 1, 4}), "a aa");
}

TEST(TokenizerJson, NormalizersAndSplits) {
  const std::string parts = R"("normalizer": {"type": "Sequence", "normalizers": [
      {"type": "NFD"}, {"type": "StripAccents"}, {"type": "Lowercase"},
      {"type": "Replace", "pattern": {"Regex": "x+"}, "content": "b"}]},
    "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
      {"type": "Split", "pattern": {"Regex": "\\s+"}, "behavior": "Removed", "invert": false},
      {"type": "Punctuation"}, {"type": "Digits", "individual_digits": true}]})";
  const Tokenizer tokenizer = tokenizer_from_json(file_of(kBpe, parts), "test");
  EXPECT_EQ(tokenizer.encode("\xc3\x81xX B"), (Ids{2, 1}));
  EXPECT_EQ(tokenizer.encode("a!b a1b"), (Ids{0, 1, 0, 1}));
  EXPECT_EQ(tokenizer.decode(Ids{2, 1}), "ab b");  // without a decoder, words
}

TEST(TokenizerJson, RefusesPartsByName) {
  const auto refused = [](const std::string& text, const std::string& part) {
    const std::string error =
        error_of(ErrorCode::unsupported, [&] { tokenizer_from_json(text, "t.json"); });
    EXPECT_TRUE(contains(error, "t.json") && contains(error, part)) << error;
  };
  refused(file_of(R"({"type": "WordLevel", "vocab": {}})"), "WordLevel");
  refused(file_of(kBpe, R"("normalizer": {"type": "Nmt"})"), "\"Nmt\"");
  refused(file_of(kBpe, R"("pre_tokenizer": {"type": "UnicodeScripts"})"), "UnicodeScripts");
  refused(file_of(kBpe, R"("decoder": {"type": "CTC"})"), "\"CTC\"");
  refused(file_of(kBpe, R"("post_processor": {"type": "Other"})"), "\"Other\"");
  refused(file_of(kBpe, R"("pre_tokenizer": {"type": "Split", "behavior": "Isolated",
                            "pattern": {"Regex": "(?<=a)b"}})"),
          "pattern");
  refused(file_of(R"({"type": "BPE", "dropout": 0.5, "vocab": {}, "merges": []})"), "dropout");
  refused(file_of(R"({"type": "BPE", "end_of_word_suffix": "</w>", "vocab": {}, "merges": []})"),
          "end_of_word_suffix");
}

// As tokenizers has it.
TEST(TokenizerJson, MergesAreOfTokens) {
  const auto model = [](const std::string& merges) {
    return file_of(R"({"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, " ": 3, " a": 4}, )"
                   R"("merges": [)" +
                   merges + "]}");
  };
  const auto error = [&](const std::string& merge) {
    return error_of(ErrorCode::corrupt_file,
                    [&] { static_cast<void>(tokenizer_from_json(model(merge), "t.json")); });
  };
  for (const char* merge : {R"("a b a")", R"("a  b")", R"("  a")", R"(" a")", R"("a ")", R"("ab")",
                            R"(["a",""])", R"(["a","b","a"])"}) {
    EXPECT_TRUE(contains(error(merge), "merge 0 is no pair; got " + std::string(merge)))
        << error(merge);
  }
  EXPECT_TRUE(contains(error(R"("b b")"),
                       R"(merge of what is no token; got "b b", expected "bb" in vocab)"));
  EXPECT_TRUE(contains(error(R"("a q")"), R"(got "a q", expected "q" in vocab)"));
  EXPECT_TRUE(contains(error(R"(["q", "a"])"), R"(got ["q","a"], expected "q" in vocab)"));
  const Tokenizer tokenizer =
      tokenizer_from_json(model(R"("#version: 0.2", "a b", [" ", "a"])"), "t.json");
  EXPECT_EQ(tokenizer.encode("ab a", kPlain), (Ids{2, 4}));
  // A token that an added one has taken the place of.
  const std::string renamed = model(R"("a b")");
  EXPECT_NO_THROW(tokenizer_from_json(
      renamed.substr(0, renamed.size() - 1) +
          R"(, "added_tokens": [{"id": 2, "content": "<s>", "special": true}]})",
      "t.json"));
}

TEST(TokenizerJson, CorruptFiles) {
  for (const std::string& text : std::vector<std::string>{
           "", "[]", "{}", "{\"model\": 1}", file_of(R"({"type": "BPE"})"),
           file_of(R"({"type": "BPE", "vocab": {"a": -1}, "merges": []})"),
           file_of(R"({"type": "BPE", "vocab": {"a": 1e9}, "merges": []})"),
           file_of(R"({"type": "BPE", "vocab": {"a": 99999999999}, "merges": []})"),
           file_of(R"({"type": "BPE", "vocab": {"a": 0, "b": 0}, "merges": []})"),
           file_of(R"({"type": "BPE", "vocab": {"a": 0}, "merges": ["a"]})"),
           file_of(R"({"type": "BPE", "vocab": {"a": 0}, "merges": [["a", "b", "c"]]})"),
           file_of(R"({"type": "BPE", "vocab": {"a": 0}, "merges": [], "unk_token": "x"})"),
           file_of(R"({"type": "Unigram", "vocab": [["a"]]})"),
           file_of(R"({"type": "Unigram", "vocab": [["a", 1]], "unk_id": 7})"),
           file_of(kBpe, R"("added_tokens": [{"content": "x"}])"),
           file_of(kBpe, R"("normalizer": {"type": "Precompiled", "precompiled_charsmap": "?"})"),
           file_of(kBpe, R"("post_processor": {"type": "BertProcessing", "sep": ["x", 99],
                             "cls": ["x", 99]})")}) {
    error_of(ErrorCode::corrupt_file, [&] { tokenizer_from_json(text, "t.json"); });
  }
}

}  // namespace
}  // namespace hearth::models
