#include "models/grammar/grammar.h"

#include <gtest/gtest.h>

#include <random>

#include "models/grammar_texts.h"
#include "models/tokenizer/unicode.h"

namespace hearth::models::grammar {
namespace {

using testing::accept_text;

// All single bytes, then some longer tokens; the last ends a text.
std::vector<std::string> byte_vocabulary(const std::vector<std::string>& more = {}) {
  std::vector<std::string> out;
  for (int i = 0; i < 256; ++i) out.emplace_back(1, static_cast<char>(i));
  out.insert(out.end(), more.begin(), more.end());
  out.emplace_back();
  return out;
}

std::shared_ptr<Constraint> constraint_of(std::string_view gbnf,
                                          const std::vector<std::string>& more = {},
                                          const FindToken& find = {}) {
  const auto bytes = byte_vocabulary(more);
  const auto end = static_cast<std::int32_t>(bytes.size()) - 1;
  return std::make_shared<Constraint>(
      std::make_shared<const Grammar>(Grammar::from_gbnf(gbnf, "root", find)),
      std::make_shared<const TokenTrie>(bytes, std::vector<std::int32_t>{end}));
}

bool accepts(std::string_view gbnf, std::string_view text) {
  GrammarMatcher matcher(constraint_of(gbnf));
  return accept_text(matcher, text) && matcher.may_end();
}

std::string message_of(std::string_view gbnf) {
  try {
    Grammar::from_gbnf(gbnf);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

constexpr char kJson[] = R"(
root   ::= object
value  ::= object | array | string | number | ("true" | "false" | "null") ws
object ::= "{" ws ( string ":" ws value ("," ws string ":" ws value)* )? "}" ws
array  ::= "[" ws ( value ("," ws value)* )? "]" ws
string ::= "\"" ( [^"\\\x7F\x00-\x1F] | "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}) )* "\"" ws
number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws
ws ::= | " " | "\n" [ \t]{0,20}
)";

TEST(Grammar, AcceptsAndRejects) {
  struct Case {
    const char* gbnf;
    std::vector<std::string> good, bad;
  };
  const std::vector<Case> cases = {
      {"root ::= \"ab\"", {"ab"}, {"", "a", "abc", "b"}},
      {"root ::= [a-c]+ | \"x\"?", {"", "x", "abc", "a"}, {"xa", "d", "xx"}},
      {"root ::= \"a\"{2}", {"aa"}, {"a", "aaa"}},
      {"root ::= \"a\"{2,}", {"aa", "aaaaa"}, {"a", ""}},
      {"root ::= \"a\"{,2}", {"", "a", "aa"}, {"aaa"}},
      {"root ::= \"a\"{1,3} \"b\"", {"ab", "aaab"}, {"b", "aaaab"}},
      {"root ::= (\"a\" | \"b\" (\"c\"))* # comment\n", {"", "abcbca"}, {"b", "ac"}},
      {"root ::= a |\n  \"y\"\na ::= \"x\" root?", {"y", "x", "xxy"}, {"", "yx"}},
      {"root ::= (\n \"a\"\n | \"b\"\n)", {"a", "b"}, {"ab"}},
      {"root ::= [^a-y\\n]", {"z", "A", "\xc3\xa9", "\xf0\x9f\x98\x80"}, {"a", "\n", "\xc3", "zz"}},
      {"root ::= .", {"a", "\n", "\xe2\x82\xac"}, {"", "\xff", "\xed\xa0\x80", "\xc0\x80"}},
      {"root ::= [\\u00e9-\\u20AC]", {"\xc3\xa9", "\xe2\x82\xac", "\xd0\x96"}, {"\xc3\xa8", "e"}},
      {"root ::= [\\U0001F600-\\U0001F64F]+", {"\xf0\x9f\x98\x80"}, {"\xf0\x9f\x99\x90"}},
      {"root ::= \"\\x41\\t\\\"\\\\\"", {"A\t\"\\"}, {"A\t\"\\\\"}},
      {"root ::= [\\]\\-^a-]+", {"]-^a", "-"}, {"b"}},
      {"root ::= \"(\" root \")\" root | \"\"", {"", "()", "(()())()"}, {"(", "())"}},
      {"root ::= \"a\" root \"a\" | \"b\" root \"b\" | \"c\"", {"c", "abcba"}, {"abcab"}},
      {"root ::= (\"\"? \"\"*)* \"a\"", {"a"}, {""}},
      {kJson,
       {"{}", "{\"a\": [1, -2.5e3, \"\\u00e9\\n\"], \"b\": {\"c\": null}}", "{ }"},
       {"{\"a\"  : 1}", "[1]", "{\"a\": 01}", "{\"a\": 1,}", "{\"a\": \"\n\"}"}},
  };
  for (const Case& c : cases) {
    for (const auto& text : c.good) EXPECT_TRUE(accepts(c.gbnf, text)) << c.gbnf << "\n" << text;
    for (const auto& text : c.bad) EXPECT_FALSE(accepts(c.gbnf, text)) << c.gbnf << "\n" << text;
  }
}

TEST(Grammar, RefusesWithTheOffset) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "byte 0: no first rule"},
      {"start ::= \"a\"", "no first rule"},
      {"root ::= \"a", "byte 11"},
      {"root ::= [a", "byte 11"},
      {"root ::= (\"a\"", "byte 13"},
      {"root ::= )", "byte 9"},
      {"root ::= missing", "byte 9: rule without a definition"},
      {"root ::= \"a\"\nroot ::= \"b\"", "byte 13: rule defined twice"},
      {"root = \"a\"", "byte 5"},
      {"root ::= *", "byte 9"},
      {"root ::= \"a\"{3,2}", "wrong way round"},
      {"root ::= [z-a]", "wrong way round"},
      {"root ::= \"a\"{99999999999}", "number too large"},
      {"root ::= \"\\q\"", "unknown escape"},
      {"root ::= \"\\uD800\"", "no code point"},
      {"root ::= \"\xff\"", "byte 10: no UTF-8"},
      {"root ::= <think>", "no such token"},
      {"root ::= <[12", "byte 13"},
      {"root ::= root \"a\" | \"b\"", "no left recursion"},
      {"root ::= a? root2\na ::= \"x\"\nroot2 ::= \"\" a* root", "no left recursion"},
      {"root ::= \"a\"*********", "in a row"},
      {"root ::= ((\"a\"{10000}){10000}){10000}", "too large"},
      {"root ::= ((\"\"{10000}){10000}){10000}", "too large"},
      {"root ::= " + std::string(1000, '('), "nested too deep"},
      {std::string(5 << 20, ' '), "text too long"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_NE(message_of(text).find(expected), std::string::npos) << text.substr(0, 80) << "\n"
                                                                  << message_of(text);
  }
}

