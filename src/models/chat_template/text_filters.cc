// Filters of texts.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/quoted.h"
#include "models/chat_template/arguments.h"
#include "models/chat_template/formats.h"
#include "models/chat_template/html.h"
#include "models/chat_template/interpreter.h"
#include "models/chat_template/text_edits.h"
#include "models/chat_template/unicode.h"
#include "models/chat_template/value_text.h"
#include "models/tokenizer/unicode.h"

namespace hearth::models::chat_template {
namespace {

Value trim_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, "trim", arguments, {"chars"});
  return make_text(context,
                   stripped(*printed_text(context, value), bound.optional_text(0), Side::both));
}

Value string_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, "string", arguments, {});
  if (value.text() != nullptr) return value;
  return make_text(context, printed(context, value));
}

template <std::string (*change)(std::string_view)>
Value change_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, "upper", arguments, {});
  return make_text(context, changed(*printed_text(context, value), change));
}

Value capitalize_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, "capitalize", arguments, {});
  return make_text(context, capitalized(*printed_text(context, value)));
}

// Unlike the method: words begin behind white space, - ( { [ and <.
Value title_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, "title", arguments, {});
  const Text text = printed_text(context, value);
  MarkedText out;
  bool begins = true;
  for (std::size_t at = 0; at < text->size();) {
    const Character each = character_at(text->view(), at);
    out.append(changed(text->part(at, each.size), begins ? upper : lower));
    begins = is_space(each.code) ||
             (each.code < 0x80 && std::string_view("-({[<").find(static_cast<char>(each.code)) !=
                                      std::string_view::npos);
    at += each.size;
  }
  return make_text(context, std::move(out));
}

Value replace_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, "replace", arguments, {"old", "new", "count"}, 2);
  const Value count = bound.value(2);
  const Text from = printed_text(context, bound.value(0)),
             to = printed_text(context, bound.value(1));
  return make_text(context, replaced(context, *printed_text(context, value), from->view(), *to,
                                     count.is_integer() ? count.integer() : -1));
}

Value indent_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, "indent", arguments, {"width", "first", "blank"});
  if (value.text() == nullptr) {
    context.fail(std::string("indent: a value is no text; got ") + type_name(value));
  }
  MarkedText indent("    ", false);
  if (bound.value(0).text() != nullptr) {
    indent = bound.text(0, "");
  } else if (bound.has(0)) {
    indent = padded(context, {}, bound.integer(0, 4), MarkedText(" ", false), Side::left);
  }
  const bool indents_first = bound.truth(1, false), indents_blank = bound.truth(2, false);
  MarkedText text = *value.text();
  text.append("\n", false);
  MarkedText out;
  bool is_first = true;
  for (const MarkedText& line : split_lines(context, text, false)) {
    context.charge_bytes(indent.weight() + 1);
    if (!is_first) out.append("\n", false);
    const bool is_indented = is_first ? indents_first : indents_blank || !line.empty();
    if (is_indented) out.append(indent);
    is_first = false;
    out.append(line);
  }
  return make_text(context, std::move(out));
}

Value center_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, "center", arguments, {"width"});
  return make_text(context, padded(context, *printed_text(context, value), bound.integer(0, 80),
                                   MarkedText(" ", false), Side::both));
}

Value truncate_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, "truncate", arguments, {"length", "killwords", "end", "leeway"});
  const MarkedText end = bound.text(2, "...");
  const auto end_size = static_cast<std::int64_t>(count_characters(end.view()));
  const std::int64_t length = bound.integer(0, 255), leeway = bound.integer(3, 5);
  if (length < end_size || leeway < 0 || leeway > (1 << 20) || length > std::int64_t{1} << 40) {
    context.fail("truncate: length out of range; got " + std::to_string(length));
  }
  const Text text = printed_text(context, value);
  if (static_cast<std::int64_t>(count_characters(text->view())) <= length + leeway) {
    return make_text(context, *text);
  }
  MarkedText cut =
      text->part(0, byte_of_character(text->view(), static_cast<std::size_t>(length - end_size)));
  if (!bound.truth(1, false)) {
    const std::size_t space = cut.view().rfind(' ');
    if (space != std::string_view::npos) cut = cut.part(0, space);
  }
  cut.append(end);
  return make_text(context, std::move(cut));
}

Value format_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  if (!arguments.named.empty()) context.fail("format: names within a % are not to be had");
  return printf_formatted(context, *printed_text(context, value),
                          make_list(context, arguments.positional, ListKind::tuple));
}

Value safe_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, "safe", arguments, {});
  MarkedText out = printed(context, value);
  out.is_markup = true;
  return make_text(context, std::move(out));
}

template <bool is_forced>
Value escape_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, "escape", arguments, {});
  const Text text = printed_text(context, value);
  context.charge_bytes(text->size() * 6);
  MarkedText out = text->is_markup && !is_forced ? *text : html_escaped(*text);
  out.is_markup = true;
  return make_text(context, std::move(out));
}

// Percent signs for all but letters, digits, _.-~ and, in paths, /; in queries + for a space.
MarkedText url_quoted(Context& context, const MarkedText& text, bool is_query) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  context.charge_bytes(text.size() * 3);
  MarkedText out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text.view()[at];
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (byte < 0x80 && (is_letter(byte) || is_digit(byte))) ||
                          std::string_view("_.-~").find(c) != std::string_view::npos ||
                          (c == '/' && !is_query);
    if (is_plain) {
      out.append(text.view().substr(at, 1), text.is_input_at(at));
    } else if (c == ' ' && is_query) {
      out.append("+", text.is_input_at(at));
    } else {
      const char quoted[] = {'%', kDigits[byte >> 4], kDigits[byte & 15]};
      out.append({quoted, 3}, text.is_input_at(at));
    }
  }
  return out;
}

