// attention: softmax(finish(scale * q k^T)) v for grouped heads, without the scores in memory.
//
// blocks: a task owns up to kChunkRows rows of one head and walks over blocks of keys; for each
// block, some rows at a time get their products (products.h), then the running maximum, sum and
// result of every row are brought up to date. Blocks of keys that causal order, window, starts,
// lengths or the mask hide are skipped. Bound by gemm.
//
// flash_decoding, of few rows: a task owns a split of the keys of one key head and all rows that
// read it, so that keys and values are read once; the splits' results are combined in order. Bound
// by memory.
//
// A sink is where a row's maximum and sum begin. A row without a visible key gives 0.
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/integer_math.h"
#include "devices/cpu/ops/attention/backward.h"
#include "devices/cpu/ops/attention/paged.h"
#include "devices/cpu/ops/attention/products.h"
#include "devices/cpu/ops/attention/running.h"
#include "graph/implementation.h"
#include "ops/definition/defs.h"

namespace hearth::cpu {
namespace {

constexpr std::int64_t kChunkRows = 512;
constexpr std::int64_t kLeastChunkRows = 48;
// Where a window hides keys sums begin with a chunk's first row, so chunks are by shape alone and
// the number of threads changes no bit: tasks enough for many of them.
constexpr std::int64_t kEnoughChunks = 16;
constexpr std::int64_t kBlockKeys = 512;
constexpr std::int64_t kFewRows = 4;
constexpr std::int64_t kSplitKeys = 256;

template <class Products>
void attend_chunk(const AttentionArgs& args, const Operand& output, const AttentionRows& part) {
  using T = typename Products::T;
  constexpr std::int64_t kBlockRows = Products::kBlockRows;
  const RowMath<T>& math = row_math<T>();
  const auto [item, head, first, count] = part;
  const std::int64_t dv = args.dv, kv_head = head / args.group();
  const std::int64_t out_at = ((item * args.heads + head) * args.rows + first) * dv;
  Products products(args, part);
  T* const scores = scratch<T>(3, kBlockRows * kBlockKeys);
  T* const result = row_to_write(output, out_at, scratch<T>(4, count * dv));
  Running<T> running[kChunkRows];
  std::fill_n(running, count, Running<T>::of_sink(args.sink(head)));
  bool started[kChunkRows / kBlockRows + 1] = {};  // of each block: its rows of `result` are sums
  const std::int64_t end = args.visible(item, first + count - 1);
  for (std::int64_t key = args.hidden(item, first); key < end; key += kBlockKeys) {
    const std::int64_t width = std::min(kBlockKeys, end - key);
    bool has_keys = false;
    for (std::int64_t block = 0; block < count; block += kBlockRows) {
      const std::int64_t rows = std::min(kBlockRows, count - block);
      const std::int64_t seen = std::min(width, args.visible(item, first + block + rows - 1) - key);
      if (seen <= 0 || args.hidden(item, first + block) >= key + seen ||
          hides_all(args, item, head, first + block, rows, key, seen)) {
        continue;
      }
      if (!has_keys) products.set_keys(args, item, kv_head, key, width, kBlockKeys);
      has_keys = true;
      const bool older = started[block / kBlockRows];
      started[block / kBlockRows] = true;
      T* const sums = result + block * dv;
      const std::int64_t whole = products.whole(seen);
      products.scores(block, rows, whole, scores);
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t row = first + block + r;
        const std::int64_t from = std::clamp<std::int64_t>(args.hidden(item, row) - key, 0, seen);
        const std::int64_t visible =
            std::clamp<std::int64_t>(args.visible(item, row) - key, from, seen);
        T* const line = scores + r * whole;
        products.scale(line + from, visible - from);
        finish_scores<T>(args, item, head, row, key + from, visible - from, line + from, nullptr);
        const T shrink = running[block + r].update(math, line + from, visible - from);
        std::fill(line, line + from, T(0));
        std::fill(line + visible, line + seen, T(0));
        if (older && shrink != T(1)) math.scale(sums + r * dv, shrink, sums + r * dv, dv, false);
      }
      products.add_values(scores, rows, whole, seen, sums, older);
    }
  }
  for (std::int64_t r = 0; r < count; ++r) {
    T* const row = result + r * dv;
    if (!started[r / kBlockRows] || args.visible(item, first + r) <= args.hidden(item, first + r)) {
      std::fill_n(row, dv, T(0));
    } else {
      math.scale(row, running[r].inverse(), row, dv, false);
    }
  }
  write_row(output, out_at, result, count * dv);
}

template <class T>
void attend_many(const AttentionArgs& args, const Operand& output) {
  const std::int64_t heads = args.batch * args.heads;
  // Chunks of rows, fewer per task where there are few heads to share out.
  std::int64_t chunk = kChunkRows;
  while (chunk > 2 * kLeastChunkRows && heads * ceil_div(args.rows, chunk) < kEnoughChunks) {
    chunk /= 2;
  }
  const std::int64_t chunks = ceil_div(args.rows, chunk);
  auto* run = attend_chunk<PlainProducts<T>>;
  if (PairProducts::fit(args.q, args.k, args.v)) run = attend_chunk<PairProducts>;
  for_chunks(
      heads * chunks, args.kv_length * std::min(chunk, args.rows),
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t task = begin; task < end; ++task) {
          // The last rows see most keys under a causal mask: they go first.
          const std::int64_t head = task % heads, first = (chunks - 1 - task / heads) * chunk;
          run(args, output,
              {head / args.heads, head % args.heads, first, std::min(chunk, args.rows - first)});
        }
      });
}

