// How arrays and tensors are written to streams: set_print_options({.precision = 3}).
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>

#include "hearth/array.h"

namespace hearth {
inline namespace v0 {

// Names and defaults are NumPy's but for `precision`, which a stream has already.
struct PrintOptions {
  // The most digits after the point. An element that fewer digits name, among all of its dtype, has
  // those. Unset, floats are what the stream makes of a double: std::setprecision, std::fixed and
  // std::scientific hold, as for item().
  std::optional<int> precision = std::nullopt;
  // Of arrays of more elements than this, only `edge_items` at each end of an axis are shown and
  // read.
  std::int64_t threshold = 1000;
  std::int64_t edge_items = 3;
  // Columns after which a row goes on in the next line.
  std::int64_t line_width = 75;
  // Floats with an exponent, always. Otherwise those set by `precision` have one from 1e16 on and
  // below 1e-4.
  bool scientific = false;

  friend bool operator==(const PrintOptions&, const PrintOptions&) = default;
};

// An array as << writes it, with `word` in place of "Array".
HEARTH_API std::ostream& print_as(const char* word, std::ostream& out, const Array& array);

// Of all threads, but for those within WithPrintOptions. Throws Error{invalid_argument} for a
// precision that is not in [0, 100], or a number below 0 (threshold) or 1 (the others).
// Thread-safe.
HEARTH_API void set_print_options(const PrintOptions& options);
// Those of the calling thread.
HEARTH_API PrintOptions print_options();

// Options of the calling thread for a scope. Throws as set_print_options().
class [[nodiscard]] WithPrintOptions {
 public:
  HEARTH_API explicit WithPrintOptions(const PrintOptions& options);
  HEARTH_API ~WithPrintOptions();
  WithPrintOptions(const WithPrintOptions&) = delete;
  WithPrintOptions& operator=(const WithPrintOptions&) = delete;

 private:
  const std::optional<PrintOptions> before_;
};

}  // namespace v0
}  // namespace hearth
