// Losses of sequences: the forward recursions of CTC (Graves et al. 2006) and of the transducer
// (Graves 2012), in log space, made of other ops.
//
// A step over time is a few ops on all states of all samples. log 0 is kUnlikely, which is finite,
// so that no gradient is NaN: what is made of it stays far below every value that counts. Every
// few steps the largest value of a sample is taken out of its states and kept apart, so that those
// of long sequences stay exact; gradients do not see it, since it cancels.
#include <limits>
#include <string>
#include <vector>

#include "core/throw_as.h"
#include "hearth/ops.h"
#include "ops/definition/call.h"
#include "ops/definition/rules.h"
#include "ops/loss/reduction.h"

namespace hearth {
namespace {

constexpr double kUnlikely = -1e30;
constexpr double kImpossible = -1e29;  // below it nothing is likely
constexpr std::int64_t kStepsBetweenShifts = 16;

void require_index_array(const char* op, const char* what, const Array& x, const Shape& shape) {
  if (!x.defined()) {
    throw Error(ErrorCode::invalid_argument, std::string(op) + ": no " + what +
                                                 "; got an undefined array, expected indices " +
                                                 to_string(shape));
  }
  require_indices(op, what, x);
  if (x.shape() == shape) return;
  throw Error(ErrorCode::shape, std::string(op) + ": " + what + " do not fit log_probs; got " +
                                    to_string(x.shape()) + ", expected " + to_string(shape));
}

// What both losses are given: indices as i64, and which samples have any that does not exist.
struct Sequences {
  Array targets;         // [batch, labels], 0 where nothing is to be read
  Array input_lengths;   // [batch, 1], within [0, time]
  Array target_lengths;  // [batch, 1], within [0, labels]
  Array wrong;           // bool [batch]
};

Array within(const Array& x, std::int64_t last) { return clamp(x, std::int64_t{0}, last); }

Sequences sequences(const char* op, const Array& targets, const Array& input_lengths,
                    const Array& target_lengths, std::int64_t batch, std::int64_t time,
                    std::int64_t classes, std::int64_t blank) {
  if (!targets.defined() || targets.rank() != 2) {
    throw Error(ErrorCode::shape, std::string(op) + ": targets are no rows; got " +
                                      (targets.defined() ? to_string(targets.shape())
                                                         : std::string("an undefined array")) +
                                      ", expected [batch, labels]");
  }
  const std::int64_t labels = targets.shape()[1];
  constexpr std::int64_t kMaxLabels = std::int64_t{1} << 31;
  if (labels >= kMaxLabels || time >= kMaxLabels) {
    throw Error(ErrorCode::shape, std::string(op) + ": too long; got " + std::to_string(time) +
                                      " steps and " + std::to_string(labels) +
                                      " labels, expected fewer than 2^31");
  }
  require_index_array(op, "targets", targets, {batch, labels});
  require_index_array(op, "input_lengths", input_lengths, {batch});
  require_index_array(op, "target_lengths", target_lengths, {batch});
  if (blank < 0 || blank >= classes) {
    throw Error(ErrorCode::invalid_argument, std::string(op) + ": blank is no class; got " +
                                                 std::to_string(blank) + ", expected one of " +
                                                 std::to_string(classes));
  }
  const Array times = unsqueeze(cast(input_lengths, DType::i64), {1});
  const Array lengths = unsqueeze(cast(target_lengths, DType::i64), {1});
  Sequences out;
  out.input_lengths = within(times, time);
  out.target_lengths = within(lengths, labels);
  const Array ids = cast(targets, DType::i64);
  const Array read = less(arange(0, labels, 1, DType::i64, ids.device()), out.target_lengths);
  const Array shown = where(read, ids, std::int64_t{0});
  out.targets = within(shown, classes - 1);
  const Array bad_lengths =
      logical_or(not_equal(times, out.input_lengths), not_equal(lengths, out.target_lengths));
  out.wrong = logical_or(squeeze(bad_lengths, {1}), any(not_equal(shown, out.targets), {1}));
  return out;
}

// log of the sum of e^x over arrays of one shape, none of which is infinite.
Array log_of_sum(const std::vector<Array>& x) {
  Array most = x[0].detach();
  for (std::size_t i = 1; i < x.size(); ++i) most = maximum(most, x[i].detach());
  Array total = exp(sub(x[0], most));
  for (std::size_t i = 1; i < x.size(); ++i) total = add(total, exp(sub(x[i], most)));
  return add(most, log(total));
}

// States [batch, n] and what has been taken out of all of a sample, [batch, 1].
struct States {
  Array value;
  Array taken;

