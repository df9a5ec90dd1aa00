#include "models/chat_template/formats.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "core/quoted.h"
#include "models/chat_template/text_edits.h"
#include "models/chat_template/unicode.h"
#include "models/chat_template/value_text.h"

namespace hearth::models::chat_template {
namespace {

constexpr std::int64_t kMaxPrecision = 100;

// What stands between % and its letter, or behind the colon within braces.
struct Specification {
  std::string fill = " ";
  char align = 0;  // < > ^ =, 0 for that of the kind of value
  char sign = '-';
  bool is_alternate = false, has_commas = false, is_zero_padded = false;
  std::int64_t width = 0, precision = -1;
  char type = 0;
};

std::int64_t take_number(std::string_view text, std::size_t& at) {
  std::int64_t value = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
    value = std::min<std::int64_t>(value * 10 + (text[at] - '0'), std::int64_t{1} << 40);
  }
  return value;
}

// Of ASCII.
void to_capitals(std::string& digits) {
  for (char& c : digits) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
}

// Of a precision up to kMaxPrecision.
std::string float_digits(double value, char type, std::int64_t precision) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return "inf";
  char buffer[512];
  const auto layout = (type | 32) == 'f'   ? std::chars_format::fixed
                      : (type | 32) == 'e' ? std::chars_format::scientific
                                           : std::chars_format::general;
  const auto digits = static_cast<int>(precision < 0 ? 6 : precision);
  const auto end = std::to_chars(buffer, std::end(buffer), value, layout, digits);
  return std::string(buffer, end.ptr);
}

