#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "error_text.h"
#include "models/tokenizer/from_gguf.h"

namespace hearth::models {
namespace {

using check::contains;
using check::error_of;
using Ids = std::vector<std::int32_t>;
using Texts = std::vector<std::string>;
using Types = std::vector<std::int32_t>;

const std::string kMark = "\xe2\x96\x81";

std::string byte_token(int byte) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  return std::string("<0x") + kDigits[byte >> 4] + kDigits[byte & 15] + ">";
}

// Ids 0 to 258: unknown, both ends, the bytes; then the words.
GgufMetadata spm(const Texts& words, const std::vector<float>& word_scores) {
  Texts texts = {"<unk>", "<s>", "</s>"};
  Types types = {2, 3, 3};
  std::vector<float> scores = {0, 0, 0};
  for (int byte = 0; byte < 256; ++byte) {
    texts.push_back(byte_token(byte));
    types.push_back(6);
    scores.push_back(0);
  }
  texts.insert(texts.end(), words.begin(), words.end());
  types.resize(texts.size(), 1);
  scores.insert(scores.end(), word_scores.begin(), word_scores.end());
  return {{"tokenizer.ggml.model", "llama"},
          {"tokenizer.ggml.tokens", texts},
          {"tokenizer.ggml.token_type", types},
          {"tokenizer.ggml.scores", scores}};
}

constexpr std::int32_t kWord = 259;  // the first id of a word
constexpr std::int32_t kByte = 3;

GgufMetadata small_spm() {
  return spm({"a", "b", "ab", kMark, kMark + "a", "bb"}, {-10, -11, -1, -12, -2, -1});
}

TEST(TokenizerSpm, UnusedTokensAddNothingToATextAsInLlamaCpp) {
  GgufMetadata metadata = spm({"a", "[PAD260]"}, {-1, -1});
  Types types = Types(261, 1);
  types[260] = 5;
  metadata.set("tokenizer.ggml.token_type", types);
  EXPECT_EQ(tokenizer_from_gguf(metadata, "test").decode(Ids{kWord, 260, kWord}), "aa");
}

TEST(TokenizerSpm, BestScoreFirstThenLeftmost) {
  const Tokenizer tokenizer = tokenizer_from_gguf(small_spm(), "test");
  const EncodeOptions plain{.add_special = false};
  // "_ab": "ab" has a better score than "_a".
  EXPECT_EQ(tokenizer.encode("ab", plain), (Ids{kWord + 3, kWord + 2}));
  EXPECT_EQ(tokenizer.encode("a", plain), (Ids{kWord + 4}));
  // "_abb": of "ab" and "bb" the left one.
  EXPECT_EQ(tokenizer.encode("abb", plain), (Ids{kWord + 3, kWord + 2, kWord + 1}));
  EXPECT_EQ(tokenizer.encode("a"), (Ids{1, kWord + 4}));
  EXPECT_EQ(tokenizer.encode(""), (Ids{1}));
}

TEST(TokenizerSpm, WhatIsNoTokenBecomesBytes) {
  const Tokenizer tokenizer = tokenizer_from_gguf(small_spm(), "test");
  const std::string text = "\xc3\xa9\xff";
  const Ids ids = tokenizer.encode(text, {.add_special = false});
  EXPECT_EQ(ids, (Ids{kWord + 3, kByte + 0xc3, kByte + 0xa9, kByte + 0xff}));
  EXPECT_EQ(tokenizer.decode(ids), text);
}

TEST(TokenizerSpm, SpacesAndSpecialTokens) {
  const Tokenizer tokenizer = tokenizer_from_gguf(small_spm(), "test");
  const EncodeOptions trusted{.add_special = false, .parse_special = true};
  // A space is put behind special tokens, too.
  EXPECT_EQ(tokenizer.encode("a</s>a", trusted), (Ids{kWord + 4, 2, kWord + 4}));
  const Ids ids = tokenizer.encode("a</s>a", {.add_special = false});
  EXPECT_EQ(std::count(ids.begin(), ids.end(), 2), 0);
  EXPECT_EQ(tokenizer.decode(ids), "a</s>a");
  EXPECT_EQ(tokenizer.decode(Ids{1, kWord + 4, 2}), "a");
  EXPECT_EQ(tokenizer.decode(Ids{kWord + 4, 2}, {.show_special = true}), "a</s>");
  EXPECT_EQ(tokenizer.decode(Ids{kWord + 4, kWord + 4}), "a a");
}

TEST(TokenizerSpm, TokensOfPhi3TakeTheSpacesBehindThem) {
  GgufMetadata metadata = small_spm();
  metadata.set("general.name", "Phi-3 mini");
  const EncodeOptions trusted{.add_special = false, .parse_special = true};
  EXPECT_EQ(tokenizer_from_gguf(metadata, "test").encode("a</s> \n a", trusted),
            (Ids{kWord + 4, 2, kWord + 4}));
}

TEST(TokenizerSpm, KeysSayWhatIsAdded) {
  GgufMetadata metadata = small_spm();
  metadata.set("tokenizer.ggml.add_bos_token", false);
  metadata.set("tokenizer.ggml.add_eos_token", true);
  metadata.set("tokenizer.ggml.add_space_prefix", false);
  const Tokenizer tokenizer = tokenizer_from_gguf(metadata, "test");
  EXPECT_EQ(tokenizer.encode("a"), (Ids{kWord, 2}));
  EXPECT_FALSE(tokenizer.adds_bos());
  EXPECT_EQ(tokenizer.decode(Ids{kWord + 4}), " a");
}

TEST(TokenizerSpm, AnEmptyPromptIsTheTokenThatTextsBeginWith) {
  GgufMetadata metadata = small_spm();
  metadata.set("tokenizer.ggml.add_bos_token", false);
  const Tokenizer tokenizer = tokenizer_from_gguf(metadata, "test");
  EXPECT_EQ(tokenizer.encode(""), Ids());
  EXPECT_EQ(tokenizer.encode_prompt(""), Ids{tokenizer.special().bos});
  EXPECT_EQ(tokenizer.encode_prompt("a"), tokenizer.encode("a"));
  EXPECT_EQ(tokenizer.encode_prompt("</s>", {.parse_special = true}), Ids{2});
  EXPECT_EQ(tokenizer.encode_prompt("", {.add_special = false}), Ids());
}

TEST(TokenizerSpm, APromptThatBeginsItselfIsNotBegunTwice) {
  GgufMetadata metadata = small_spm();
  metadata.set("tokenizer.ggml.add_eos_token", true);
  const Tokenizer tokenizer = tokenizer_from_gguf(metadata, "test");
  const EncodeOptions trusted{.parse_special = true};
  EXPECT_EQ(tokenizer.encode_prompt("<s>a</s>a", trusted), (Ids{1, kWord + 4, 2, kWord + 4}));
  EXPECT_EQ(tokenizer.encode_prompt("a", trusted), (Ids{1, kWord + 4, 2}));
  EXPECT_EQ(tokenizer.encode_prompt("<s><s>", trusted), (Ids{1, 1}));
  EXPECT_EQ(tokenizer.encode_prompt("<s>", trusted), Ids{1});
  EXPECT_EQ(tokenizer.encode_prompt("<s>a", {.add_special = false, .parse_special = true}),
            (Ids{1, kWord + 4}));
  // Letters are no beginning.
  EXPECT_TRUE(tokenizer.begins_itself("<s>a"));
  EXPECT_EQ(tokenizer.encode_prompt("<s>a"), tokenizer.encode("<s>a"));
  for (const char* text : {"", "a", "<", "</s>", "a<s>"}) {
    EXPECT_FALSE(tokenizer.begins_itself(text)) << text;
  }
  // The token that it begins with is of its length, and no other is.
  EXPECT_EQ(tokenizer.encode_prompt("<s>a", trusted, {.most = 2}), (Ids{1, kWord + 4}));
  EXPECT_THROW(static_cast<void>(tokenizer.encode_prompt("<s>a", trusted, {.most = 1})),
               TooManyTokens);
}

TEST(TokenizerSpm, APromptBeginsItselfOnlyWhereTextsAreBegun) {
  GgufMetadata metadata = small_spm();
  metadata.set("tokenizer.ggml.add_bos_token", false);
  const Tokenizer tokenizer = tokenizer_from_gguf(metadata, "test");
  EXPECT_FALSE(tokenizer.begins_itself("<s>a"));
  EXPECT_EQ(tokenizer.encode_prompt("<s>a", {.parse_special = true}), (Ids{1, kWord + 4}));
}

// Pieces of code points, whose spaces the name says something about.
GgufMetadata pairs_of(const std::string& model, const std::string& pre) {
  GgufMetadata metadata = {
      {"tokenizer.ggml.model", model},
      {"tokenizer.ggml.pre", pre},
      {"tokenizer.ggml.tokens", Texts{"<unk>", "a", "b", "ab", kMark, kMark + "a", "\n"}},
      {"tokenizer.ggml.token_type", Types{2, 1, 1, 1, 1, 1, 1}},
      {"tokenizer.ggml.merges", Texts{"a b", kMark + " a"}}};
  metadata.set("tokenizer.ggml.unknown_token_id", std::uint32_t{0});
  return metadata;
}

TEST(TokenizerPairs, SpacesStandBetweenWords) {
  GgufMetadata metadata = pairs_of("whitespace", "whitespace");
  const Tokenizer tokenizer = tokenizer_from_gguf(metadata, "test");
  EXPECT_EQ(tokenizer.encode(" ab\n b\xe3\x80\x80"
                             "axA"),
            (Ids{3, 2, 1, 0, 0}));
  metadata.set("tokenizer.ggml.normalizer.lowercase", true);
  EXPECT_EQ(tokenizer_from_gguf(metadata, "test").encode("AB"), Ids{3});
}

TEST(TokenizerPairs, MarksBeforeEachLine) {
  const Tokenizer tokenizer = tokenizer_from_gguf(pairs_of("gpt2", "mmbert"), "test");
  const Ids ids = tokenizer.encode("a b\na");
  EXPECT_EQ(ids, (Ids{5, 4, 2, 6, 5}));
  EXPECT_EQ(tokenizer.decode(ids), "a b\n a");
}

// 256 bytes and a few words, as GPT-2 writes them.
GgufMetadata bpe(const std::string& pre) {
  Texts texts;
  int next = 0;
  for (int i = 0; i < 256; ++i) {
    const bool stands = (i >= 0x21 && i <= 0x7e) || (i >= 0xa1 && i <= 0xac) || i >= 0xae;
    const int code = stands ? i : 0x100 + next++;
    texts.push_back(code < 0x80 ? std::string(1, static_cast<char>(code))
                                : std::string{static_cast<char>(0xc0 | code >> 6),
                                              static_cast<char>(0x80 | (code & 0x3f))});
  }
  for (const char* word : {"ab", "bc", "abc",
                           "\xc4\xa0"
                           "a",
                           "<|end|>", "<|eot_id|>", "<tool>"}) {
    texts.push_back(word);
  }
  Types types(texts.size(), 1);
  types[260] = types[261] = 3;
  types[262] = 4;
  return {{"tokenizer.ggml.model", "gpt2"},
          {"tokenizer.ggml.pre", pre},
          {"tokenizer.ggml.tokens", texts},
          {"tokenizer.ggml.token_type", types},
          {"tokenizer.ggml.merges", Texts{"b c", "a b", "\xc4\xa0 a", "a bc"}},
          {"tokenizer.ggml.bos_token_id", std::uint32_t{260}},
          {"tokenizer.ggml.eos_token_id", std::uint32_t{260}}};
}

TEST(TokenizerBpe, MergesByRank) {
  const Tokenizer tokenizer = tokenizer_from_gguf(bpe("gpt-2"), "test");
  EXPECT_EQ(tokenizer.encode("abc"), (Ids{258}));
  EXPECT_EQ(tokenizer.encode("ab"), (Ids{256}));
  EXPECT_EQ(tokenizer.encode("abab"), (Ids{256, 256}));
  EXPECT_EQ(tokenizer.encode(" abc"), (Ids{259, 257}));  // " a" comes before "a bc"
  EXPECT_EQ(tokenizer.encode(" ab"), (Ids{' ', 256}));
  EXPECT_EQ(tokenizer.encode(" a"), (Ids{259}));
  EXPECT_EQ(tokenizer.special().eot, 261);
}

TEST(TokenizerBpe, LongPiecesMergeAsShortOnes) {
  const Tokenizer tokenizer = tokenizer_from_gguf(bpe("gpt-2"), "test");
  std::string text;
  Ids expected;
  for (int i = 0; i < 500; ++i) {
    text += i % 3 == 0 ? "ab" : "abc";
    expected.push_back(i % 3 == 0 ? 256 : 258);
  }
  EXPECT_EQ(tokenizer.encode(text), expected);
}

TEST(TokenizerBpe, AnyBytesComeBack) {
  for (const char* pre : {"gpt-2", "llama-bpe", "qwen2", "gpt-4o", "deepseek-llm", "falcon", ""}) {
    const Tokenizer tokenizer = tokenizer_from_gguf(bpe(pre), "test");
    std::string text;
    for (int i = 0; i < 5000; ++i) text += static_cast<char>(i * i * 31 >> 4);
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text, {.add_special = false})), text) << pre;
  }
}

