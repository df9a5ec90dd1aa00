// Whether floats are close to others, and whether any is not a number.
#include <string>

#include "core/number_text.h"
#include "core/throw_as.h"
#include "hearth/ops.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace {

Array closeness(const char* op, const Array& a, const Array& b, double relative, double absolute) {
  require_float_array(op, a);
  if (!(relative >= 0 && absolute >= 0)) {
    throw Error(ErrorCode::invalid_argument,
                std::string(op) + ": negative tolerance; got " + number_text(relative) + " and " +
                    number_text(absolute) + ", expected two numbers of at least 0");
  }
  const Array same = equal(a, b);
  const Array left = wide(a), right = wide(b);
  const Array size = abs(right);
  const Array near = less_equal(abs(sub(left, right)), add(mul(size, relative), absolute));
  // Near an infinity is every number.
  return logical_or(same, logical_and(near, less(size, kInfinity)));
}

}  // namespace

inline namespace v0 {

Array is_close(const Array& a, const Array& b, double relative, double absolute) try {
  return closeness("is_close", a, b, relative, absolute);
} catch (const Error& error) {
  throw_as("is_close", error);
}

Array all_close(const Array& a, const Array& b, double relative, double absolute) try {
  return all(closeness("all_close", a, b, relative, absolute));
} catch (const Error& error) {
  throw_as("all_close", error);
}

Array contains_nan(const Array& x) try { return any(is_nan(x)); } catch (const Error& error) {
  throw_as("contains_nan", error);
}

}  // namespace v0
}  // namespace hearth
