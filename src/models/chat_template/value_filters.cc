// Filters of numbers, of any value, and those of JSON.
#include <charconv>
#include <cmath>
#include <limits>

#include "core/number_text.h"
#include "core/quoted.h"
#include "models/chat_template/arguments.h"
#include "models/chat_template/built_ins.h"
#include "models/chat_template/text_edits.h"
#include "models/chat_template/unicode.h"
#include "models/chat_template/value_text.h"

namespace hearth::models::chat_template {
namespace {

Value default_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"default_value", "boolean"});
  if (!value.is_undefined() && !(bound.truth(1, false) && !is_true(value))) return value;
  return bound.has(0) ? bound.value(0) : make_text(context, "");
}

// Without white space at the ends, digits of all scripts as those of ASCII.
std::string without_spaces(const MarkedText& text) {
  const MarkedText inner = stripped(text, std::nullopt, Side::both);
  std::string plain;
  for (std::size_t at = 0; at < inner.size();) {
    const Character each = character_at(inner.view(), at);
    if (each.size > 1 && is_decimal(each.code)) {
      plain += static_cast<char>('0' + decimal_value(each.code));
    } else {
      plain += inner.view().substr(at, each.size);
    }
    at += each.size;
  }
  return plain;
}

// Digits with underscores between them, as int() and float() read them; empty for what is none.
std::string plain_number(std::string text) {
  for (std::size_t at = text.find('_'); at != std::string::npos; at = text.find('_', at)) {
    const auto is_digit_at = [&](std::size_t i) {
      return i < text.size() && std::isxdigit(static_cast<unsigned char>(text[i])) != 0;
    };
    if (at == 0 || !is_digit_at(at - 1) || !is_digit_at(at + 1)) return "";
    text.erase(at, 1);
  }
  if (!text.empty() && text[0] == '+') text.erase(0, 1);
  if (text.starts_with("+") || text.starts_with("--") || text.starts_with("-+")) return "";
  return text;
}

std::optional<double> read_float(const MarkedText& given) {
  const std::string text = plain_number(without_spaces(given));
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || read.ptr != text.data() + text.size()) return std::nullopt;
  if (text.find('(') != std::string::npos) return std::nullopt;
  if (read.ec == std::errc::result_out_of_range) {
    const bool is_small =
        text.find("e-") != std::string::npos || text.find("E-") != std::string::npos;
    return is_small ? 0.0 : std::numeric_limits<double>::infinity();
  }
  return value;
}

// int(); nothing for what is no number. Those of more than 64 bits, which Python has, are Errors.
std::optional<std::int64_t> truncated(Context& context, double value) {
  if (std::isnan(value)) return std::nullopt;
  if (std::abs(value) < 0x1p63) return static_cast<std::int64_t>(value);
  context.fail("int: a number is out of range; got " + number_text(value) + ", expected 64 bits");
}

std::optional<std::int64_t> read_integer(Context& context, const MarkedText& given, int base) {
  std::string text = plain_number(without_spaces(given));
  const std::string sign = text.starts_with("-") ? "-" : "";
  text.erase(0, sign.size());
  const auto skip = [&](const char* low, const char* high) {
    if (text.starts_with(low) || text.starts_with(high)) text.erase(0, 2);
  };
  if (base == 0) {
    const auto begins = [&](char letter) {
      return text.size() > 1 && text[0] == '0' && (text[1] | 32) == letter;
    };
    base = begins('x') ? 16 : begins('o') ? 8 : begins('b') ? 2 : 10;
  }
  if (base == 16) skip("0x", "0X");
  if (base == 8) skip("0o", "0O");
  if (base == 2) skip("0b", "0B");
  const bool has_digits = !text.empty() && text[0] != '-';
  text = sign + text;
  std::int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (has_digits && read.ec == std::errc() && read.ptr == text.data() + text.size()) return value;
  const auto number = read_float(given);
  return number && !std::isinf(*number) ? truncated(context, *number) : std::nullopt;
}

Value int_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"default", "base"});
  const std::int64_t base = bound.integer(1, 10);
  if (base != 0 && (base < 2 || base > 36)) {
    context.fail("int: base out of range; got " + std::to_string(base) +
                 ", expected 2 to 36, or 0 for that of the prefix");
  }
  std::optional<std::int64_t> number;
  if (value.is_undefined()) context.fail("int: a value is undefined; expected a number or a text");
  if (value.is_integer()) number = value.integer();
  if (const double* given = value.floating()) number = truncated(context, *given);
  if (const MarkedText* text = value.text())
    number = read_integer(context, *text, static_cast<int>(base));
  if (number) return *number;
  return bound.has(0) ? bound.value(0) : Value(std::int64_t{0});
}

Value float_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"default"});
  if (value.is_undefined()) {
    context.fail("float: a value is undefined; expected a number or a text");
  }
  if (value.is_number()) return value.number();
  if (const MarkedText* text = value.text()) {
    if (const auto number = read_float(*text)) return *number;
  }
  return bound.has(0) ? bound.value(0) : Value(0.0);
}