TEST(TokenizerBpe, SpecialTokens) {
  const Tokenizer tokenizer = tokenizer_from_gguf(bpe("llama-bpe"), "test");
  EXPECT_EQ(tokenizer.encode("ab", {}), (Ids{260, 256}));
  const EncodeOptions trusted{.add_special = false, .parse_special = true};
  EXPECT_EQ(tokenizer.encode("ab<|end|>ab", trusted), (Ids{256, 260, 256}));
  // Those of users are always found; controls are text where it is not trusted.
  EXPECT_EQ(tokenizer.encode("<tool>", {.add_special = false}), (Ids{262}));
  const Ids untrusted = tokenizer.encode("<|end|>", {.add_special = false});
  EXPECT_GT(untrusted.size(), 1u);
  EXPECT_EQ(tokenizer.decode(untrusted), "<|end|>");
  EXPECT_TRUE(tokenizer.is_end_of_generation(260) && tokenizer.is_end_of_generation(261));
  EXPECT_FALSE(tokenizer.is_end_of_generation(262));
  EXPECT_TRUE(tokenizer.is_control(260) && !tokenizer.is_control(262));
  EXPECT_EQ(tokenizer.text(262), "<tool>");
  EXPECT_EQ(tokenizer.find("<tool>"), 262);
  EXPECT_EQ(tokenizer.find("no such"), -1);
}