  void shift() {
    const Array most = max(value.detach(), {1}, true);
    value = sub(value, most);
    taken = add(taken, most);
  }
};

// -log_likelihood [batch], infinite where nothing is likely and NaN, as its gradient, where an
// index is wrong.
Array losses_of(const Array& log_likelihood, const Array& wrong) {
  const Array one = full({}, 1.0, log_likelihood.dtype(), log_likelihood.device());
  const Array spoiled = where(wrong, std::numeric_limits<double>::quiet_NaN(), one);
  const Array impossible = logical_and(less(log_likelihood, kImpossible), logical_not(wrong));
  return where(impossible, kInfinity, neg(mul(log_likelihood, spoiled)));
}

Array likely(const Array& log_probs) { return maximum(log_probs, kUnlikely); }

// The states of CTC: before, between and after labels there may be blanks, so sample n has 2 * its
// labels + 1 states. Two columns stand before them: one that is never reached, and the start.
Array ctc_losses(const Array& log_probs, const Sequences& in, std::int64_t blank) {
  const std::int64_t time = log_probs.shape()[0], batch = log_probs.shape()[1];
  const std::int64_t labels = in.targets.shape()[1], states = 2 * labels + 1;
  const DType dtype = log_probs.dtype();
  const Device device = log_probs.device();
  const Array blanks = full({batch, labels, 1}, blank, DType::i64, device);
  const Array pairs = reshape(cat({blanks, unsqueeze(in.targets, {2})}, 2), {batch, 2 * labels});
  const Array symbols = cat({pairs, full({batch, 1}, blank, DType::i64, device)}, 1);
  const Array likelihoods =
      likely(gather(log_probs, expand(unsqueeze(symbols, {0}), {time, batch, states}), 2));
  // A state is reached from two before it where it is a label unlike that one: of the first label,
  // that is the start.
  const Array start = full({batch, 1}, std::int64_t{-1}, DType::i64, device);
  const Array two_before = narrow(cat({start, start, symbols}, 1), 1, 0, states);
  const Array skips = logical_and(not_equal(symbols, blank), not_equal(symbols, two_before));
  const Array skip_cost = where(skips, full({}, 0.0, dtype, device), kUnlikely);

  const Array never = full({batch, 1}, kUnlikely, dtype, device);
  const Array unreached = full({batch, 2}, kUnlikely, dtype, device);
  const Array now = full({batch, 1}, 0.0, dtype, device);
  States alpha{cat({never, now, full({batch, states}, kUnlikely, dtype, device)}, 1), now};
  for (std::int64_t t = 0; t < time; ++t) {
    const Array stay = narrow(alpha.value, 1, 2, states);
    const Array step = narrow(alpha.value, 1, 1, states);
    const Array skip = add(narrow(alpha.value, 1, 0, states), skip_cost);
    const Array here = squeeze(narrow(likelihoods, 0, t, 1), {0});
    const Array next = add(log_of_sum({stay, step, skip}), here);
    const Array runs = greater(in.input_lengths, t);
    alpha.value = where(runs, cat({unreached, next}, 1), alpha.value);
    if ((t + 1) % kStepsBetweenShifts == 0) alpha.shift();
  }
  const Array last = add(mul(in.target_lengths, std::int64_t{2}), std::int64_t{2});
  const Array on_blank = gather(alpha.value, last, 1);
  const Array on_label = gather(alpha.value, sub(last, std::int64_t{1}), 1);
  const Array total = add(log_of_sum({on_blank, on_label}), alpha.taken);
  return losses_of(squeeze(total, {1}), in.wrong);
}

// The nodes (t, u) of the transducer's grid, one diagonal t + u after the other: state u of
// diagonal d is node (d - u, u). likelihoods [batch, time, labels + 1] become [diagonals, batch,
// labels + 1], what leaves the grid unlikely.
Array by_diagonals(const Array& likelihoods, std::int64_t diagonals) {
  const std::int64_t batch = likelihoods.shape()[0], time = likelihoods.shape()[1];
  const std::int64_t columns = likelihoods.shape()[2];
  const Device device = likelihoods.device();
  const Array d = unsqueeze(arange(0, diagonals, 1, DType::i64, device), {1});
  const Array t = sub(d, arange(0, columns, 1, DType::i64, device));
  const Array inside = within(t, time - 1);
  const Array found =
      gather(likelihoods, expand(unsqueeze(inside, {0}), {batch, diagonals, columns}), 1);
  return permute(where(equal(t, inside), likely(found), kUnlikely), {1, 0, 2});
}

Array rnnt_losses(const Array& log_probs, const Sequences& in, std::int64_t blank) {
  const std::int64_t batch = log_probs.shape()[0], time = log_probs.shape()[1];
  const std::int64_t columns = log_probs.shape()[2], diagonals = time + columns - 1;
  const DType dtype = log_probs.dtype();
  const Device device = log_probs.device();
  const Array none = zeros({batch, 1}, DType::i64, device);
  const Array next_label = unsqueeze(cat({in.targets, none}, 1), {1, 3});
  const Array labels = gather(log_probs, expand(next_label, {batch, time, columns, 1}), 3);
  const Array emits = by_diagonals(squeeze(labels, {3}), diagonals);
  const Array waits = by_diagonals(squeeze(narrow(log_probs, 3, blank, 1), {3}), diagonals);
  // The last node of a sample: what is there, times a last blank, is what all alignments give.
  const Array u = arange(0, columns, 1, DType::i64, device);
  const Array last_diagonal = sub(add(in.input_lengths, in.target_lengths), std::int64_t{1});
  const Array last_column =
      logical_and(equal(u, in.target_lengths), greater(in.input_lengths, std::int64_t{0}));

  const Array start = full({batch, 1}, 0.0, dtype, device);
  const Array never = full({batch, 1}, kUnlikely, dtype, device);
  States alpha{cat({start, full({batch, columns - 1}, kUnlikely, dtype, device)}, 1), start};
  Array total = full({batch, columns}, kUnlikely, dtype, device);
  for (std::int64_t d = 0; d < diagonals; ++d) {
    const Array wait = add(alpha.value, squeeze(narrow(waits, 0, d, 1), {0}));
    const Array emit = add(alpha.value, squeeze(narrow(emits, 0, d, 1), {0}));
    const Array ends = logical_and(equal(last_diagonal, d), last_column);
    total = where(ends, add(wait, alpha.taken), total);
    alpha.value = log_of_sum({wait, cat({never, narrow(emit, 1, 0, columns - 1)}, 1)});
    if ((d + 1) % kStepsBetweenShifts == 0) alpha.shift();
  }
  return losses_of(max(total, {1}), in.wrong);
}

void require_log_probs(const char* op, const Array& log_probs, int rank, const char* shape) {
  require_float_array(op, log_probs);
  if (log_probs.rank() == rank) return;
  throw Error(ErrorCode::shape, std::string(op) + ": log_probs have another rank; got " +
                                    to_string(log_probs.shape()) + ", expected " + shape);
}

}  // namespace

inline namespace v0 {

Array ctc_loss(const Array& log_probs, const Array& targets, const Array& input_lengths,
               const Array& target_lengths, std::int64_t blank, Reduction reduction,
               bool zero_infinity) try {
  require_log_probs("ctc_loss", log_probs, 3, "[time, batch, classes]");
  const Shape& shape = log_probs.shape();
  const Sequences in = sequences("ctc_loss", targets, input_lengths, target_lengths, shape[1],
                                 shape[0], shape[2], blank);
  const Array values = wide(log_probs);
  Array losses =
      shape[1] == 0 ? zeros({0}, values.dtype(), values.device()) : ctc_losses(values, in, blank);
  if (zero_infinity) losses = where(is_inf(losses), 0.0, losses);
  if (reduction == Reduction::mean) {
    const Array lengths = clamp_min(squeeze(in.target_lengths, {1}), std::int64_t{1});
    losses = div(losses, cast(lengths, losses.dtype()));
  }
  return reduce_losses(losses, reduction);
} catch (const Error& error) {
  throw_as("ctc_loss", error);
}

Array rnnt_loss(const Array& log_probs, const Array& targets, const Array& input_lengths,
                const Array& target_lengths, std::int64_t blank, Reduction reduction) try {
  require_log_probs("rnnt_loss", log_probs, 4, "[batch, time, labels + 1, classes]");
  const Shape& shape = log_probs.shape();
  const Sequences in = sequences("rnnt_loss", targets, input_lengths, target_lengths, shape[0],
                                 shape[1], shape[3], blank);
  if (shape[2] != targets.shape()[1] + 1) {
    throw Error(ErrorCode::shape, "rnnt_loss: labels of log_probs and targets differ; got " +
                                      std::to_string(shape[2]) + " and " +
                                      std::to_string(targets.shape()[1]) +
                                      ", expected one more than targets");
  }
  const Array values = wide(log_probs);
  if (shape[0] == 0 || shape[1] == 0) {
    const Array never = full({shape[0]}, kUnlikely, values.dtype(), values.device());
    return reduce_losses(losses_of(never, in.wrong), reduction);
  }
  return reduce_losses(rnnt_losses(values, in, blank), reduction);
} catch (const Error& error) {
  throw_as("rnnt_loss", error);
}

}  // namespace v0
}  // namespace hearth