TEST(Grammar, ManyRulesInARowDoNotRecurse) {
  std::string text = "root ::= r0\n";
  for (int i = 0; i < 20000; ++i) {
    text += "r" + std::to_string(i) + " ::= \"a\" r" + std::to_string(i + 1) + "\n";
  }
  EXPECT_TRUE(accepts(text + "r20000 ::= \"\"", std::string(20000, 'a')));
}

TEST(Grammar, TooManyWaysAreAnError) {
  std::string text = "root ::= ";
  for (int i = 0; i < 5000; ++i) text += "[^x] \"" + std::to_string(i) + "\" | ";
  GrammarMatcher matcher(constraint_of("root ::= \"a\""));
  EXPECT_THROW(GrammarMatcher(constraint_of(text + "\"x\"")), Error);
}

TEST(Grammar, ManyTextsAreReadAtOnePlace) {
  std::string text = "root ::= (\"\" | \"1\" \"00\" | \"0\"";
  for (int i = 0; i < 5000; ++i) text += " | \"" + std::to_string(i) + "\"";
  text += ") \"x\"";
  for (const char* good : {"x", "100x", "0x", "9x", "4999x"}) {
    EXPECT_TRUE(accepts(text, good)) << good;
  }
  for (const char* bad : {"5000x", "00x", "4999", "10", "", "x1"}) {
    EXPECT_FALSE(accepts(text, bad)) << bad;
  }
}