TEST(TokenizerBpe, AnswersInChannelsDoNotEndWithEnd) {
  GgufMetadata metadata = bpe("gpt-4o");
  Texts texts = metadata.as_texts("tokenizer.ggml.tokens");
  texts[261] = "<|return|>";
  metadata.set("tokenizer.ggml.tokens", texts);
  metadata.set("tokenizer.ggml.eos_token_id", std::uint32_t{261});
  const Tokenizer tokenizer = tokenizer_from_gguf(metadata, "test");
  EXPECT_TRUE(tokenizer.is_end_of_generation(261));
  EXPECT_FALSE(tokenizer.is_end_of_generation(260));
}

TEST(TokenizerBpe, OneForManyThreads) {
  const Tokenizer tokenizer = tokenizer_from_gguf(bpe("gpt-2"), "test");
  std::vector<std::thread> threads;
  std::vector<Ids> results(4);
  for (Ids& result : results) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) result = tokenizer.encode("abc ab a\xff 12\n");
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Ids& result : results) EXPECT_EQ(result, results[0]);
}

TEST(TokenizerWpm, LongestPieceFirst) {
  const Texts texts = {"[PAD]", "[UNK]", "[CLS]",     "[SEP]",     kMark + "un", "able",
                       "a",     "ble",   kMark + "a", kMark + ",", kMark + "ete"};
  const GgufMetadata metadata = {
      {"tokenizer.ggml.model", "bert"},
      {"tokenizer.ggml.tokens", texts},
      {"tokenizer.ggml.token_type", Types{3, 3, 3, 3, 1, 1, 1, 1, 1, 1, 1}},
      {"tokenizer.ggml.cls_token_id", std::uint32_t{2}},
      {"tokenizer.ggml.seperator_token_id", std::uint32_t{3}},
      {"tokenizer.ggml.unknown_token_id", std::uint32_t{1}}};
  const Tokenizer tokenizer = tokenizer_from_gguf(metadata, "test");
  EXPECT_EQ(tokenizer.encode("Unable, a"), (Ids{2, 4, 5, 9, 8, 3}));
  EXPECT_EQ(tokenizer.encode("unx a"), (Ids{2, 1, 8, 3}));
  EXPECT_EQ(tokenizer.encode("\xc3\x89t\xc3\xa9"), (Ids{2, 10, 3}));
  EXPECT_EQ(tokenizer.decode(Ids{2, 4, 5, 9, 8, 3}), "unable , a");
}

