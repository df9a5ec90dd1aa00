#include <gtest/gtest.h>

#include "error_text.h"
#include "models/tokenizer/named_pre_tokenizer.h"
#include "models/tokenizer/pattern.h"
#include "models/tokenizer/pre_tokenizer.h"

namespace hearth::models::tokens {
namespace {

using check::contains;
using check::error_of;

// The pieces, with | behind each that matched and / behind each that lay between.
std::string pieces(const std::string& pattern, const std::string& text) {
  std::string out;
  Pattern(pattern, "test").split(text, [&](std::size_t begin, std::size_t end, bool matched) {
    out += text.substr(begin, end - begin) + (matched ? "|" : "/");
  });
  return out;
}

TEST(TokenizerPattern, TakesTheFirstAlternative) {
  EXPECT_EQ(pieces("a|ab", "ab"), "a|b/");
  EXPECT_EQ(pieces("ab|a", "aba"), "ab|a|");
  EXPECT_EQ(pieces("a+?b?", "aab"), "a|ab|");
}

TEST(TokenizerPattern, Quantifiers) {
  EXPECT_EQ(pieces("a{2,3}", "aaaaa"), "aaa|aa|");
  EXPECT_EQ(pieces("a{2}", "aaa"), "aa|a/");
  EXPECT_EQ(pieces("ba{2,}", "babaaa"), "ba/baaa|");
  EXPECT_EQ(pieces("ba{,1}", "baa"), "ba|a/");
  EXPECT_EQ(pieces("(?:ab)*c", "ababcc"), "ababc|c|");
}

TEST(TokenizerPattern, Sets) {
  EXPECT_EQ(pieces("[a-c\\-]+", "ab-cd"), "ab-c|d/");
  EXPECT_EQ(pieces("[^\\s\\p{L}]+", "a1 !\xc3\xa9"), "a/1| /!|\xc3\xa9/");
  EXPECT_EQ(pieces("\\p{Lu}\\P{Lu}*", "\xc3\x84pfelBaum"), "\xc3\x84pfel|Baum|");
  EXPECT_EQ(pieces("[\\x{4e00}-\\u9fa5]+", "x\xe4\xb8\x80\xe4\xba\x8c"),
            "x/\xe4\xb8\x80\xe4\xba\x8c|");
}

TEST(TokenizerPattern, AnyCase) {
  EXPECT_EQ(pieces("(?i:'s|'re)", "'S'rE's"), "'S|'rE|'s|");
  EXPECT_EQ(pieces("(?i:'s)", "'\xc5\xbf"), "'\xc5\xbf|");  // the long s
}

TEST(TokenizerPattern, LooksAhead) {
  EXPECT_EQ(pieces("\\s+(?!\\S)|\\s", "a   b  "), "a/  | |b/  |");
  EXPECT_EQ(pieces("a(?=b)", "aab"), "a/a|b/");
  EXPECT_EQ(pieces("x+$", "xx\nxx"), "xx|\n/xx|");
}

TEST(TokenizerPattern, LooksFarAhead) {
  EXPECT_EQ(pieces("a(?=bc|d+e)", "abcadddeabd"), "a|bc/a|dddeabd/");
  EXPECT_EQ(pieces("a(?!b+c)", "abbcabba"), "abbc/a|bb/a|");
  EXPECT_EQ(pieces("a(?=b(?!cd)c)", "abcdabce"), "abcd/a|bce/");
  EXPECT_EQ(pieces("\\d{1,3}(?=(?:\\d{3})*\\b)", "1234567 1234a 12\xc2\xbd 12\xe4\xb8\x80 1"),
            "1|234|567| 1234a 12\xc2\xbd 12\xe4\xb8\x80 /1|");
}

TEST(TokenizerPattern, BordersOfWords) {
  EXPECT_EQ(pieces("\\ba", "aa ba a.a"), "a|a ba /a|./a|");
  EXPECT_EQ(pieces("a\\B", "aa\xc3\xa9 a"), "a|a|\xc3\xa9 a/");
  EXPECT_EQ(pieces("\\b", "ab. c"), "|ab/|. /|c/|");
}

// Each is a cut, but where a match ends already.
TEST(TokenizerPattern, MatchesOfNothing) {
  EXPECT_EQ(pieces("a*", "baab"), "|b/aa|b/|");
  EXPECT_EQ(pieces("", "ab"), "|a/|b/|");
  EXPECT_EQ(pieces("(?=(\\d{3})+(?!\\d))", "a1234567b12"), "a1/|234/|567b12/");
  EXPECT_EQ(pieces("a*", ""), "");
}

TEST(TokenizerPattern, BytesThatAreNoText) {
  EXPECT_EQ(pieces("\\p{L}+", "a\xff\xe4\xb8z"), "a|\xff\xe4\xb8/z|");
  EXPECT_EQ(pieces("\\p{S}", "\xff\xfe"), "\xff|\xfe|");
}

TEST(TokenizerPattern, Possessive) {
  EXPECT_EQ(pieces("[^a-z]?+[a-z]+", "1ab2"), "1ab|2/");
  EXPECT_TRUE(
      contains(error_of(ErrorCode::unsupported, [] { Pattern("a++a", "test"); }), "possessive"));
}

TEST(TokenizerPattern, RefusesWhatItDoesNotKnow) {
  for (const char* text : {"(a",
                           "a)",
                           "[a",
                           "a**",
                           "(?<=a)b",
                           "(?!ab)*c",
                           "\\b+",
                           "(?=ab|c)(?=cd)(?=ef)(?=gh)(?=ij)",
                           "(?=[ab]{500}a)b",
                           "[]",
                           "(?:a*b?)+c",
                           "\\p{Han}",
                           "a{3,2}",
                           "a{5000}",
                           "*",
                           "[a[b]]",
                           "[b-a]",
                           "\\",
                           "(?i:\xc3\xa9)",
                           "a{",
                           "^a",
                           "(((((((a{900}){900})",
                           "\\x{110000}",
                           "\xff",
                           "((((a?){9}){99}){99}){99}",
                           "(((()){999}){999}){999}",
                           "[ab]*a[ab]{500}"}) {
    const std::string message = error_of(ErrorCode::unsupported, [&] { Pattern(text, "here"); });
    EXPECT_EQ(message.substr(0, 6), "here: ") << text;
    EXPECT_TRUE(contains(message, "; got \"")) << message;
    EXPECT_TRUE(contains(message, "\", expected ")) << message;
  }
}

TEST(TokenizerPattern, SaysWhatItExpects) {
  const auto fault = [](const char* text) {
    return error_of(ErrorCode::unsupported, [&] { Pattern(text, "m.json"); });
  };
  EXPECT_EQ(fault("a\\p{Han}"),
            "m.json: a pattern with an unknown property at byte 4; got \"a\\p{Han}\", expected a "
            "general category, such as L or Nd");
  EXPECT_EQ(fault("(?<=a)b"),
            "m.json: a pattern with an unknown kind of group at byte 0; got \"(?<=a)b\", expected "
            "one of ( (?: (?i: (?= (?!");
  EXPECT_EQ(fault("a{5000}"),
            "m.json: a pattern with a count out of range at byte 6; got \"a{5000}\", expected at "
            "most 1000");
  EXPECT_EQ(fault("\\u12"),
            "m.json: a pattern with a bad number of a code point at byte 4; got \"\\u12\", "
            "expected 4 hexadecimal digits");
}

// Ways that led nowhere are not gone again.
TEST(TokenizerPattern, HostileTextsAreLinear) {
  const std::string spaces(300000, ' ');
  EXPECT_EQ(pieces("\\s+$", spaces + "x"), spaces + "x/");
  const std::string letters(300000, 'a');
  std::size_t count = 0;
  Pattern("a*b|a", "test").split(letters, [&](std::size_t, std::size_t, bool) { ++count; });
  EXPECT_EQ(count, letters.size());
  count = 0;
  const std::string digits(300000, '1');
  Pattern("\\d{1,3}(?=(?:\\d{3})*\\b)", "test").split(digits, [&](auto, auto, bool) { ++count; });
  EXPECT_EQ(count, digits.size() / 3);
  EXPECT_EQ(pieces("\\d{1,3}(?=(?:\\d{3})*\\b)", digits + "a"), digits + "a/");
  count = 0;
  Pattern("a(?=a*b)|a", "test").split(letters, [&](auto, auto, bool) { ++count; });
  EXPECT_EQ(count, letters.size());
  count = 0;
  Pattern("(?:a|aa)*b|a{1,3}", "test").split(letters, [&](auto, auto, bool) { ++count; });
  EXPECT_EQ(count, letters.size() / 3);
}

std::string named(const std::string& name, const std::string& text) {
  Pieces all{text, {{0, text.size()}}};
  pre_tokenize(named_pre_tokenizer(name, "test").steps, all, true);
  std::string out;
  for (const Span span : all.spans) out += all.text.substr(span.begin, span.end - span.begin) + "|";
  return out;
}

TEST(PreTokenizer, Families) {
  const std::string text = "I'M  12345 don't\n\n x";
  EXPECT_EQ(named("gpt-2", text), "I|'|M| | 12345| don|'t|\n\n| x|");
  EXPECT_EQ(named("llama-bpe", text), "I|'M| | |123|45| don|'t|\n\n| x|");
  EXPECT_EQ(named("qwen2", "x 12"), "x| |1|2|");
  EXPECT_EQ(named("gpt-4o", "HelloWorld's"), "Hello|World's|");
  EXPECT_EQ(named("tekken", "HelloWorld's 12"), "Hello|World|'s| |1|2|");
  EXPECT_EQ(named("starcoder", " 12 a"), " |1|2| a|");
  EXPECT_EQ(named("falcon", "a!=1234"), "a|!=|123|4|");
  EXPECT_EQ(named("deepseek-v3", "a.b_c"), "a|.b|_c|");
  EXPECT_EQ(named("bloom", "one, two"), "one|,| two|");
}

TEST(PreTokenizer, DigitsInGroupsFromTheRight) {
  EXPECT_EQ(named("tiny_aya", "a 1234567 12345"), "a| |1|234|567| |12|345|");
  // Digits that a word goes on behind are counted from the left.
  EXPECT_EQ(named("tiny_aya", "1234x"), "123|4|x|");
  EXPECT_EQ(named("cohere2moe", "1234"), "1|234|");
  EXPECT_EQ(named("afmoe", "x1234x\xe0\xb9\x80\xe0\xb9\x81 y"),
            "x|1|234|x|\xe0\xb9\x80\xe0\xb9\x81| y|");
  EXPECT_EQ(named("superbpe", "by the way 1234 of"), "by the way |1|234| of|");
}

TEST(PreTokenizer, SpacesThatAreDroppedOrMarked) {
  EXPECT_EQ(named("whitespace", "a\xe3\x80\x80 b,c\n"), "a|b,c|");
  EXPECT_EQ(named("mmbert", "a b\n\nc"),
            "\xe2\x96\x81"
            "a|\xe2\x96\x81"
            "b|\n\n|\xe2\x96\x81"
            "c|");
}

TEST(PreTokenizer, RefusesOtherNames) {
  const std::string text =
      error_of(ErrorCode::unsupported, [] { named_pre_tokenizer("no-such", "m.gguf"); });
  EXPECT_TRUE(contains(text, "m.gguf: ")) << text;
  EXPECT_TRUE(contains(text, "\"no-such\"")) << text;
}

TEST(PreTokenizer, Behaviors) {
  const auto split = [](SplitStep::Behavior behavior, bool invert) {
    const std::string text = "a--b-";
    Pieces all{text, {{0, text.size()}}};
    const auto pattern = std::make_shared<const Pattern>("-", "test");
    pre_tokenize({SplitStep{pattern, behavior, invert}}, all, true);
    std::string out;
    for (const Span span : all.spans) out += text.substr(span.begin, span.end - span.begin) + "|";
    return out;
  };
  using Behavior = SplitStep::Behavior;
  EXPECT_EQ(split(Behavior::isolated, false), "a|-|-|b|-|");
  EXPECT_EQ(split(Behavior::removed, false), "a|b|");
  EXPECT_EQ(split(Behavior::removed, true), "-|-|-|");
  EXPECT_EQ(split(Behavior::merged_with_previous, false), "a-|-|b-|");
  EXPECT_EQ(split(Behavior::merged_with_next, false), "a|-|-b|-|");
  EXPECT_EQ(split(Behavior::contiguous, false), "a|--|b|-|");
}

TEST(PreTokenizer, Metaspace) {
  MetaspaceStep step;
  step.replacement = "_";
  const std::string text = "a  b";
  Pieces all{text, {{0, text.size()}}};
  pre_tokenize({step}, all, true);
  std::string out;
  for (const Span span : all.spans) out += all.text.substr(span.begin, span.end - span.begin) + "|";
  EXPECT_EQ(out, "_a|_|_b|");
}

}  // namespace
}  // namespace hearth::models::tokens