// Each set is small enough, but a mask meets many.
TEST(Grammar, TooManyWaysForOneTokenAreAnError) {
  std::string text = "root ::= a{0,2000}\na ::= [^x]";
  std::string one = "[^x]";
  for (const char c : {'y', 'z', 'q', 'r', 's', 't', 'u'}) {
    one += std::string(" [^") + c + "]";
    text += " | " + one;
  }
  std::vector<std::string> tokens;
  for (int i = 0; i < 20000; ++i) {
    std::string token = std::to_string(i);
    for (char& c : token) c = static_cast<char>(c - '0' + 'p');
    tokens.push_back(token);
  }
  GrammarMatcher matcher(constraint_of(text, tokens));
  std::string message;
  for (int i = 0; i < 300 && message.empty(); ++i) {
    try {
      static_cast<void>(matcher.mask());
      ASSERT_TRUE(matcher.accept('a'));
    } catch (const Error& error) {
      message = error.what();
      EXPECT_EQ(error.code(), ErrorCode::unsupported);
    }
  }
  EXPECT_NE(message.find("too many ways to read a text; got more than"), std::string::npos)
      << message;
  // What is looked at is counted for each token anew.
  GrammarMatcher plain(constraint_of("root ::= (\"ab\" | \"ac\")*", tokens));
  for (int i = 0; i < 1000; ++i) {
    static_cast<void>(plain.mask());
    ASSERT_TRUE(plain.accept(i % 2 == 0 ? 'a' : i % 4 == 1 ? 'b' : 'c'));
  }
}

// The bits of the mask must be what allows() says of each token.
void expect_mask_is_brute_force(const GrammarMatcher& matcher, std::size_t size) {
  const auto mask = matcher.mask();
  ASSERT_EQ(mask->size(), (size + 31) / 32);
  for (std::size_t i = 0; i < mask->size() * 32; ++i) {
    const bool expected = i < size && matcher.allows(static_cast<std::int32_t>(i));
    ASSERT_EQ(((*mask)[i / 32] >> (i % 32) & 1) != 0, expected) << "token " << i;
  }
}

std::vector<std::string> random_tokens(std::mt19937_64& random, std::size_t count) {
  const std::string alphabet = "{}[]\":, \n0123456789-.eEabctrufnls\\\xc3\xa9\xf0\x9f\x98\x80";
  std::vector<std::string> out;
  for (std::size_t i = 0; i < count; ++i) {
    std::string token;
    for (std::uint64_t n = 1 + random() % 6; n-- > 0;)
      token += alphabet[random() % alphabet.size()];
    out.push_back(token);
  }
  return out;
}

// Draws a token that the mask allows; -1 where there is none but the end.
std::int32_t draw_allowed(const TokenMask& mask, std::size_t size, std::mt19937_64& random) {
  std::vector<std::int32_t> allowed;
  for (std::size_t i = 0; i + 1 < size; ++i) {
    if (mask[i / 32] >> (i % 32) & 1) allowed.push_back(static_cast<std::int32_t>(i));
  }
  return allowed.empty() ? -1 : allowed[random() % allowed.size()];
}

TEST(GrammarMatcher, MasksAreWhatEachTokenSays) {
  std::mt19937_64 random(7);
  const std::vector<std::string> grammars = {
      kJson, "root ::= [a-f]{1,5} (\" \" [0-9]+)* | \"\\u20ac\"+",
      "root ::= \"(\" root \")\" root | [^()]?",
      "root ::= (<[300]> | !<[301]> \"a\" | \"b\" <[303]>)*",
      // Rules that end within tokens, called from several places; one that may end anywhere.
      "root ::= list\nlist ::= \"[\" (word | list) (\",\" (word | list))* \"]\"\nword ::= [a-f ]+ "
      "\"\\\"\"?",
      "root ::= (any \"[\" | \"{\" any \"}\")*\nany ::= [^\\[}]*"};
  for (const std::string& gbnf : grammars) {
    for (int run = 0; run < 4; ++run) {
      const auto more = random_tokens(random, 300 + random() % 40);
      const auto constraint = constraint_of(gbnf, more);
      GrammarMatcher matcher(constraint);
      const std::size_t size = constraint->trie().size();
      for (int step = 0; step < 25; ++step) {
        ASSERT_NO_FATAL_FAILURE(expect_mask_is_brute_force(matcher, size));
        EXPECT_EQ(matcher.mask(), matcher.mask()) << "kept";
        const std::int32_t token = draw_allowed(*matcher.mask(), size, random);
        if (token < 0) break;
        ASSERT_TRUE(matcher.accept(token));
      }
    }
  }
}