TEST(TokenizerUnigram, BestSum) {
  const Texts texts = {"<pad>", "</s>", "<unk>", kMark, "a", "b", kMark + "ab", "ab"};
  const GgufMetadata metadata = {
      {"tokenizer.ggml.model", "t5"},
      {"tokenizer.ggml.tokens", texts},
      {"tokenizer.ggml.token_type", Types{3, 3, 2, 1, 1, 1, 1, 1}},
      {"tokenizer.ggml.scores", std::vector<float>{0, 0, 0, -2, -3, -3, -9, -5}}};
  const Tokenizer tokenizer = tokenizer_from_gguf(metadata, "test");
  EXPECT_EQ(tokenizer.encode("ab"), (Ids{3, 7, 1}));  // -7 against -8 and -9
  EXPECT_EQ(tokenizer.encode("  a   b "), (Ids{3, 4, 3, 5, 1}));
  EXPECT_EQ(tokenizer.encode("xyza"), (Ids{3, 2, 4, 1}));  // neighbours are one
  EXPECT_EQ(tokenizer.decode(Ids{3, 7, 3, 5, 1}), "ab b");
}

TEST(TokenizerGemma4, CodePointsAndBytes) {
  GgufMetadata metadata = spm({"a", "b", kMark, kMark + "a", "\n", "\n\n"}, {0, 0, 0, 0, 0, 0});
  metadata.set("tokenizer.ggml.model", "gemma4");
  metadata.set("tokenizer.ggml.merges", Texts{kMark + " a", "\n \n"});
  metadata.set("tokenizer.ggml.bos_token_id", std::uint32_t{1});
  const Tokenizer tokenizer = tokenizer_from_gguf(metadata, "test");
  EXPECT_EQ(tokenizer.encode("a a\n\nb\xc3\xa9"),
            (Ids{1, kWord, kWord + 3, kWord + 5, kWord + 1, kByte + 0xc3, kByte + 0xa9}));
}

