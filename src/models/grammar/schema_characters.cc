#include "models/grammar/schema_characters.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <map>

#include "models/grammar/schema_merge.h"

namespace hearth::models::grammar {
namespace {

// An operator of repetition.
std::string times_of(const Expression& repeat) {
  return "{" + std::to_string(repeat.least) + "," +
         (repeat.most == Expression::kUnlimited ? "" : std::to_string(repeat.most)) + "}";
}

// Classes of many ranges are written once.
std::string json_character(const CodeRanges& ranges, SchemaRules& rules) {
  constexpr std::size_t kMostRepeated = 16;
  if (ranges == all_codes()) return rules.json_char();
  const std::string characters = json_class(ranges);
  return ranges.size() > kMostRepeated ? rules.rule("class", characters) : characters;
}

}  // namespace

std::string gbnf_code(std::uint32_t code) {
  const bool is_letter = (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z');
  if (is_letter || (code >= '0' && code <= '9')) return {static_cast<char>(code)};
  char text[16];
  std::snprintf(text, sizeof text,
                code < 0x80      ? "\\x%02X"
                : code < 0x10000 ? "\\u%04X"
                                 : "\\U%08X",
                code);
  return text;
}

std::string gbnf_literal(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string json_class(const CodeRanges& ranges) {
  struct Escape {
    std::uint32_t code;
    const char* text;
  };
  constexpr Escape kEscapes[] = {{'"', "\\\\\\\""}, {'\\', "\\\\\\\\"}, {'\b', "\\\\b"},
                                 {'\f', "\\\\f"},   {'\n', "\\\\n"},    {'\r', "\\\\r"},
                                 {'\t', "\\\\t"}};
  CodeRanges plain;
  std::string alternatives;
  for (const auto& [first, last] : ranges) {
    std::uint32_t next = std::max(first, 0x20u);
    for (const std::uint32_t cut : {std::uint32_t{'"'}, std::uint32_t{'\\'}}) {
      if (cut < next || cut > last) continue;
      if (next < cut) plain.emplace_back(next, cut - 1);
      next = cut + 1;
    }
    if (next <= last) plain.emplace_back(next, last);
    for (const Escape& escape : kEscapes) {
      if (first <= escape.code && escape.code <= last) {
        alternatives += std::string(alternatives.empty() ? "" : " | ") + "\"" + escape.text + "\"";
      }
    }
  }
  if (!plain.empty()) {
    std::string out = "[";
    for (const auto& [first, last] : plain) {
      out += gbnf_code(first);
      if (last > first) out += "-" + gbnf_code(last);
    }
    alternatives = out + "]" + (alternatives.empty() ? "" : " | " + alternatives);
  }
  return alternatives.empty() ? "" : "(" + alternatives + ")";
}

std::string json_texts(const Expression& texts, SchemaRules& rules) {
  const auto joined = [&](const char* between) {
    std::string out;
    for (const Expression& part : texts.parts) {
      out += (out.empty() ? "" : between) + json_texts(part, rules);
    }
    return out;
  };
  switch (texts.kind) {
    case Expression::Kind::literal: {
      const std::string quoted = json_text(JsonValue(texts.text));
      return gbnf_literal(std::string_view(quoted).substr(1, quoted.size() - 2));
    }
    case Expression::Kind::one_of:
      return json_character(texts.ranges, rules);
    case Expression::Kind::sequence:
      return texts.parts.empty() ? "\"\"" : joined(" ");
    case Expression::Kind::alternative:
      return "(" + joined(" | ") + ")";
    case Expression::Kind::repeat: {
      const std::string part = json_texts(texts.parts[0], rules);
      const bool is_one = texts.parts[0].kind != Expression::Kind::sequence;
      return (is_one ? part : "(" + part + ")") + times_of(texts);
    }
    case Expression::Kind::rule:
    case Expression::Kind::token:
      break;
  }
  fail_unsupported("rule or token within a text; got one, expected characters only");
}

std::string json_texts(const TextAutomaton& texts, SchemaRules& rules) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < texts.states().size(); ++i) names.push_back(rules.open("text"));
  for (std::size_t i = 0; i < names.size(); ++i) {
    const TextAutomaton::State& state = texts.states()[i];
    std::map<std::uint32_t, CodeRanges> ranges;
    for (const TextAutomaton::Edge& edge : state.edges) ranges[edge.to].push_back(edge.codes);
    std::string body = state.accepts ? "\"\"" : "";
    for (const auto& [to, codes] : ranges) {
      const std::string character = json_character(normal_ranges(codes, false), rules);
      if (character.empty()) continue;
      body += (body.empty() ? "" : " | ") + character + " " + names[to];
    }
    rules.fill(names[i], body.empty() ? "[]" : body);
  }
  return names[0];
}

}  // namespace hearth::models::grammar
