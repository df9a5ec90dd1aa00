// Methods of texts.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "core/quoted.h"
#include "models/chat_template/arguments.h"
#include "models/chat_template/built_ins.h"
#include "models/chat_template/formats.h"
#include "models/chat_template/letter_case.h"
#include "models/chat_template/text_edits.h"
#include "models/chat_template/unicode.h"
#include "models/chat_template/value_text.h"

namespace hearth::models::chat_template {
namespace {

template <Side side>
Value strip_method(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"chars"});
  if (bound.has(0)) context.charge_steps(value.text()->size() / 16);
  return make_text(context, stripped(*value.text(), bound.optional_text(0), side));
}

template <bool from_right>
Value split_method(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"sep", "maxsplit"});
  return make_counted_list(context, split(context, *value.text(), bound.optional_text(0),
                                          bound.integer(1, -1), from_right));
}

Value splitlines_method(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"keepends"});
  return make_counted_list(context, split_lines(context, *value.text(), bound.truth(0, false)));
}

template <bool from_right>
Value partition_method(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"sep"}, 1);
  const MarkedText separator = bound.text(0, "");
  if (separator.empty()) {
    bound.fail("the separator is empty; expected at least one character");
  }
  const MarkedText& text = *value.text();
  context.charge_search(text.size(), separator.size());
  const std::size_t at =
      from_right ? text.view().rfind(separator.view()) : text.view().find(separator.view());
  MarkedText parts[3];
  if (at == std::string_view::npos) {
    parts[from_right ? 2 : 0] = text;
  } else {
    parts[0] = text.part(0, at);
    parts[1] = separator;
    parts[2] = text.part(at + separator.size(), text.size() - at - separator.size());
  }
  Values values;
  for (MarkedText& part : parts) values.push_back(make_text(context, std::move(part)));
  return make_list(context, std::move(values), ListKind::tuple);
}

// What is between the characters that the arguments 1 and 2 name, which count from the end where
// they are negative; nothing where it would begin behind the text or its own end.
std::optional<std::string_view> searched_part(std::string_view text, const Bound& bound) {
  if (!bound.has(1) && !bound.has(2)) return text;
  const auto size = static_cast<std::int64_t>(count_characters(text));
  const auto placed = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size);
  };
  const std::int64_t begin = placed(bound.integer(1, 0)), end = placed(bound.integer(2, size));
  if (begin > end || bound.integer(1, 0) > size) return std::nullopt;
  const std::size_t first = byte_of_character(text, static_cast<std::size_t>(begin));
  return text.substr(first, byte_of_character(text, static_cast<std::size_t>(end)) - first);
}

// startswith and endswith: of a text or of any of a tuple, in a part of the value.
template <bool at_end>
Value affix_method(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"affix", "start", "end"}, 1);
  const std::optional<std::string_view> part = searched_part(value.text()->view(), bound);
  if (!part) return false;
  const std::string_view view = *part;
  const Value affix = bound.value(0);
  const auto fits = [&](const Value& each) {
    if (each.text() == nullptr) {
      bound.fail(std::string("an argument is no text; got ") + type_name(each) +
                 ", expected a text or a tuple of texts");
    }
    return at_end ? view.ends_with(each.text()->view()) : view.starts_with(each.text()->view());
  };
  if (affix.list() == nullptr || affix.list()->kind != ListKind::tuple) return fits(affix);
  return std::any_of(affix.list()->items.begin(), affix.list()->items.end(), fits);
}

template <bool at_end>
Value remove_affix_method(Interpreter& interpreter, const Value& value,
                          const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"affix"}, 1);
  const MarkedText affix = bound.text(0, "");
  const MarkedText& text = *value.text();
  const bool fits =
      at_end ? text.view().ends_with(affix.view()) : text.view().starts_with(affix.view());
  if (!fits) return value;
  return make_text(context, text.part(at_end ? 0 : affix.size(), text.size() - affix.size()));
}

Value replace_method(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"old", "new", "count"}, 2);
  return make_text(context, replaced(context, *value.text(), bound.text(0, "").view(),
                                     bound.text(1, ""), bound.integer(2, -1)));
}

template <bool from_right, bool must_be_there>
Value find_method(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"sub", "start", "end"}, 1);
  const std::string_view whole = value.text()->view();
  context.charge_steps(whole.size() / 32);
  const std::optional<std::string_view> part = searched_part(whole, bound);
  const MarkedText wanted = bound.text(0, "");
  if (part) {
    context.charge_search(part->size(), wanted.size());
    const std::size_t at = from_right ? part->rfind(wanted.view()) : part->find(wanted.view());
    if (at != std::string_view::npos) {
      const auto begin = static_cast<std::size_t>(part->data() - whole.data());
      return static_cast<std::int64_t>(count_characters(whole.substr(0, begin + at)));
    }
  }
  if (must_be_there) {
    bound.fail("a text is not within the other; got " + hearth::quoted(wanted.view(), 40) +
               ", expected one that is, or find, which gives -1");
  }
  return std::int64_t{-1};
}

Value count_method(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"sub"}, 1);
  const MarkedText wanted = bound.text(0, "");
  const std::string_view view = value.text()->view();
  context.charge_steps(view.size() / 32);
  context.charge_search(view.size(), wanted.size());
  if (wanted.empty()) return static_cast<std::int64_t>(count_characters(view)) + 1;
  std::int64_t count = 0;
  context.charge_steps(view.size() / 16);
  for (std::size_t at = 0; (at = view.find(wanted.view(), at)) != std::string_view::npos;) {
    ++count;
    at += wanted.size();
  }
  return count;
}

