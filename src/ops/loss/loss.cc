// cross_entropy of logits against class indices.

#include <limits>

#include "core/number_text.h"
#include "core/require_listed.h"
#include "core/throw_as.h"
#include "graph/switches.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"
#include "ops/loss/reduction.h"

namespace hearth {

namespace {

constexpr int kF32 = static_cast<int>(DType::f32);

constexpr ParamSpec kIgnore[] = {
    {.name = "ignore_index", .type = ParamType::i64, .optional = true, .default_value = -100}};

// Logits are input `logits`, targets the next one.
void check_targets(const Inference& inference, int logits) {
  require_rank(inference, logits, 2, "logits");
  require_float(inference, logits, "logits");
  require_rank(inference, logits + 1, 1, "targets");
  require_indices(inference, logits + 1, "targets");
  const Shape& shape = inference.input(logits).shape();
  if (inference.input(logits + 1).shape()[0] == shape[0]) return;
  inference.fail(ErrorCode::shape, "one target a row is needed; got logits " + to_string(shape) +
                                       " and targets " +
                                       to_string(inference.input(logits + 1).shape()) +
                                       ", expected " + to_string(Shape{shape[0]}));
}

void infer_cross_entropy(Inference& inference) {
  check_targets(inference, 0);
  inference.shape = {inference.input(0).shape()[0]};
  inference.dtype = compute_dtype(inference.input(0).dtype());
  inference.scalar_dtype = inference.input(0).dtype();
}

void infer_cross_entropy_backward(Inference& inference) {
  check_targets(inference, 1);
  const Array& grad = inference.input(0);
  const Array& logits = inference.input(1);
  if (grad.shape() != Shape{logits.shape()[0]}) {
    inference.fail(ErrorCode::shape, "grad does not fit; got " + to_string(grad.shape()) +
                                         ", expected " + to_string(Shape{logits.shape()[0]}));
  }
  const DType loss = compute_dtype(logits.dtype());
  if (grad.dtype() != loss && grad.dtype() != logits.dtype()) {
    inference.fail(ErrorCode::dtype, "grad does not fit; got " + std::string(name(grad.dtype())) +
                                         ", expected " + std::string(name(loss)));
  }
  if (inference.has(3)) {
    const Array& losses = inference.input(3);
    if (losses.shape() != grad.shape()) {
      inference.fail(ErrorCode::shape, "losses do not fit; got " + to_string(losses.shape()) +
                                           ", expected " + to_string(grad.shape()));
    }
    if (losses.dtype() != loss) {
      inference.fail(ErrorCode::dtype, "losses do not fit; got " +
                                           std::string(name(losses.dtype())) + ", expected " +
                                           std::string(name(loss)));
    }
  }
  inference.shape = logits.shape();
  inference.dtype = inference.scalar_dtype = logits.dtype();
}

// Targets as i64, which rows count, and which of them name a class.
struct Rows {
  Array target;
  Array counts;
  Array valid;
};

Rows rows_of(const Array& targets, std::int64_t classes, std::int64_t ignore_index) {
  Rows rows;
  rows.target = cast(targets, DType::i64);
  rows.counts = not_equal(rows.target, ignore_index);
  rows.valid = logical_and(greater_equal(rows.target, std::int64_t{0}), less(rows.target, classes));
  return rows;
}

Array cross_entropy_composite(const Composite& c) {
  const Array& logits = c.input(0);
  const DType dtype = compute_dtype(logits.dtype());
  const std::int64_t count = logits.shape()[0];
  const std::int64_t classes = logits.shape()[1];
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Rows rows = rows_of(c.input(1), classes, c.statics().i64());
  Array loss;
  if (logits.size() == 0) {
    loss = full({count}, nan, dtype, c.device);
  } else {
    const Array x = cast(logits, dtype);
    const Array safe = unsqueeze(where(rows.valid, rows.target, std::int64_t{0}), {1});
    loss = neg(squeeze(gather(log_softmax(x, 1), safe, 1), {1}));
    loss = where(rows.valid, loss, nan);
  }
  return where(rows.counts, loss, 0.0);
}

Array cross_entropy_backward_composite(const Composite& c) {
  const Array& logits = c.input(1);
  if (logits.size() == 0) return contiguous(logits);
  const DType dtype = compute_dtype(logits.dtype());
  const std::int64_t classes = logits.shape()[1];
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Rows rows = rows_of(c.input(2), classes, c.statics().i64());
  const Array hit = equal(unsqueeze(rows.target, {1}), arange(0, classes, 1, DType::i64, c.device));
  const Array weights = sub(softmax(cast(logits, dtype), 1), cast(hit, dtype));
  // Rows that do not count scale by 0, not by NaN: the gradient of this product reads the scale.
  const Array grad = cast(c.input(0), dtype);
  const Array each = where(rows.counts, where(rows.valid, grad, nan), 0.0);
  const Array scale = unsqueeze(each, {1});
  return cast(where(unsqueeze(rows.counts, {1}), mul(weights, scale), 0.0), logits.dtype());
}

Grads cross_entropy_vjp(const Vjp& v) {
  return {call(defs::cross_entropy_backward_op, v.record.params,
               {&v.grad, &v.input(0), &v.input(1), &v.out}),
          Array()};
}

std::vector<SampleCase> cross_entropy_samples() {
  return {
      {{{{6, 5}}, {{6}, 0, 4, kI64}}, Params().i64(-100)},
      {{{{6, 5}, -40, 40}, {{6}, 0, 4, kI32}}, Params().i64(2)},
      {{{{0, 5}}, {{0}, 0, 4, kI64}}, Params().i64(-100)},
      {{{{3, 1}}, {{3}, 0, 0, kI64}}, Params().i64(-100)},
      {{{{6, 5}}, {{5}, 0, 4, kI64}}, Params().i64(-100), kShapeError},
      {{{{5}}, {{5}, 0, 4, kI64}}, Params().i64(-100), kShapeError},
      {{{{6, 5}}, {{6}, 0, 4, kF32}}, Params().i64(-100), kDTypeError},
  };
}

std::vector<SampleCase> cross_entropy_backward_samples() {
  return {
      {{{{6}}, {{6, 5}}, {{6}, 0, 4, kI64}}, Params().i64(-100)},
      {{{{6}}, {{6, 5}, -40, 40}, {{6}, 0, 4, kI32}}, Params().i64(2)},
      {{{{0}}, {{0, 5}}, {{0}, 0, 4, kI64}}, Params().i64(-100)},
      {{{{5}}, {{6, 5}}, {{6}, 0, 4, kI64}}, Params().i64(-100), kShapeError},
      {{{{6}}, {{6, 5}}, {{6}, 0, 4, kI64}, {{5}}}, Params().i64(-100), kShapeError},
      {{{{6}}, {{6, 5}}, {{6}, 0, 4, kI64}, {{6, 1}}}, Params().i64(-100), kShapeError},
      {{{{6}}, {{6, 5}}, {{6}, 0, 4, kI64}, {{6}, 0, 4, kI64}}, Params().i64(-100), kDTypeError},
  };
}

}  // namespace

constinit const OpDef defs::cross_entropy_op = {
    .name = "cross_entropy",
    .summary = "-log softmax(logits)[target] of each row.",
    .shapes = "logits [rows, classes], targets [rows] -> [rows]",
    .method = "",
    .params = kIgnore,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = infer_cross_entropy,
    .vjp = cross_entropy_vjp,
    .saves = Saves::input0 | Saves::input1 | Saves::output,
    .composite = cross_entropy_composite,
    .accepts_dtype = is_float,
    .samples = cross_entropy_samples,
};

constinit const OpDef defs::cross_entropy_backward_op = {
    .name = "cross_entropy_backward",
    .summary =
        "Gradient of cross_entropy for the logits: (softmax - one_hot) * grad; the losses, "
        "where they are given, save a pass.",
    .shapes =
        "grad [rows], logits [rows, classes], targets [rows], losses [rows] -> [rows, classes]",
    .method = "",
    .params = kIgnore,
    .min_inputs = 3,
    .max_inputs = 4,
    .infer = infer_cross_entropy_backward,
    .composite = cross_entropy_backward_composite,
    .accepts_dtype = is_float,
    .samples = cross_entropy_backward_samples,
};

inline namespace v0 {

Array cross_entropy(const Array& logits, const Array& targets, Reduction reduction,
                    std::int64_t ignore_index, double label_smoothing) try {
  const Shape& shape = targets.shape();
  require_listed("cross_entropy", "reduction", reduction, Reduction::batch_mean);
  bool fits = logits.rank() == shape.rank() + 1;
  for (int i = 0; fits && i < shape.rank(); ++i) fits = logits.shape()[i] == shape[i];
  if (!fits) {
    throw Error(ErrorCode::shape, "cross_entropy: logits and targets do not fit; got " +
                                      to_string(logits.shape()) + " and " + to_string(shape) +
                                      ", expected logits [.., classes] and targets [..]");
  }
  if (!(label_smoothing >= 0 && label_smoothing <= 1)) {
    throw Error(ErrorCode::invalid_argument, "cross_entropy: label_smoothing out of range; got " +
                                                 number_text(label_smoothing) +
                                                 ", expected a number from 0 to 1");
  }
  const std::int64_t classes = logits.shape().back();
  const Array rows = reshape(logits, {targets.size(), classes});
  const Array ids = reshape(targets, {targets.size()});
  Array loss = call(defs::cross_entropy_op, Params().i64(ignore_index), {&rows, &ids});
  if (switches().check_indices) {
    const Array wide = cast(ids, DType::i64);
    require_indices(defs::cross_entropy_op, where(equal(wide, ignore_index), std::int64_t{0}, wide),
                    classes);
  }
  const Array counts = not_equal(cast(ids, DType::i64), ignore_index);
  if (label_smoothing > 0 && rows.size() > 0) {
    // The other part of the target is spread evenly over all classes.
    const Array x = cast(rows, loss.dtype());
    // The mean of -log_softmax(x): large logits are shifted before anything is rounded.
    const Array shifted = sub(x, max(x, {1}, true).detach());
    const Array even = where(counts, sub(log(sum(exp(shifted), {1})), mean(shifted, {1})), 0.0);
    loss = add(mul(loss, 1 - label_smoothing), mul(even, label_smoothing));
  }
  if (reduction != Reduction::mean) return reduce_losses(reshape(loss, shape), reduction);
  return div(sum(loss), sum(cast(counts, loss.dtype())));
} catch (const Error& error) {
  throw_as("cross_entropy", error);
}

}  // namespace v0
}  // namespace hearth
