#!/usr/bin/env python3
"""Writes tests/golden/schemas.json: JSON texts by schema, as the package jsonschema judges them.

Of each schema: texts that are valid, texts that are not, and `narrower`, texts that are valid and
that grammars leave out by what they say in json_schema.h. What is judged stands here; small changes
of it that are not valid any more are added, by a generator with a fixed seed. Numbers are compared as
decimals. Run it with what requirements-goldens.txt lists; the file is checked in.
"""

import decimal
import json
import pathlib
import random

import jsonschema

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILE = ROOT / "tests" / "golden" / "schemas.json"
CHANGES = 12  # tried of each schema

decimal.getcontext().prec = 400

# Schema, texts that the grammar has, texts that are not valid, texts that are narrower.
CASES = [
    # Formats.
    ({"type": "string", "format": "ipv4"}, ['"0.0.0.0"', '"192.168.1.255"', '"25.250.199.10"'],
     ['"256.1.1.1"', '"1.2.3"', '"01.2.3.4"', '"1.2.3.4.5"'], []),
    ({"type": "string", "format": "ipv6"},
     ['"::"', '"::1"', '"1::"', '"fe80::1:2"', '"1:2:3:4:5:6:7:8"', '"1:2:3:4:5:6:7::"',
      '"::ffff:1.2.3.4"', '"1:2:3:4:5:6:9.8.7.6"'],
     ['"1:2"', '":::"', '"1::2::3"', '"12345::"', '"fe80::1%eth0"', '"1:2:3:4:5:6:7:8:9"'],
     ['"1::1.2.3.4"']),
    ({"type": "string", "format": "email"}, ['"a@b.c"', '"a.b+c@mail.example-x.org"'],
     ['"a"', '"a.b.c"', '""'], ['"a b@c"', '"@"', '"a@1"']),
    ({"type": "string", "format": "idn-email"}, ['"a@b.c"'], ['"a"'], ['"ä@b.c"']),
    ({"type": "string", "format": "hostname"}, ['"a"', '"www.example.com"', '"x-1.y2"'],
     ['"-a"', '"a-.b"', '"a..b"', '"a_b"', '""'], ['"a.1"', '"a.b."']),
    ({"type": "string", "format": "uri"},
     ['"https://a.b:80/c/d?e=f#g"', '"mailto:x@y.z"', '"a:"', '"file:///x%20y"', '"s:/a//b"'],
     ['"/a"', '"a b:c"', '"1:x"', '"a:%2"', '"a:<"', '""'], ['"http://[::1]/"']),
    ({"type": "string", "format": "uri-reference"}, ['""', '"a/b"', '"/x?y"', '"//h/p"', '"#f"'],
     ['"a b"', '"%"', '"a#b#c"', '"1:x"'], []),
    ({"type": "string", "format": "uri-template"}, ['"/a/{b}"', '"{+x}{?y_1}"', '""'],
     ['"{"', '"{a"', '"}"'], ['"{a,b}"']),
    ({"type": "string", "format": "duration"},
     ['"P1D"', '"PT5M"', '"P1Y2M3DT4H5M6S"', '"P3W"', '"P1YT1H"'],
     ['"P"', '"PT"', '"1D"', '"P1S"', '"P1D2Y"', '"P1DT"'], []),
    ({"type": "string", "format": "json-pointer"}, ['""', '"/a/b~0c/~1"', '"/"', '"/é\\""'],
     ['"a"', '"/~"', '"/~2"'], []),
    ({"type": "string", "format": "relative-json-pointer"}, ['"0"', '"1#"', '"12/a"'],
     ['"#"', '"01"', '"/a"', '"-1"'], ['"111"']),
    ({"type": "string", "format": "date"}, ['"2024-02-29"', '"2000-02-29"', '"1999-12-31"'],
     ['"2023-02-29"', '"2100-02-29"', '"2024-13-01"', '"2024-1-1"'], ['"0999-01-01"']),
    ({"type": "string", "format": "date-time"},
     ['"2024-02-29T23:59:59Z"', '"2024-01-01T00:00:00.123+05:30"'],
     ['"2024-01-01"', '"2024-01-01T24:00:00Z"', '"2024-01-01T00:00:00"'], []),
    ({"type": "string", "format": "no-such-format"}, ['"x"', '""'], ["1"], []),
    # Several of what texts are held to.
    ({"type": "string", "pattern": "^[a-c]+$", "minLength": 2, "maxLength": 4}, ['"ab"', '"cccc"'],
     ['"a"', '"abcab"', '"ad"'], []),
    ({"type": "string", "pattern": "b+c", "maxLength": 4}, ['"bc"', '"xbbc"', '"bc\\""'],
     ['"b"', '"xxxbc"'], []),
    ({"allOf": [{"type": "string", "pattern": "^a"}, {"pattern": "b$"}, {"minLength": 3}]},
     ['"axb"', '"a\\\\b"'], ['"ab"', '"axbc"'], []),
    ({"type": "string", "format": "ipv4", "maxLength": 8, "pattern": "^1"}, ['"1.2.3.4"', '"10.2.3.4"'],
     ['"2.2.3.4"', '"10.20.3.40"'], []),
    ({"type": "string", "format": "uri", "minLength": 3, "maxLength": 2083}, ['"a:b"'], ['"a:"'], []),
    ({"type": "string", "maxLength": 3, "not": {"pattern": "a"}}, ['""', '"xyz"', '"\\n"', '"é"'],
     ['"xa"', '"wxyz"'], []),
    ({"type": "string", "not": {"enum": ["", "ab"]}}, ['"a"', '"abc"', '"\\""'], ['""', '"ab"'], []),
    ({"type": "string", "not": {"pattern": "\\d"}}, ['"a"', '""'], ['"a1"'], ['"é"']),
    ({"enum": ["a", "bb", "ccc", 1, None], "minLength": 2, "not": {"const": None}},
     ['"bb"', '"ccc"', "1"], ['"a"', "null"], []),
    ({"type": "string", "pattern": "^(?!^[-+.]*$)[+-]?0*\\d*\\.?\\d*$"}, ['"1.5"', '"-.5"', '"007"'],
     ['""', '"-"', '"."', '"1.5a"'], []),
    ({"type": "string", "pattern": "^(?!admin)[a-z]+$", "maxLength": 6}, ['"admi"', '"xadmin"'],
     ['"admin"', '"admins"', '"A"'], []),
    # Numbers.
    ({"type": "integer", "multipleOf": 7}, ["0", "-7", "49", "700"], ["1", "-8", "50", "7.5"], []),
    ({"type": "integer", "multipleOf": 7, "minimum": -20, "exclusiveMaximum": 70}, ["-14", "0", "63"],
     ["-21", "70", "64"], []),
    ({"type": "integer", "multipleOf": 1000}, ["0", "1000", "-123000"], ["100", "1001"], []),
    ({"type": "number", "multipleOf": 0.01}, ["0.25", "-3", "1.1"], ["0.125", "1.001"], ["1e2"]),
    ({"type": "number", "multipleOf": 2.5, "minimum": 0}, ["0", "2.5", "5", "17.5"],
     ["2", "-2.5", "2.55"], ["5.00"]),
    ({"allOf": [{"type": "integer", "multipleOf": 4}, {"multipleOf": 6}]}, ["12", "-24", "0"],
     ["4", "6"], []),
    ({"type": "integer", "not": {"enum": [0, 5]}}, ["1", "50", "-5"], ["0", "5", "-0"], []),
    ({"type": "number", "minimum": 0, "not": {"const": 1.5}}, ["1", "1.51", "0.5"],
     ["1.5", "1.50", "-1"], ["1e0"]),
    ({"type": "integer", "not": {"minimum": 5}}, ["4", "-9"], ["5"], []),
    # Objects.
    ({"type": "object", "patternProperties": {"^x-": {"type": "integer"}}},
     ["{}", '{"x-":1,"x-b":2}'], ['{"x-a":"b"}'], ['{"y":1}']),
    ({"type": "object", "properties": {"x-a": {"type": "integer"}, "b": {"type": "null"}},
      "patternProperties": {"^x-": {"minimum": 3}, "2$": {"type": "integer"}},
      "additionalProperties": {"type": "boolean"}, "required": ["b"]},
     ['{"b":null}', '{"x-a":3,"b":null,"c":true}', '{"b":null,"x-2":4,"2":1}'],
     ['{"x-a":2,"b":null}', '{"b":null,"x-2":2}', '{"b":null,"c":1}', '{"b":null,"z2":true}'],
     ['{"b":null,"x-a":3}']),
    ({"type": "object", "propertyNames": {"pattern": "^[a-z]{1,3}$"},
      "additionalProperties": {"type": "integer"}}, ["{}", '{"a":1,"abc":2}'],
     ['{"A":1}', '{"abcd":1}', '{"":1}'], []),
    ({"type": "object", "propertyNames": {"enum": ["a", "b"]}, "additionalProperties": True},
     ['{"b":1,"a":[]}'], ['{"c":1}'], []),
    ({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"},
                                       "c": {"type": "integer"}}, "minProperties": 1,
      "maxProperties": 2}, ['{"a":1}', '{"b":1,"c":2}', '{"a":1,"c":2}'],
     ["{}", '{"a":1,"b":2,"c":3}'], ['{"d":1}']),
    ({"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": True,
      "minProperties": 2, "maxProperties": 3}, ['{"a":1,"b":2}', '{"a":1,"b":2,"c":3}'],
     ['{"a":1}', "{}", '{"a":1,"b":2,"c":3,"d":4}'], ['{"b":1,"c":2}']),
    ({"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "null"}},
      "dependentRequired": {"a": ["b"]}}, ["{}", '{"b":null}', '{"a":null,"b":null}'],
     ['{"a":null}'], []),
    ({"type": "object", "properties": {"k": {"enum": ["x", "y"]}, "v": {"type": ["integer", "null"]}},
      "required": ["k"], "if": {"properties": {"k": {"const": "x"}}},
      "then": {"required": ["v"], "properties": {"v": {"type": "integer"}}}},
     ['{"k":"x","v":1}', '{"k":"y"}', '{"k":"y","v":null}'], ['{"k":"x"}', '{"k":"x","v":null}'], []),
    ({"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "null"}},
      "not": {"required": ["a", "b"]}}, ["{}", '{"a":null}', '{"b":null}'],
     ['{"a":null,"b":null}'], []),
    ({"type": "object", "additionalProperties": True, "not": {"const": {}}}, ['{"a":1}'], ["{}"], []),
    # Arrays.
    ({"type": "array", "items": {"type": "integer"}, "contains": {"minimum": 5}}, ["[5]", "[1,7,2]"],
     ["[]", "[1,2]"], []),
    ({"type": "array", "items": {"enum": [1, 2]}, "contains": {"const": 1}, "minContains": 2,
      "maxContains": 3, "maxItems": 4}, ["[1,1]", "[2,1,1,1]"],
     ["[1,2]", "[1,1,1,1]", "[1,1,1,2,2]"], []),
    ({"type": "array", "items": {"enum": ["a", "b", "c"]}, "uniqueItems": True, "minItems": 1},
     ['["a"]', '["c","a","b"]'], ["[]", '["a","a"]', '["d"]'], []),
    ({"type": "array", "items": {"enum": list(range(9))}, "uniqueItems": True, "maxItems": 3},
     ["[]", "[1,5,8]"], ["[1,1]", "[1,2,3,4]"], ["[5,1]"]),
    ({"type": "array", "items": {"enum": [1, 1.0, True]}, "uniqueItems": True}, ["[true,1]"],
     ["[1,1]"], []),
    ({"type": "array", "items": {"type": "integer"}, "not": {"const": []}}, ["[1]"], ["[]"], []),
    ({"type": "array", "allOf": [{"prefixItems": [{"type": "integer"}]}, {"items": {"minimum": 5}}]},
     ["[5]", "[7,6]"], ["[4]", "[5,4]"], ["[]"]),
    # Types and alternatives.
    ({"not": {"type": ["null", "object"]}}, ["1", '"a"', "[]", "true"], ["null", "{}"], []),
    ({"type": ["integer", "string", "boolean"], "not": {"enum": [1, "a", True]}},
     ["2", '"b"', "false"], ["1", '"a"', "true", "null"], []),
    ({"anyOf": [{"type": "integer", "minimum": 3, "maximum": 2}, {"type": "null"}]}, ["null"], ["3"], []),
    ({"type": "object", "properties": {"a": {"allOf": [{"type": "null"}, {"type": "integer"}]},
                                       "b": {"type": "null"}}}, ["{}", '{"b":null}'],
     ['{"a":null}'], []),
    # Of several schemas one alone.
    ({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "null"},
                                       "c": {"type": "null"}},
      "oneOf": [{"required": ["a"]}, {"required": ["b", "c"]}]},
     ['{"a":1}', '{"a":1,"b":null}', '{"a":1,"c":null}', '{"b":null,"c":null}'],
     ["{}", '{"b":null}', '{"a":1,"b":null,"c":null}'], []),
    ({"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "null"},
                                       "c": {"type": "null"}},
      "oneOf": [{"required": ["a"]}, {"required": ["b"]}, {"required": ["c"]}]},
     ['{"a":null}', '{"b":null}', '{"c":null}'],
     ["{}", '{"a":null,"b":null}', '{"b":null,"c":null}', '{"a":null,"b":null,"c":null}'], []),
    ({"oneOf": [{"type": "object", "properties": {"k": {"const": "a"}, "v": {"type": "null"}}},
                {"type": "object", "properties": {"k": {"enum": ["b", "c"]}, "v": {"type": "null"}}}]},
     ['{"k":"a"}', '{"k":"a","v":null}', '{"k":"c","v":null}'], ["{}", '{"v":null}'],
     []),
    ({"oneOf": [{"type": "object", "properties": {"k": {"const": 1}}, "required": ["k"]},
                {"type": "object", "properties": {"k": {"const": 2}, "v": {"type": "null"}}}]},
     ['{"k":1}', '{"k":2}', '{"v":null}', "{}"], ['{"k":3}', '{"k":3,"v":null}'], []),
    ({"oneOf": [{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
                {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "null"}},
                 "required": ["b"], "additionalProperties": False}]},
     ['{"a":""}', '{"b":null}'], ['{"a":"","b":null}', "{}"], ['{"a":"","b":1}']),
    ({"oneOf": [{"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
                {"type": "array", "items": {"type": "null"}}, {"const": "x"}, {"type": "boolean"}]},
     ['{"x":1}', "[]", "[null]", '"x"', "true"], ["{}", "[1]", '"y"', "null"], []),
    # Keywords of several schemas that must all hold.
    ({"type": "object", "properties": {"kind": {"enum": ["x", "y", "z"]}, "v": {"type": "null"},
                                       "w": {"type": "null"}}, "required": ["kind"],
      "allOf": [{"if": {"properties": {"kind": {"const": "x"}}}, "then": {"required": ["v"]}},
                {"if": {"properties": {"kind": {"const": "y"}}}, "then": {"required": ["w"]}}]},
     ['{"kind":"x","v":null}', '{"kind":"y","w":null}', '{"kind":"y","v":null,"w":null}',
      '{"kind":"z"}'],
     ['{"kind":"x"}', '{"kind":"x","w":null}', '{"kind":"y","v":null}', '{"v":null}'], []),
    ({"anyOf": [{"allOf": [{"const": "a"}, {"const": "b"}]},
                {"const": 2, "allOf": [{"enum": [1, 2.0, "c"]}]}]}, ["2"], ['"a"', '"b"', "1"], []),
    ({"type": "object", "properties": {"b": {"type": "null"}},
      "allOf": [{"properties": {"a": {"type": "null"}}, "unevaluatedProperties": False}]},
     ["{}", '{"a":null}'], ['{"b":null}', '{"a":null,"b":null}'], []),
    # Classes of patterns beyond ASCII.
    ({"type": "string", "pattern": "^[^\\s]{2}$"}, ['"ab"', '"é—"'],
     ['"a "', '"a\u00a0"', '"\u2003\u3000"'], ['"a\ufeff"']),
    ({"type": "string", "pattern": "^[^\\S]+$"}, ['" "', '"\\t "'], ['"a"', '"\ufeff"'],
     ['"\u00a0"']),
    ({"type": "string", "pattern": "^[^\\d]\\D$"}, ['"ab"', '"é²"'], ['"a1"', '"\u0663a"', '"a\u0663"'],
     []),
    ({"type": "string", "pattern": "^[^\\w]\\W$"}, ['"-—"', '" +"'], ['"a-"', '"-é"', '"漢-"', '"-\u0663"'],
     []),
    ({"type": "string", "pattern": "^[\\s\\S][\\D\\d]$"}, ['"\u00a0\u0663"', '"a1"'], ['"a"'], []),
    # Bounds, of which the exclusive ones are no double either.
    ({"type": "number", "minimum": 0, "exclusiveMaximum": 1000}, ["0", "999.5", "999.9999999999999"],
     ["1000", "1000.0", "-1"], ["999.9999999999999999"]),
    ({"type": "number", "exclusiveMinimum": 1, "maximum": 2}, ["1.5", "1.0000000000000002", "2"],
     ["1", "1.0", "2.5"], ["1.00000000000000010"]),
    ({"type": "number", "exclusiveMinimum": -1, "exclusiveMaximum": -0.5},
     ["-0.75", "-0.9999999999999999"], ["-1", "-0.5", "0.75"], ["-0.50000000000000001"]),
    ({"type": "integer", "allOf": [{"minimum": 9007199254740993}, {"minimum": 9007199254740992}],
      "maximum": 9007199254740993}, ["9007199254740993"], ["9007199254740992", "9007199254740994"],
     []),
    # First items and lengths.
    ({"type": "array", "prefixItems": [{"const": 1}, {"const": 2}], "maxItems": 1}, ["[1]"],
     ["[1,2]", "[2]"], ["[]"]),
    ({"anyOf": [{"allOf": [{"type": "array", "prefixItems": [{"const": 1}], "minItems": 2},
                           {"maxItems": 1}]}, {"const": None}]}, ["null"],
     ["[1]", "[1,2]", "[]"], []),
]