TEST(TokenizerStream, HoldsBackPartsOfCodePoints) {
  const Tokenizer tokenizer = tokenizer_from_gguf(small_spm(), "test");
  TokenStream stream(tokenizer);
  EXPECT_EQ(stream.push(1), "");
  EXPECT_EQ(stream.push(kWord + 4), "a");  // without its space
  EXPECT_EQ(stream.push(kWord + 4), " a");
  for (const int byte : {0xf0, 0x9f, 0xa6}) EXPECT_EQ(stream.push(kByte + byte), "");
  EXPECT_EQ(stream.push(kByte + 0x99), "\xf0\x9f\xa6\x99");
  EXPECT_EQ(stream.push(kByte + 0xe2), "");
  EXPECT_EQ(stream.push(kWord),
            "\xef\xbf\xbd"
            "a");
  EXPECT_EQ(stream.push(kByte + 0xe2), "");
  EXPECT_EQ(stream.push(2), "");
  EXPECT_EQ(stream.finish(), "\xef\xbf\xbd");
  EXPECT_EQ(stream.finish(), "");
  EXPECT_EQ(stream.push(kWord + 4), "a");
}

// Behind other tokens a stream gives what decode() has more of all together.
TEST(TokenizerStream, OnlyTheBeginningOfATextLosesItsSpace) {
  const Tokenizer tokenizer = tokenizer_from_gguf(small_spm(), "test");
  for (const Ids& before : {Ids{}, Ids{1}, Ids{kWord + 4}, Ids{1, kWord + 4}, Ids{1, kWord}}) {
    Ids all = before;
    TokenStream stream(tokenizer, {}, before);
    std::string text = tokenizer.decode(before);
    for (const std::int32_t id : {kWord + 4, kWord, kWord + 4}) {
      all.push_back(id);
      text += stream.push(id);
      EXPECT_EQ(text, tokenizer.decode(all));
    }
  }
  const Ids padded = {1, 1 << 30};  // vocabularies may be padded
  EXPECT_EQ(TokenStream(tokenizer, {}, padded).push(kWord + 4), "a");
}

