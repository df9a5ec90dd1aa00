// Filters of texts.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "models/chat_template/arguments.h"
#include "models/chat_template/built_ins.h"
#include "models/chat_template/formats.h"
#include "models/chat_template/letter_case.h"
#include "models/chat_template/pretty_text.h"
#include "models/chat_template/text_edits.h"
#include "models/chat_template/text_wrap.h"
#include "models/chat_template/unicode.h"
#include "models/chat_template/value_text.h"

namespace hearth::models::chat_template {
namespace {

Value trim_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"chars"});
  const Text text = printed_text(context, value);
  if (bound.has(0)) context.charge_steps(text->size() / 16);
  return make_text(context, stripped(*text, bound.optional_text(0), Side::both));
}

Value string_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {});
  if (value.text() != nullptr) return value;
  return make_text(context, printed(context, value));
}

template <Letters letters>
Value letters_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {});
  const Text text = printed_text(context, value);
  context.charge_steps(text->size() / 8);
  return make_text(context, in_letters(*text, letters));
}

// Unlike the method: words begin behind white space, - ( { [ and <.
Value title_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {});
  const Text text = printed_text(context, value);
  const std::string_view view = text->view();
  const auto parts_words = [&](std::size_t at) {
    const char32_t code = character_at(view, at).code;
    return is_space(code) || code == '-' || code == '(' || code == '{' || code == '[' ||
           code == '<';
  };
  context.charge_steps(view.size());
  MarkedText out;
  for (std::size_t at = 0; at < view.size();) {
    const bool is_word = !parts_words(at);
    const std::size_t begin = at, rest = at + character_at(view, at).size;
    while (at < view.size() && parts_words(at) != is_word) at += character_at(view, at).size;
    out.append(in_letters(text->part(begin, rest - begin), Letters::upper));
    out.append(in_letters(text->part(rest, at - rest), Letters::lower));
  }
  return make_text(context, std::move(out));
}

Value replace_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"old", "new", "count"}, 2);
  const Value count = bound.value(2);
  const Text from = printed_text(context, bound.value(0)),
             to = printed_text(context, bound.value(1));
  return make_text(context, replaced(context, *printed_text(context, value), from->view(), *to,
                                     count.is_integer() ? count.integer() : -1));
}

Value indent_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"width", "first", "blank"});
  if (value.text() == nullptr) {
    context.fail(std::string("indent: a value is no text; got ") + type_name(value) +
                 ", expected a text");
  }
  MarkedText indent("    ", false);
  if (bound.value(0).text() != nullptr) {
    indent = bound.text(0, "");
  } else if (bound.has(0)) {
    indent = padded(context, {}, bound.integer(0, 4), MarkedText(" ", false), Side::left);
  }
  const bool indents_first = bound.truth(1, false), indents_blank = bound.truth(2, false);
  context.charge_bytes(value.text()->weight());
  MarkedText text = *value.text();
  text.append("\n", false);
  MarkedText out;
  bool is_first = true;
  each_line(context, text, false, [&](const MarkedText& line) {
    context.charge_bytes(indent.weight() + line.weight() + 1);
    if (!is_first) out.append("\n", false);
    const bool is_indented = is_first ? indents_first : indents_blank || !line.empty();
    if (is_indented) out.append(indent);
    is_first = false;
    out.append(line);
  });
  out.is_markup = value.text()->is_markup;
  return make_text(context, std::move(out));
}

Value center_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"width"});
  return make_text(context, padded(context, *printed_text(context, value), bound.integer(0, 80),
                                   MarkedText(" ", false), Side::both));
}

Value truncate_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"length", "killwords", "end", "leeway"});
  const MarkedText end = bound.text(2, "...");
  const auto end_size = static_cast<std::int64_t>(count_characters(end.view()));
  const std::int64_t length = bound.integer(0, 255), leeway = bound.integer(3, 5);
  if (length < end_size || leeway < 0 || leeway > (1 << 20) || length > std::int64_t{1} << 40) {
    context.fail("truncate: length out of range; got " + std::to_string(length) +
                 " and a leeway of " + std::to_string(leeway) + ", expected at least the " +
                 std::to_string(end_size) + " of the end, at most 2^40, and a leeway of 0 to 2^20");
  }
  // Other values that have a length are not cut, and not printed either.
  const std::size_t whole = chat_template::length(context, value);
  if (value.text() == nullptr) {
    if (static_cast<std::int64_t>(whole) <= length + leeway) return value;
    context.fail(std::string("truncate: a value is no text; got ") + type_name(value) +
                 ", expected a text");
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
  const Text text = printed_text(context, value);
  if (arguments.named.empty()) {
    return printf_formatted(context, *text,
                            make_list(context, arguments.positional, ListKind::tuple));
  }
  if (!arguments.positional.empty()) {
    context.fail("format: values with and without names; expected all with names or all without");
  }
  Dict values;
  for (const auto& [name, each] : arguments.named) {
    values.set(context, make_text(context, name), each);
  }
  return printf_formatted(context, *text, make_dict(context, std::move(values)));
}

