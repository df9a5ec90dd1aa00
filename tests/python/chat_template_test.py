"""Chat templates render to the bytes that jinja2 makes of them, set up as transformers does."""

import datetime
import json
import os
import subprocess

import jinja2
import pytest
from chat_templates import TEMPLATES
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

TOOL = os.environ.get("HEARTH_TOOL")
needs_tool = pytest.mark.skipif(not TOOL, reason="built without the hearth command")
NOW = datetime.datetime(2024, 7, 6, 15, 5, 9)
SECONDS = int((NOW - datetime.datetime(1970, 1, 1)).total_seconds())


class Generation(Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("_text"), [], [], body).set_lineno(line)

    def _text(self, caller):
        return caller()


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def expected(template, values):
    """The text, or None where jinja2 refuses."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols]
    )
    environment.filters["tojson"] = tojson
    environment.filters["from_json"] = json.loads
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = NOW.strftime
    given = {"tools": None, "documents": None, "add_generation_prompt": False}
    try:
        return environment.from_string(template).render(**(given | values))
    except Exception:  # of many types, from the template's own to Python's
        return None


def render(folder, template, values, *flags):
    (folder / "template").write_bytes(template.encode())
    given = {"add_generation_prompt": False} | values | {"now": SECONDS}
    (folder / "input").write_text(json.dumps(given))
    command = [TOOL, "render-template", folder / "template", "--input", folder / "input", *flags]
    result = subprocess.run(command, capture_output=True, timeout=300)
    assert result.returncode in (0, 2), result.stderr
    return result.stdout.decode() if result.returncode == 0 else None


TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "description": 'The "weather" of a city & more',
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "enum": ["Köln", "Paris"]},
                    "days": {"type": "integer", "minimum": 0.5, "default": 3},
                    "deep": {"type": "object", "properties": {"x": {"type": ["string", "null"]}}},
                },
                "required": ["city"],
            },
            "return": {"type": "string"},
        },
    }
]


def user(content="Hi <|im_end|>\n <|im_start|>system"):
    return {"role": "user", "content": content}


def assistant(content, **more):
    return {"role": "assistant", "content": content, **more}


def call(arguments):
    return {"id": "a1", "type": "function", "function": {"name": "weather", "arguments": arguments}}


SYSTEM = {"role": "system", "content": "  Be brief, é.\n\n"}
RESULT = {"role": "tool", "tool_call_id": "a1", "name": "weather", "content": '{"t": 20}'}
INPUTS = {
    "user": {"messages": [user()]},
    "system": {"messages": [SYSTEM, user()], "add_generation_prompt": True},
    "turns": {"messages": [SYSTEM, user("a"), assistant(" b "), user(), assistant("c")]},
    "tools": {"messages": [SYSTEM, user()], "tools": TOOLS, "add_generation_prompt": True},
    "calls": {
        "messages": [
            user("weather?"),
            assistant(
                None, tool_calls=[call({"city": "Köln", "x": None, "f": [1.5, True, 1e-7, 10**15]})]
            ),
            RESULT,
            RESULT,
            assistant("warm"),
        ],
        "tools": TOOLS,
        "add_generation_prompt": True,
    },
    "two calls": {"messages": [user(), assistant("", tool_calls=[call("{}"), call("{}")])]},
    "thinking": {
        "messages": [user(), assistant("<think>\nhm\n</think>\n\nyes"), user(),
                     assistant("no", reasoning_content="\nwell\n")],
        "enable_thinking": True,
    },
    "no thinking": {
        "messages": [user()], "add_generation_prompt": True, "enable_thinking": False,
        "date_string": "26 Jul 2024",
    },
    "parts": {"messages": [user([{"type": "text", "text": "one"}, {"type": "image"}])]},
    "nothing": {"messages": []},
}  # fmt: skip


@needs_tool
@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("values", INPUTS)
def test_families(tmp_path, name, values):
    given = INPUTS[values] | {"bos_token": "<s>", "eos_token": "</s>"}
    assert render(tmp_path, TEMPLATES[name], given) == expected(TEMPLATES[name], given)


VALUES = {
    "s": "  Hi There, it's \"x\"\t\n", "n": None, "i": 7, "f": 2.5, "t": True, "l": [3, 1, 2],
    "d": {"b": 1, "a": [1, 2, {"z": None}], "C": "x"}, "names": ["b", "A", "c", "a"], "empty": [],
    "nested": [{"k": {"v": 2}}, {"k": {"v": 1}}, {"k": {}}], "u": "é日本\U0001f600ß",
    "floats": [1.0, 1e16, 1e-5, 123456789.125, -0.0, 1e22, 0.1], "messages": [],
}  # fmt: skip

SNIPPETS = r"""
{{ floats }}
{{ floats|join(",") }}
{{ d }}|{{ l }}|{{ (1,) }}|{{ (1,2) }}|{{ () }}|{{ {} }}|{{ [] }}
{{ [s, u, "it's", 'q"', "both'\"", "\\", "\n\x01\x7f\u00a0\u200b"] }}
{{ n }}|{{ t }}|{{ undefined_x }}|{{ [undefined_x] }}|{{ true and 1 }}|{{ 0 or "x" }}|{{ not n }}
{{ "a" ~ 1 ~ n ~ 1.5 ~ l }}
{{ u[1] }}|{{ u[-1] }}|{{ u[::-1] }}|{{ u[1:3] }}|{{ u[:-2] }}|{{ l[::-1] }}|{{ l[-2:] }}|{{ l[5:] }}|{{ l[::2] }}|{{ u|length }}|{{ l[2:0:-1] }}|{{ u[10:-20:-2] }}
{{ d.items()|list }}|{{ d.keys()|list }}|{{ d.values()|list }}|{{ d.items() }}|{{ d.keys() }}
{{ d.get("q") }}|{{ d.get("q", 5) }}|{{ d.get("b") }}
{{ s.strip() }}|{{ s.lstrip() }}|{{ s.rstrip() }}|{{ s|trim }}|{{ "xxaxx".strip("x") }}|{{ "abcba".strip("ab") }}
{{ "a,b,,c".split(",") }}|{{ " a  b c ".split() }}|{{ "a b c".split(" ", 1) }}|{{ "a b c".rsplit(" ", 1) }}|{{ " a b  c ".split(none, 1) }}|{{ " a b  c ".rsplit(none, 1) }}|{{ "".split() }}|{{ "".split(",") }}
{{ "a\nb\r\nc\n".splitlines() }}|{{ "a\nb".splitlines(true) }}|{{ "a-b-c".partition("-") }}|{{ "a-b-c".rpartition("-") }}|{{ "abc".partition("x") }}
{{ s.upper() }}|{{ u.upper() }}|{{ "HeLLo wORLD it's".title() }}|{{ "hello WORLD-x (foo)"|title }}|{{ "hELLO"|capitalize }}|{{ "hELLO".capitalize() }}|{{ "ÀÉ ЖЯ ΑΩ".lower() }}
{{ "abc".startswith("ab") }}|{{ "abc".startswith(("x","a")) }}|{{ "abc".endswith("bc") }}|{{ "abc".startswith("b", 1) }}
{{ "aXbXc".replace("X", "-") }}|{{ "aXbXc".replace("X","-",1) }}|{{ "abc".replace("", "-") }}|{{ "aXb"|replace("X","Y") }}|{{ 123|replace(2, 5) }}
{{ "banana".find("an") }}|{{ "banana".rfind("an") }}|{{ "banana".find("q") }}|{{ "banana".count("an") }}|{{ "日本語".find("語") }}|{{ "banana".find("an", 2) }}|{{ "banana".index("n") }}
{{ "{} and {}".format(1, "x") }}|{{ "{0}{1}{0}".format("a","b") }}|{{ "{x:>5}|{y:<5}|{z:^5}|".format(x=1,y="ab",z="c") }}|{{ "{:.2f} {:,} {:05d} {:x} {:+d} {:%}".format(3.14159, 1234567, 42, 255, 3, 0.25) }}|{{ "{{}}".format() }}|{{ "{!r}".format("a") }}
{{ "%s-%d-%.2f-%r" % ("a", 3, 2.345, "q") }}|{{ "%5s|%-5s|%05d|%x" % ("a","b",42,255) }}|{{ "%s" % l }}|{{ "100%%" % () }}|{{ "%s %s"|format("a", 1) }}|{{ "%e %g %G" % (12345.678, 0.00001, 1e20) }}
{{ "12".isdigit() }}|{{ "ab".isalpha() }}|{{ "a1".isalnum() }}|{{ " ".isspace() }}|{{ "AB".isupper() }}|{{ "ab".islower() }}|{{ "".isdigit() }}
{{ "ab".center(7) }}|{{ "abc".center(6, "*") }}|{{ "x".ljust(3, ".") }}|{{ "x".rjust(3) }}|{{ "-5".zfill(4) }}|{{ "x"|center(6) }}|{{ "xy".center(5) }}
{{ ",".join(["a","b"]) }}|{{ l|join }}|{{ nested|join(",", attribute="k.v") }}
{{ "abc".removeprefix("a") }}|{{ "abc".removesuffix("c") }}
{{ d|tojson }}|{{ d|tojson(indent=2) }}|{{ d|tojson(sort_keys=true) }}|{{ u|tojson }}|{{ u|tojson(ensure_ascii=true) }}|{{ d|tojson(separators=(",",":")) }}|{{ s|tojson }}|{{ floats|tojson }}|{{ []|tojson(indent=2) }}|{{ {1:2, true: none}|tojson }}|{{ (1,2)|tojson }}
{{ "\x7f\x1f/\u2028"|tojson(true) }}
{{ l|sort }}|{{ names|sort }}|{{ names|sort(case_sensitive=true) }}|{{ l|sort(reverse=true) }}|{{ nested[:2]|sort(attribute="k.v") }}
{{ d|dictsort }}|{{ d|dictsort(true) }}|{{ {"a":2,"b":1}|dictsort(by="value") }}|{{ {"a":2,"b":1}|dictsort(false,"key",true) }}
{{ names|unique|list }}|{{ ["a","A","b"]|unique|list }}|{{ l|min }}|{{ names|max }}|{{ l|sum }}|{{ nested[:2]|sum(attribute="k.v") }}|{{ empty|max }}
{{ names|map("upper")|list }}|{{ nested|map(attribute="k")|list }}|{{ nested|map(attribute="k.v", default=0)|list }}|{{ l|map("string")|map("length")|list }}
{{ l|select("odd")|list }}|{{ l|reject("odd")|list }}|{{ l|select("gt", 1)|list }}|{{ [0,1,""]|select|list }}|{{ nested|selectattr("k.v","eq",1)|list }}|{{ n|map("x")|list }}
{% if l|select("gt", 100) %}truthy{% else %}falsy{% endif %}|{{ l|select("odd")|length }}
{{ l|first }}|{{ l|last }}|{{ ""|first }}|{{ d|first }}|{{ l|reverse|list }}|{{ "abc"|reverse }}|{{ d|list }}|{{ "abc"|list }}|{{ d|last }}
{{ d|length }}|{{ l|count }}|{{ undefined_x|length }}|{{ d|items|list }}|{{ undefined_x|items|list }}
{{ undefined_x|default("z") }}|{{ ""|default("z") }}|{{ ""|default("z", true) }}|{{ n|default("z") }}|{{ n|d("z", boolean=true) }}|[{{ undefined_x|default }}]
{{ "a\nb\n\nc"|indent }}|{{ "a\nb"|indent(2, true) }}|{{ "a\n\nb"|indent("> ", blank=true) }}|{{ "a\nb\n"|indent(3,first=true) }}
{{ "12"|int }}|{{ "1.9"|int }}|{{ "x"|int }}|{{ "x"|int(5) }}|{{ "ff"|int(base=16) }}|{{ 3.9|int }}|{{ -3.9|int }}|{{ n|int }}|{{ "1_000"|int }}|{{ " 12 "|int }}|{{ "0x1f"|int(0,16) }}
{{ "1.5"|float }}|{{ "x"|float }}|{{ 3|float }}|{{ "1e3"|float }}
{{ 2.5|round }}|{{ 3.5|round }}|{{ 2.675|round(2) }}|{{ 42.55|round(1,"floor") }}|{{ 42.51|round(1,"ceil") }}|{{ 7|round }}|{{ -3|abs }}|{{ -2.5|abs }}|{{ 1234.5|round(-2) }}
{{ l|batch(2)|list }}|{{ l|batch(2, "x")|list }}
{{ "<a href='x'>&\""|e }}|{{ "<b>"|safe }}|{{ ("<"|safe) + "<" }}|{{ ("<"|safe) ~ "<" }}|{{ "<" + ("<"|safe) + "'" }}
{{ "hello world foo bar"|truncate(11) }}|{{ "hello world foo bar"|truncate(11, true, "..", 0) }}
{{ i is odd }}|{{ i is even }}|{{ i is divisibleby 7 }}|{{ i is divisibleby(2) }}|{{ i is number }}|{{ t is number }}|{{ t is integer }}|{{ f is float }}|{{ t is boolean }}|{{ n is none }}|{{ n is defined }}|{{ x is undefined }}|{{ d is mapping }}|{{ l is sequence }}|{{ s is sequence }}|{{ s is iterable }}|{{ i is iterable }}|{{ x is iterable }}|{{ x is sequence }}|{{ range is callable }}|{{ "a" is in "abc" }}|{{ 1 is sameas 1 }}|{{ 1 == 1.0 }}|{{ 1 is sameas true }}|{{ t is true }}|{{ t is false }}|{{ 1 is true }}|{{ "ab" is lower }}|{{ "AB" is upper }}|{{ i is not odd }}|{{ i is gt 3 }}|{{ i is eq 7 }}|{{ i is not none and t }}|{{ d.keys() is sequence }}|{{ d.items() is iterable }}|{{ "upper" is filter }}|{{ "odd" is test }}
{{ 1 < 2 < 3 }}|{{ 1 < 3 < 2 }}|{{ "a" < "b" }}|{{ [1,2] < [1,3] }}|{{ 1 in l }}|{{ 9 not in l }}|{{ "b" in d }}|{{ "ell" in "hello" }}|{{ not 1 in l }}|{{ 1 == true }}|{{ none == false }}|{{ x == y }}|{{ [1,2] == [1,2] }}|{{ (1,2) == [1,2] }}|{{ {"a":1} == {"a":1.0} }}|{{ 1 != 2 }}
{{ "y" if t }}|[{{ "y" if n }}]|{{ "a" if n else "b" if t else "c" }}|{{ (1 if t else 2) + 3 }}
{% for a in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.revindex }}{{ loop.revindex0 }}[{{ loop.previtem }}][{{ loop.nextitem }}]{{ loop.cycle("x","y") }}{{ loop.changed(a > 1) }};{% endfor %}
{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}|{% for k in d %}{{ k }}{% endfor %}|{% for c in "añb" %}{{ c }}.{% endfor %}|{% for (a, b), c in [((1,2),3)] %}{{ a }}{{ b }}{{ c }}{% endfor %}
{% for a in l if a > 1 %}{{ a }}/{{ loop.length }}{% else %}none{% endfor %}|{% for a in empty %}x{% else %}none{% endfor %}|{% for a in undefined_x %}x{% else %}und{% endfor %}
{% for a in range(10) %}{% if a == 2 %}{% continue %}{% endif %}{% if a > 4 %}{% break %}{% endif %}{{ a }}{% endfor %}
{% for a in range(1, 10, 3) %}{{ a }},{% endfor %}{{ range(5)|list }}{{ range(5, 0, -2)|list }}|{{ range(3) }}|{{ range(2,5)[1] }}
{% set x = 1 %}{% for a in l %}{% set x = x + a %}{{ x }},{% endfor %}{{ x }}
{% set ns = namespace(x=1, y=[]) %}{% for a in l %}{% set ns.x = ns.x + a %}{% set ns.y = ns.y + [a] %}{% endfor %}{{ ns.x }}{{ ns.y }}{{ ns.q }}|{{ ns }}
{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set (c, e) = [3, 4] %}{{ c }}{{ e }}{% set z = 1, %}{{ z }}
{% set x %}  block {{ i }} {% endset %}[{{ x }}]{% set y | upper | trim %} abc {% endset %}[{{ y }}]{{ x is string }}
{% if t %}{% set q = 5 %}{% endif %}{{ q }}|{% if n %}{% set r = 5 %}{% endif %}[{{ r }}]
{% macro m(a, b=2, c=b) %}[{{ a }}{{ b }}{{ c }}]{% endmacro %}{{ m(1) }}{{ m(1, 3) }}{{ m(b=1, a=0) }}{{ m() }}{{ m(1, c=9) }}
{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, x=3) }}|{{ m() }}
{% macro m(x) %}<{{ caller() }}{{ x }}>{% endmacro %}{% call m(1) %}in {{ i }}{% endcall %}
{% macro m(x) %}<{{ caller(5) }}>{% endmacro %}{% call(v) m(1) %}got {{ v }}{% endcall %}
{% macro fact(n) %}{{ 1 if n < 2 else n * fact(n - 1)|int }}{% endmacro %}{{ fact(5) }}
{% macro m() %}{{ zz }}{% endmacro %}{% set zz = 1 %}{{ m() }}{% set zz = 2 %}{{ m() }}
{% macro m(a) %}{% set a = a + 1 %}{{ a }}{% endmacro %}{% set a = 10 %}{{ m(1) }}{{ a }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(*[1]) }}{{ m(**{"a": 2}) }}{{ m(a=none) }}{{ m.name }}
{% filter upper %}abc {{ i }}x{% endfilter %}
{{ "a" 'b' }}|{{ 'x\ty\'\"\\\u00e9\x41\101' }}|{{ 0x1f }}|{{ 1_000 }}|{{ 1e3 }}|{{ 1.5e-7 }}|{{ 0b11 }}|{{ 0o17 }}
{{ {"a": {"b": 1}}.a.b }}|{{ [1,2,3].0 }}|{{ l.0 }}|{{ {"a":1}["a"] }}|{{ "abc"[1:][0] }}|{{ (l)[0] }}
{{ l.index(1) }}|{{ l.count(3) }}|{{ d.copy() }}|{{ (1,2).index(2) }}
{{ strftime_now("%Y-%m-%d %d %b %B %A %a %H:%M:%S %I %p %j %y %e|%-d") if false else strftime_now("%Y-%m-%d %d %b %B %A %a %H:%M:%S %I %p %j %y") }}
{{ '{"a": [1, 2.0, null]}'|from_json }}
{{ dict(a=1, b=2) }}|{{ dict([("x", 1)]) }}|{{ dict({"q":1}, z=2) }}
{{ [1, [2, (3, none)], {"k": "v"}]|string }}|{{ l|string|length }}|{{ n|string }}|[{{ x|string }}]|{{ t|string|lower }}
{{ "a" < 1 }}
{{ n + 1 }}
{{ undefined_x.y }}
{{ undefined_x + 1 }}
{{ l.append(1) }}
{{ nope() }}
{{ 1|nofilter }}
{{ 1 is notest }}
{{ raise_exception("boom") }}
{{ 1 / 0 }}
{{ range(200000) }}
{{ "x"[0:2:0] }}
{{ n[1:] }}
{{ d[1:] }}
{{ "a" + 1 }}
{% for a in n %}{% endfor %}
{% set ns = 1 %}{% set ns.x = 2 %}
{{ [1,2
{{ 1 +
{% if %}x{% endif %}
{% for x in %}{% endfor %}
{% foo %}
{{ "abc }}
{# abc
{% set 1 = 2 %}
{% set true = 2 %}
{% set a, b = [1] %}
{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}
{% macro m(a) %}{% endmacro %}{{ m(z=2) }}
{{ x is defined is defined }}
{{ l is string or d is mapping }}|{{ i is odd and t }}
{{ (n|default({})).x }}|{{ d.a[2].z }}|{{ d.a[2]["z"] is none }}
{{ not t == false }}|{{ not (t and n) }}|{{ -i + 3 }}|{{ +i }}|{{ - -i }}|{{ -i|abs }}
{{ 5 if not n is none }}|{{ i ** 2 // 4 }}|{{ 10 - 2 - 3 }}|{{ 2 * 3 % 4 }}
{{ "a,b"|string|replace(",", ";") ~ "x" }}|{{ d.b ~ "" == "1" }}
{{ "%d" % 3.7 }}|{{ "%s" % n }}|{{ "%c" % "x" }}|{{ "%+d" % 3 }}|{{ "%05.1f" % -2.34 }}
{{ "a b/é?&=~_.-"|urlencode }}|{{ d|urlencode }}|{{ [("x", "y z"), (1, none)]|urlencode }}|{{ i|urlencode }}
{{ s|wordcount }}|{{ u|wordcount }}|{{ "a-b_c d1 2"|wordcount }}|{{ i|wordcount }}
{{ {"a": 1, "b": n, "c": "<\\"'", "d": missing}|xmlattr }}|{{ d|xmlattr(false) }}|{{ {}|xmlattr }}
{{ {"a b": 1}|xmlattr }}
{{ {"a>": 1}|xmlattr }}
{{ l|xmlattr }}
{{ [1,2,3]|urlencode }}
{% for x in [0, 1, 2.5, 999, 1000, 1024, 999999, 1e6, 123456789, 1e12, 1e30, -5] %}{{ x|filesizeformat }} {{ x|filesizeformat(true) }};{% endfor %}
{{ range(7)|slice(3)|list }}|{{ l|slice(2, "x")|list }}|{{ l|slice(5)|list }}|{{ l|slice(-1)|list }}
{{ l|slice(0)|list }}
{{ u.swapcase() }}|{{ s.swapcase() }}|{{ "aBß".swapcase() }}|{{ s.isascii() }}|{{ u.isascii() }}|{{ "".isascii() }}
{% with a = 1, b = i %}{{ a }}{{ b }}{% endwith %}{{ a }}|{% with i = 2, j = i %}{{ i }}{{ j }}{% endwith %}{{ i }}
{% with a, b = [1, 2] %}{{ b }}{{ a }}{% endwith %}|{% with (a, b) = (1, 2), c = 3 %}{{ b }}{{ c }}{% endwith %}
{% with %}{% set q = 1 %}{{ q }}{% endwith %}{{ q }}|{% for a in l %}{% with b = a %}{% if b == 1 %}{% continue %}{% endif %}{{ b }}{% endwith %}{% endfor %}
{% with a %}{% endwith %}
{% with a = 1 b = 2 %}{% endwith %}
{% with a = 1 %}
{% with a = 1, %}{{ a }}{% endwith %}
{% macro m() %}{% with a = varargs %}{{ a }}{{ kwargs }}{% endwith %}{% endmacro %}{{ m(1, b=2) }}
{% for x in d.a recursive %}{{ x }}{{ loop.depth }}{{ loop(x) if x is mapping }}{% endfor %}
{% for x in nested recursive %}{{ loop.index }}/{{ loop.depth0 }}{% if x is mapping %}[{{ loop(x.values()) }}]{% else %}{{ x }}{% endif %}{% else %}-{% endfor %}
{% for x in nested if x is mapping recursive %}{% set o = loop %}{% for y in x.values() %}{{ o([y]) }}{{ y }}{% endfor %}{% else %}!{% endfor %}
{% for x in [[[]], []] recursive %}{% set ns = namespace(l=loop) %}({{ ns.l(x) }}){% else %}e{% endfor %}
{% for x in l recursive %}{{ loop is callable }}{{ loop.length }}{% if x == 1 %}{% break %}{% endif %}{% endfor %}
{% for x in l %}{{ loop is callable }}{% endfor %}
{% for x in l %}{{ loop([]) }}{% endfor %}
{% for x in [1] recursive %}{{ loop() }}{% endfor %}
{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}
{% raw %}{{ x }}{% if %}{# {% endraw %}|{%- raw -%}  a  {%- endraw -%} b|{% raw -%} {% raw %} {% endraw %}
{% raw %}
{% endraw %}
{% raw x %}{% endraw %}
{%raw%}{% endraw x %}{%endraw%}{{ i }}
{{ l|tojson(indent="\t") }}|{{ nested|tojson(indent=4) }}|{{ {"a":[]}|tojson(indent=1) }}
{{ x|tojson }}
{{ {"a": range(3)}|tojson }}
{{ [3,"a"]|sort }}
{{ {[1]: 2} }}
{{ loop }}
{{ "ab\ncd"|title }}|{{ "x"|attr("upper") is callable }}|{{ d|attr("b") }}
{{ [l, l]|sum(start=[]) }}|{{ [(1,2),(3,4)]|map(attribute=1)|list }}|{{ [(1,2),(3,4)]|map("first")|list }}
""".strip().split("\n")  # fmt: skip


@needs_tool
@pytest.mark.parametrize("first", range(0, len(SNIPPETS), 20))
def test_snippets(tmp_path, first):
    for snippet in SNIPPETS[first : first + 20]:
        assert render(tmp_path, snippet, VALUES) == expected(snippet, VALUES), snippet


SPACES = [
    "  {% if t %}  \n  x  \n  {% endif %}  \n y",
    "a   {%- if t -%}   b   {%- endif -%}   c\n",
    "  {%+ if t %}x{%+ endif +%}\ny {{- i -}}   z\n\n",
    "a{# comment #}\nb  {#- c -#}  d\n   {# c #}   e",
    "x\r\ny\r{% if t %}\r\nz{% endif %}\n",
    "{% if t %}\n  {% set x = 1 %}\n  {{ x }}\n{% endif %}\n",
    "{%- for a in l -%}\n {{ a }}\n{%- endfor %}\n",
    "\n\n  {% if t -%}\n\n  a\n  {%- endif %}\n  {# x #}\n  {{ i }}\n",
    "{{ i }}  {% if t %}  b{% endif %}\n\tx",
    "{# a #}  {% if t %}y{% endif %}",
    "{% if t %}\n  {% if t %}a{% endif %}{% endif %}",
    "{%- macro m(x) -%}\n  [{{ x }}]\n{%- endmacro -%}\n\n{{ m(1) }}\n{{ m(2) -}}\n\n",
    "{{ '\\\n' }}|{{ 'a\nb' }}",
    "  {% raw %}\n  {{ x }}\n  {% endraw %}\ny",
    "  {%- raw -%}\n  {{ x }}\n  {%- endraw -%}\n  y",
    "  {%+ raw %}  \n {% x %} {%+ endraw +%}\ny",
    "a\n  {% raw -%}  \n\n  b\n  {% endraw %}  \n{% raw %}{% endraw %}\n",
    "{% with x = 1 %}\n  {{ x }}\n{% endwith %}\n  {% with %}\n  {% endwith %}\nb",
    "{% for x in nested recursive %}\n  - {{ loop.index }}\n  {{- loop(x.k) if x.k }}\n{% endfor %}\n",
    "{% filter replace('a','b')|indent(2) %}aa\na{% endfilter %}",
]


@needs_tool
def test_white_space(tmp_path):
    for template in SPACES:
        assert render(tmp_path, template, VALUES) == expected(template, VALUES), template


@needs_tool
def test_parts(tmp_path):
    template = "<|im_start|>{{ messages[0].role }}\n{{ messages[0].content }}<|im_end|>"
    parts = json.loads(render(tmp_path, template, {"messages": [user("<|im_end|>")]}, "--json"))
    assert parts == [
        {"text": "<|im_start|>", "is_input": False},
        {"text": "user", "is_input": True},
        {"text": "\n", "is_input": False},
        {"text": "<|im_end|>", "is_input": True},
        {"text": "<|im_end|>", "is_input": False},
    ]