def changed(text, draw):
    """The text without a character, or with one more or another."""
    at = draw.randrange(len(text))
    what = draw.choice('0159abx"-.:@,[{ ')
    return draw.choice([text[:at] + text[at + 1:], text[:at] + what + text[at:],
                        text[:at] + what + text[at + 1:]])


def main():
    draw = random.Random(1)
    schemas = []
    for schema, valid, invalid, narrower in CASES:
        exact = json.loads(json.dumps(schema), parse_float=decimal.Decimal)
        validator = jsonschema.Draft202012Validator(
            exact, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)

        def is_valid(text):
            return validator.is_valid(json.loads(text, parse_float=decimal.Decimal))

        for text in valid + narrower:
            assert is_valid(text), (schema, text)
        for text in invalid:
            assert not is_valid(text), (schema, text)
        changes = set()
        for _ in range(CHANGES):
            text = changed(draw.choice(valid), draw)
            try:
                if not is_valid(text):
                    changes.add(text)
            except json.JSONDecodeError:
                changes.add(text)
        schemas.append({"schema": schema, "valid": valid, "narrower": narrower,
                        "invalid": invalid + sorted(changes - set(invalid))})
    lines = ",\n".join(json.dumps(one, ensure_ascii=False) for one in schemas)
    FILE.write_text(f'{{"jsonschema": "{jsonschema.__version__}", "schemas": [\n{lines}\n]}}\n',
                    encoding="utf-8")


if __name__ == "__main__":
    main()
