// What each construct of chat templates makes, and how Errors name the line. The breadth is
// compared with jinja2 in tests/python.
#include "models/chat_template/chat_template.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/json.h"
#include "error_text.h"
#include "models/chat_template/date_text.h"
#include "models/chat_template/value_text.h"

namespace hearth::models {
namespace {

std::string rendered(const std::string& source, const std::string& arguments = "{}") {
  ChatTemplateInput input;
  input.arguments = std::get<JsonObject>(parse_json(arguments).value());
  if (!input.arguments.empty() && input.arguments[0].first == "messages") {
    input.messages = input.arguments[0].second;
  }
  return ChatTemplate(source).render(input).text();
}

std::string fault(const std::string& source, const std::string& arguments = "{}") {
  return check::error_of(ErrorCode::invalid_argument, [&] { rendered(source, arguments); });
}

TEST(ChatTemplate, TextAndWhiteSpace) {
  EXPECT_EQ(rendered("plain { text } %}"), "plain { text } %}");
  EXPECT_EQ(rendered("a\n"), "a");
  EXPECT_EQ(rendered("a\r\nb\rc\n\n"), "a\nb\nc\n");
  EXPECT_EQ(rendered("  {% if true %}  \nx\n  {% endif %}\ny"), "  \nx\ny");
  EXPECT_EQ(rendered("a \n {%- if true -%} \n b {%- endif %} c"), "ab c");
  EXPECT_EQ(rendered("{%+ if true +%}\nx{% endif %}"), "\nx");
  EXPECT_EQ(rendered("a{# {{ nothing }} #}\nb {#- c -#} d"), "abd");
  EXPECT_EQ(rendered("{{ 1 }}\n  {{ 2 }}"), "1\n  2");
}

TEST(ChatTemplate, Literals) {
  EXPECT_EQ(rendered("{{ 'a\\n\\u00e9\\'' 'b' }}"), "a\n\xc3\xa9'b");
  EXPECT_EQ(rendered("{{ 0x1f }} {{ 1_000 }} {{ 1.5e-7 }} {{ 0b11 }}"), "31 1000 1.5e-07 3");
  EXPECT_EQ(rendered("{{ [1, 'a', (2,), {'k': none}, true, 1.0] }}"),
            "[1, 'a', (2,), {'k': None}, True, 1.0]");
  EXPECT_EQ(rendered("{{ {'a': {'b': '}}'}} }}"), "{'a': {'b': '}}'}}");
}

TEST(ChatTemplate, Operators) {
  EXPECT_EQ(
      rendered("{{ 1 + 2 * 3 ** 2 }}|{{ 2 ** 3 ** 2 }}|{{ -7 // 2 }}|{{ -7 % 3 }}|{{ 7 / 2 }}"),
      "19|64|-4|2|3.5");
  EXPECT_EQ(rendered("{{ 'a' ~ 1 ~ none }}|{{ 'ab' * 2 }}|{{ [1] + [2] }}"), "a1None|abab|[1, 2]");
  EXPECT_EQ(rendered("{{ 1 < 2 < 3 }}|{{ 1 in [1] }}|{{ 'x' not in 'abc' }}|{{ 1 == 1.0 }}"),
            "True|True|True|True");
  EXPECT_EQ(rendered("{{ 0 or 'x' }}|{{ 1 and 2 }}|{{ not none }}|{{ 'a' if false else 'b' }}"),
            "x|2|True|b");
}

TEST(ChatTemplate, ItemsAndSlices) {
  const std::string values = R"({"l": [1, 2, 3], "d": {"k": {"v": 5}}, "s": "h\u00e9llo"})";
  EXPECT_EQ(rendered("{{ l[-1] }}{{ l[1:] }}{{ l[::-1] }}{{ l.0 }}", values), "3[2, 3][3, 2, 1]1");
  EXPECT_EQ(rendered("{{ d.k.v }}{{ d['k']['v'] }}[{{ d.none }}][{{ l[9] }}]", values), "55[][]");
  EXPECT_EQ(rendered("{{ s[1] }}{{ s[:-3] }}{{ s[::2] }}", values), "\xc3\xa9h\xc3\xa9hlo");
}

TEST(ChatTemplate, Loops) {
  EXPECT_EQ(rendered("{% for a in [1, 2, 3] if a != 2 %}{{ loop.index0 }}{{ a }}"
                     "{{ ',' if not loop.last }}{% endfor %}"),
            "01,13");
  EXPECT_EQ(rendered("{% for k, v in {'a': 1}.items() %}{{ k }}{{ v }}{% endfor %}"), "a1");
  EXPECT_EQ(rendered("{% for a in nothing %}x{% else %}none{% endfor %}"), "none");
  EXPECT_EQ(rendered("{% for a in range(9) %}{% if a == 1 %}{% continue %}{% elif a == 3 %}"
                     "{% break %}{% endif %}{{ a }}{% endfor %}"),
            "02");
  EXPECT_EQ(rendered("{% for a in 'ab' %}{{ loop.previtem }}{{ loop.nextitem }}"
                     "{{ loop.cycle(1, 2) }}{% endfor %}"),
            "b1a2");
}

TEST(ChatTemplate, VariablesEndWithTheirBlock) {
  EXPECT_EQ(rendered("{% set x = 1 %}{% for a in [1] %}{% set x = 2 %}{% endfor %}{{ x }}"), "1");
  EXPECT_EQ(rendered("{% if true %}{% set x = 2 %}{% endif %}{{ x }}"), "2");
  EXPECT_EQ(rendered("{% set n = namespace(x=1) %}{% for a in [1] %}{% set n.x = 2 %}{% endfor %}"
                     "{{ n.x }}"),
            "2");
  EXPECT_EQ(rendered("{% set a, b = 1, 2 %}{{ b }}{% set t | upper %}x{{ a }}{% endset %}{{ t }}"),
            "2X1");
}

TEST(ChatTemplate, MacrosAndBlocks) {
  EXPECT_EQ(
      rendered("{% macro m(a, b=a) %}[{{ a }}{{ b }}]{% endmacro %}{{ m(1) }}{{ m(1, b=2) }}"),
      "[11][12]");
  EXPECT_EQ(rendered("{% macro m(a) %}<{{ caller(a) }}>{% endmacro %}"
                     "{% call(x) m(1) %}{{ x + 1 }}{% endcall %}"),
            "<2>");
  EXPECT_EQ(rendered("{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, *[2], x=3) }}"),
            "(1, 2){'x': 3}");
  EXPECT_EQ(rendered("{% filter upper %}a{{ 'b' }}{% endfilter %}"), "AB");
  EXPECT_EQ(rendered("{% generation %}a{% endgeneration %}b"), "ab");
}

// What jinja2 makes of these.
TEST(ChatTemplate, RawBlocks) {
  EXPECT_EQ(rendered("a{% raw %}{{ x }}{% if %}{# #}{% endraw %}b"), "a{{ x }}{% if %}{# #}b");
  EXPECT_EQ(rendered("  {% raw %}\n  x\n  {% endraw %}\ny"), "\n  x\ny");
  EXPECT_EQ(rendered("a  {%- raw -%}  \n {{ b }}  {%- endraw -%}  \n c"), "a{{ b }}c");
  EXPECT_EQ(rendered("a{% raw %}"), "a");
  EXPECT_EQ(rendered("{%+ raw %}{% raw %}{%+ endraw +%}\nz"), "{% raw %}\nz");
}

TEST(ChatTemplate, WithBlocks) {
  EXPECT_EQ(rendered("{% set a = 1 %}{% with a = 2, b = a %}{{ a }}{{ b }}{% endwith %}{{ a }}"),
            "211");
  EXPECT_EQ(rendered("{% with a, b = [1, 2] %}{{ b }}{{ a }}{% endwith %}"), "21");
  EXPECT_EQ(rendered("{% with %}{% set x = 1 %}{{ x }}{% endwith %}[{{ x }}]"), "1[]");
  EXPECT_EQ(rendered("{% for a in range(5) %}{% with b = a %}{% if b == 2 %}{% break %}{% endif %}"
                     "{{ b }}{% endwith %}{% endfor %}"),
            "01");
}

TEST(ChatTemplate, RecursiveLoops) {
  const std::string tree =
      R"({"t": [{"n": 1, "c": [{"n": 2, "c": []}, {"n": 3, "c": [{"n": 4, "c": []}]}]}]})";
  EXPECT_EQ(rendered("{% for x in t recursive %}{{ x.n }}:{{ loop.depth }}{{ loop.depth0 }}"
                     "({{ loop(x.c) }}){% else %}-{% endfor %}",
                     tree),
            "1:10(2:21(-)3:21(4:32(-)))");
  EXPECT_EQ(rendered("{% for x in t if x.n != 2 recursive %}{% set outer = loop %}{{ x.n }}"
                     "{% for y in [0] %}{{ outer(x.c) }}{% endfor %}{% endfor %}",
                     tree),
            "134");
  EXPECT_TRUE(check::contains(fault("{% for x in [1] recursive %}{{ loop([x]) }}{% endfor %}"),
                              "at line 1"));
}

TEST(ChatTemplate, FiltersOfUrlsAndSizes) {
  EXPECT_EQ(rendered("{{ 'a b/\u00e9?'|urlencode }}|{{ {'a b': 'c&/', 'n': 1}|urlencode }}|"
                     "{{ [('x', 'y z')]|urlencode }}|{{ 5|urlencode }}"),
            "a%20b/%C3%A9%3F|a+b=c%26%2F&n=1|x=y+z|5");
  EXPECT_EQ(rendered("{{ 'one two, three_4 -- \u00e9t\u00e9'|wordcount }}{{ ''|wordcount }}"),
            "40");
  EXPECT_EQ(
      rendered("<a{{ {'x': 1, 'y': none, 'z': '<\"'}|xmlattr }}{{ {'q': 'r'}|xmlattr(false) }}>"),
      "<a x=\"1\" z=\"&lt;&#34;\"q=\"r\">");
  EXPECT_EQ(rendered("{% for n in [0, 1, 999, 1000, 1023, 1e6, 123456789, 1e30] %}"
                     "{{ n|filesizeformat }},{{ n|filesizeformat(true) }};{% endfor %}"),
            "0 Bytes,0 Bytes;1 Byte,1 Byte;999 Bytes,999 Bytes;1.0 kB,1000 Bytes;1.0 kB,1023 Bytes;"
            "1.0 MB,976.6 KiB;123.5 MB,117.7 MiB;1000000.0 YB,827180.6 YiB;");
  EXPECT_EQ(rendered("{{ range(7)|slice(3)|list }}{{ [1]|slice(2, 'x')|list }}"),
            "[[0, 1, 2], [3, 4], [5, 6]][[1], ['x']]");
  EXPECT_EQ(
      rendered("{{ 'aB\u00df\u00c9'.swapcase() }}{{ 'a'.isascii() }}{{ '\u00e9'.isascii() }}"),
      "AbSS\u00e9TrueFalse");
}

TEST(ChatTemplate, FiltersTestsAndMethods) {
  EXPECT_EQ(rendered("{{ [3, 1]|sort|join('-') }}{{ ' a '|trim }}{{ x|default('d') }}"), "1-3ad");
  EXPECT_EQ(rendered("{{ [{'r': 'u'}, {'r': 'a'}]|selectattr('r', 'equalto', 'a')|list }}"),
            "[{'r': 'a'}]");
  EXPECT_EQ(rendered("{{ 'a b'.split() }}{{ 'xay'.strip('xy') }}{{ 'ab'.endswith('b') }}"),
            "['a', 'b']aTrue");
  EXPECT_EQ(rendered("{{ 1 is number }}{{ 'a' is not string }}{{ x is defined }}"),
            "TrueFalseFalse");
  EXPECT_EQ(
      rendered("{{ 'abc'.startswith('', 3) }}{{ 'abc'.startswith('', 4) }}"
               "{{ 'abc'.endswith('', 2, 1) }}{{ 'abc'.find('', 4) }}{{ 'abc'.find('c', -1) }}"),
      "TrueFalseFalse-12");
  EXPECT_EQ(rendered("{{ 1.5|round(-400) }}{{ 1.5|round(-9223372036854775807 - 1) }}"), "0.00.0");
  EXPECT_EQ(rendered("{{ '%s=%d' % ('a', 2) }}{{ '{:>3}{x!r}'.format(1, x='q') }}"), "a=2  1'q'");
}

TEST(ChatTemplate, Json) {
  const std::string values = R"({"d": {"b": [1, 2.0, null], "a": "\u00e9<&>\"'\n"}})";
  EXPECT_EQ(rendered("{{ d|tojson }}", values),
            "{\"b\": [1, 2.0, null], \"a\": \"\xc3\xa9<&>\\\"'\\n\"}");
  EXPECT_EQ(
      rendered("{{ d|tojson(ensure_ascii=true, sort_keys=true, separators=(',', ':')) }}", values),
      R"({"a":"\u00e9<&>\"'\n","b":[1,2.0,null]})");
  EXPECT_EQ(rendered("{{ {'a': [1, []]}|tojson(indent=1) }}"), "{\n \"a\": [\n  1,\n  []\n ]\n}");
  EXPECT_EQ(rendered("{{ ('{\"a\": [1]}'|from_json).a[0] }}"), "1");
}

