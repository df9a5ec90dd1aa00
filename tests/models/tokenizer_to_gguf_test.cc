#include "models/tokenizer/to_gguf.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "error_text.h"
#include "models/tokenizer/from_gguf.h"
#include "models/tokenizer/from_json.h"

namespace hearth::models {
namespace {

using check::contains;
using check::error_of;

const std::string kSpecial = R"("added_tokens": [
    {"id": 6, "content": "<s>", "special": true}, {"id": 7, "content": "</s>", "special": true},
    {"id": 8, "content": "<tool>", "special": false}])";
const std::string kBegins = R"("post_processor": {"type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A"}}],
    "special_tokens": {"<s>": {"ids": [6]}}})";
const std::string kConfig = R"({"bos_token": "<s>", "eos_token": "</s>"})";

// Both ways to one set of tokens.
GgufMetadata written(const TokenizerTexts& texts, const std::vector<std::string>& samples = {}) {
  GgufMetadata metadata;
  add_tokenizer(metadata, texts, 12, "test");
  const Tokenizer given = tokenizer_from_json(texts.tokenizer, "test", texts.config);
  const Tokenizer read = tokenizer_from_gguf(metadata, "test");
  EXPECT_EQ(read.size(), 12u);
  for (const bool trusted : {false, true}) {
    const EncodeOptions options{.parse_special = trusted};
    for (const std::string& text : samples) {
      EXPECT_EQ(given.encode(text, options), read.encode(text, options)) << text;
      const auto ids = given.encode(text, options);
      EXPECT_EQ(given.decode(ids), read.decode(ids)) << text;
    }
  }
  EXPECT_EQ(read.special(), given.special());
  for (std::int32_t id = 0; id < static_cast<std::int32_t>(given.size()); ++id) {
    EXPECT_EQ(read.type(id), given.type(id)) << id;
  }
  return metadata;
}

// The tests' pre-tokenizers by bytes need nothing but their pattern.
std::string byte_level(const std::string& split, bool whole_first) {
  return R"({"model": {"type": "BPE", "ignore_merges": )" +
         std::string(whole_first ? "true" : "false") +
         R"(, "vocab": {"a": 0, "b": 1, "ab": 2, "\u0120": 3, "\u0120a": 4, "bb": 5},
            "merges": ["a b", ["\u0120", "a"]]}, )" +
         split + R"("decoder": {"type": "ByteLevel"}, )" + kSpecial + ", " + kBegins + "}";
}

std::string split_by(const std::string& pattern) {
  return R"("pre_tokenizer": {"type": "Sequence", "pretokenizers": [
      {"type": "Split", "pattern": {"Regex": ")" +
         pattern + R"("}, "behavior": "Isolated"},
      {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]}, )";
}

const std::string kGpt2Split =
    R"("pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false}, )";
// Spelled otherwise than the library's own.
const std::string kQwen2Split = split_by(
    R"((?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|)"
    R"(\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+)");
const std::string kLlama3Split =
    split_by(R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|)"
             R"( ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+)");

TEST(TokenizerToGguf, EndsAreThoseOfTheFolder) {
  TokenizerTexts texts{byte_level(kGpt2Split, false), kConfig, ""};
  texts.ends = {7, 8, 5, 1, 2};
  GgufMetadata metadata;
  add_tokenizer(metadata, texts, 12, "test");
  EXPECT_EQ(metadata.as_int("tokenizer.ggml.eos_token_id"), 7);
  EXPECT_EQ(metadata.as_int("tokenizer.ggml.eot_token_id"), 8);
  EXPECT_EQ(metadata.as_int("tokenizer.ggml.eom_token_id"), 5);
  EXPECT_EQ(metadata.as_ints("tokenizer.ggml.end_token_ids"), (std::vector<std::int64_t>{1, 2}));
  const Tokenizer read = tokenizer_from_gguf(metadata, "test");
  for (std::int32_t id = 0; id < 12; ++id) {
    const bool is_end = id == 1 || id == 2 || id == 5 || id == 7 || id == 8;
    EXPECT_EQ(read.is_end_of_generation(id), is_end) << id;
  }
  texts.ends = {7};
  GgufMetadata plain;
  add_tokenizer(plain, texts, 12, "test");
  EXPECT_FALSE(plain.contains("tokenizer.ggml.end_token_ids"));
}

