// Functions on arrays. Each records what is to be computed; nothing runs until a result is read.
//
// Rules for all of them:
// - Arrays in one call have the same dtype and device, or Error{dtype} / Error{device}. Numbers may
//   stand in for arrays: they take the dtype beside them. A number that is fractional, or out of
//   range, beside integers is an Error{dtype}.
// - Shapes broadcast as in NumPy: aligned at the last axis, extent 1 stretches; else Error{shape}.
// - Negative axes count from the end; an axis out of range is an Error{invalid_argument}.
// - Inputs may be any views; results are in logical order. Extents of 0 are legal.
// - Integers wrap on overflow, division truncates, remainder floors. f16 and bf16 compute in f32
//   and round once.
// - Index arrays are i64 or i32, or Error{dtype}; indices out of range are undefined unless said.
//   With HEARTH_CHECK_INDICES=1 they are Error{invalid_argument}, and every such op waits.
// - Floats are differentiable everywhere unless said. All functions are thread-safe.
#pragma once

#include "hearth/array.h"
#include "hearth/ops/activation.h"
#include "hearth/ops/attention.h"
#include "hearth/ops/conv.h"
#include "hearth/ops/creation.h"
#include "hearth/ops/decompositions.h"
#include "hearth/ops/deform_conv.h"
#include "hearth/ops/einsum.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/experts.h"
#include "hearth/ops/image.h"
#include "hearth/ops/indexing.h"
#include "hearth/ops/linalg.h"
#include "hearth/ops/loss.h"
#include "hearth/ops/movement.h"
#include "hearth/ops/norm.h"
#include "hearth/ops/pool.h"
#include "hearth/ops/recurrent.h"
#include "hearth/ops/reduce.h"
#include "hearth/ops/scan.h"
#include "hearth/ops/selection.h"
#include "hearth/ops/signal.h"
#include "hearth/ops/sort.h"
#include "hearth/ops/statistics.h"
#include "hearth/ops/vision.h"
#include "hearth/random.h"

namespace hearth {
inline namespace v0 {

inline Array operator+(const Array& a, const Array& b) { return add(a, b); }
inline Array operator-(const Array& a, const Array& b) { return sub(a, b); }
inline Array operator*(const Array& a, const Array& b) { return mul(a, b); }
inline Array operator/(const Array& a, const Array& b) { return div(a, b); }
inline Array operator%(const Array& a, const Array& b) { return remainder(a, b); }
inline Array operator-(const Array& x) { return neg(x); }

}  // namespace v0
}  // namespace hearth