TEST(ChatTemplate, LargeIntegersAreToldAsTheyAre) {
  const std::string values =
      R"({"x": 18446744073709551615, "y": 9223372036854775808, "z": 9223372036854775807})";
  EXPECT_EQ(rendered("{{ x }} {{ [y, z] }} {{ {'a': x}|tojson }}", values),
            "18446744073709551615 [9223372036854775808, 9223372036854775807] "
            "{\"a\": 18446744073709551615}");
  EXPECT_EQ(rendered("{{ x == x }}{{ x == y }}{{ x is number }}{{ x is integer }}{{ not x }}"
                     "{{ {x: 1}[x] }}{{ x|string|length }}",
                     values),
            "TrueFalseTrueTrueFalse120");
}

TEST(ChatTemplate, FloatsPrintAsInPython) {
  using chat_template::float_text;
  EXPECT_EQ(float_text(1), "1.0");
  EXPECT_EQ(float_text(-0.0), "-0.0");
  EXPECT_EQ(float_text(1e15), "1000000000000000.0");
  EXPECT_EQ(float_text(1e16), "1e+16");
  EXPECT_EQ(float_text(0.0001), "0.0001");
  EXPECT_EQ(float_text(1.5e-5), "1.5e-05");
  EXPECT_EQ(float_text(1e300), "1e+300");
}