TEST(TokenizerToGguf, TemplatesForToolsStandBesideTheUsualOne) {
  const TokenizerTexts texts{.tokenizer = byte_level(kGpt2Split, false),
                             .config = kConfig,
                             .chat_template = "usual",
                             .tool_template = "with tools"};
  GgufMetadata metadata;
  add_tokenizer(metadata, texts, 12, "test");
  EXPECT_EQ(metadata.as_text("tokenizer.chat_template"), "usual");
  EXPECT_EQ(metadata.as_text("tokenizer.chat_template.tool_use"), "with tools");
}

TEST(TokenizerToGguf, BytePairsByTheNameOfWhatCutsTexts) {
  const std::vector<std::string> samples = {"ab a", "<s>ab</s>", "a<tool> ab", "bb abb"};
  const auto pre = [&](const std::string& split, bool whole_first) {
    const TokenizerTexts texts{byte_level(split, whole_first), kConfig, ""};
    const GgufMetadata metadata = written(texts, samples);
    EXPECT_EQ(metadata.as_text("tokenizer.ggml.model"), "gpt2");
    EXPECT_TRUE(metadata.as_bool("tokenizer.ggml.add_bos_token"));
    EXPECT_EQ(metadata.as_int("tokenizer.ggml.bos_token_id"), 6);
    EXPECT_EQ(metadata.as_int("tokenizer.ggml.eos_token_id"), 7);
    return metadata.as_text("tokenizer.ggml.pre");
  };
  EXPECT_EQ(pre(kGpt2Split, false), "gpt-2");
  EXPECT_EQ(pre(kQwen2Split, false), "qwen2");
  EXPECT_EQ(pre(kLlama3Split, true), "llama-bpe");
  EXPECT_EQ(pre(kLlama3Split, false), "dbrx");
}

// GGUF's name for this pre-tokenizer does not take whole pieces, which "bb" would need.
TEST(TokenizerToGguf, WholePiecesThatMergesDoNotReach) {
  const std::string json = byte_level(kQwen2Split, true);
  EXPECT_TRUE(
      contains(error_of(ErrorCode::unsupported, [&] { written({json, kConfig, ""}); }), "bb"));
  std::string reached = json;
  const std::string merges = R"(["\u0120", "a"])";
  reached.replace(reached.find(merges), merges.size(), merges + R"(, "b b")");
  const GgufMetadata metadata = written({reached, kConfig, ""}, {"bb abb"});
  EXPECT_EQ(metadata.as_text("tokenizer.ggml.pre"), "qwen2");
}

// Python writes Infinity, which is no JSON.
TEST(TokenizerToGguf, FilesWithNumbersThatAreNotFinite) {
  std::string json = byte_level(kGpt2Split, false);
  json.insert(1, R"("unused": Infinity, )");
  EXPECT_EQ(written({json, kConfig, ""}, {"ab"}).as_text("tokenizer.ggml.pre"), "gpt-2");
}

TEST(TokenizerToGguf, RefusesWhatHasNoName) {
  const auto refused = [](const std::string& json) {
    return error_of(ErrorCode::unsupported, [&] { written({json, kConfig, ""}); });
  };
  EXPECT_TRUE(contains(refused(byte_level(split_by("a|[^a]+"), false)), "pre-tokenizer"));
  const std::string unigram = R"({"model": {"type": "Unigram", "vocab": [["a", 0.5]]}, )";
  EXPECT_TRUE(contains(refused(unigram + kSpecial + "}"), "marks no spaces"));
  // Lower case is nothing that byte pairs of GGUF have.
  std::string lower = byte_level(kGpt2Split, false);
  lower.insert(1, R"("normalizer": {"type": "Lowercase"}, )");
  EXPECT_TRUE(contains(refused(lower), "normalizer"));
}

