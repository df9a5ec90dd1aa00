// Ranges of numbers as grammars of their decimal texts.
#pragma once

#include <optional>
#include <string>
#include <vector>

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

struct Bound {
  Decimal value;
  bool is_exclusive = false;
};

// An expression of GBNF for the whole numbers, or all numbers, within the bounds. Throws
// Error{unsupported} where there are none.
std::string integer_grammar(const std::optional<Bound>& low, const std::optional<Bound>& high);
std::string number_grammar(const std::optional<Bound>& low, const std::optional<Bound>& high);

}  // namespace hearth::models::grammar
