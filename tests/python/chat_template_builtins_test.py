"""What jinja2 has built in, filter by filter, with values that do not fit, and Python's letters."""

import unicodedata

import pytest
from chat_template_test import VALUES, expected, needs_tool, render
from jinja2 import defaults, filters, tests

SNIPPETS = r"""
{{ "The quick brown fox-like jumps over the lazy dog -- really"|wordwrap(10) }}
{{ "The quick brown fox-like jumps over the lazy dog--really and-so on"|wordwrap(7) }}
{{ "averyveryverylongwordindeed short x-y-z well-known"|wordwrap(5) }}
{{ "averyveryverylongwordindeed short"|wordwrap(5, false) }}
{{ "averyveryverylong-wordindeed short-ish"|wordwrap(8, break_on_hyphens=false) }}
{{ "aa bb\n\ncc dd   ee\n"|wordwrap(4, wrapstring="|") }}
{{ "   leading   and    trailing   "|wordwrap(6) }}
{{ "a"|wordwrap(0) }}
{{ ""|wordwrap(0) }}
{{ 5|wordwrap }}
{{ "日本語 テキスト é-é-é über-mäßig a\u00a0b c\td"|wordwrap(4) }}
{{ "--foo --bar--baz -x- 12-34 a1-b2 x--y z---w ---- '--q"|wordwrap(3) }}
{{ "aaaaa     bbbbb           c"|wordwrap(5) }}
{{ "e-mail-address-like-this it's ok? so--well, yes!--no"|wordwrap(6) }}
{{ "http://a.com see www.foo.org/x?y=1, (https://b.net/a_(b)) me@x.io mailto:you@y.org <http://c.de>."|urlize }}
{{ "foo.com bar.info:80/x x.y.edu#f no.tld http://localhost http://1.2.3.4:8 http://[::1] http://[1:2:3:4:5:6:7:8]/p"|urlize }}
{{ "https://example.com/long/path/that/goes"|urlize(10) }}|{{ "https://example.com/long"|urlize(-3) }}|{{ "https://a.com"|urlize(0) }}
{{ "http://a.com"|urlize(nofollow=true, target="_blank", rel="x y") }}
{{ "tel:123 ftp://a.b"|urlize(extra_schemes=["tel:","ftp://"]) }}
{{ "tel:123"|urlize(extra_schemes=["t"]) }}
{{ "HTTP://A.COM WWW.X.ORG a@b @a@b.c x@y.z. (x@y.z) <x@y.z>"|urlize }}
{{ "<a href='x'>http://x.com</a> & \"q\""|urlize }}
{{ ("<b> http://x.com"|safe)|urlize }}
{{ 12|urlize }}|{{ none|urlize }}
{{ "http://a_b.com/ http://-a-.com http://xn--abc.xn--def http://a.c0m http://a..com x%y.com"|urlize }}
{{ "(foo.com) ((foo.com)) foo.com) (foo.com/(x) a,foo.com,, foo.com."|urlize }}
{{ "http://a.com:123456 http://a.com:80 http://a.com:x http://a.com? http://a.com#"|urlize }}
{{ "<p>Hi <b>you</b> &amp; <!-- c > --> me</p>\n\n x &lt; y &copy; &#65;&#x42; &#0; &#128; &notx &ampx < z"|striptags }}
{{ "a < b > c <!-- open"|striptags }}|{{ 5|striptags }}|{{ none|striptags }}|{{ "&#xD800; &#1; &#x110000; &#; &; &&amp;"|striptags }}
{{ "&AMP;&LT&quot;&Eacute;&eacute &yuml; &nbsp;x"|striptags }}
{{ d|pprint }}|{{ l|pprint }}|{{ s|pprint }}|{{ x|pprint }}|{{ 1.5|pprint }}
{{ [range(30)|list, range(30)|list]|pprint }}
{{ {"zz": "a long text of many words " * 8, "a": [1,2,3], "b": {"c": "x" * 90}}|pprint }}
{{ ("word " * 30)|pprint }}
{{ ("line one\n" * 12)|pprint }}
{{ ("x" * 100)|pprint }}
{{ [("word " * 30), ("y" * 90 ~ " z")]|pprint }}
{{ ("it's " * 30, )|pprint }}|{{ ((1,)*50)|pprint }}
{{ {2: 1, "a": 2, none: 3, 1.5: 4, true: 5, (1,2): 6}|pprint }}
{{ {(2,1): 1, (1,"a"): 2}|pprint }}
{{ [[[["deep " * 10] * 3] * 2]]|pprint }}
{{ ("é日本 " * 25)|pprint }}
{{ [("<" * 100)|safe]|pprint }}
{{ [d.keys(), d.items(), range(5)]|pprint }}
{% set c = cycler("a", 1, none) %}{{ c.next() }}{{ c.current }}{{ c.next() }}{{ c.pos }}{{ c.next() }}{{ c.next() }}{{ c.reset() }}{{ c.next() }}{{ c.items }}
{{ cycler() }}
{{ cycler(a=1) }}
{% set c = cycler(1) %}{% set c.pos = 2 %}
{% set c = cycler("x","y") %}{% for a in [1,2,3] %}{{ c.next() }}{% endfor %}{{ c is callable }}{{ c is mapping }}{{ c is iterable }}
{% set j = joiner() %}{{ j() }}a{{ j() }}b{{ j() }}|{% set k = joiner("-") %}{{ k() }}{{ k() }}{{ k is callable }}
{% set j = joiner(5) %}{{ j() }}{{ j() }}{{ j(1) }}
{{ []|random }}|{{ [7]|random }}|{{ ""|random }}|{{ "q"|random }}|[{{ undefined_x|random }}]
{{ {}|random }}
{{ 5|random }}
{{ "%(a)s and %(b)05.1f %%"|format(a=1, b=2.25) }}|{{ "%(x)s" % {"x": [1]} }}
{{ "%(q)s" % {"x": 1} }}
{{ "%(q)s" % [1] }}
{{ "%(q"|format(q=1) }}
{{ "%s"|format(1, a=2) }}
{{ "nan"|float|filesizeformat }}|{{ "inf"|float|filesizeformat }}|{{ "1e3"|filesizeformat }}|{{ " 12 "|filesizeformat }}|{{ true|filesizeformat }}|{{ -1e30|filesizeformat }}|{{ -0.5|filesizeformat }}|{{ 0.7|filesizeformat }}|{{ 1e24|filesizeformat }}|{{ 1e27|filesizeformat }}|{{ 1e60|filesizeformat(true) }}|{{ 1e300|filesizeformat }}|{{ 1099511627776|filesizeformat(true) }}|{{ 999.99|filesizeformat }}|{{ -1000|filesizeformat }}
{{ ("-inf"|float)|filesizeformat }}
{{ "abc"|filesizeformat }}
{{ none|filesizeformat }}
{{ []|filesizeformat }}
{{ undefined_x|filesizeformat }}
{{ {"a\u00a0b": 1}|xmlattr }}|{{ {"": 1}|xmlattr }}|{{ {"a": none, "b": undefined_x}|xmlattr }}|{{ {"a": "x y", "b": true, "c": [1], "d<": "&"}|xmlattr }}|{{ {"a": "<b>"|safe}|xmlattr }}|{{ {1: none}|xmlattr }}
{{ {1: 2}|xmlattr }}
{{ {"a/b": 2}|xmlattr }}
{{ {"a=b": 2}|xmlattr }}
{{ {"a\tb": 2}|xmlattr }}
{{ {"a\x1cb": 2}|xmlattr }}
{{ none|xmlattr }}
{{ undefined_x|xmlattr }}
{{ "ab"|xmlattr }}
{{ "straße ǆ ﬁ ŉ İ ΑΣ ΑΣΑ ΑΣ. σς"|upper }}|{{ "STRASSE İ ΑΣ ΑΣΑ ΑΣ. ǅ Ϊ́"|lower }}|{{ "ǆ ﬁx ßa"|title }}|{{ "ǆa ﬁX"|capitalize }}|{{ "ﬁX"|title }}
{{ "straße ﬁ İ ς".casefold() }}|{{ "ﬁX aΣ ßé".title() }}|{{ "ǆABC".capitalize() }}|{{ "aBß Σς ǅ".swapcase() }}|{{ "it's o'neil ʰa".title() }}
{{ "²".isdigit() }}{{ "½".isdigit() }}{{ "½".isnumeric() }}{{ "٣".isdecimal() }}{{ "一".isnumeric() }}{{ "一".isalpha() }}{{ "ª".islower() }}{{ "Ⅷ".isupper() }}{{ "ǅ".isupper() }}{{ "a\u0301".isalpha() }}{{ "".isprintable() }}{{ "a\n".isprintable() }}{{ "é²".isalnum() }}
{{ "hello wörld-ÄB (ßx) {ñ [q <z"|title }}|{{ "ΑΣ ΒΣ-ΓΣ"|title }}
{{ "ab"|center(7) }}|{{ "abc"|center(6) }}|{{ "é"|center(4) }}|{{ 12|center(5) }}|{{ "a"|center(-3) }}|{{ none|center(10) }}
{{ "a\nb\n\nc"|indent(width=2, first=true, blank=true) }}|{{ "a\r\nb\x0bc\u2028d"|indent(1) }}|{{ ""|indent(2, true) }}|{{ "\n"|indent(2, true, true) }}|{{ ("a\n<"|safe)|indent("<") + "<" }}|{{ "a\nb"|indent(-2) }}|{{ "a\nb"|indent(true) }}
{{ 5|indent }}
{{ "a\nb"|indent(2.5) }}
{{ 1e400|int }}
{{ ("nan"|float)|int }}|{{ "inf"|int }}|{{ "nan"|int(7) }}
{{ 1234|round(-2) }}|{{ 1250|round(-2) }}|{{ 7|round(1,"ceil") }}|{{ 2.5|round(-1) }}|{{ true|round }}|{{ -15|round(-1) }}|{{ 9223372036854775807|round(-2) }}|{{ "-9223372036854775808"|int }}
{{ "abc"|truncate(2, true, "") }}|{{ "a b c d e f"|truncate(5, false, "…", 0) }}|{{ "foo bar baz"|truncate(9, true, leeway=0) }}
{{ [1,2,3]|sum(start=10) }}|{{ [{"a":1},{"b":2}]|sum("a") }}
{{ "1_0"|int }}|{{ "٣"|int }}|{{ "0b11"|int(base=2) }}|{{ "z"|int(base=36) }}|{{ "1e2"|int }}|{{ "0x1F"|int(base=0) }}
{{ ["b","A"]|sort|join }}|{{ ["b","A"]|min }}|{{ {"b":1,"A":2}|dictsort }}|{{ ["ß","SS"]|unique|list }}
{{ ("ab"|safe) is escaped }}|{{ "Ab" is lower }}|{{ none is upper }}|{{ ["a"] is lower }}|{{ 5 is lower }}|{{ "ǅ" is upper }}
{{ "" is lower }}|{{ 3 is divisibleby 2 }}|{{ 3.0 is divisibleby 1.5 }}|{{ 2.5 is odd }}|{{ 3.0 is odd }}|{{ true is odd }}|{{ 4.0 is even }}
{{ range(3) is sequence }}|{{ (range(3)|map("abs")) is sequence }}|{{ d.items() is sequence }}|{{ 1 is in [1] }}|{{ "x" is filter }}|{{ "==" is test }}|{{ 5 is filter }}
{{ d|attr("keys") is callable }}|{{ d|attr("zz") is defined }}|{{ "a"|attr("upper")() }}
{{ [1,2]|batch(0)|list }}
{{ "a"|replace("a", "<"|safe) }}|{{ ("a"|safe)|replace("a", "<") }}
{{ lipsum is callable }}
""".strip().split("\n")  # fmt: skip