// Products of a few rows with keys or values: in compute precision, or of halves as they lie.
template <class T>
class SplitRows {
 public:
  SplitRows(const Operand& x, std::int64_t offset, std::int64_t width, ScratchSlot slot)
      : at_(x.at(offset)), stride_(x.stride(2)), n_(x.shape()[3]), width_(width) {
    if constexpr (std::is_same_v<T, float>) {
      if (x.stride(3) == 1 && size_of(x.dtype()) == 2) dtype_ = x.dtype();
    }
    if (dtype_ == DType::f32) rows_ = read_matrix(x, offset, width, scratch<T>(slot, width * n_));
  }

  // scores[r * width + j] = row r of q times row j, of those that row r sees (from(r) to to(r)) at
  // least.
  template <class From, class To>
  void dots(const T* q, std::int64_t rows, T* scores, const From& from, const To& to) const {
    if (dtype_ == DType::f32) {
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t first = from(r);
        row_math<T>().dot_rows(q + r * n_, rows_.data + first * rows_.stride, rows_.stride,
                               to(r) - first, n_, scores + r * width_ + first);
      }
      return;
    }
    std::fill_n(scores, rows * width_, T(0));
    with_halves([&](const auto& kernels, const auto* x) {
      kernels.cols(rows, width_, n_, q, n_, x, stride_, scores, width_);
    });
  }

  // sums [rows, n] += weights [rows, width] times the rows.
  void add(const T* weights, std::int64_t rows, T* sums) const {
    if (dtype_ == DType::f32) {
      for (std::int64_t r = 0; r < rows; ++r) {
        row_math<T>().axpy_rows(sums + r * n_, weights + r * width_, rows_.data, rows_.stride,
                                width_, n_);
      }
      return;
    }
    with_halves([&](const auto& kernels, const auto* x) {
      kernels.rows(rows, n_, width_, weights, width_, x, stride_, sums, n_);
    });
  }

 private:
  template <class Run>
  void with_halves(const Run& run) const {
    if constexpr (std::is_same_v<T, float>) {
      if (dtype_ == DType::bf16) {
        run(cpu_skinny().bf16, reinterpret_cast<const bfloat16*>(at_));
      } else {
        run(cpu_skinny().f16, reinterpret_cast<const float16*>(at_));
      }
    }
  }

  Address at_;
  std::int64_t stride_, n_, width_;
  DType dtype_ = DType::f32;  // f32: in compute precision
  Matrix<T> rows_{};
};

// One split of the keys for all rows of a key head. `result` is [rows][dv], not yet divided.
template <class T>
void attend_split(const AttentionArgs& args, std::int64_t item, std::int64_t kv_head, const T* q,
                  std::int64_t key, std::int64_t width, Running<T>* running, T* result) {
  const RowMath<T>& math = row_math<T>();
  const std::int64_t rows = args.group() * args.rows, dv = args.dv;
  T* const scores = scratch<T>(1, rows * width);
  const auto from = [&](std::int64_t r) {
    return std::clamp<std::int64_t>(args.hidden(item, r % args.rows) - key, 0, width);
  };
  const auto to = [&](std::int64_t r) {
    return std::clamp<std::int64_t>(args.visible(item, r % args.rows) - key, from(r), width);
  };
  const SplitRows<T> keys(args.k, AttentionArgs::at(args.k, item, kv_head, key), width, 0);
  keys.dots(q, rows, scores, from, to);
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t row = r % args.rows, head = kv_head * args.group() + r / args.rows;
    const std::int64_t begin = from(r), seen = to(r) - begin;
    T* const line = scores + r * width;
    finish_scores<T>(args, item, head, row, key + begin, seen, line + begin, nullptr);
    running[r].update(math, line + begin, seen);
    std::fill(line, line + begin, T(0));
    std::fill(line + begin + seen, line + width, T(0));
  }
  const SplitRows<T> values(args.v, AttentionArgs::at(args.v, item, kv_head, key), width, 2);
  std::fill_n(result, rows * dv, T(0));
  values.add(scores, rows, result);
}