std::string with_commas(const std::string& digits) {
  const std::size_t whole = std::min(digits.find_first_not_of("0123456789"), digits.size());
  std::string out;
  for (std::size_t i = 0; i < whole; ++i) {
    if (i != 0 && (whole - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out + digits.substr(whole);
}

// Digits of a number without its sign, as its type has them.
std::string digits_of(Context& context, const Value& value, const Specification& spec) {
  const char type = spec.type;
  if (spec.precision > kMaxPrecision) {
    context.fail("format: a precision is out of range; got " + std::to_string(spec.precision) +
                 ", expected at most " + std::to_string(kMaxPrecision));
  }
  const bool is_float_type =
      type != 0 && std::string_view("fFeEgG%").find(type) != std::string_view::npos;
  if (value.is_integer() && !is_float_type) {
    const std::int64_t number = value.integer();
    const auto size =
        number < 0 ? ~static_cast<std::uint64_t>(number) + 1 : static_cast<std::uint64_t>(number);
    char buffer[80];
    const int base = (type | 32) == 'x' ? 16 : type == 'o' ? 8 : type == 'b' ? 2 : 10;
    std::string out(buffer, std::to_chars(buffer, std::end(buffer), size, base).ptr);
    if (type == 'X') to_capitals(out);
    const auto least = static_cast<std::size_t>(std::max<std::int64_t>(spec.precision, 0));
    if (out.size() < least) out.insert(0, least - out.size(), '0');
    if (spec.is_alternate && base != 10) out = std::string("0") + type + out;
    return out;
  }
  if (type != 0 && !is_float_type) {
    context.fail(std::string("format: a float has no such type; got ") + type +
                 ", expected one of e, f, g, E, F, G and %");
  }
  const double size = std::abs(value.number());
  if (type == 0 && spec.precision < 0) return float_text(size);
  std::string out = type == '%' ? float_digits(size * 100, 'f', spec.precision) + "%"
                                : float_digits(size, type == 0 ? 'g' : type, spec.precision);
  if (type == 'F' || type == 'E' || type == 'G') to_capitals(out);
  return out;
}

bool is_negative(const Value& value) {
  return value.is_integer() ? value.integer() < 0 : std::signbit(value.number());
}

MarkedText laid_out(Context& context, const std::string& sign, const MarkedText& text,
                    const Specification& spec, char default_align) {
  const char align = spec.align != 0 ? spec.align : spec.is_zero_padded ? '=' : default_align;
  const MarkedText fill(spec.align == 0 && spec.is_zero_padded ? "0" : spec.fill, false);
  MarkedText out(sign, false);
  if (align == '=') {
    out.append(padded(context, text, spec.width - static_cast<std::int64_t>(sign.size()), fill,
                      Side::left));
    return out;
  }
  out.append(text);
  if (align != '^')
    return padded(context, out, spec.width, fill, align == '<' ? Side::right : Side::left);
  const auto size = static_cast<std::int64_t>(count_characters(out.view()));
  const std::int64_t missing = std::max<std::int64_t>(0, spec.width - size);
  out = padded(context, out, size + missing / 2, fill, Side::left);
  return padded(context, out, spec.width, fill, Side::right);
}

MarkedText number_laid_out(Context& context, const Value& value, const Specification& spec) {
  std::string digits = digits_of(context, value, spec);
  if (spec.has_commas) digits = with_commas(digits);
  const std::string sign = is_negative(value) ? "-"
                           : spec.sign == '-' ? ""
                                              : std::string(1, spec.sign);
  return laid_out(context, sign, MarkedText(digits, false), spec, '>');
}

MarkedText text_laid_out(Context& context, const MarkedText& text, const Specification& spec,
                         char default_align) {
  MarkedText cut = text;
  if (spec.precision >= 0) {
    cut = text.part(0, byte_of_character(text.view(), static_cast<std::size_t>(spec.precision)));
  }
  return laid_out(context, "", cut, spec, default_align);
}

// ---- %

// Reads what follows a %, up to its letter.
Specification printf_specification(Context& context, std::string_view view, std::size_t& at) {
  Specification spec;
  for (; at < view.size() && std::string_view("-+ #0").find(view[at]) != std::string_view::npos;
       ++at) {
    if (view[at] == '-') spec.align = '<';
    if (view[at] == '+' || (view[at] == ' ' && spec.sign != '+')) spec.sign = view[at];
    if (view[at] == '#') spec.is_alternate = true;
    if (view[at] == '0') spec.is_zero_padded = true;
  }
  spec.width = take_number(view, at);
  if (at < view.size() && view[at] == '.') spec.precision = take_number(view, ++at);
  if (at >= view.size()) {
    context.fail("format: a % has no letter; expected such as %s or %d, or %% for the sign itself");
  }
  spec.type = view[at++];
  return spec;
}

// "(name)" at `at`, which moves behind it; brackets within it are in pairs.
std::string_view take_name_in_brackets(Context& context, std::string_view view, std::size_t& at) {
  const std::size_t begin = ++at;
  for (int open = 1; at < view.size(); ++at) {
    open += view[at] == '(' ? 1 : view[at] == ')' ? -1 : 0;
    if (open == 0) return view.substr(begin, at++ - begin);
  }
  context.fail("format: a name in brackets does not end; expected )");
}

const Value& printf_member(Context& context, const Value& value, std::string_view name) {
  if (value.dict() == nullptr) {
    context.fail(std::string("format: values have no names; got ") + type_name(value) +
                 ", expected a dict");
  }
  const Value* found = value.dict()->find(name);
  if (found == nullptr) {
    context.fail("format: the dict has no such name; got " + hearth::quoted(name, 40) +
                 ", expected a key of it");
  }
  return *found;
}

MarkedText printf_one(Context& context, const Value& value, Specification spec) {
  switch (spec.type) {
    case 's':
      spec.is_zero_padded = false;
      return text_laid_out(context, printed(context, value), spec, '>');
    case 'r':
    case 'a':
      spec.is_zero_padded = false;
      return text_laid_out(context, represented(context, value), spec, '>');
    case 'c':
      if (value.text() != nullptr) return text_laid_out(context, *value.text(), spec, '>');
      break;
    case 'd':
    case 'i':
    case 'u':
      if (!value.is_number()) break;
      spec.type = 'd';
      if (const double* number = value.floating()) {
        if (!(std::abs(*number) < 9e18)) {
          context.fail("format: a float is out of range; got " + float_text(*number) +
                       ", expected an integer of 64 bits");
        }
        return number_laid_out(context, static_cast<std::int64_t>(*number), spec);
      }
      return number_laid_out(context, value, spec);
    case 'x':
    case 'X':
    case 'o':
      if (!value.is_integer()) break;
      return number_laid_out(context, value, spec);
    case 'f':
    case 'F':
    case 'e':
    case 'E':
    case 'g':
    case 'G':
      if (!value.is_number()) break;
      return number_laid_out(context, value.number(), spec);
    default:
      context.fail("format: an unknown letter; got %" +
                   hearth::quoted(std::string_view(&spec.type, 1)) +
                   ", expected one of s, r, a, c, d, i, u, x, X, o, f, F, e, E, g, G and %");
  }
  const bool is_whole = spec.type == 'x' || spec.type == 'X' || spec.type == 'o';
  const char* const expected = spec.type == 'c' ? "a text" : is_whole ? "an integer" : "a number";
  context.fail(std::string("format: a value of the wrong kind; got ") + type_name(value) +
               " for %" + spec.type + ", expected " + expected);
}

// ---- {}

Specification brace_specification(Context& context, std::string_view view) {
  Specification spec;
  std::size_t at = 0;
  constexpr std::string_view kAligns = "<>^=";
  if (!view.empty()) {
    const std::size_t size = character_at(view, 0).size;
    if (size < view.size() && kAligns.find(view[size]) != std::string_view::npos) {
      spec.fill = view.substr(0, size);
      spec.align = view[size];
      at = size + 1;
    } else if (kAligns.find(view[0]) != std::string_view::npos) {
      spec.align = view[at++];
    }
  }
  const auto skip = [&](char c) { return at < view.size() && view[at] == c && (++at, true); };
  if (at < view.size() && std::string_view("+- ").find(view[at]) != std::string_view::npos) {
    spec.sign = view[at++];
  }
  spec.is_alternate = skip('#');
  spec.is_zero_padded = skip('0');
  spec.width = take_number(view, at);
  spec.has_commas = skip(',');
  if (skip('.')) spec.precision = take_number(view, at);
  if (at < view.size()) spec.type = view[at++];
  if (at != view.size()) {
    context.fail("format: a specification is malformed; got " + hearth::quoted(view) +
                 ", expected one such as \">8.2f\"");
  }
  return spec;
}

MarkedText brace_one(Context& context, const Value& value, std::string_view specification) {
  if (specification.empty()) return printed(context, value);
  Specification spec = brace_specification(context, specification);
  const bool is_plain_bool = value.boolean() != nullptr && spec.type == 0;
  if (value.is_number() && !is_plain_bool) {
    if (spec.type == 'n') spec.type = value.is_integer() ? 'd' : 'g';
    if (spec.type != 0 &&
        std::string_view("bcdoxXeEfFgG%").find(spec.type) == std::string_view::npos) {
      context.fail("format: an unknown type; got " + hearth::quoted(specification) +
                   ", expected one of b, c, d, o, x, X, n, e, E, f, F, g, G and %");
    }
    const bool is_whole =
        spec.type == 0 || std::string_view("bcdoxX").find(spec.type) != std::string_view::npos;
    if (value.is_integer() && is_whole && spec.precision >= 0) {
      context.fail("format: integers have no precision; got " + hearth::quoted(specification) +
                   ", expected one such as \"5d\"");
    }
    return number_laid_out(context, value, spec);
  }
  if (value.text() == nullptr) {
    context.fail(std::string("format: a value has no specification; got ") + type_name(value) +
                 ", expected a number or a text");
  }
  if (spec.type != 0 && spec.type != 's') {
    context.fail("format: an unknown type for a text; got " + hearth::quoted(specification) +
                 ", expected s or none");
  }
  return text_laid_out(context, *value.text(), spec, '<');
}

class BraceFormat {
 public:
  BraceFormat(Context& context, const MarkedText& format, const Arguments& arguments)
      : context_(context), format_(format), arguments_(arguments) {}

  MarkedText run() {
    const std::string_view view = format_.view();
    std::size_t at = 0;
    while (at < view.size()) {
      const char c = view[at];
      context_.charge_steps(1);
      const bool is_double = at + 1 < view.size() && view[at + 1] == c;
      if ((c == '{' || c == '}') && is_double) {
        out_.append_part(format_, at, 1);
        at += 2;
      } else if (c == '{') {
        at = field(at + 1);
      } else if (c == '}') {
        context_.fail("format: a single } in the format; expected }} for the sign itself");
      } else {
        const std::size_t end = std::min(view.find_first_of("{}", at), view.size());
        out_.append_part(format_, at, end - at);
        at = end;
      }
    }
    return std::move(out_);
  }

 private:
  // From behind the brace to behind its end.
  std::size_t field(std::size_t begin) {
    const std::string_view view = format_.view();
    const std::size_t end = view.find('}', begin);
    if (end == std::string_view::npos) {
      context_.fail("format: a { has no end; expected }, or {{ for the sign itself");
    }
    std::string_view inside = view.substr(begin, end - begin);
    std::string_view specification;
    if (const std::size_t colon = inside.find(':'); colon != std::string_view::npos) {
      specification = inside.substr(colon + 1);
      inside = inside.substr(0, colon);
    }
    char conversion = 0;
    if (const std::size_t mark = inside.find('!'); mark != std::string_view::npos) {
      if (mark + 2 != inside.size()) {
        context_.fail("format: a conversion is malformed; got " +
                      hearth::quoted(inside.substr(mark), 40) + ", expected !r or !s");
      }
      conversion = inside[mark + 1];
      inside = inside.substr(0, mark);
    }
    Value value = argument(inside);
    if (conversion == 'r') value = make_text(context_, represented(context_, value));
    if (conversion == 's') value = make_text(context_, printed(context_, value));
    const MarkedText text = brace_one(context_, value, specification);
    context_.charge_bytes(text.weight());
    out_.append(text);
    return end + 1;
  }

  Value argument(std::string_view name) {
    if (name.find_first_of(".[") != std::string_view::npos) {
      context_.fail("format: attributes and items are not to be had; got " +
                    hearth::quoted(name, 60) + ", expected a name or an index alone");
    }
    std::size_t index = next_;
    std::size_t at = 0;
    if (name.empty()) {
      ++next_;
    } else if (name[0] >= '0' && name[0] <= '9') {
      index = static_cast<std::size_t>(take_number(name, at));
    } else {
      for (const auto& [each, value] : arguments_.named) {
        if (each == name) return value;
      }
      context_.fail("format: an unknown argument; got " + hearth::quoted(name, 60) +
                    ", expected the name of one that is given");
    }
    if (index < arguments_.positional.size()) return arguments_.positional[index];
    context_.fail("format: too few values; got " + std::to_string(arguments_.positional.size()) +
                  ", expected at least " + std::to_string(index + 1));
  }

  Context& context_;
  const MarkedText& format_;
  const Arguments& arguments_;
  MarkedText out_;
  std::size_t next_ = 0;
};

}  // namespace

Value printf_formatted(Context& context, const MarkedText& format, const Value& value) {
  const List* list = value.list();
  const bool is_tuple = list != nullptr && list->kind == ListKind::tuple;
  const Values values = is_tuple ? list->items : Values{value};
  const std::string_view view = format.view();
  MarkedText out;
  std::size_t used = 0, at = 0;
  bool has_names = false;
  while (at < view.size()) {
    const std::size_t mark = std::min(view.find('%', at), view.size());
    out.append_part(format, at, mark - at);
    at = mark + 1;
    if (mark == view.size()) break;
    const Value* named =
        view.substr(at).starts_with('(')
            ? &printf_member(context, value, take_name_in_brackets(context, view, at))
            : nullptr;
    context.charge_steps(2);
    const Specification spec = printf_specification(context, view, at);
    if (spec.type == '%') {
      out.append("%", false);
      continue;
    }
    if (named == nullptr && (has_names || used == values.size())) {
      context.fail("format: too few values; got " + std::to_string(values.size()) +
                   ", expected one for each %");
    }
    has_names = named != nullptr;
    const MarkedText text = printf_one(context, named != nullptr ? *named : values[used++], spec);
    context.charge_bytes(text.weight());
    out.append(text);
  }
  if (used < values.size() && value.dict() == nullptr) {
    context.fail("format: too many values; got " + std::to_string(values.size()) + ", expected " +
                 std::to_string(used));
  }
  return make_text(context, std::move(out));
}

Value brace_formatted(Context& context, const MarkedText& format, const Arguments& arguments) {
  return make_text(context, BraceFormat(context, format, arguments).run());
}

}  // namespace hearth::models::chat_template
