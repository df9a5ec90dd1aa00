// The gradient of attention. Weights p are worked out again from q and k:
//
//   dv = p^T g     dp = g v^T     ds = p * (dp - rowsum(g * out)) * softcap' * scale
//   dq = ds k      dk = ds^T q
//
// A task owns consecutive rows of one head and takes a block of rows at a time, with all keys that
// they see. What it adds to dk and dv goes to the result itself where the task is the only one of
// its key head, and else to a partial sum in the workspace; partial sums are added in order. Bound
// by gemm.
#include "devices/cpu/ops/attention/backward.h"

#include <cmath>
#include <limits>
#include <utility>

#include "core/integer_math.h"
#include "devices/cpu/ops/attention/scores.h"

namespace hearth::cpu {
namespace {

// How the rows of a head are split into tasks; by shape only.
struct Split {
  std::int64_t chunk, chunks;
  bool direct;  // a task adds to the result itself
};

Split split_of(const TensorSpec& q, const TensorSpec& k) {
  constexpr std::int64_t kEnoughTasks = 16, kMinRows = 128;
  const std::int64_t heads = std::max<std::int64_t>(1, q.shape[0] * q.shape[1]);
  const std::int64_t rows = std::max<std::int64_t>(1, q.shape[2]);
  const std::int64_t wanted = ceil_div(kEnoughTasks, heads);
  const std::int64_t chunk = std::max(kMinRows, ceil_div(rows, wanted));
  const std::int64_t chunks = ceil_div(rows, chunk);
  const bool half = q.dtype != DType::f32 && q.dtype != DType::f64;
  return {chunk, chunks, chunks == 1 && q.shape[1] == k.shape[1] && !half};
}

template <class T>
struct Task {
  std::int64_t item, head, first, count;
  T* dk;  // [keys, d], zero
  T* dv;  // [keys, dv], zero
};

template <class T>
void run_task(const AttentionArgs& args, const Operand& grad, const Operand& out,
              const Operand& dq_all, const Task<T>& task) {
  const RowMath<T>& math = row_math<T>();
  const std::int64_t d = args.d, dv = args.dv, kv_head = task.head / args.group();
  // Keys are counted from the first that one of the rows sees.
  const std::int64_t begin = args.hidden(task.item, task.first);
  const std::int64_t end = args.visible(task.item, task.first + task.count - 1) - begin;
  const T scale = static_cast<T>(args.scale), sink = static_cast<T>(args.sink(task.head));
  if (end <= 0) {
    T* const zero = scratch<T>(0, task.count * d);
    std::fill_n(zero, task.count * d, T(0));
    const std::int64_t at = ((task.item * args.heads + task.head) * args.rows + task.first) * d;
    return store_row(dq_all.dtype(), zero, task.count * d, dq_all.at(at));
  }
  // Few enough rows that scores and their gradient stay in the L2 cache.
  const std::int64_t block_rows =
      std::min(task.count, std::clamp<std::int64_t>((std::int64_t{128} << 10) / end & ~7, 16, 48));

  T* const keys_t = scratch<T>(0, end * d);
  T* const values_t = scratch<T>(1, end * dv);
  const std::int64_t k_at = AttentionArgs::at(args.k, task.item, kv_head, begin);
  read_transposed(args.k, k_at, end, keys_t);
  read_transposed(args.v, AttentionArgs::at(args.v, task.item, kv_head, begin), end, values_t);
  T* const key_copy = scratch<T>(2, end * d);
  const Matrix<T> keys = read_matrix(args.k, k_at, end, key_copy);
  T* const weights = scratch<T>(3, block_rows * end);
  T* const scores = scratch<T>(4, block_rows * end);
  T* const slopes = args.softcap > 0 ? scratch<T>(8, block_rows * end) : nullptr;
  T* const q = scratch<T>(9, block_rows * d);
  T* const grad_copy = scratch<T>(10, block_rows * dv);
  T* const result = scratch<T>(11, block_rows * d);
  T* const copy = scratch<T>(5, 2 * dv);

  // The keys of `seen` from `first` on that a row sees.
  const auto range_of = [&](std::int64_t row, std::int64_t first, std::int64_t seen) {
    const std::int64_t at = begin + first;
    const std::int64_t from = std::clamp<std::int64_t>(args.hidden(task.item, row) - at, 0, seen);
    return std::pair(from, std::clamp<std::int64_t>(args.visible(task.item, row) - at, from, seen));
  };
  for (std::int64_t row = task.first; row < task.first + task.count; row += block_rows) {
    const std::int64_t rows = std::min(block_rows, task.first + task.count - row);
    const std::int64_t first = args.hidden(task.item, row) - begin;
    const std::int64_t seen = args.visible(task.item, row + rows - 1) - begin - first;
    const std::int64_t dq_at = ((task.item * args.heads + task.head) * args.rows + row) * d;
    T* const dq = row_to_write(dq_all, dq_at, result);
    if (seen <= 0) {
      std::fill_n(dq, rows * d, T(0));
      write_row(dq_all, dq_at, dq, rows * d);
      continue;
    }
    const Matrix<T> g =
        read_matrix(grad, AttentionArgs::at(grad, task.item, task.head, row), rows, grad_copy);
    for (std::int64_t r = 0; r < rows; ++r) {
      load_row(args.q.dtype(), args.q.at(AttentionArgs::at(args.q, task.item, task.head, row + r)),
               args.q.stride(3), d, q + r * d);
    }
    math.scale(q, scale, q, rows * d, false);  // ds^T (scale q) is dk
    multiply(rows, seen, d, q, d, 1, keys_t + first, end, weights, seen, false);
    for (std::int64_t r = 0; r < rows; ++r) {
      T* const line = weights + r * seen;
      const auto [from, visible] = range_of(row + r, first, seen);
      finish_scores<T>(args, task.item, task.head, row + r, begin + first + from, visible - from,
                       line + from, slopes == nullptr ? nullptr : slopes + r * seen + from);
      constexpr T kNone = -std::numeric_limits<T>::infinity();
      const T max = std::max(math.max(line + from, visible - from), sink);
      const T shift = max == kNone ? T(0) : max;
      T sum = math.exp_sum(line + from, shift, line + from, visible - from, line + from);
      if (sink != kNone) sum += std::exp(sink - shift);
      math.scale(line + from, sum == T(0) ? T(0) : T(1) / sum, line + from, visible - from, false);
      std::fill(line, line + from, T(0));
      std::fill(line + visible, line + seen, T(0));
    }
    multiply(seen, dv, rows, weights, 1, seen, g.data, g.stride, task.dv + (begin + first) * dv, dv,
             true);
    multiply(rows, seen, dv, g.data, g.stride, 1, values_t + first, end, scores, seen, false);
    for (std::int64_t r = 0; r < rows; ++r) {
      T* const line = scores + r * seen;
      const auto [from, visible] = range_of(row + r, first, seen);
      const T* const o = read_row(out, AttentionArgs::at(out, task.item, task.head, row + r),
                                  out.stride(3), dv, copy);
      const T dot = math.dot(g.data + r * g.stride, o, dv);
      T* const some = line + from;
      const T* const weight = weights + r * seen + from;
      math.softmax_backward(some, weight, dot, some, visible - from, false);
      if (slopes != nullptr) {
        math.scale_by(some, slopes + r * seen + from, some, visible - from, false);
      }
      if (args.mask.data != nullptr) {
        // A weight of 0 stays without a gradient even if the value behind it is not finite.
        for (std::int64_t i = 0; i < visible - from; ++i) {
          some[i] = weight[i] == T(0) ? T(0) : some[i];
        }
      }
      std::fill(line, some, T(0));
      std::fill(line + visible, line + seen, T(0));
    }
    multiply(rows, d, seen, scores, seen, 1, keys.data + first * keys.stride, keys.stride, dq, d,
             false);
    math.scale(dq, scale, dq, rows * d, false);
    write_row(dq_all, dq_at, dq, rows * d);
    multiply(seen, d, rows, scores, 1, seen, q, d, task.dk + (begin + first) * d, d, true);
  }
}

template <class T>
void backward(const Launch& launch) {
  const AttentionArgs args = attention_args(launch, 2);
  const Operand grad = input_of(launch, 0), out = input_of(launch, 1);
  const Operand dq_all = output_of(launch), dk_all = output_of(launch, 1);
  const Operand dv_all = output_of(launch, 2);
  const Split split = split_of(*args.q.spec, *args.k.spec);
  const std::int64_t d = args.d, dv = args.dv, keys = args.keys;
  const std::int64_t heads = args.batch * args.heads, kv_heads = args.batch * args.kv_heads;
  T* const partials = reinterpret_cast<T*>(launch.workspace);
  const std::int64_t part = keys * (d + dv);
  const auto sums_of = [&](std::int64_t task, std::int64_t head) -> std::pair<T*, T*> {
    if (!split.direct) return {partials + task * part, partials + task * part + keys * d};
    return {reinterpret_cast<T*>(dk_all.at(head * keys * d)),
            reinterpret_cast<T*>(dv_all.at(head * keys * dv))};
  };
  if (args.rows > 0 && heads > 0) {
    const std::int64_t cost = 4 * keys * std::min(split.chunk, args.rows);
    for_chunks(heads * split.chunks, cost, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t head = task / split.chunks, first = task % split.chunks * split.chunk;
        const auto [dk, dv_sum] = sums_of(task, head);
        std::fill_n(dk, keys * d, T(0));
        std::fill_n(dv_sum, keys * dv, T(0));
        run_task<T>(args, grad, out, dq_all,
                    {head / args.heads, head % args.heads, first,
                     std::min(split.chunk, args.rows - first), dk, dv_sum});
      }
    });
    if (split.direct) return;
  }
  // The heads of a group lie next to each other, and so do their chunks.
  const std::int64_t per_head =
      args.rows > 0 ? args.heads / std::max<std::int64_t>(1, args.kv_heads) * split.chunks : 0;
  const RowMath<T>& math = row_math<T>();
  for_chunks(kv_heads, part * (1 + per_head), [&](std::int64_t begin, std::int64_t end) {
    T* const sum = scratch<T>(0, part);
    for (std::int64_t head = begin; head < end; ++head) {
      std::fill_n(sum, part, T(0));
      for (std::int64_t i = 0; i < per_head; ++i) {
        math.add_to(sum, partials + (head * per_head + i) * part, part);
      }
      store_row(dk_all.dtype(), sum, keys * d, dk_all.at(head * keys * d));
      store_row(dv_all.dtype(), sum + keys * d, keys * dv, dv_all.at(head * keys * dv));
    }
  });
}

}  // namespace

Prepared prepare_attention_backward(const Signature& signature) {
  const TensorSpec& q = signature.inputs[2];
  const TensorSpec& k = signature.inputs[3];
  const TensorSpec& v = signature.inputs[4];
  const Split split = split_of(q, k);
  if (split.direct) return {};
  const std::int64_t tasks = q.shape[0] * q.shape[1] * split.chunks;
  const std::int64_t width = q.dtype == DType::f64 ? 8 : 4;
  return {.state = nullptr,
          .workspace_bytes = tasks * k.shape[2] * (k.shape[3] + v.shape[3]) * width};
}

void launch_attention_backward(const Launch& launch) {
  with_compute_type(launch.signature->output.dtype, [&]<class T>() { backward<T>(launch); });
}

}  // namespace hearth::cpu