// Walks pass over prefixes whose bytes all stay where they are: masks of large vocabularies are
// what each token says all the same, with code points that are whole, broken and beyond a range.
TEST(GrammarMatcher, MasksOfManyTokensAreWhatEachTokenSays) {
  std::mt19937_64 random(11);
  std::vector<std::string> more;
  const std::vector<std::string> pieces = {"a",
                                           "b",
                                           "the",
                                           " ",
                                           "\"",
                                           "\\",
                                           "\n",
                                           "7",
                                           "\xc3\xa9",
                                           "\xe4\xb8\x80",
                                           "\xf0\x9f\x98\x80",
                                           "\xe4",
                                           "\xed\xa0",
                                           "\x7f",
                                           "Q",
                                           "{",
                                           "_"};
  for (int i = 0; i < 6000; ++i) {
    std::string token;
    for (auto left = 1 + random() % 5; left > 0; --left) token += pieces[random() % pieces.size()];
    more.push_back(std::move(token));
  }
  for (const char* gbnf : {kJson, "root ::= ([^\"\\\\] | \"\\\\\" .)* \"\\\"\"",
                           "root ::= [a-z\\u00a0-\\u4e00 ]* (\"{\" [^7]* \"}\")?", "root ::= .*"}) {
    GrammarMatcher matcher(constraint_of(gbnf, more));
    const std::size_t size = matcher.trie().size();
    for (int step = 0; step < 8; ++step) {
      ASSERT_NO_FATAL_FAILURE(expect_mask_is_brute_force(matcher, size));
      const std::int32_t token = draw_allowed(*matcher.mask(), size, random);
      if (token < 0) break;
      ASSERT_TRUE(matcher.accept(token));
    }
  }
}

TEST(ByteKinds, SaysOfSuffixesWhatTheyAreOf) {
  const std::vector<ByteKinds> kinds = kinds_of_suffixes("a\xc3\xa9z\xe4\xb8");
  ASSERT_EQ(kinds.size(), 7u);
  EXPECT_EQ(kinds[6], 0u);
  EXPECT_NE(kinds[0] & kBrokenBytes, 0u) << "cut off at the end";
  const std::vector<ByteKinds> whole = kinds_of_suffixes("a\xc3\xa9z");
  EXPECT_EQ(whole[0] & kBrokenBytes, 0u);
  EXPECT_NE(whole[2] & kBrokenBytes, 0u) << "within a code point";
  EXPECT_EQ(whole[3], kinds_of_suffixes("y")[0]) << "of one kind";
}

TEST(GrammarMatcher, EndsOnlyWhereTheGrammarMay) {
  const auto constraint = constraint_of("root ::= \"ab\"");
  const std::int32_t end = 256;
  GrammarMatcher matcher(constraint);
  EXPECT_FALSE(matcher.accept(end));
  EXPECT_TRUE(matcher.accept('a'));
  EXPECT_FALSE(matcher.may_end());
  EXPECT_FALSE(matcher.allows('a'));
  EXPECT_TRUE(matcher.accept('b'));
  EXPECT_TRUE(matcher.may_end());
  expect_mask_is_brute_force(matcher, 257);
  EXPECT_TRUE(matcher.accept(end));
  EXPECT_FALSE(matcher.allows('a'));
  EXPECT_TRUE(matcher.allows(end));
  expect_mask_is_brute_force(matcher, 257);
  EXPECT_FALSE(accept_text(matcher, "a"));
  EXPECT_THROW((void)matcher.allows(257), Error);
  EXPECT_THROW((void)matcher.allows(-1), Error);
}

