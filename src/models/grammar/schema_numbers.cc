#include "models/grammar/schema_numbers.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

#include "models/grammar/schema_merge.h"

namespace hearth::models::grammar {
namespace {

using Alternatives = std::vector<std::string>;

// Digits behind the point, beyond those that a bound has.
constexpr char kMoreDigits[] = " [0-9]{0,15}";
constexpr char kAnyFraction[] = " (\".\" [0-9]{1,16})?";

// Zeros behind the point behind which more digits are surely no 0 as a double.
constexpr std::size_t kMostZeros = 290;

std::string quoted(const std::string& digits) { return "\"" + digits + "\""; }

std::string digit_class(char low, char high) {
  return low == high ? quoted(std::string(1, low)) : std::string("[") + low + "-" + high + "]";
}

std::string any_digits(std::size_t count) {
  return count == 0 ? "" : " [0-9]{" + std::to_string(count) + "}";
}

std::string joined(const Alternatives& alternatives) {
  std::string out;
  for (const std::string& one : alternatives) {
    if (!out.empty()) out += " | ";
    out += one;
  }
  return out;
}

// a < b as whole numbers without signs.
bool is_below(const std::string& a, const std::string& b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

std::string plus_one(std::string digits) {
  for (std::size_t i = digits.size(); i-- > 0;) {
    if (digits[i] != '9') {
      ++digits[i];
      return digits;
    }
    digits[i] = '0';
  }
  return "1" + digits;
}

// Of a number above 0.
std::string minus_one(std::string digits) {
  for (std::size_t i = digits.size(); i-- > 0;) {
    if (digits[i] != '0') {
      --digits[i];
      break;
    }
    digits[i] = '9';
  }
  if (digits.size() > 1 && digits[0] == '0') digits.erase(0, 1);
  return digits;
}

// Digits from `low` to `high`, both of one length.
void append_same_length(const std::string& low, const std::string& high, Alternatives* out) {
  const std::size_t size = low.size();
  std::size_t shared = 0;
  while (shared < size && low[shared] == high[shared]) ++shared;
  const std::string prefix = low.substr(0, shared);
  const auto add = [&](const std::string& start, char first, char last, std::size_t rest) {
    if (first > last) return;
    out->push_back((start.empty() ? "" : quoted(start) + " ") + digit_class(first, last) +
                   any_digits(rest));
  };
  if (shared == size) {
    out->push_back(quoted(low));
    return;
  }
  const bool is_whole_low = low.find_first_not_of('0', shared + 1) == std::string::npos;
  const bool is_whole_high = high.find_first_not_of('9', shared + 1) == std::string::npos;
  add(prefix, static_cast<char>(low[shared] + (is_whole_low ? 0 : 1)),
      static_cast<char>(high[shared] - (is_whole_high ? 0 : 1)), size - shared - 1);
  if (!is_whole_low) {
    for (std::size_t i = shared + 1; i < size; ++i) {
      add(low.substr(0, i), static_cast<char>(low[i] + 1), '9', size - i - 1);
    }
    out->push_back(quoted(low));
  }
  if (!is_whole_high) {
    for (std::size_t i = shared + 1; i < size; ++i) {
      add(high.substr(0, i), '0', static_cast<char>(high[i] - 1), size - i - 1);
    }
    out->push_back(quoted(high));
  }
}

// Whole numbers from `low` on, to `high` where there is one; nothing where low > high.
Alternatives whole_range(const std::string& low, const std::optional<std::string>& high,
                         Digits digits) {
  Alternatives out;
  if (high && is_below(*high, low)) return out;
  const std::size_t last = high ? high->size() : low.size();
  for (std::size_t size = low.size(); size <= last; ++size) {
    const std::string from = size == low.size() ? low : "1" + std::string(size - 1, '0');
    append_same_length(from, high && size == high->size() ? *high : std::string(size, '9'), &out);
  }
  if (!high) {
    const std::size_t most = std::max<std::size_t>(15, low.size());
    out.push_back("[1-9] [0-9]{" + std::to_string(low.size()) + "," +
                  (digits == Digits::any ? "" : std::to_string(most)) + "}");
  }
  return out;
}

// What stands behind the whole part of a number whose fraction is at least `fraction`; above 0,
// where it is exclusive.
Alternatives fraction_from(const std::string& fraction, bool is_exclusive) {
  if (fraction.empty()) {
    return {is_exclusive ? "\".\" \"0\"{0,15} [1-9] [0-9]{0,15}" : kAnyFraction + 1};
  }
  Alternatives out;
  for (std::size_t i = 0; i < fraction.size(); ++i) {
    if (fraction[i] == '9') continue;
    out.push_back(quoted("." + fraction.substr(0, i)) + " " +
                  digit_class(static_cast<char>(fraction[i] + 1), '9') + kMoreDigits);
  }
  out.push_back(quoted("." + fraction) + kMoreDigits);
  return out;
}

// The same of a fraction of at most `fraction`.
Alternatives fraction_to(const std::string& fraction) {
  if (fraction.empty()) return {"(\".\" \"0\"{1,15})?"};
  Alternatives out = {"\"\""};
  for (std::size_t i = 0; i < fraction.size(); ++i) {
    const std::string start = "." + fraction.substr(0, i);
    if (i > 0) out.push_back(quoted(start));
    if (fraction[i] == '0') continue;
    out.push_back(quoted(start) + " " + digit_class('0', static_cast<char>(fraction[i] - 1)) +
                  kMoreDigits);
  }
  out.push_back(quoted("." + fraction) + " \"0\"{0,15}");
  return out;
}

// The same of a fraction between two.
Alternatives fraction_between(std::string low, bool low_exclusive, std::string high) {
  if (low_exclusive && high.size() > kMostZeros) {
    low = std::string(323, '0') + "5";  // the least double
    low_exclusive = false;
  }
  const bool from_zero = low.empty() && !low_exclusive;
  Alternatives out;
  const std::size_t size = std::max(low.size(), high.size());
  low.resize(size, '0');
  high.resize(size, '0');
  if (low > high || (low == high && low_exclusive)) return out;
  if (from_zero) out.push_back("\"\"");
  if (low == high) {
    out.push_back(size == 0 ? "\".\" \"0\"{1,15}" : quoted("." + low) + " \"0\"{0,15}");
    return out;
  }
  std::size_t shared = 0;
  while (low[shared] == high[shared]) ++shared;
  const auto stripped = [](std::string digits) {
    while (!digits.empty() && digits.back() == '0') digits.pop_back();
    return digits;
  };
  // Behind digits of `low` more digits must not fall short of it; behind those of `high` they must
  // not go beyond. The texts for "." hold, without their point.
  const auto add = [&](const std::string& start, const Alternatives& rests) {
    for (std::string rest : rests) {
      if (rest == kAnyFraction + 1) rest = "[0-9]{0,15}";
      if (rest == "(\".\" \"0\"{1,15})?") rest = "\"0\"{0,15}";
      const std::size_t point = rest.find("\".");
      if (point == 0) rest.erase(1, 1);
      out.push_back(quoted("." + start) + " " + rest);
    }
  };
  const std::string low_rest = stripped(low.substr(shared + 1));
  const std::string high_rest = stripped(high.substr(shared + 1));
  add(low.substr(0, shared + 1), fraction_from(low_rest, low_exclusive));
  if (low[shared] + 1 < high[shared]) {
    out.push_back(
        quoted("." + low.substr(0, shared)) + " " +
        digit_class(static_cast<char>(low[shared] + 1), static_cast<char>(high[shared] - 1)) +
        kMoreDigits);
  }
  add(high.substr(0, shared + 1), fraction_to(high_rest));
  return out;
}

void append_with(const std::string& whole, const Alternatives& fractions, Alternatives* out) {
  if (!fractions.empty()) out->push_back(whole + " (" + joined(fractions) + ")");
}

// Numbers without a sign. None of the bounds is exclusive but a low one of 0.
Alternatives positive_range(const Bound& low, const std::optional<Bound>& high, Digits digits) {
  Alternatives out;
  const Decimal& from = low.value;
  if (high && is_below(high->value.digits, from.digits)) return out;
  if (high && high->value.digits == from.digits) {
    append_with(quoted(from.digits),
                fraction_between(from.fraction, low.is_exclusive, high->value.fraction), &out);
    return out;
  }
  append_with(quoted(from.digits), fraction_from(from.fraction, low.is_exclusive), &out);
  std::optional<std::string> last;
  if (high) last = minus_one(high->value.digits);
  const Alternatives between = whole_range(plus_one(from.digits), last, digits);
  if (!between.empty()) out.push_back("(" + joined(between) + ")" + kAnyFraction);
  if (high) {
    append_with(quoted(high->value.digits), fraction_to(high->value.fraction), &out);
  }
  return out;
}

[[noreturn]] void fail_without_numbers() {
  fail_without_values("no number is in range; got bounds that exclude each other, expected others");
}

std::string checked(const Alternatives& alternatives) {
  if (alternatives.empty()) fail_without_numbers();
  return joined(alternatives);
}

Bound mirrored(Bound bound) {
  bound.value.is_negative = !bound.value.is_negative;
  return bound;
}

// Calls on_range(sign, low, high) for what the bounds leave below 0 and from 0 on, without signs.
template <class OnRange>
void by_sign(const std::optional<Bound>& low, const std::optional<Bound>& high, OnRange on_range) {
  const auto is_negative = [](const Bound& bound) {
    return bound.value.is_negative && !bound.value.is_zero();
  };
  const Bound zero;
  if (!high || (!is_negative(*high) && !(high->is_exclusive && high->value.is_zero()))) {
    on_range(false, low && !is_negative(*low) ? *low : zero, high);
  }
  if (!low || is_negative(*low)) {
    Bound above_zero;
    above_zero.is_exclusive = true;
    std::optional<Bound> last;
    if (low) last = mirrored(*low);
    on_range(true, high && is_negative(*high) ? mirrored(*high) : above_zero, last);
  }
}

// An exclusive bound as one that is not: the next double, since others round to the bound. That of
// 0 stays: texts have too few digits to round to it.
std::optional<Bound> beyond(const std::optional<Bound>& bound, double towards) {
  if (!bound || !bound->is_exclusive || bound->value.is_zero()) return bound;
  const Decimal& value = bound->value;
  const std::string text = (value.is_negative ? "-" : "") + value.digits + "." + value.fraction;
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  const double next = std::nextafter(number, towards);
  if (std::isinf(next)) fail_without_numbers();
  return Bound{decimal_of(next), false};
}

void append_signed(bool is_negative, const Alternatives& part, Alternatives* out) {
  if (part.empty()) return;
  out->push_back(is_negative ? "\"-\" (" + joined(part) + ")" : joined(part));
}

std::string any_whole(Digits digits) {
  return std::string("\"-\"? (\"0\" | [1-9] [0-9]{0,") + (digits == Digits::any ? "" : "15") + "})";
}

}  // namespace

std::string integer_grammar(const std::optional<Bound>& low, const std::optional<Bound>& high,
                            Digits digits) {
  if (!low && !high) return any_whole(digits);
  Alternatives out;
  by_sign(low, high, [&](bool is_negative, const Bound& from, const std::optional<Bound>& to) {
    std::string first = from.value.digits;
    if (from.is_exclusive || !from.value.fraction.empty()) first = plus_one(first);
    std::optional<std::string> last;
    if (to) {
      last = to->value.digits;
      if (to->is_exclusive && to->value.fraction.empty()) last = minus_one(*last);
    }
    append_signed(is_negative, whole_range(first, last, digits), &out);
  });
  return checked(out);
}

std::string number_grammar(const std::optional<Bound>& low, const std::optional<Bound>& high,
                           Digits digits) {
  if (!low && !high) {
    return any_whole(digits) + std::string(kAnyFraction) + " ([eE] [-+]? [0-9]{1,2})?";
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Alternatives out;
  by_sign(beyond(low, kInfinity), beyond(high, -kInfinity),
          [&](bool is_negative, const Bound& from, const std::optional<Bound>& to) {
            append_signed(is_negative, positive_range(from, to, digits), &out);
          });
  return checked(out);
}

}  // namespace hearth::models::grammar
