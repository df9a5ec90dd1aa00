// Place: where a call stands in the caller's text, for the messages of errors.
#pragma once

#include <concepts>
#include <cstdint>

#include "hearth/error.h"

namespace hearth {
inline namespace v0 {

// The last parameter of a function, `Place place = Place::here()`: two constants of the caller,
// which nothing reads until an Error is thrown.
class Place {
 public:
  static constexpr Place here(const char* file = __builtin_FILE(),
                              unsigned line = __builtin_LINE()) noexcept {
    return Place(file, line);
  }

  const char* file;
  unsigned line;

 private:
  // No aggregate: sum({0}) does not pass one.
  constexpr Place(const char* its_file, unsigned its_line) noexcept
      : file(its_file), line(its_line) {}
};

// An extent and the caller's place, where more extents follow and no parameter can.
struct PlacedExtent {
  template <std::integral I>
  PlacedExtent(I extent, Place here = Place::here())  // NOLINT(google-explicit-constructor)
      : value(static_cast<std::int64_t>(extent)), place(here) {}

  std::int64_t value;
  Place place;
};

// Throws the error that is being handled with ` at file:line` behind its text. A place in the
// directory of `header`, one of these headers, is left out: it is not the caller's.
[[noreturn]] HEARTH_API void throw_at(const Error& error, Place place, const char* header);

// The same of an Error that may name an op inside: `op` takes its place.
[[noreturn]] HEARTH_API void throw_at(const Error& error, Place place, const char* header,
                                      const char* op);

// What `record()` returns; its Errors say the place.
template <class F>
[[gnu::always_inline]] inline auto placed(Place place, F&& record) {
  try {
    return record();
  } catch (const Error& error) {
    throw_at(error, place, __FILE__);
  }
}
// The same where `record` is made of ops beside `op`, which is what the Errors name.
template <class F>
[[gnu::always_inline]] inline auto placed_as(const char* op, Place place, F&& record) {
  try {
    return record();
  } catch (const Error& error) {
    throw_at(error, place, __FILE__, op);
  }
}

}  // namespace v0
}  // namespace hearth