TEST(GrammarMatcher, CopiesGoTheirOwnWays) {
  std::mt19937_64 random(11);
  const auto constraint = constraint_of(kJson, random_tokens(random, 200));
  const std::size_t size = constraint->trie().size();
  GrammarMatcher matcher(constraint);
  std::vector<TokenMask> masks = {*matcher.mask()};
  std::vector<GrammarMatcher> earlier = {matcher};
  for (int step = 0; step < 40; ++step) {
    const std::int32_t token = draw_allowed(masks.back(), size, random);
    if (token < 0) break;
    GrammarMatcher copy = matcher;
    ASSERT_TRUE(copy.accept(token));
    ASSERT_EQ(*matcher.mask(), masks.back());
    ASSERT_TRUE(matcher.accept(token));
    ASSERT_EQ(*matcher.mask(), *copy.mask());
    masks.push_back(*matcher.mask());
    earlier.push_back(matcher);
  }
  ASSERT_GT(earlier.size(), 6u);
  for (std::size_t i = 0; i < earlier.size(); ++i) ASSERT_EQ(*earlier[i].mask(), masks[i]);
}

TEST(GrammarMatcher, NamesTokens) {
  const auto find = [](std::string_view text) { return text == "<think>" ? 300 : -1; };
  std::vector<std::string> more(60);
  more[300 - 256] = "<think>";
  const auto constraint = constraint_of("root ::= <think> !<[301]> \"x\" <[302]>", more, find);
  GrammarMatcher matcher(constraint);
  EXPECT_FALSE(matcher.allows('<'));
  EXPECT_FALSE(accept_text(matcher, "<think>"));
  EXPECT_TRUE(matcher.accept(300));
  EXPECT_FALSE(matcher.allows(301));
  EXPECT_FALSE(matcher.allows(316)) << "the end of the text";
  EXPECT_TRUE(matcher.accept(305));
  expect_mask_is_brute_force(matcher, 317);
  EXPECT_TRUE(matcher.accept('x'));
  EXPECT_TRUE(matcher.accept(302));
  EXPECT_TRUE(matcher.may_end());
}

TEST(GrammarMatcher, BeginsBehindMarks) {
  const std::vector<std::string> more = {"</think>", "nk>1", "nk>x", "", ""};
  const auto constraint = constraint_of("root ::= [0-9]+", more);
  const auto size = constraint->trie().size();
  const auto end = static_cast<std::int32_t>(size) - 1;
  ASSERT_TRUE(constraint->trie().is_end(end));
  GrammarMatcher matcher(constraint,
                         {{}, {}, {.begin = "", .end = "</think>", .unless = "", .special = {}}});
  EXPECT_TRUE(accept_text(matcher, "12 x </thi"));
  EXPECT_FALSE(matcher.may_end());
  EXPECT_FALSE(matcher.allows(end));
  EXPECT_FALSE(matcher.allows(258)) << "nk>x goes on as the grammar does not";
  EXPECT_TRUE(matcher.allows('x'));
  expect_mask_is_brute_force(matcher, size);
  const GrammarMatcher before = matcher;
  EXPECT_TRUE(matcher.accept(257));
  EXPECT_FALSE(matcher.is_waiting());
  EXPECT_TRUE(matcher.may_end());
  EXPECT_FALSE(matcher.allows('x'));
  matcher = before;
  EXPECT_TRUE(matcher.is_waiting());
  EXPECT_TRUE(accept_text(matcher, "</think>7"));
  EXPECT_FALSE(matcher.is_waiting());

  // Channels, whose marks are tokens without bytes; the text begins within one's header.
  const GrammarMarks marks = {
      .begin = "<c>", .end = "<m>", .unless = "plan", .special = {{259, "<c>"}, {260, "<m>"}}};
  GrammarMatcher channels(constraint, {{}, {}, marks});
  EXPECT_TRUE(channels.accept(259));
  EXPECT_TRUE(accept_text(channels, "pla"));
  EXPECT_TRUE(channels.accept('n'));
  EXPECT_TRUE(channels.accept(260));
  EXPECT_TRUE(accept_text(channels, "x <m> y"));
  EXPECT_TRUE(channels.is_waiting());
  EXPECT_TRUE(channels.accept(259));
  EXPECT_TRUE(accept_text(channels, "final"));
  EXPECT_TRUE(channels.accept(260));
  EXPECT_FALSE(channels.is_waiting());
  EXPECT_FALSE(channels.allows('x'));
  EXPECT_FALSE(channels.allows(259));
  EXPECT_TRUE(channels.accept('4'));
  GrammarMatcher unnamed(constraint, {{}, {}, marks});
  EXPECT_TRUE(unnamed.accept(260));
  EXPECT_FALSE(unnamed.is_waiting());
  EXPECT_THROW(GrammarMatcher(constraint, {{"a"}, {}, marks}), Error);
}