TEST(ChatTemplate, Dates) {
  const std::chrono::local_seconds time(std::chrono::seconds(1720278309));  // 2024-07-06 15:05:09
  EXPECT_EQ(chat_template::date_text(time, "%d %b %Y|%B %A %a|%H:%M:%S %I%p|%j %y %e %%"),
            "06 Jul 2024|July Saturday Sat|15:05:09 03PM|188 24  6 %");
  ChatTemplateInput input;
  input.now = time;
  EXPECT_EQ(ChatTemplate("{{ strftime_now('%Y-%m-%d') }}").render(input).text(), "2024-07-06");
}

TEST(ChatTemplate, WhatTheTemplateIsGiven) {
  ChatTemplateInput input;
  input.messages = JsonArray{JsonObject{{"role", "user"}}};
  input.bos_token = "<s>";
  input.add_generation_prompt = true;
  input.arguments = {{"enable_thinking", false}, {"bos_token", "no"}};
  const ChatTemplate all(
      "{{ bos_token }}{{ eos_token is defined }}{{ tools is none }}{{ documents is none }}"
      "{{ messages[0].role }}{{ add_generation_prompt }}{{ enable_thinking }}");
  EXPECT_EQ(all.render(input).text(), "<s>FalseTrueTrueuserTrueFalse");
}

