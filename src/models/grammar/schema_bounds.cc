#include "models/grammar/schema_bounds.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "core/number_text.h"
#include "models/grammar/schema_merge.h"

namespace hearth::models::grammar {
namespace {

constexpr std::size_t kMaxDigits = 400;

}  // namespace

bool is_before(const Decimal& a, const Decimal& b) {
  const bool a_negative = a.is_negative && !a.is_zero();
  const bool b_negative = b.is_negative && !b.is_zero();
  if (a_negative != b_negative) return a_negative;
  const auto below = [](const Decimal& x, const Decimal& y) {
    if (x.digits.size() != y.digits.size()) return x.digits.size() < y.digits.size();
    return x.digits != y.digits ? x.digits < y.digits : x.fraction < y.fraction;
  };
  return a_negative ? below(b, a) : below(a, b);
}

Decimal decimal_of(const JsonValue& number) {
  std::string text;
  if (const auto* i = std::get_if<std::int64_t>(&number)) {
    text = number_text(*i);
  } else if (const auto* u = std::get_if<std::uint64_t>(&number)) {
    text = number_text(*u);
  } else if (const auto* d = std::get_if<double>(&number); d != nullptr && std::isfinite(*d)) {
    text = number_text(*d);
  } else {
    fail_schema("limit without a number; got " + json_text(number) + ", expected a number");
  }
  Decimal out;
  out.is_negative = text[0] == '-';
  if (out.is_negative) text.erase(0, 1);
  std::ptrdiff_t exponent = 0;
  if (const std::size_t at = text.find('e'); at != std::string::npos) {
    exponent = std::stoi(text.substr(at + 1));
    text.resize(at);
  }
  std::size_t point = text.find('.');
  if (point == std::string::npos) {
    point = text.size();
  } else {
    text.erase(point, 1);
  }
  std::ptrdiff_t whole = static_cast<std::ptrdiff_t>(point) + exponent;
  if (whole < 0) {
    text.insert(0, static_cast<std::size_t>(-whole), '0');
    whole = 0;
  }
  const auto digits = static_cast<std::size_t>(whole);
  if (text.size() < digits) text.resize(digits, '0');
  out.fraction = text.substr(digits);
  text.resize(digits);
  while (!out.fraction.empty() && out.fraction.back() == '0') out.fraction.pop_back();
  text.erase(0, std::min(text.find_first_not_of('0'), text.size()));
  out.digits = text.empty() ? "0" : text;
  if (out.digits.size() > kMaxDigits || out.fraction.size() > kMaxDigits) {
    fail_unsupported("limit too long; got " + json_text(number) + ", expected at most " +
                     std::to_string(kMaxDigits) + " digits");
  }
  return out;
}

JsonObject with_numeric_bounds(JsonObject schema) {
  for (const auto& [key, exclusive_key] :
       {std::pair("minimum", "exclusiveMinimum"), std::pair("maximum", "exclusiveMaximum")}) {
    const JsonValue* exclusive = find_key(schema, exclusive_key);
    if (exclusive == nullptr || !std::holds_alternative<bool>(*exclusive)) continue;
    const bool is_exclusive = std::get<bool>(*exclusive);
    std::erase_if(schema, [&](const auto& member) { return member.first == exclusive_key; });
    for (auto& [name, value] : schema) {
      if (is_exclusive && name == key) name = exclusive_key;
    }
  }
  return schema;
}

std::optional<Bound> bound_of(const JsonObject& schema, std::string_view key,
                              std::string_view exclusive_key, bool is_low) {
  const JsonValue* inclusive = find_key(schema, key);
  const JsonValue* exclusive = find_key(schema, exclusive_key);
  std::optional<Bound> out;
  if (inclusive != nullptr) out = Bound{decimal_of(*inclusive), false};
  if (exclusive == nullptr) return out;
  const Bound other{decimal_of(*exclusive), true};
  if (!out || !is_before(is_low ? other.value : out->value, is_low ? out->value : other.value)) {
    out = other;
  }
  return out;
}

}  // namespace hearth::models::grammar