TEST(GrammarMatcher, WaitsForItsTrigger) {
  const std::vector<std::string> more = {"<tool", "l>[", "l>x", ">[1"};
  const auto constraint = constraint_of("root ::= \"<tool>\" \"[\" [0-9]+ \"]\"", more);
  const std::size_t size = constraint->trie().size();
  GrammarMatcher matcher(constraint, {{"<tool>"}, {}});
  EXPECT_TRUE(accept_text(matcher, "free text <t"));
  EXPECT_TRUE(matcher.may_end());
  EXPECT_TRUE(accept_text(matcher, "oo"));
  EXPECT_TRUE(matcher.is_waiting());
  EXPECT_FALSE(matcher.allows(258)) << "l>x completes the trigger and breaks the grammar";
  EXPECT_TRUE(matcher.allows(257));
  EXPECT_TRUE(matcher.allows('x'));
  expect_mask_is_brute_force(matcher, size);
  GrammarMatcher other = matcher;
  EXPECT_TRUE(matcher.accept(257));
  EXPECT_FALSE(matcher.is_waiting());
  EXPECT_FALSE(matcher.allows('x'));
  expect_mask_is_brute_force(matcher, size);
  EXPECT_TRUE(other.is_waiting());
  EXPECT_TRUE(other.accept('x'));

  GrammarMatcher named(constraint, {{}, {300 - 40}});
  EXPECT_TRUE(named.accept('q'));
  EXPECT_TRUE(named.accept(260));
  EXPECT_FALSE(named.allows('q'));
  EXPECT_THROW(GrammarMatcher(constraint, {{""}, {}}), Error);
}

// A text so long, and grammars with so many states, that what was found is dropped on the way.
TEST(GrammarMatcher, SurvivesWhatIsDropped) {
  const auto constraint = constraint_of("root ::= \"(\" root \")\" | \"x\"");
  GrammarMatcher matcher(constraint);
  const GrammarMatcher at_start = matcher;
  constexpr int kDepth = 40'000;
  for (int i = 0; i < kDepth; ++i) ASSERT_TRUE(matcher.accept('('));
  ASSERT_TRUE(matcher.accept('x'));
  for (int i = 0; i < kDepth; ++i) ASSERT_TRUE(matcher.accept(')'));
  EXPECT_TRUE(matcher.may_end());
  EXPECT_FALSE(matcher.allows(')'));
  EXPECT_EQ(*at_start.mask(), *GrammarMatcher(constraint).mask());
}

TEST(Utf8Ranges, AreTheEncodingsOfTheirCodePoints) {
  std::mt19937_64 random(3);
  for (int run = 0; run < 200; ++run) {
    CodeRanges ranges;
    for (std::uint64_t n = random() % 4; n-- > 0;) {
      const auto first = static_cast<std::uint32_t>(random() % 0x110000 >> random() % 12);
      ranges.emplace_back(first, first + static_cast<std::uint32_t>(random() % 5000));
    }
    const auto normal = normal_ranges(ranges, run % 2 == 0);
    const auto sequences = utf8_sequences(normal);
    const auto is_in = [&](std::uint32_t code) {
      for (const auto& [first, last] : normal) {
        if (first <= code && code <= last) return true;
      }
      return false;
    };
    for (int probe = 0; probe < 300; ++probe) {
      auto code = static_cast<std::uint32_t>(random() % 0x110000 >> random() % 12);
      if (!ranges.empty() && probe % 2 == 0) {
        code =
            ranges[random() % ranges.size()].first + static_cast<std::uint32_t>(random() % 3) - 1;
      }
      if (code >= 0x110000 || (code >= 0xd800 && code <= 0xdfff)) continue;
      std::string text;
      tokens::append_utf8(text, code);
      int matches = 0;
      for (const ByteSequence& sequence : sequences) {
        bool fits = sequence.size == text.size();
        for (std::uint32_t i = 0; fits && i < sequence.size; ++i) {
          const auto byte = static_cast<std::uint8_t>(text[i]);
          fits = sequence.bytes[i].low <= byte && byte <= sequence.bytes[i].high;
        }
        matches += fits ? 1 : 0;
      }
      ASSERT_EQ(matches, is_in(code) ? 1 : 0) << code;
    }
  }
}

