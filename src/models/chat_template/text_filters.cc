// Filters of texts.
#include <algorithm>

#include "models/chat_template/arguments.h"
#include "models/chat_template/formats.h"
#include "models/chat_template/html.h"
#include "models/chat_template/interpreter.h"
#include "models/chat_template/text_edits.h"
#include "models/chat_template/unicode.h"
#include "models/chat_template/value_text.h"

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
};

}  // namespace

Filter find_text_filter(std::string_view name) {
  for (const NamedTextFilter& each : kTextFilters) {
    if (each.name == name) return each.filter;
  }
  return nullptr;
}

}  // namespace hearth::models::chat_template