// A table by which tabs, line feeds and carriage returns become spaces: a trie of 64 nodes, whose
// root has its children at 16, and the text " ".
const std::string kBlanksCharsmap =
    "AAEAAABAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAJgQAACoEAAAAAAAAAAAAADYEAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAgAA==";

std::string scored_pieces(const std::string& fields) {
  return R"({"model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["\u2581", -2.5],
      ["a", -3], ["b", -3.25], ["ab", -4.5], ["\u2581ab", -5]]}, )" +
         fields + R"("decoder": {"type": "Metaspace"}, )" + kSpecial + ", " + kBegins + "}";
}

TEST(TokenizerToGguf, PiecesWithScores) {
  const std::string words = R"("pre_tokenizer": {"type": "Sequence", "pretokenizers": [
      {"type": "WhitespaceSplit"}, {"type": "Metaspace"}]}, )";
  const std::string charsmap = R"("normalizer": {"type": "Sequence", "normalizers": [
      {"type": "Precompiled", "precompiled_charsmap": ")" +
                               kBlanksCharsmap + R"("}]}, )";
  const std::vector<std::string> samples = {"ab a", "<s>ab</s>", "  ab   b\tab\n", "a<tool> ab"};
  const std::string config =
      R"({"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "a"})";
  const GgufMetadata metadata = written({scored_pieces(charsmap + words), config, ""}, samples);
  EXPECT_EQ(metadata.as_text("tokenizer.ggml.model"), "t5");
  EXPECT_TRUE(metadata.as_bool("tokenizer.ggml.add_space_prefix"));
  EXPECT_TRUE(metadata.as_bool("tokenizer.ggml.remove_extra_whitespaces"));
  EXPECT_TRUE(metadata.as_bool("tokenizer.ggml.add_bos_token"));
  EXPECT_FALSE(metadata.as_bool("tokenizer.ggml.add_eos_token"));
  const std::vector<double> scores = metadata.as_floats("tokenizer.ggml.scores");
  ASSERT_EQ(scores.size(), 12u);
  EXPECT_EQ(scores[3], -3.25);
  // Every space counts where nothing drops some.
  const std::string spaces = charsmap + R"("pre_tokenizer": {"type": "Metaspace", )";
  const GgufMetadata all =
      written({scored_pieces(spaces + R"("prepend_scheme": "never"}, )"), config, ""},
              {"ab a", "<s>ab</s>", "ab   b\tab\n"});
  EXPECT_FALSE(all.as_bool("tokenizer.ggml.remove_extra_whitespaces"));
  EXPECT_FALSE(all.as_bool("tokenizer.ggml.add_space_prefix"));
  // Readers put a space before one that is there already.
  for (const std::string& other : {spaces + R"("prepend_scheme": "always"}, )",
                                   R"("normalizer": {"type": "Lowercase"}, )" + words}) {
    const std::string refusal =
        error_of(ErrorCode::unsupported, [&] { written({scored_pieces(other), config, ""}); });
    EXPECT_TRUE(contains(refusal, "GGUF cannot say how this tokenizer works")) << refusal;
  }
}

std::string code_points(const std::string& fields) {
  return R"({"model": {"type": "BPE", "byte_fallback": true, "unk_token": "<unk>", "vocab": {
      "<unk>": 0, "a": 1, "b": 2, "\u2581": 3, "ab": 4, "\u2581ab": 5},
      "merges": [["a", "b"], ["\u2581", "ab"]]}, )" +
         fields + kSpecial + ", " + kBegins + "}";
}