template <Letters letters>
Value letters_method(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {});
  context.charge_steps(value.text()->size() / 8);
  return make_text(context, in_letters(*value.text(), letters));
}

template <Side side>
Value pad_method(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"width", "fillchar"}, 1);
  return make_text(context,
                   padded(context, *value.text(), bound.integer(0, 0), bound.text(1, " "), side));
}

Value zfill_method(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"width"}, 1);
  const MarkedText& text = *value.text();
  const bool has_sign = text.view().starts_with("-") || text.view().starts_with("+");
  const std::size_t sign = has_sign ? 1 : 0;
  MarkedText out = text.part(0, sign);
  out.append(padded(context, text.part(sign, text.size() - sign),
                    bound.integer(0, 0) - static_cast<std::int64_t>(sign), MarkedText("0", false),
                    Side::left));
  return make_text(context, std::move(out));
}

Value join_method(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"iterable"}, 1);
  const auto list = elements(context, bound.value(0));
  std::size_t size = 0;
  for (const Value& item : list->items) {
    if (item.text() == nullptr) {
      context.fail(std::string("join: an element is no text; got ") + type_name(item) +
                   ", expected a text");
    }
    context.charge_steps(1);
    context.charge_bytes(value.text()->weight() + item.text()->weight());
    size += value.text()->size() + item.text()->size();
  }
  MarkedText out;
  out.reserve(size);
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    if (i > 0) out.append(*value.text());
    out.append(*list->items[i].text());
  }
  return make_text(context, std::move(out));
}

Value format_method(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  return brace_formatted(interpreter.context(), *value.text(), arguments);
}

// Whether all characters are so, and there is one.
template <bool (*holds)(char32_t)>
Value is_method(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  const Bound bound(interpreter.context(), arguments, {});
  const std::string_view view = value.text()->view();
  interpreter.context().charge_steps(view.size() / 16);
  for (std::size_t at = 0; at < view.size(); at += character_at(view, at).size) {
    if (!holds(character_at(view, at).code)) return false;
  }
  return !view.empty();
}

bool is_letter_or_number(char32_t code) { return is_letter(code) || is_numeric(code); }

// Whether the letters, of which there must be one, are all of one case.
template <bool (*holds)(char32_t), bool (*excludes)(char32_t)>
Value is_case_method(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  const Bound bound(interpreter.context(), arguments, {});
  const std::string_view view = value.text()->view();
  interpreter.context().charge_steps(view.size() / 16);
  bool is_any = false;
  for (std::size_t at = 0; at < view.size(); at += character_at(view, at).size) {
    const char32_t code = character_at(view, at).code;
    if (excludes(code) || is_title(code)) return false;
    is_any = is_any || holds(code);
  }
  return is_any;
}

Value is_printable_method(Interpreter& interpreter, const Value& value,
                          const Arguments& arguments) {
  if (value.text()->empty()) return true;
  return is_method<is_printable>(interpreter, value, arguments);
}

Value isascii_method(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  const Bound bound(interpreter.context(), arguments, {});
  const std::string_view view = value.text()->view();
  return std::all_of(view.begin(), view.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

constexpr NamedFilter kTextMethods[] = {
    {"strip", strip_method<Side::both>},
    {"lstrip", strip_method<Side::left>},
    {"rstrip", strip_method<Side::right>},
    {"split", split_method<false>},
    {"rsplit", split_method<true>},
    {"splitlines", splitlines_method},
    {"partition", partition_method<false>},
    {"rpartition", partition_method<true>},
    {"startswith", affix_method<false>},
    {"endswith", affix_method<true>},
    {"removeprefix", remove_affix_method<false>},
    {"removesuffix", remove_affix_method<true>},
    {"replace", replace_method},
    {"find", find_method<false, false>},
    {"rfind", find_method<true, false>},
    {"index", find_method<false, true>},
    {"rindex", find_method<true, true>},
    {"count", count_method},
    {"upper", letters_method<Letters::upper>},
    {"lower", letters_method<Letters::lower>},
    {"swapcase", letters_method<Letters::swapped>},
    {"casefold", letters_method<Letters::fold>},
    {"capitalize", letters_method<Letters::capital>},
    {"title", letters_method<Letters::title>},
    {"center", pad_method<Side::both>},
    {"ljust", pad_method<Side::right>},
    {"rjust", pad_method<Side::left>},
    {"zfill", zfill_method},
    {"join", join_method},
    {"format", format_method},
    {"isdigit", is_method<is_digit>},
    {"isdecimal", is_method<is_decimal>},
    {"isnumeric", is_method<is_numeric>},
    {"isalpha", is_method<is_letter>},
    {"isalnum", is_method<is_letter_or_number>},
    {"isspace", is_method<is_space>},
    {"isprintable", is_printable_method},
    {"isascii", isascii_method},
    {"isupper", is_case_method<is_upper, is_lower>},
    {"islower", is_case_method<is_lower, is_upper>},
};

}  // namespace

std::span<const NamedFilter> text_methods() { return kTextMethods; }

}  // namespace hearth::models::chat_template