TEST(ChatTemplate, ErrorsNameTheLine) {
  EXPECT_EQ(fault("a\n{{ raise_exception('Roles must alternate') }}"),
            "chat template: Roles must alternate, at line 2");
  EXPECT_EQ(fault("\n\n{{ x.y.z }}"),
            "chat template: \"x\" is undefined; it was asked for its attribute \"y\", at line 3");
  EXPECT_EQ(fault("{% if x %}\n{{ 1 + 'a' }}{% endif %}\n{{ 1 + none }}"),
            "chat template: values cannot be joined by +; got an integer and none, expected two "
            "numbers, texts, lists or tuples, at line 3");
  EXPECT_EQ(fault("\n{% import %}"),
            "chat template: an unknown block; got \"import\", expected if, for, set, with, macro, "
            "call, filter, generation, raw, break or continue, at line 2");
  EXPECT_EQ(fault("\n{% raw %}x"),
            "chat template: a block has no end; got raw, expected endraw, at line 2");
  EXPECT_EQ(fault("{% for a in [1] %}\n{{ loop([]) }}{% endfor %}"),
            "chat template: a loop is called that is not recursive; expected "
            "{% for ... recursive %}, at line 2");
  EXPECT_EQ(
      fault("a\n{{ 1 + }}"),
      "chat template: unexpected syntax; got the end of the variable, expected an expression, "
      "at line 2");
  EXPECT_EQ(fault("a\n{% if a %}\n"),
            "chat template: a block has no end; got if, expected endif, at line 2");
  EXPECT_EQ(fault("{{ 'a }}"), "chat template: a text has no end; expected its quote, at line 1");
  EXPECT_EQ(fault("{{ l.append(1) }}", R"({"l": []})"),
            "chat template: a method would change its value; got one of a list, whose values never "
            "change, expected a new one in its place, such as a + b, at line 1");
  EXPECT_EQ(fault("{{ x + 1 }}", R"({"x": 18446744073709551615})"),
            "chat template: values cannot be joined by +; got an integer of 2^63 or more and an "
            "integer, expected two numbers, texts, lists or tuples, at line 1");
}

