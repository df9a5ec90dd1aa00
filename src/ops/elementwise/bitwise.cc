// Functions of the bits of integers, element by element.
#include "core/throw_as.h"
#include "hearth/ops.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace {

bool holds_bool(const Array& x) { return x.defined() && is_bool(x.dtype()); }

// Of bools: the op of logic that gives the same.
Array bits_or_logic(const OpDef& op, const OpDef& logic, const Array& a, const Array& b) try {
  return call(holds_bool(a) || holds_bool(b) ? logic : op, kNoParams, {&a, &b});
} catch (const Error& error) {
  throw_as(op.name.text, error);
}

}  // namespace

namespace defs {

#define HEARTH_BITS_OP(token, text, wraps)         \
  constinit const OpDef token##_op = elementwise({ \
      .name = #token,                              \
      .summary = text,                             \
      .min_inputs = 2,                             \
      .may_wrap = wraps,                           \
      .differentiable = false,                     \
      .accepts_dtype = is_int,                     \
      .samples = elementwise_samples<2, 0, 90>,    \
  });
HEARTH_BITS_OP(bitwise_and, "The bits that both a and b have.", false)
HEARTH_BITS_OP(bitwise_or, "The bits that a or b has.", false)
HEARTH_BITS_OP(bitwise_xor, "The bits that a or b has but not both.", false)
HEARTH_BITS_OP(bitwise_left_shift, "a * 2^b, wrapping; 0 for b outside of [0, width).", true)
HEARTH_BITS_OP(bitwise_right_shift, "floor(a / 2^b); 0 or -1 for b outside of [0, width).", false)
#undef HEARTH_BITS_OP

constinit const OpDef bitwise_not_op = elementwise({
    .name = "bitwise_not",
    .summary = "All bits the other way: -1 - x.",
    .differentiable = false,
    .accepts_dtype = is_int,
});

}  // namespace defs

inline namespace v0 {

Array bitwise_and(const Array& a, const Array& b) {
  return bits_or_logic(defs::bitwise_and_op, defs::logical_and_op, a, b);
}
Array bitwise_or(const Array& a, const Array& b) {
  return bits_or_logic(defs::bitwise_or_op, defs::logical_or_op, a, b);
}
Array bitwise_xor(const Array& a, const Array& b) {
  return bits_or_logic(defs::bitwise_xor_op, defs::logical_xor_op, a, b);
}
Array bitwise_not(const Array& x) {
  if (holds_bool(x)) return logical_not(x);
  return call(defs::bitwise_not_op, kNoParams, {&x});
}
Array bitwise_left_shift(const Array& a, const Array& b) {
  return call(defs::bitwise_left_shift_op, kNoParams, {&a, &b});
}
Array bitwise_right_shift(const Array& a, const Array& b) {
  return call(defs::bitwise_right_shift_op, kNoParams, {&a, &b});
}

}  // namespace v0
}  // namespace hearth