// A text or a number as a part of a path; a dict or pairs as a query.
Value urlencode_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, "urlencode", arguments, {});
  if (value.dict() == nullptr && value.list() == nullptr) {
    return make_text(context, url_quoted(context, *printed_text(context, value), false));
  }
  MarkedText out;
  const auto add = [&](const Value& key, const Value& member) {
    if (!out.empty()) out.append("&", false);
    out.append(url_quoted(context, *printed_text(context, key), true));
    out.append("=", false);
    out.append(url_quoted(context, *printed_text(context, member), true));
  };
  if (const Dict* dict = value.dict()) {
    for (const auto& [key, member] : dict->entries()) add(key, member);
  } else {
    const auto pairs = elements(context, value);
    for (const Value& each : pairs->items) {
      const auto pair = elements(context, each);
      if (pair->items.size() != 2) {
        context.fail("urlencode: values that are no pairs; got " +
                     std::to_string(pair->items.size()) + " of them, expected 2");
      }
      add(pair->items[0], pair->items[1]);
    }
  }
  return make_text(context, std::move(out));
}

Value wordcount_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, "wordcount", arguments, {});
  const Text text = printed_text(context, value);
  context.charge_steps(text->size() / 32);
  std::int64_t words = 0;
  bool is_within = false;
  for (std::size_t at = 0; at < text->size();) {
    const Character each = character_at(text->view(), at);
    const bool is_part =
        tokens::is_letter(each.code) || tokens::is_number(each.code) || each.code == '_';
    if (is_part && !is_within) ++words;
    is_within = is_part;
    at += each.size;
  }
  return words;
}

// A dict as attributes of an element: those that are none or undefined are left out.
Value xmlattr_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, "xmlattr", arguments, {"autospace"});
  const Dict* dict = value.dict();
  if (dict == nullptr) {
    context.fail(std::string("xmlattr: a value is no dict; got ") + type_name(value));
  }
  const auto escaped = [&](const Value& each) {
    const Text text = printed_text(context, each);
    context.charge_bytes(text->size() * 6);
    return text->is_markup ? *text : html_escaped(*text);
  };
  MarkedText out;
  for (const auto& [key, member] : dict->entries()) {
    if (member.is_none() || member.is_undefined()) continue;
    if (key.text() == nullptr) context.fail("xmlattr: a name is no text");
    const std::string_view name = key.text()->view();
    for (std::size_t at = 0; at < name.size(); at += character_at(name, at).size) {
      const char32_t code = character_at(name, at).code;
      if (is_space(code) || code == '/' || code == '>' || code == '=') {
        context.fail("xmlattr: a name with a space, /, > or =; got " + hearth::quoted(name, 60));
      }
    }
    if (!out.empty() || bound.truth(0, true)) out.append(" ", false);
    out.append(escaped(key));
    out.append("=\"", false);
    out.append(escaped(member));
    out.append("\"", false);
  }
  return make_text(context, std::move(out));
}

// Bytes in the largest unit that leaves at least one of it.
Value filesizeformat_filter(Interpreter& interpreter, const Value& value,
                            const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, "filesizeformat", arguments, {"binary"});
  const Value number = interpreter.apply_filter("float", value, {});
  const double bytes = number.number();
  const bool is_binary = bound.truth(0, false);
  const double base = is_binary ? 1024 : 1000;
  if (bytes == 1) return make_text(context, "1 Byte");
  if (std::isnan(bytes)) context.fail("filesizeformat: a size is no number");
  if (bytes < base) {
    if (std::abs(bytes) > 0x1p62) context.fail("filesizeformat: a size is out of range");
    return make_text(context, std::to_string(static_cast<std::int64_t>(bytes)) + " Bytes");
  }
  constexpr std::string_view kUnits = "kMGTPEZY";
  double unit = base * base;
  std::size_t at = 0;
  for (; at + 1 < kUnits.size() && bytes >= unit; ++at) unit *= base;
  char digits[512];
  const auto end =
      std::to_chars(digits, std::end(digits), base * bytes / unit, std::chars_format::fixed, 1);
  std::string text(digits, end.ptr);
  text += ' ';
  text += is_binary && at == 0 ? 'K' : kUnits[at];
  text += is_binary ? "iB" : "B";
  return make_text(context, text);
}

struct NamedTextFilter {
  std::string_view name;
  Filter filter;
};

constexpr NamedTextFilter kTextFilters[] = {
    {"trim", trim_filter},
    {"string", string_filter},
    {"upper", change_filter<upper>},
    {"lower", change_filter<lower>},
    {"capitalize", capitalize_filter},
    {"title", title_filter},
    {"replace", replace_filter},
    {"indent", indent_filter},
    {"center", center_filter},
    {"truncate", truncate_filter},
    {"format", format_filter},
    {"safe", safe_filter},
    {"escape", escape_filter<false>},
    {"e", escape_filter<false>},
    {"forceescape", escape_filter<true>},
    {"urlencode", urlencode_filter},
    {"wordcount", wordcount_filter},
    {"xmlattr", xmlattr_filter},
    {"filesizeformat", filesizeformat_filter},
};

}  // namespace

Filter find_text_filter(std::string_view name) {
  for (const NamedTextFilter& each : kTextFilters) {
    if (each.name == name) return each.filter;
  }
  return nullptr;
}

}  // namespace hearth::models::chat_template