TEST(ChatTemplate, ErrorsNameWhatIsNear) {
  EXPECT_EQ(fault("{{ 1|nothing }}"),
            "chat template: an unknown filter; got \"nothing\", expected one that jinja2 has, at "
            "line 1");
  EXPECT_EQ(
      fault("{{ {}|to_json }}"),
      "chat template: an unknown filter; got \"to_json\", expected perhaps tojson, at line 1");
  EXPECT_EQ(fault("{{ [1]|map('uper')|list }}"),
            "chat template: an unknown filter; got \"uper\", expected perhaps upper, at line 1");
  EXPECT_EQ(fault("{{ 1 is nothing }}"),
            "chat template: an unknown test; got \"nothing\", expected one that jinja2 has, at "
            "line 1");
  EXPECT_EQ(
      fault("\n{{ 1 is mappings }}"),
      "chat template: an unknown test; got \"mappings\", expected perhaps mapping, at line 2");
  EXPECT_EQ(fault("{{ 'a'.startwith('b') }}"),
            "chat template: what is called is not there; a text has no attribute \"startwith\", "
            "expected perhaps startswith, at line 1");
  EXPECT_EQ(
      fault("{{ {}.itmes() }}"),
      "chat template: what is called is not there; a dict has no attribute \"itmes\", expected "
      "perhaps items, at line 1");
  EXPECT_EQ(fault("{{ [].distance() }}"),
            "chat template: what is called is not there; a list has no attribute \"distance\", at "
            "line 1");
  EXPECT_EQ(fault("{{ 1|round(digits=2) }}"),
            "chat template: round: an unknown argument; got \"digits\", expected one of precision, "
            "method, at line 1");
  EXPECT_EQ(fault("{% macro m(a, b) %}{% endmacro %}{{ m(c=1) }}"),
            "chat template: macro \"m\": an unknown argument; got \"c\", expected one of a, b, at "
            "line 1");
  EXPECT_EQ(fault("{% macro m() %}{% endmacro %}{{ m(c=1) }}"),
            "chat template: macro \"m\": an unknown argument; got \"c\", expected none, at line 1");
}

TEST(ChatTemplate, ErrorsNameTheFunctionThatWasCalled) {
  for (const char* name : {"lower", "upper", "capitalize"}) {
    for (const char* call : {"'x'|NAME(1)", "'x'.NAME(1)", "['x']|map('NAME', 1)|list"}) {
      std::string source = "{{ " + std::string(call) + " }}";
      source.replace(source.find("NAME"), 4, name);
      EXPECT_TRUE(fault(source).starts_with("chat template: " + std::string(name) + ": too many"))
          << source << ": " << fault(source);
    }
  }
  for (const auto& [source, name] :
       std::vector<std::pair<std::string, std::string>>{{"{{ 'x'.rjust() }}", "rjust"},
                                                        {"{{ 'x'.isalpha(1) }}", "isalpha"},
                                                        {"{{ 'x'.endswith(3) }}", "endswith"},
                                                        {"{{ 'x'.rpartition('') }}", "rpartition"},
                                                        {"{{ 'x'.rindex('y') }}", "rindex"},
                                                        {"{{ [1]|rejectattr|list }}", "rejectattr"},
                                                        {"{{ [1]|reject(1)|list }}", "reject"},
                                                        {"{{ 1 is lt }}", "lt"},
                                                        {"{{ range() }}", "range"},
                                                        {"{{ joiner(1, 2) }}", "joiner"}}) {
    EXPECT_TRUE(fault(source).starts_with("chat template: " + name + ": "))
        << source << ": " << fault(source);
  }
}