# What jinja2 renders and we refuse: chance, names of characters beyond Latin-1, large integers.
REFUSED = [
    "{{ [1, 2]|random }}",
    "{{ lipsum() }}",
    "{{ '&hearts;'|striptags }}",
    "{{ 1e300|int }}",
    "{{ '999999999999999999999'|int }}",
]

ODD = ["none", "nothing", "-3", "2.5", "''", "' a B <ß>\\n'", "[1, 'a']", "{'a b': 1}"]


@needs_tool
def test_all_names_are_known(tmp_path):
    names = [f"{{{{ {name!r} is filter }}}}" for name in filters.FILTERS]
    names += [f"{{{{ {name!r} is test }}}}" for name in tests.TESTS]
    names += [f"{{{{ {name} is defined }}}}" for name in defaults.DEFAULT_NAMESPACE]
    assert render(tmp_path, " ".join(names), VALUES) == " ".join(["True"] * len(names))


@needs_tool
@pytest.mark.parametrize("first", range(0, len(SNIPPETS), 20))
def test_builtins(tmp_path, first):
    for snippet in SNIPPETS[first : first + 20]:
        assert render(tmp_path, snippet, VALUES) == expected(snippet, VALUES), snippet


@needs_tool
def test_what_is_refused(tmp_path):
    for snippet in REFUSED:
        assert render(tmp_path, snippet, VALUES) is None, snippet
        assert expected(snippet, VALUES) is not None, snippet