// To the nearest of `precision` decimals, as Python rounds the exact value.
double rounded(double value, std::int64_t precision) {
  if (!std::isfinite(value) || precision > 320) return value;
  if (precision < -308) return 0.0;
  if (precision < 0) {
    const double scale = std::pow(10.0, static_cast<double>(-precision));
    return std::nearbyint(value / scale) * scale;
  }
  char buffer[1024];
  const auto end = std::to_chars(buffer, std::end(buffer), value, std::chars_format::fixed,
                                 static_cast<int>(precision));
  double out = value;
  std::from_chars(buffer, end.ptr, out);
  return out;
}

// To the nearest multiple of 10^places, 1 to 18, of two the even one. Multiples of more than 64
// bits, which Python has, are Errors.
std::int64_t rounded_to_tens(Context& context, std::int64_t value, std::int64_t places) {
  std::int64_t unit = 1;
  for (std::int64_t i = 0; i < places; ++i) unit *= 10;
  const std::int64_t rest = value % unit, half = unit / 2;
  std::int64_t steps = value / unit;
  if (rest > half || (rest == half && rest > 0 && steps % 2 != 0)) ++steps;
  if (rest < -half || (rest == -half && rest < 0 && steps % 2 != 0)) --steps;
  std::int64_t out = 0;
  if (__builtin_mul_overflow(steps, unit, &out)) {
    context.fail("round: a number is out of range; got that of " + std::to_string(value) +
                 ", expected 64 bits");
  }
  return out;
}

Value round_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"precision", "method"});
  if (!value.is_number()) {
    context.fail(std::string("round: a value is no number; got ") + type_name(value) +
                 ", expected a number");
  }
  const std::int64_t precision = bound.integer(0, 0);
  const MarkedText method = bound.text(1, "common");
  if (method.view() == "common") {
    if (value.is_integer()) {
      if (precision >= 0) return value.integer();
      return precision < -18 ? std::int64_t{0}
                             : rounded_to_tens(context, value.integer(), -precision);
    }
    return rounded(value.number(), precision);
  }
  const double scale = std::pow(10.0, static_cast<double>(precision));
  if (method.view() == "ceil") return std::ceil(value.number() * scale) / scale;
  if (method.view() == "floor") return std::floor(value.number() * scale) / scale;
  context.fail("round: an unknown method; got " + hearth::quoted(method.view(), 40) +
               ", expected common, ceil or floor");
}

Value abs_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {});
  if (const double* number = value.floating()) return std::abs(*number);
  if (!value.is_integer()) {
    context.fail(std::string("abs: a value is no number; got ") + type_name(value) +
                 ", expected a number");
  }
  if (value.integer() >= 0) return value.integer();
  return interpreter.binary("-", std::int64_t{0}, value);
}

Value attr_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  const Bound bound(interpreter.context(), arguments, {"name"}, 1);
  if (value.dict() != nullptr && find_method(value, bound.text(0, "").view()) == nullptr) {
    return make_undefined("a dict has no such attribute");
  }
  return interpreter.attribute(value, bound.text(0, "").view());
}

Value tojson_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonLayout layout;
  layout.ensure_ascii = bound.truth(0, false);
  layout.sort_keys = bound.truth(3, false);
  if (const Value indent = bound.value(1); indent.is_integer()) {
    if (indent.integer() > 1000) {
      context.fail("tojson: an indent is out of range; got " + std::to_string(indent.integer()) +
                   ", expected at most 1000");
    }
    layout.indent =
        std::string(static_cast<std::size_t>(std::max<std::int64_t>(0, indent.integer())), ' ');
  } else if (indent.text() != nullptr) {
    layout.indent = indent.text()->view();
  }
  if (const Value separators = bound.value(2); bound.has(2) && !separators.is_none()) {
    const auto pair = elements(context, separators);
    if (pair->items.size() != 2 || pair->items[0].text() == nullptr ||
        pair->items[1].text() == nullptr) {
      context.fail(
          "tojson: separators of the wrong kind; expected two texts, between items and behind "
          "keys");
    }
    layout.item_separator = pair->items[0].text()->view();
    layout.key_separator = pair->items[1].text()->view();
  }
  return make_text(context, json_of(context, value, layout));
}

Value from_json_filter(Interpreter& interpreter, const Value& value, const Arguments& arguments) {
  Context& context = interpreter.context();
  const Bound bound(context, arguments, {});
  if (value.text() == nullptr) {
    context.fail(std::string("from_json: a value is no text; got ") + type_name(value) +
                 ", expected a text");
  }
  context.charge_bytes(value.text()->size() * 32);
  const auto json = parse_json(std::string(value.text()->view()));
  if (!json) {
    context.fail("from_json: a text is no JSON; got " + hearth::quoted(value.text()->view(), 40) +
                 ", expected one value of it");
  }
  const bool is_input = !value.text()->runs().empty() && value.text()->runs().back().is_input;
  return value_of_json(context, *json, is_input || value.text()->runs().size() > 1);
}

constexpr NamedFilter kValueFilters[] = {
    {"default", default_filter}, {"d", default_filter},     {"int", int_filter},
    {"float", float_filter},     {"round", round_filter},   {"abs", abs_filter},
    {"attr", attr_filter},       {"tojson", tojson_filter}, {"from_json", from_json_filter},
};

}  // namespace

std::span<const NamedFilter> value_filters() { return kValueFilters; }

}  // namespace hearth::models::chat_template