TEST(TokenizerGguf, ErrorsNameTheKey) {
  const auto failing = [](const std::string& key, const GgufValue& value,
                          ErrorCode code = ErrorCode::corrupt_file) {
    GgufMetadata metadata = small_spm();
    metadata.set("tokenizer.ggml." + key, value);
    const std::string text = error_of(code, [&] { tokenizer_from_gguf(metadata, "m.gguf"); });
    EXPECT_TRUE(contains(text, "m.gguf: ") && contains(text, key)) << text;
  };
  failing("model", "rwkv", ErrorCode::unsupported);
  failing("model", std::int32_t{1});
  failing("tokens", "x");
  failing("scores", std::vector<float>{1});
  failing("token_type", Types{1, 2});
  failing("bos_token_id", std::uint32_t{100000});
  failing("eos_token_id", "x");
  failing("add_bos_token", 1.5);
  GgufMetadata none;
  EXPECT_TRUE(contains(error_of(ErrorCode::corrupt_file, [&] { tokenizer_from_gguf(none, "m"); }),
                       "tokenizer.ggml.model is missing"));
  GgufMetadata merges = bpe("gpt-2");
  merges.set("tokenizer.ggml.merges", Texts{"ab"});
  EXPECT_TRUE(contains(error_of(ErrorCode::corrupt_file, [&] { tokenizer_from_gguf(merges, "m"); }),
                       "merges: 0 is no pair"));
  error_of(ErrorCode::unsupported, [&] { tokenizer_from_gguf(bpe("no-such"), "m"); });
}

TEST(TokenizerGguf, RefusesIdsThatAreNone) {
  const Tokenizer tokenizer = tokenizer_from_gguf(small_spm(), "test");
  const auto size = static_cast<std::int32_t>(tokenizer.size());
  for (const std::int32_t id : {-1, size}) {
    error_of(ErrorCode::invalid_argument, [&] { tokenizer.decode(Ids{id}); });
    error_of(ErrorCode::invalid_argument, [&] { tokenizer.text(id); });
    error_of(ErrorCode::invalid_argument, [&] { tokenizer.is_end_of_generation(id); });
    error_of(ErrorCode::invalid_argument, [&] { TokenStream(tokenizer).push(id); });
  }
}

}  // namespace
}  // namespace hearth::models