Value wordwrap_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments,
                    {"width", "break_long_words", "wrapstring", "break_on_hyphens"});
  if (value.text() == nullptr) {
    context.fail(std::string("wordwrap: a value is no text; got ") + type_name(value) +
                 ", expected a text");
  }
  const std::optional<MarkedText> given = bound.optional_text(2);
  const MarkedText separator = given ? *given : MarkedText("\n", false);
  const WrapOptions options{.width = bound.integer(0, 79),
                            .breaks_long_words = bound.truth(1, true),
                            .breaks_at_hyphens = bound.truth(3, true)};
  MarkedText out;
  bool is_first = true;
  const auto add = [&](const MarkedText& line) {
    context.charge_bytes(separator.weight() + line.weight());
    if (!is_first) out.append(separator);
    is_first = false;
    out.append(line);
  };
  each_line(context, *value.text(), false, [&](const MarkedText& paragraph) {
    if (each_wrapped_line(context, paragraph, options, add) == 0) add({});
  });
  return make_text(context, std::move(out));
}

Value pprint_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {});
  return make_text(context, pretty_text(context, value));
}

Value wordcount_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {});
  const Text text = printed_text(context, value);
  context.charge_steps(text->size() / 16);
  std::int64_t words = 0;
  bool is_within = false;
  for (std::size_t at = 0; at < text->size();) {
    const Character each = character_at(text->view(), at);
    const bool is_part = is_word_part(each.code);
    if (is_part && !is_within) ++words;
    is_within = is_part;
    at += each.size;
  }
  return words;
}

// float() of the value.
double size_of(Interpreter& interpreter, const Value& value) {
  Context& context = interpreter.context();
  Arguments fallback;
  fallback.positional.push_back(None{});
  const Value number = interpreter.apply_filter("float", value, fallback);
  if (!number.is_number()) {
    context.fail(std::string("filesizeformat: a value is no number; got ") + type_name(value) +
                 ", expected a number or the text of one");
  }
  return number.number();
}

std::string fixed_digits(double value, int places) {
  char digits[512];
  const auto end = std::to_chars(digits, std::end(digits), value, std::chars_format::fixed, places);
  return {digits, end.ptr};
}

// Bytes in the largest unit that leaves at least one of it.
Value filesizeformat_filter(Interpreter& interpreter, const Value& value,
                            const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"binary"});
  const double bytes = size_of(interpreter, value);
  const bool is_binary = bound.truth(0, false);
  const double base = is_binary ? 1024 : 1000;
  if (bytes == 1) return make_text(context, "1 Byte");
  if (bytes < base) {
    if (std::isinf(bytes)) {
      context.fail("filesizeformat: a size is out of range; got -inf, expected a finite one");
    }
    return make_text(context, fixed_digits(std::trunc(bytes) + 0.0, 0) + " Bytes");
  }
  constexpr std::string_view kUnits = "kMGTPEZY";
  double unit = base * base;
  std::size_t at = 0;
  // Of the powers of 10 compared here 1e24 alone is more than the double nearest to it.
  const auto is_below = [&] { return bytes < unit || (bytes == 1e24 && unit == 1e24); };
  for (; at + 1 < kUnits.size() && !is_below(); ++at) unit *= base;
  std::string text = std::isnan(bytes) ? "nan" : fixed_digits(base * bytes / unit, 1);
  text += ' ';
  text += is_binary && at == 0 ? 'K' : kUnits[at];
  text += is_binary ? "iB" : "B";
  return make_text(context, text);
}

constexpr NamedFilter kTextFilters[] = {
    {"trim", trim_filter},
    {"string", string_filter},
    {"upper", letters_filter<Letters::upper>},
    {"lower", letters_filter<Letters::lower>},
    {"capitalize", letters_filter<Letters::capital>},
    {"title", title_filter},
    {"replace", replace_filter},
    {"indent", indent_filter},
    {"center", center_filter},
    {"truncate", truncate_filter},
    {"format", format_filter},
    {"wordcount", wordcount_filter},
    {"wordwrap", wordwrap_filter},
    {"pprint", pprint_filter},
    {"filesizeformat", filesizeformat_filter},
};

}  // namespace

std::span<const NamedFilter> text_filters() { return kTextFilters; }

}  // namespace hearth::models::chat_template