TEST(Grammar, WhatNeverEndsIsRefused) {
  for (const char* gbnf :
       {"root ::= []", "root ::= [^\\x00-\\U0010FFFF]", "root ::= \"a\" []", "root ::= []+ \"a\"",
        "root ::= \"a\" root", "root ::= \"a\" b\nb ::= \"b\" c\nc ::= \"c\" (b | c \"x\")"}) {
    EXPECT_NE(message_of(gbnf).find("no text of it ever ends"), std::string::npos) << gbnf;
  }
  EXPECT_NE(message_of("root ::= root \"a\"").find("begin with itself"), std::string::npos);
}

TEST(Grammar, AlternativesThatNeverEndAreLeftOut) {
  // A text does not get to where it could not go on.
  for (const char* gbnf :
       {"root ::= \"a\" | \"b\" []", "root ::= \"a\" ([]* | \"b\" x)\nx ::= \"x\" x",
        "root ::= \"a\" | \"b\" (\"c\" | \"d\")+ []",
        "root ::= (\"b\" [])? \"a\" (\"b\" []){0,3}"}) {
    GrammarMatcher matcher(constraint_of(gbnf));
    EXPECT_FALSE(matcher.allows('b')) << gbnf;
    ASSERT_TRUE(matcher.accept('a')) << gbnf;
    EXPECT_FALSE(matcher.allows('b')) << gbnf;
    EXPECT_TRUE(matcher.may_end()) << gbnf;
  }
}

TEST(Grammar, TokensOutsideOfTheVocabularyAreRefused) {
  for (const char* gbnf : {"root ::= <[99999999]>", "root ::= \"a\" | !<[257]>"}) {
    try {
      constraint_of(gbnf);
      ADD_FAILURE() << gbnf;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_NE(std::string(error.what()).find("outside the vocabulary"), std::string::npos);
    }
  }
  EXPECT_TRUE(GrammarMatcher(constraint_of("root ::= <[255]> \"a\"")).allows(255));
}

// A rule that calls itself at its end is a loop: what is known of a place is known of all.
TEST(Grammar, RulesThatEndWithThemselvesStayInPlace) {
  const Automaton automaton(parse_gbnf(R"(root ::= "<" word ">"
word ::= [a-z] other | ""
other ::= [0-9] word)",
                                       "root"));
  Positions positions(automaton);
  SetId set = positions.after(positions.start(), '<');
  const auto read = [&](int times) {
    for (int i = 0; i < times; ++i) {
      set = positions.after(positions.after(set, 'a'), '1');
    }
  };
  read(2);
  const std::size_t known = positions.size();
  read(1000);
  EXPECT_EQ(positions.size(), known);
  EXPECT_EQ(positions.after(set, '1'), Positions::kNowhere);
  EXPECT_TRUE(positions.may_end(positions.after(set, '>')));
}

TEST(Grammar, TheBytesOfAConstraintGrow) {
  const auto constraint = constraint_of("root ::= ([a-z] [0-9]){1000}");
  const std::size_t begin = constraint->bytes();
  EXPECT_GT(begin, 2000 * sizeof(State));
  GrammarMatcher matcher(constraint);
  std::size_t words = 0;
  for (int i = 0; i < 100; ++i) {
    words += matcher.mask()->size();
    ASSERT_TRUE(accept_text(matcher, "a1"));
  }
  EXPECT_GE(constraint->bytes(), begin + 4 * words);
}

}  // namespace
}  // namespace hearth::models::grammar
