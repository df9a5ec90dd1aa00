// CallSite: where a call stands in the caller's text, for the messages of errors.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>

#include "hearth/error.h"

namespace hearth {
inline namespace v0 {

// The last parameter of a function, `CallSite site = CallSite::here()`: two constants of the
// caller, which nothing reads until an Error is thrown.
class CallSite {
 public:
#if defined(HEARTH_BUILDING)
  // In Hearth's own sources: no caller's line.
  static constexpr CallSite here() noexcept { return none(); }
#else
  static constexpr CallSite here(const char* file = __builtin_FILE(),
                                 unsigned line = __builtin_LINE()) noexcept {
    return CallSite(file, line);
  }
#endif
  // Errors say no line: for programs whose users do not have their text.
  static constexpr CallSite none() noexcept { return CallSite("", 0); }

  const char* file;
  unsigned line;

 private:
  // No aggregate: sum({0}) does not pass one.
  constexpr CallSite(const char* its_file, unsigned its_line) noexcept
      : file(its_file), line(its_line) {}
};

// An extent and the call site, where more extents follow and no parameter can.
struct LocatedExtent {
  template <std::integral I>
  LocatedExtent(I extent,
                CallSite its_site = CallSite::here())  // NOLINT(google-explicit-constructor)
      : value(static_cast<std::int64_t>(extent)), site(its_site) {}

  std::int64_t value;
  CallSite site;
};

// Throws the error that is being handled with ` at file:line` behind its text, unless it says a
// site already. A site in or below the directory of `header`, one of these headers, is left out: it
// is not the caller's.
[[noreturn]] HEARTH_API void throw_at(const Error& error, CallSite site, const char* header);

// The same of an Error that may name an op inside: `op` takes its place.
[[noreturn]] HEARTH_API void throw_at(const Error& error, CallSite site, const char* header,
                                      const char* op);

// Throws the error that is being handled with `, in part` behind its text: the part of a model that
// has failed.
[[noreturn]] HEARTH_API void throw_in(const Error& error, const std::string& part);

// What `record()` returns; its Errors say the site.
template <class F>
[[gnu::always_inline]] inline auto located(CallSite site, F&& record) {
  try {
    return record();
  } catch (const Error& error) {
    throw_at(error, site, __FILE__);
  }
}
// The same where `record` is made of ops beside `op`, which is what the Errors name.
template <class F>
[[gnu::always_inline]] inline auto located_as(const char* op, CallSite site, F&& record) {
  try {
    return record();
  } catch (const Error& error) {
    throw_at(error, site, __FILE__, op);
  }
}

}  // namespace v0
}  // namespace hearth