template <class T>
void attend_few(const AttentionArgs& args, const Operand& output) {
  const RowMath<T>& math = row_math<T>();
  const std::int64_t rows = args.group() * args.rows, d = args.d, dv = args.dv;
  const std::int64_t kv_heads = args.batch * args.kv_heads;
  const std::int64_t splits = ceil_div(args.kv_length, kSplitKeys);
  T* const q = scratch<T>(8, kv_heads * rows * d);
  T* const results = scratch<T>(9, kv_heads * splits * rows * dv);
  Running<T>* const running = scratch<Running<T>>(10, kv_heads * splits * rows);
  for (std::int64_t i = 0; i < kv_heads * rows; ++i) {
    // Head major, as q itself: row i % rows of the group is head (i / args.rows), row i %
    // args.rows.
    const std::int64_t head = i / args.rows;
    load_row(
        args.q.dtype(),
        args.q.at(AttentionArgs::at(args.q, head / args.heads, head % args.heads, i % args.rows)),
        args.q.stride(3), d, q + i * d);
    math.scale(q + i * d, static_cast<T>(args.scale), q + i * d, d, false);
  }
  const std::int64_t cost = std::min(args.kv_length, kSplitKeys) * (d + dv) * (1 + rows / 4);
  for_chunks(kv_heads * splits, cost, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t head = task / splits, first = task % splits * kSplitKeys;
      const std::int64_t item = head / args.kv_heads;
      std::fill_n(running + task * rows, rows, Running<T>{});
      // Those that one of the rows sees.
      const std::int64_t key = std::max(first, args.hidden(item, 0));
      const std::int64_t key_end = std::min(first + kSplitKeys, args.visible(item, args.rows - 1));
      if (key >= key_end) continue;
      attend_split(args, item, head % args.kv_heads, q + head * rows * d, key, key_end - key,
                   running + task * rows, results + task * rows * dv);
    }
  });
  T* const sum = scratch<T>(0, dv);
  for (std::int64_t i = 0; i < kv_heads * rows; ++i) {
    const std::int64_t task = i / rows * splits, row = i % rows;
    constexpr T kNone = -std::numeric_limits<T>::infinity();
    const Running<T> sink = Running<T>::of_sink(args.sink(i / args.rows % args.heads));
    T max = sink.max, total = 0;
    for (std::int64_t s = 0; s < splits; ++s) {
      const T other = running[(task + s) * rows + row].max;
      max = other > max ? other : max;
    }
    if (sink.sum != T(0)) total = std::exp(sink.max - max);
    std::fill_n(sum, dv, T(0));
    for (std::int64_t s = 0; s < splits; ++s) {
      const Running<T>& part = running[(task + s) * rows + row];
      if (part.sum == T(0)) continue;
      const T share = part.max == kNone ? T(1) : std::exp(part.max - max);
      total += part.sum * share;
      math.axpy(sum, share, results + ((task + s) * rows + row) * dv, dv);
    }
    math.scale(sum, Running<T>{max, total}.inverse(), sum, dv, false);
    store_row(output.dtype(), sum, dv, output.at(i * dv));
  }
}

enum class Rows { few, many };

template <Rows rows>
void launch_attention(const Launch& launch) {
  const Operand output = output_of(launch);
  if (element_count(output.shape()) == 0) return;
  const AttentionArgs args = attention_args(launch, 0);
  with_compute_type(output.dtype(), [&]<class T>() {
    constexpr auto kRun = rows == Rows::few ? attend_few<T> : attend_many<T>;
    kRun(args, output);
  });
}

bool has_few_rows(const Signature& signature) { return signature.inputs[0].shape[2] <= kFewRows; }

bool reads_floats(const Signature& signature) {
  return !paged::has_codes(ParamReader(signature.statics));
}

constexpr Implementation kImplementations[] = {
    {.name = "flash_decoding",
     .op = &defs::attention_op,
     .accepts = has_few_rows,
     .launch = launch_attention<Rows::few>},
    {.name = "blocks", .op = &defs::attention_op, .launch = launch_attention<Rows::many>},
    {.name = "blocks",
     .op = &defs::attention_backward_op,
     .prepare = prepare_attention_backward,
     .launch = launch_attention_backward},
    {.name = "blocks",
     .op = &defs::paged_attention_op,
     .accepts = reads_floats,
     .launch = launch_paged_attention},
    {.name = "codes",
     .op = &defs::paged_attention_op,
     .layout = LayoutNeed::last_axis_dense,
     .launch = launch_paged_attention},
};

}  // namespace

Family attention_family() { return kImplementations; }

}  // namespace hearth::cpu