TEST(ChatTemplate, ErrorsSayWhatWasExpected) {
  for (const char* source : {"{{ [1][::0] }}",
                             "{{ 1 // 0 }}",
                             "{{ 1.0 % 0 }}",
                             "{{ 0 ** -1 }}",
                             "{{ 10.0 ** 999 }}",
                             "{{ -'a' }}",
                             "{{ [1][:'a'] }}",
                             "{{ range(1, 2, 0) }}",
                             "{{ 1() }}",
                             "{{ 'a'.index('b') }}",
                             "{{ [].index(1) }}",
                             "{{ 'a'.split('') }}",
                             "{{ ','.join([1]) }}",
                             "{{ '%d' % 'a' }}",
                             "{{ '%x' % 1.5 }}",
                             "{{ '%y' % 1 }}",
                             "{{ '%' % 1 }}",
                             "{{ '%s' % (1, 2) }}",
                             "{{ '%s %s' % 1 }}",
                             "{{ '%(a)s' % 1 }}",
                             "{{ '%(a)s' % {} }}",
                             "{{ '}'.format() }}",
                             "{{ '{'.format() }}",
                             "{{ '{0}'.format() }}",
                             "{{ '{a}'.format() }}",
                             "{{ '{:y}'.format(1) }}",
                             "{{ '{:d}'.format('a') }}",
                             "{{ '{!rr}'.format(1) }}",
                             "{{ x|int }}",
                             "{{ x|float }}",
                             "{{ 'a'|round }}",
                             "{{ 'a'|abs }}",
                             "{{ 1|indent }}",
                             "{{ 1|wordwrap }}",
                             "{{ 'a'|truncate(1) }}",
                             "{{ 'a'|filesizeformat }}",
                             "{{ 1|tojson(indent=9999) }}",
                             "{{ range|tojson }}",
                             "{{ '{'|from_json }}",
                             "{{ 1|from_json }}",
                             "{{ 1|items }}",
                             "{{ {}|dictsort(by='a') }}",
                             "{{ ['a']|sum }}",
                             "{{ [1]|map(1) }}",
                             "{{ [1]|slice(0) }}",
                             "{{ 1|xmlattr }}",
                             "{{ {'a b': 1}|xmlattr }}",
                             "{{ 'a'|urlize(extra_schemes=['b']) }}",
                             "{{ 'a' is odd }}",
                             "{{ 1 in 'a' }}",
                             "{{ dict([1]) }}",
                             "{{ dict([[1]]) }}",
                             "{{ dict(**1) }}",
                             "{{ dict(1, 2) }}",
                             "{{ namespace({1: 2}) }}",
                             "{% set a.b = 1 %}",
                             "{% set true = 1 %}",
                             "{% break %}",
                             "{% macro m(a=1, b) %}{% endmacro %}",
                             "{{ 1 is odd is even }}",
                             "{{ 1) }}",
                             "{{ ? }}",
                             "{{ 99999999999999999999 }}",
                             "{{ '\\x1' }}"}) {
    EXPECT_TRUE(check::contains(fault(source), "expected ")) << source << ": " << fault(source);
  }
}

TEST(ChatTemplate, NothingOutsideOfValuesIsReached) {
  for (const char* source : {"{{ ''.__class__ }}", "{{ [].__len__ }}", "{{ range.__globals__ }}",
                             "{{ self }}", "{{ namespace.__init__ }}"}) {
    EXPECT_EQ(rendered(source), "") << source;
  }
  EXPECT_NE(fault("{{ '{0.x}'.format(1) }}"), "");
}

TEST(ChatTemplate, RendersOnSeveralThreads) {
  const ChatTemplate shared("{% for m in messages %}{{ m.role ~ loop.index }}{% endfor %}");
  ChatTemplateInput input;
  input.messages = JsonArray(50, JsonObject{{"role", "user"}});
  const std::string wanted = shared.render(input).text();
  std::vector<std::thread> threads;
  std::vector<std::string> texts(4);
  for (std::string& text : texts) {
    threads.emplace_back([&] { text = shared.render(input).text(); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : texts) EXPECT_EQ(text, wanted);
}

}  // namespace
}  // namespace hearth::models
