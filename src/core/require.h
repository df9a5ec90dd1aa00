// Checks of numbers and options that come from callers.
#pragma once

#include <cmath>
#include <concepts>
#include <string>
#include <string_view>

#include "core/number_text.h"
#include "hearth/error.h"

namespace hearth {

// Throws Error{invalid_argument} unless `holds`: "function: what; got ..., expected ...".
template <class Got>
void require(bool holds, const char* function, std::string_view what, const Got& got,
             std::string_view expected) {
  if (holds) return;
  std::string text = std::string(function) + ": " + std::string(what) + "; got ";
  if constexpr (std::floating_point<Got>) {
    text += number_text(got);
  } else if constexpr (std::integral<Got>) {
    text += std::to_string(got);
  } else {
    text += got;
  }
  throw Error(ErrorCode::invalid_argument, text + ", expected " + std::string(expected));
}

// The same of what has to be in a range: "function: what out of range; got ..., expected ...".
template <class Got>
void require_in_range(bool holds, const char* function, std::string_view what, const Got& got,
                      std::string_view expected) {
  if (holds) return;
  std::string text(what);
  text += " out of range";
  require(false, function, text, got, expected);
}

// Of what may be 0, but neither less nor infinite.
inline void require_non_negative(const char* function, std::string_view what, double value) {
  require_in_range(value >= 0 && std::isfinite(value), function, what, value,
                   "a finite number >= 0");
}
inline void require_positive(const char* function, std::string_view what, double value) {
  require_in_range(value > 0 && std::isfinite(value), function, what, value, "a finite number > 0");
}

}  // namespace hearth