TEST(TokenizerToGguf, CodePointsByTheRanksOfMerges) {
  const std::string json = code_points(R"(
      "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "\u2581"},
        {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]},
      "decoder": {"type": "Sequence", "decoders": [
        {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
        {"type": "ByteFallback"}, {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}, )");
  const GgufMetadata metadata = written({json, kConfig, ""}, {"ab ab", "b a"});
  EXPECT_EQ(metadata.as_text("tokenizer.ggml.model"), "llama");
  EXPECT_TRUE(metadata.as_bool("tokenizer.ggml.add_space_prefix"));
  const auto scores = metadata.at("tokenizer.ggml.scores").as_floats();
  EXPECT_EQ(scores[4], -1);
  EXPECT_EQ(scores[5], -2);
  EXPECT_LT(scores[1], -2);
}

TEST(TokenizerToGguf, CodePointsThatKeepTheirMerges) {
  const std::string json = code_points(R"(
      "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
      "decoder": {"type": "Sequence", "decoders": [
        {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
        {"type": "ByteFallback"}, {"type": "Fuse"}]}, )");
  const GgufMetadata metadata =
      written({.tokenizer = json, .config = kConfig, .chat_template = "", .keeps_merges = true},
              {"ab ab", "b a"});
  EXPECT_EQ(metadata.as_text("tokenizer.ggml.model"), "gemma4");
  EXPECT_EQ(metadata.at("tokenizer.ggml.merges").as_texts(),
            (std::vector<std::string>{"a b", "\u2581 ab"}));
}

TEST(TokenizerToGguf, WordPieces) {
  const std::string json = R"({"model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": {
      "[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "play": 4, "##ing": 5, "##s": 6, ",": 7}},
      "normalizer": {"type": "BertNormalizer", "lowercase": true},
      "pre_tokenizer": {"type": "BertPreTokenizer"},
      "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": false},
      "added_tokens": [{"id": 0, "content": "[PAD]", "special": true},
        {"id": 1, "content": "[UNK]", "special": true},
        {"id": 2, "content": "[CLS]", "special": true},
        {"id": 3, "content": "[SEP]", "special": true}],
      "post_processor": {"type": "BertProcessing", "cls": ["[CLS]", 2], "sep": ["[SEP]", 3]}})";
  const std::string config =
      R"({"cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]", "pad_token": "[PAD]"})";
  GgufMetadata metadata;
  add_tokenizer(metadata, {json, config, ""}, 8, "test");
  const Tokenizer read = tokenizer_from_gguf(metadata, "test");
  EXPECT_EQ(read.encode("Playing, plays x"), (std::vector<std::int32_t>{2, 4, 5, 7, 4, 6, 1, 3}));
  EXPECT_EQ(read.text(4), "\u2581play");
  EXPECT_EQ(read.text(5), "ing");
}

TEST(TokenizerToGguf, Templates) {
  const std::string json = byte_level(kGpt2Split, false);
  const auto metadata_of = [&](const std::string& config, const std::string& file) {
    GgufMetadata metadata;
    add_tokenizer(metadata, {json, config, file}, 0, "test");
    return metadata;
  };
  EXPECT_FALSE(metadata_of(kConfig, "").contains("tokenizer.chat_template"));
  EXPECT_EQ(metadata_of(R"({"chat_template": "one"})", "").as_text("tokenizer.chat_template"),
            "one");
  EXPECT_EQ(metadata_of(R"({"chat_template": "one"})", "two").as_text("tokenizer.chat_template"),
            "two");
  const GgufMetadata several = metadata_of(
      R"({"chat_template": [{"name": "default", "template": "one"},
                            {"name": "tool_use", "template": "two"}]})",
      "");
  EXPECT_EQ(several.as_text("tokenizer.chat_template"), "one");
  EXPECT_EQ(several.as_text("tokenizer.chat_template.tool_use"), "two");
}

}  // namespace
}  // namespace hearth::models