# Without those that want an argument only once somebody goes through what they give.
@needs_tool
@pytest.mark.parametrize("value", ODD)
def test_values_that_do_not_fit(tmp_path, value):
    for name in set(filters.FILTERS) - {"random", "map", "selectattr", "rejectattr"}:
        snippet = f"{{% set x = ({value})|{name} %}}{{{{ x if x is string or x is number else x|list }}}}"
        assert render(tmp_path, snippet, VALUES) == expected(snippet, VALUES), snippet


# Each letter that has a case, and what stands between some of them.
@needs_tool
def test_letters(tmp_path):
    if unicodedata.unidata_version != "14.0.0":
        pytest.skip("Python has another version of Unicode than the tables")
    codes = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    letters = [c for c in map(chr, codes) if c.swapcase() != c or c.title() != c or c.casefold() != c]
    letters += [chr(code) for code in codes if unicodedata.category(chr(code)) in ("Lm", "Nl", "No")]
    text = "".join(a + b for a, b in zip(letters, "AΣ' a.ʰ\u0301" * len(letters)))
    values = {"messages": [], "text": text, "letters": letters}
    for snippet in [
        "{{ text.lower() }}", "{{ text.upper() }}", "{{ text.title() }}", "{{ text.casefold() }}",
        "{{ text.swapcase() }}", "{{ text|title }}", "{{ text|capitalize }}",
        "{% for c in letters %}{{ [c.islower(), c.isupper(), c.isalpha(), c.isdigit()]|map('int')|join }}"
        "{{ [c.isdecimal(), c.isnumeric(), c.isalnum(), c.isprintable()]|map('int')|join }}"
        "{{ c.upper() ~ c.lower() ~ c.title() ~ c.casefold() }}{% endfor %}",
    ]:  # fmt: skip
        assert render(tmp_path, snippet, values) == expected(snippet, values), snippet
