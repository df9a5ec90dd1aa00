// Mixers over ragged batches. Heads of sequences go to threads one by one, rows of convolutions in
// chunks of the batch. Recurrences are bound by their states, which stay in a cache of the core; a
// delta rule goes in chunks of rows, as products of matrices, where a sequence has enough of them.
#include <memory>

#include "devices/cpu/ops/recurrent/delta_rule.h"
#include "devices/cpu/ops/recurrent/sequences.h"
#include "devices/cpu/ops/recurrent/state_space.h"
#include "graph/implementation.h"
#include "ops/definition/defs.h"

namespace hearth::cpu {
namespace {

using recurrent::sequence_bounds;

// Rows of a sequence and of the state before them, in compute precision. The last `kernel` rows
// that were asked for are kept.
template <class T>
class ConvRows {
 public:
  ConvRows(const Operand& x, const Operand& state, std::int64_t kernel)
      : x_(x),
        state_(state),
        kernel_(kernel),
        channels_(x.shape()[1]),
        copies_(scratch<T>(0, kernel * channels_)),
        held_(static_cast<std::size_t>(kernel), {-1, 0}) {}

  // Row `place` of the sequence, whose first row is `begin`; below 0, of its state.
  const T* at(std::int64_t sequence, std::int64_t begin, std::int64_t place) {
    const bool is_old = place < 0;
    const Operand& from = is_old ? state_ : x_;
    const std::int64_t offset =
        is_old ? sequence * state_.stride(0) + (kernel_ - 1 + place) * state_.stride(1)
               : (begin + place) * x_.stride(0);
    const std::int64_t slot = (place + kernel_) % kernel_;
    T* const copy = copies_ + slot * channels_;
    Held& held = held_[static_cast<std::size_t>(slot)];
    if (held.sequence == sequence && held.place == place) return held.row;
    held = {sequence, place, read_row(from, offset, from.stride(is_old ? 2 : 1), channels_, copy)};
    return held.row;
  }

 private:
  struct Held {
    std::int64_t sequence, place;
    const T* row = nullptr;
  };

  Operand x_, state_;
  std::int64_t kernel_, channels_;
  T* copies_;
  std::vector<Held> held_;
};

template <class T>
void causal_conv(const Launch& launch) {
  const Operand x = input_of(launch, 0), weight = input_of(launch, 1), state = input_of(launch, 2);
  const Operand y = output_of(launch), next = output_of(launch, 1);
  const std::int64_t rows = x.shape()[0], channels = x.shape()[1], kernel = weight.shape()[1];
  const std::int64_t sequences = state.shape()[0];
  const std::vector<std::int64_t> bounds = sequence_bounds(input_of(launch, 3), rows);
  recurrent::clear_padding(y, bounds);
  // Taps as rows over channels, then the bias.
  const auto taps = std::make_unique<T[]>(static_cast<std::size_t>((kernel + 1) * channels));
  for (std::int64_t k = 0; k < kernel; ++k) {
    load_row(weight.dtype(), weight.at(k * weight.stride(1)), weight.stride(0), channels,
             taps.get() + k * channels);
  }
  T* const bias = taps.get() + kernel * channels;
  if (has_input(launch, 4)) {
    const Operand given = input_of(launch, 4);
    load_row(given.dtype(), given.data, given.stride(0), channels, bias);
  }
  const RowMath<T>& math = row_math<T>();
  for_chunks(rows, channels * kernel, [&](std::int64_t first, std::int64_t last) {
    ConvRows<T> source(x, state, kernel);
    T* const copy = scratch<T>(1, channels);
    // The sequence of the first row.
    auto at = std::upper_bound(bounds.begin(), bounds.end(), first) - bounds.begin() - 1;
    for (std::int64_t row = std::max(first, bounds.front()); row < std::min(last, bounds.back());
         ++row) {
      at = std::max<std::ptrdiff_t>(at, 0);
      while (bounds[static_cast<std::size_t>(at) + 1] <= row) ++at;
      const std::int64_t begin = bounds[static_cast<std::size_t>(at)];
      T* const sum = row_to_write(y, row * channels, copy);
      std::copy_n(bias, channels, sum);
      for (std::int64_t k = 0; k < kernel; ++k) {
        const T* const taken = source.at(at, begin, row - begin - (kernel - 1) + k);
        math.dot_to(sum, taps.get() + k * channels, taken, channels);
      }
      write_row(y, row * channels, sum, channels);
    }
  });
  for_chunks(sequences * (kernel - 1), channels, [&](std::int64_t first, std::int64_t last) {
    ConvRows<T> source(x, state, kernel);
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t s = i / (kernel - 1), back = i % (kernel - 1) - (kernel - 1);
      const std::int64_t begin = bounds[static_cast<std::size_t>(s)];
      const std::int64_t count = bounds[static_cast<std::size_t>(s) + 1] - begin;
      const T* const kept = source.at(s, begin, count + back);
      store_row(next.dtype(), kept, channels, next.at(i * channels));
    }
  });
}

void launch_causal_conv(const Launch& launch) {
  with_compute_type(launch.signature->output.dtype, [&]<class T>() { causal_conv<T>(launch); });
}

// Head<T>(operands, sequence, head).run(begin, end) of all heads of all sequences.
template <template <class> class Head, class T, class Operands>
void run_heads(const Operands& operands, std::int64_t rows) {
  const std::vector<std::int64_t> bounds = sequence_bounds(operands.starts, rows);
  recurrent::clear_padding(operands.y, bounds);
  const std::int64_t tasks = operands.old.shape()[0] * operands.heads;
  for_each_task(tasks, 1, [&](std::int64_t task) {
    const std::int64_t s = task / operands.heads, head = task - s * operands.heads;
    const auto at = static_cast<std::size_t>(s);
    Head<T>(operands, s, head).run(bounds[at], bounds[at + 1]);
  });
}

void launch_delta_rule(const Launch& launch) {
  const recurrent::DeltaOperands operands(launch);
  with_compute_type(launch.signature->output.dtype, [&]<class T>() {
    run_heads<recurrent::DeltaHead, T>(operands, launch.signature->output.shape[0]);
  });
}

void launch_selective_scan(const Launch& launch) {
  const recurrent::SpaceOperands operands(launch);
  with_compute_type(launch.signature->output.dtype, [&]<class T>() {
    run_heads<recurrent::SpaceHead, T>(operands, launch.signature->output.shape[0]);
  });
}

constexpr Implementation kImplementations[] = {
    {.name = "rows", .op = &defs::causal_conv_op, .launch = launch_causal_conv},
    {.name = "heads", .op = &defs::gated_delta_rule_op, .launch = launch_delta_rule},
    {.name = "heads", .op = &defs::selective_scan_op, .launch = launch_selective_scan},
};

}  // namespace

Family recurrent_family() { return kImplementations; }

}  // namespace hearth::cpu
