// What the keywords of a schema say of the range of its numbers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/json.h"

namespace hearth::models::grammar {

// A decimal number: -digits.fraction. Digits have no leading zeros (of 0: "0"), fractions no
// trailing ones.
struct Decimal {
  bool is_negative = false;
  std::string digits = "0";
  std::string fraction;

  bool is_zero() const { return digits == "0" && fraction.empty(); }
};

// Throws Error{invalid_argument} for what is no finite number.
Decimal decimal_of(const JsonValue& number);
bool is_before(const Decimal& a, const Decimal& b);

struct Bound {
  Decimal value;
  bool is_exclusive = false;
};

// The schema with one number for each true or false of Draft 4 and the bound that it is about.
JsonObject with_numeric_bounds(JsonObject schema);

// The stricter one of two keywords, of which `exclusive_key` excludes its number; nothing where
// neither is there.
std::optional<Bound> bound_of(const JsonObject& schema, std::string_view key,
                              std::string_view exclusive_key, bool is_low);

}  // namespace hearth::models::grammar
