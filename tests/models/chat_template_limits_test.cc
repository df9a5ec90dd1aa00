// Templates that nobody vouches for end in an Error, whatever they try.
#include <gtest/gtest.h>

#include <string>

#include "hearth/error.h"
#include "models/chat_template/chat_template.h"

namespace hearth::models {
namespace {

// The message of the Error; empty where there is none.
std::string limit_reached(const std::string& source, const chat_template::Limits& limits = {}) {
  try {
    ChatTemplate(source).render({}, limits);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return "";
}

std::string repeated_text(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

// Less than the defaults of what takes long to reach.
void expect_limit(const std::string& source, const std::string& name) {
  chat_template::Limits limits;
  limits.steps = 2'000'000;
  limits.bytes = 64u << 20;
  const std::string text = limit_reached(source, limits);
  EXPECT_NE(text.find("limit of " + name), std::string::npos) << text;
  EXPECT_NE(text.find(", at line "), std::string::npos) << text;
}

TEST(ChatTemplateLimits, Steps) {
  const std::string loop = "{% for a in range(100000) %}\n";
  expect_limit(loop + loop + loop + repeated_text("{% endfor %}", 3), "steps");
}

// All places of the one may begin like the other.
TEST(ChatTemplateLimits, SearchesOfLongTexts) {
  const std::string texts =
      "{% set s = 'a' * 200000 %}{% set t = ('a' * 100000) ~ 'c' %}{% set u = 'a' * 100000 %}";
  for (const char* search : {"t in s", "s.find(t)", "s.rfind(t)", "s.count(t)", "s.replace(t, '')",
                             "s.split(t)", "s.partition(t)", "s.rpartition('c' ~ u)"}) {
    expect_limit(texts + "{{ " + search + " }}", "steps");
  }
}

TEST(ChatTemplateLimits, ManyLists) {
  expect_limit("{{ [1]|batch(1000000000000000, 0)|list|length }}", "steps");
  expect_limit("{{ [1, 2]|slice(1000000000000000)|list|length }}", "steps");
}

TEST(ChatTemplateLimits, DepthOfMacros) {
  expect_limit("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "depth");
  expect_limit(
      "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{% call c() %}{{ a() }}"
      "{% endcall %}{% endmacro %}{% macro c() %}{{ caller() }}{% endmacro %}{{ a() }}",
      "depth");
}

TEST(ChatTemplateLimits, Bytes) {
  expect_limit("{{ 'x' * 1000000000000 }}", "bytes");
  expect_limit("{{ 'x' * 9223372036854775807 }}", "bytes");
  expect_limit("{{ [1, 2] * 1000000000 }}", "bytes");
  expect_limit("{{ 'x'.center(1000000000000) }}", "bytes");
  expect_limit("{{ '%1000000000000d' % 1 }}", "bytes");
  expect_limit("{{ '{:1000000000000}'.format(1) }}", "bytes");
  expect_limit("{{ 'x'|indent(1000000000000, true) }}", "bytes");
  expect_limit(
      "{% set n = namespace(x='xy') %}{% for a in range(99) %}{% set n.x = n.x + n.x %}"
      "{% endfor %}",
      "bytes");
  expect_limit(
      "{% set n = namespace(x=[1]) %}{% for a in range(99) %}{% set n.x = n.x + n.x %}"
      "{% endfor %}",
      "bytes");
  expect_limit("{% set x = 'x' * 1000000 %}{{ x.replace('', x) }}", "bytes");
}

// Their bytes are counted before they are made: these texts would be of terabytes.
TEST(ChatTemplateLimits, BytesOfJoinedAndReplaced) {
  const std::string text = "{% set x = 'x' * 1000000 %}{% set l = range(100000)|list %}";
  chat_template::Limits limits;
  for (const char* made : {"l|join(x)", "x|replace('x', x)", "x.replace('x', x)",
                           "x.replace('', x)", "x.join(l|map('string'))"}) {
    const std::string error = limit_reached(text + "{{ " + made + " }}", limits);
    EXPECT_NE(error.find("limit of bytes"), std::string::npos) << made << ": " << error;
  }
}

// What lists take beside the texts in them counts, before they are made.
TEST(ChatTemplateLimits, BytesOfElements) {
  chat_template::Limits limits;
  limits.bytes = 32u << 20;
  const std::string texts =
      "{% set s = 'ab' * 500000 %}{% set l = 'a\n' * 1000000 %}{% set n = [1] * 750000 %}"
      "{% set d = {'x' * 1000000: 1} %}";
  for (const char* made : {"s.split('b')",
                           "s.rsplit('b')",
                           "l.split()",
                           "l.rsplit()",
                           "l.splitlines()",
                           "s|list",
                           "n|sort",
                           "n|list",
                           "n|reverse|list",
                           "n|map('string')|list",
                           "n|batch(1)|list",
                           "n|slice(1)|list",
                           "n|groupby('a')",
                           "n + n",
                           "n[::-1]",
                           "s|from_json",
                           "(s * 2)[::2]",
                           "([d] * 1000)|tojson",
                           "[1, 2, 3]|tojson(separators=['x' * 3000000, ':'])",
                           "([d] * 1000)|string"}) {
    const std::string error = limit_reached(texts + "{{ (" + made + ") is defined }}", limits);
    EXPECT_NE(error.find("limit of bytes"), std::string::npos) << made << ": " << error;
  }
}

// Work on many elements, or on long texts many times, counts though it makes little.
TEST(ChatTemplateLimits, StepsOfElements) {
  const std::string texts =
      "{% set s = 'a ' * 1500000 %}{% set n = [1] * 1000000 %}{% set k = 'k' * 2000000 %}";
  for (const char* made :
       {"s|wordwrap(1)", "s.split()|map('upper')|list", "n|join", "n|map('string')|list|join",
        "s.replace(' ', '').replace('a', 'b')", "n|sort|sort|sort", "s|title",
        "('{}' * 1000000).format(*n)", "k|upper|lower|upper|lower|list"}) {
    chat_template::Limits limits;
    limits.steps = 2'000'000;
    const std::string error = limit_reached(texts + "{{ " + made + " }}", limits);
    EXPECT_NE(error.find("limit of steps"), std::string::npos) << made << ": " << error;
  }
  expect_limit(
      "{% set s = 'a' * 8000000 %}{% for i in range(100000) %}{{ ''.partition(s)[0] }}{% endfor %}",
      "steps");
}

TEST(ChatTemplateLimits, LongConversationsAreWithinThem) {
  for (const char* made :
       {"('word ' * 200000).split(' ')[-1]", "('word ' * 200000)|wordcount",
        "('some text\n' * 400000).split('</think>')[-1]", "('\n' * 4000000).split('\n')[-1]",
        "('line\n' * 200000).splitlines()|length", "('a \n' * 1000000).strip()|length",
        "('a' * 4000000).replace('</think>', '')|length", "('word ' * 100000)|wordwrap|length"}) {
    EXPECT_EQ(limit_reached(std::string("{{ ") + made + " }}"), "") << made;
  }
  const auto rendered = [](const std::string& source) {
    return ChatTemplate(source).render({}).text();
  };
  EXPECT_EQ(rendered("{{ ',a,,b,'.split(',') }} {{ ',a,,b,'.rsplit(',', 2) }}"),
            "['', 'a', '', 'b', ''] [',a,', 'b', '']");
}

TEST(ChatTemplateLimits, Precisions) {
  for (const char* made : {"'%.999999999f'|format(1.5)", "'%.101e' % 1.5", "'%.999999999d' % 1",
                           "'{:.999999999f}'.format(1.5)"}) {
    const std::string error = limit_reached(std::string("{{ ") + made + " }}");
    EXPECT_NE(error.find("format: a precision is out of range; got "), std::string::npos) << error;
  }
  EXPECT_NE(limit_reached("{{ '{:.3d}'.format(1) }}").find("integers have no precision"),
            std::string::npos);
  const auto rendered = [](const std::string& source) {
    return ChatTemplate(source).render({}).text();
  };
  EXPECT_EQ(rendered("{{ '%.100f' % 0.5 }}"), "0.5" + std::string(99, '0'));
  EXPECT_EQ(rendered("{{ '%.3d|%6.3d|%#.4x|%.0d' % (-7, 7, 255, 0) }}"), "-007|   007|0x00ff|0");
}

TEST(ChatTemplateLimits, SourcesAreUtf8) {
  EXPECT_EQ(
      limit_reached("\xc3\xa9\n{{ 1 }}\xff"),
      "chat template: a byte that is no UTF-8; got 0xff as byte 10, expected UTF-8, at line 2");
  EXPECT_NE(limit_reached("\xed\xa0\x80"), "");
  EXPECT_EQ(limit_reached("\xf0\x9f\x98\x80"), "");
}

TEST(ChatTemplateLimits, Output) {
  chat_template::Limits limits;
  limits.output_bytes = 1000;
  const std::string source = "{% for a in range(101) %}{{ 'x' * 10 }}{% endfor %}";
  EXPECT_EQ(
      limit_reached(source, limits),
      "chat template: the limit of output bytes is reached; expected at most 1000, at line 1");
  limits.output_bytes = 1010;
  EXPECT_EQ(limit_reached(source, limits), "");
}

TEST(ChatTemplateLimits, Range) {
  EXPECT_EQ(limit_reached("\n{{ range(1000000000) }}"),
            "chat template: range: the limit of elements is reached; got 1000000000, expected at "
            "most 100000, at line 2");
  EXPECT_EQ(limit_reached("{{ range(100000)|length }}"), "");
}

TEST(ChatTemplateLimits, Nesting) {
  expect_limit(
      "{% set n = namespace(x=[]) %}{% for a in range(200) %}{% set n.x = [n.x] %}"
      "{% endfor %}",
      "nesting");
  expect_limit(
      "{% set n = namespace(x={}) %}{% for a in range(200) %}{% set n.x = {1: n.x} %}"
      "{% endfor %}",
      "nesting");
  expect_limit(
      "{% set n = namespace(x=[]) %}{% for a in range(200) %}{% set n.x = [n.x].index %}"
      "{% endfor %}",
      "nesting");
}

// None of these is a limit: they are freed link by link.
TEST(ChatTemplateLimits, ChainsAndCirclesAreFreed) {
  const std::string loop = "{% set n = namespace() %}{% for a in range(100000) %}";
  EXPECT_EQ(limit_reached(loop + "{% set n = namespace(x=n) %}{% endfor %}"), "");
  EXPECT_EQ(limit_reached("{% set o = namespace(n=1) %}{% for a in range(100000) %}"
                          "{% set o.n = namespace(x=o.n) %}{% endfor %}"),
            "");
  EXPECT_EQ(limit_reached("{% macro make(prev) %}{% macro inner() %}{{ prev }}{% endmacro %}"
                          "{% set o.m = inner %}{% endmacro %}{% set o = namespace(m=1) %}"
                          "{% for a in range(20000) %}{{ make(o.m) }}{% endfor %}"),
            "");
  EXPECT_EQ(limit_reached("{% set n = namespace() %}{% set n.n = n %}{% set n.l = [n] %}"
                          "{% macro m() %}{{ n }}{% endmacro %}{% set n.m = m %}"),
            "");
  expect_limit("{% set n = namespace() %}{% set n.n = n %}{{ n }}", "depth");
}

TEST(ChatTemplateLimits, DeepSources) {
  for (const char* open : {"(", "[", "{1:", "-", "not ", "x[", "x(", "1 if x else ", "x is in "}) {
    EXPECT_NE(limit_reached("{{ " + repeated_text(open, 100000)), "") << open;
  }
  for (const char* link : {"+1", ".a", "|e", "(1)", "[0]", " or 1", " is defined", " if 1"}) {
    EXPECT_NE(limit_reached("{{ x" + repeated_text(link, 100000) + " }}"), "") << link;
  }
  EXPECT_NE(limit_reached(repeated_text("{% if 1 %}", 100000)), "");
  EXPECT_NE(limit_reached("{% set " + repeated_text("(", 100000)), "");
  EXPECT_EQ(limit_reached("{{ '" + repeated_text("a", 1000000) + "' }}"), "");
}

}  // namespace
}  // namespace hearth::models
