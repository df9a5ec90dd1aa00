// Scans: running sums, products, extremes, log-sum-exps, and h_i = a_i h_{i-1} + b_i.
//
// Bound by memory where inner positions are neighbours: each keeps its state while rows stream by,
// which compilers turn into vectors. Along lines each step waits for the one before it, so that
// four lines go side by side. A long line alone is cut into pieces, by its length only, for threads
// and for the four: one pass for what each piece comes to, one for the results. Floats are added
// and multiplied in f64, sums of f64 with what rounding takes from them; so errors do not grow with
// the length. A product beyond the range of f64 stays infinite. Those of products, and powers, are
// never cut.
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/integer_math.h"
#include "devices/cpu/ops/elements.h"
#include "graph/implementation.h"
#include "ops/definition/defs.h"

namespace hearth::cpu {
namespace {

constexpr int kSideBySide = 4;
constexpr std::int64_t kPiece = 16384;      // elements
constexpr std::int64_t kMaxColumns = 1024;  // of a task: f32 of a page of memory
constexpr std::int64_t kAhead = 2;          // rows that are fetched before their turn
constexpr std::int64_t kNeighbours = 8;     // inner positions that are worth a task's columns

template <class E>
constexpr bool is_integer = std::is_integral_v<E>;
// What elements are computed in: integers of unsigned words, which wrap.
template <class E>
using Value = std::conditional_t<is_integer<E>, std::uint64_t,
                                 std::conditional_t<std::is_same_v<E, double>, double, float>>;
template <class E>
using Wide = std::conditional_t<is_integer<E>, std::uint64_t, double>;

template <class E>
Value<E> value_of(E x) {
  return static_cast<Value<E>>(x);
}
template <class E, class T>
E element_of(T x) {
  if constexpr (is_integer<E> || std::is_same_v<E, double> || std::is_same_v<E, float>) {
    return static_cast<E>(x);
  } else {
    return E(static_cast<float>(x));
  }
}

// A rule: the state before the first element, how an element joins it, the result, and where pieces
// may be cut, how the state of the next piece joins.
template <class E>
struct Sum {
  using Element = E;
  struct State {
    Wide<E> sum = is_integer<E> ? Wide<E>(0) : Wide<E>(-0.0);
  };
  static constexpr bool kCuts = true;
  static void step(State& s, E x) { s.sum += static_cast<Wide<E>>(value_of(x)); }
  static E result(const State& s) { return element_of<E>(s.sum); }
  static void join(State& s, const State& next) { s.sum += next.sum; }
};
// What rounding takes from each addition is summed beside it: LongSum of kernels/blocks/rows.h.
template <>
struct Sum<double> {
  using Element = double;
  struct State {
    double sum = -0.0, lost = -0.0;
  };
  static constexpr bool kCuts = true;
  static void step(State& s, double x) {
    const double sum = s.sum + x, other = sum - s.sum;
    s.lost += (s.sum - (sum - other)) + (x - other);
    s.sum = sum;
  }
  static double result(const State& s) { return std::isfinite(s.sum) ? s.sum + s.lost : s.sum; }
  static void join(State& s, const State& next) {
    step(s, next.sum);
    s.lost += next.lost;
  }
};

template <class E>
struct Product {
  using Element = E;
  struct State {
    Wide<E> product = 1;
  };
  static constexpr bool kCuts = false;
  static void step(State& s, E x) { s.product *= static_cast<Wide<E>>(value_of(x)); }
  static E result(const State& s) { return element_of<E>(s.product); }
};

template <class E, bool kSmallest>
struct Extreme {
  using Element = E;
  using V = std::conditional_t<is_integer<E>, E, Value<E>>;
  struct State {
    V best = worst();
    std::int64_t at = 0;
  };
  static constexpr bool kCuts = true;
  static constexpr V worst() {
    using Limits = std::numeric_limits<V>;
    if constexpr (is_integer<E>) return kSmallest ? Limits::max() : Limits::min();
    return kSmallest ? Limits::infinity() : -Limits::infinity();
  }
  // Whether x stands for the state from now on: a NaN always; after a NaN, only another one.
  static bool takes(V best, V x) {
    return !(kSmallest ? x > best : x < best) && (x != x || best == best);
  }
  static void step(State& s, E element, std::int64_t at) {
    const V x = static_cast<V>(element);
    const bool taken = takes(s.best, x);
    s.best = taken ? x : s.best;
    s.at = taken ? at : s.at;
  }
  static E result(const State& s) { return element_of<E>(s.best); }
  static void join(State& s, const State& next) {
    if (takes(s.best, next.best)) s = next;
  }
};

template <class E>
struct LogSum {
  using Element = E;
  using V = Value<E>;
  struct State {
    V top = -std::numeric_limits<V>::infinity();
    double sum = 0;
  };
  static constexpr bool kCuts = false;
  // sum is that of e^(x - top).
  static void step(State& s, E element) {
    const V x = value_of(element);
    if (x == s.top) {
      s.sum += x == -std::numeric_limits<V>::infinity() ? 0 : 1;
    } else if (x < s.top) {
      s.sum += static_cast<double>(std::exp(x - s.top));
    } else {
      s.sum = s.sum * static_cast<double>(std::exp(s.top - x)) + 1;
      s.top = x;
    }
  }
  static E result(const State& s) {
    return element_of<E>(s.top + static_cast<V>(std::log(static_cast<V>(s.sum))));
  }
};

template <class E>
struct Linear {
  using Element = E;
  struct State {
    double h = 0;
  };
  static constexpr bool kCuts = false;
  static void step(State& s, E a, E b) {
    s.h = static_cast<double>(value_of(a)) * s.h + static_cast<double>(value_of(b));
  }
  static E result(const State& s) { return element_of<E>(s.h); }
};

// The operands of one launch, in the order in which the scan meets elements.
struct Job {
  Job(const Launch& launch, bool reverse_, int axis)
      : input(input_of(launch, 0)),
        second(launch.signature->inputs.size() > 1 ? input_of(launch, 1) : input),
        output(output_of(launch)),
        indices(launch.output_count > 1 ? output_of(launch, 1) : output),
        has_indices(launch.output_count > 1),
        reverse(reverse_),
        length(input.shape()[axis]),
        outer(input.shape(), input.strides(), 0, axis),
        inner(input.shape(), input.strides(), axis + 1, input.shape().rank()),
        second_outer(second.shape(), second.strides(), 0, axis),
        second_inner(second.shape(), second.strides(), axis + 1, second.shape().rank()),
        step(reverse ? -input.stride(axis) : input.stride(axis)),
        second_step(reverse ? -second.stride(axis) : second.stride(axis)),
        output_step(reverse ? -inner.count() : inner.count()) {}

  // The offsets of the first element met at position (o, i).
  std::int64_t from(std::int64_t o, std::int64_t i) const {
    return outer.at(o) + inner.at(i) - (reverse ? (length - 1) * step : 0);
  }
  std::int64_t second_from(std::int64_t o, std::int64_t i) const {
    return second_outer.at(o) + second_inner.at(i) - (reverse ? (length - 1) * second_step : 0);
  }
  std::int64_t to(std::int64_t o, std::int64_t i) const {
    return o * length * inner.count() + i - (reverse ? (length - 1) * output_step : 0);
  }
  // Whether inner positions are neighbours in memory.
  bool dense() const {
    const auto is_dense = [](const OffsetMap& map) { return map.linear() && map.stride() == 1; };
    return is_dense(inner) && is_dense(second_inner);
  }

  Operand input, second, output, indices;
  bool has_indices, reverse;
  std::int64_t length;
  OffsetMap outer, inner, second_outer, second_inner;
  std::int64_t step, second_step, output_step;
};

// The first elements of a line.
struct Line {
  const std::byte* x = nullptr;
  const std::byte* second = nullptr;
  std::byte* y = nullptr;
  std::int64_t* index = nullptr;
};
Line line_of(const Job& job, std::int64_t line) {
  const std::int64_t inner = job.inner.count();
  const std::int64_t o = inner == 1 ? line : line / inner, i = line - o * inner;
  const std::int64_t to = job.to(o, i);
  return {job.input.at(job.from(o, i)), job.second.at(job.second_from(o, i)), job.output.at(to),
          job.has_indices ? reinterpret_cast<std::int64_t*>(job.indices.at(to)) : nullptr};
}

// Lines, or pieces of them: `count` elements from `first` on.
struct Piece {
  std::int64_t line, first, count;
};

// The loops of a rule for one dtype. The rest of a scan moves states as bytes.
struct Loops {
  // Elements of kSideBySide lines, or of one, from firsts[] on; results are stored if `store`.
  using Run = void (*)(const Job& job, const Line* lines, const std::int64_t* firsts,
                       std::int64_t count, std::byte* states, bool store);
  Run together, alone;
  // `width` lines that are neighbours, of which this is the first, a row of them at a time.
  void (*columns)(const Job& job, const Line& line, std::int64_t width, std::byte* states);
  void (*start)(std::byte* states, std::int64_t count);
  // From what each piece of a line comes to, to the states that they begin with; null for a rule
  // whose lines are not cut.
  void (*join)(std::byte* states, std::int64_t pieces);
  std::int64_t state_bytes;
};
constexpr std::int64_t kMaxStateBytes = 16;

template <class Rule, class E>
void advance(typename Rule::State& state, const E* x, const E* second, std::int64_t at) {
  if constexpr (requires { state.at; }) {
    Rule::step(state, *x, at);
  } else if constexpr (requires { state.h; }) {
    Rule::step(state, *x, *second);
  } else {
    Rule::step(state, *x);
  }
}

// kDense: elements of a line are neighbours.
template <class Rule, int kLines, bool kStore, bool kDense>
void run_lines(const Job& job, const Line* lines, const std::int64_t* firsts, std::int64_t count,
               std::byte* states_at) {
  using E = typename Rule::Element;
  auto* const states = reinterpret_cast<typename Rule::State*>(states_at);
  const std::int64_t step = kDense ? 1 : job.step, second_step = kDense ? 1 : job.second_step;
  const std::int64_t output_step = kDense ? 1 : job.output_step;
  // By value, so that no store of a byte may change what the loop depends on.
  typename Rule::State state[kLines];
  std::int64_t first[kLines];
  const E *x[kLines], *second[kLines];
  E* y[kLines];
  std::int64_t* index[kLines];
  const bool has_indices = job.has_indices;
  for (int l = 0; l < kLines; ++l) {
    state[l] = states[l];
    first[l] = firsts[l];
    x[l] = reinterpret_cast<const E*>(lines[l].x) + firsts[l] * step;
    second[l] = reinterpret_cast<const E*>(lines[l].second) + firsts[l] * second_step;
    y[l] = reinterpret_cast<E*>(lines[l].y) + firsts[l] * output_step;
    index[l] = has_indices ? lines[l].index + firsts[l] * output_step : nullptr;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    for (int l = 0; l < kLines; ++l) {
      advance<Rule>(state[l], x[l] + i * step, second[l] + i * second_step, first[l] + i);
      if constexpr (kStore) {
        y[l][i * output_step] = Rule::result(state[l]);
        if constexpr (requires { state[l].at; }) {
          if (has_indices) index[l][i * output_step] = state[l].at;
        }
      }
    }
  }
  for (int l = 0; l < kLines; ++l) states[l] = state[l];
}
template <class Rule, int kLines>
void run(const Job& job, const Line* lines, const std::int64_t* firsts, std::int64_t count,
         std::byte* states, bool store) {
  if constexpr (Rule::kCuts) {
    if (!store) return run_lines<Rule, kLines, false, false>(job, lines, firsts, count, states);
  }
  if (job.step == 1 && job.second_step == 1 && job.output_step == 1) {
    return run_lines<Rule, kLines, true, true>(job, lines, firsts, count, states);
  }
  run_lines<Rule, kLines, true, false>(job, lines, firsts, count, states);
}

// Into the cache.
inline void fetch(const void* from, std::int64_t bytes) {
  for (std::int64_t i = 0; i < bytes; i += 64) {
    __builtin_prefetch(static_cast<const std::byte*>(from) + i);
  }
}

// A function of its own: a loop around it keeps compilers from making vectors of it.
template <class Rule, class E>
[[gnu::noinline]] void run_row(typename Rule::State* states, const E* x, const E* second, E* y,
                               std::int64_t* index, std::int64_t at, std::int64_t width) {
  for (std::int64_t i = 0; i < width; ++i) {
    advance<Rule>(states[i], x + i, second + i, at);
    y[i] = Rule::result(states[i]);
  }
  if constexpr (requires { states->at; }) {
    for (std::int64_t i = 0; index != nullptr && i < width; ++i) index[i] = states[i].at;
  }
}

template <class Rule>
void run_columns(const Job& job, const Line& line, std::int64_t width, std::byte* states_at) {
  using E = typename Rule::Element;
  auto* const states = reinterpret_cast<typename Rule::State*>(states_at);
  for (std::int64_t at = 0; at < job.length; ++at) {
    const E* const x = reinterpret_cast<const E*>(line.x) + at * job.step;
    if (at + kAhead < job.length) {
      fetch(x + kAhead * job.step, width * static_cast<std::int64_t>(sizeof(E)));
    }
    std::int64_t* const index = line.index == nullptr ? nullptr : line.index + at * job.output_step;
    run_row<Rule>(states, x, reinterpret_cast<const E*>(line.second) + at * job.second_step,
                  reinterpret_cast<E*>(line.y) + at * job.output_step, index, at, width);
  }
}

template <class Rule>
void start_states(std::byte* states, std::int64_t count) {
  std::fill_n(reinterpret_cast<typename Rule::State*>(states), count, typename Rule::State());
}

template <class Rule>
void join_pieces(std::byte* states_at, std::int64_t pieces) {
  auto* const states = reinterpret_cast<typename Rule::State*>(states_at);
  typename Rule::State before;
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    typename Rule::State next = before;
    Rule::join(next, states[piece]);
    states[piece] = before;
    before = next;
  }
}

template <class Rule>
constexpr Loops loops_of() {
  static_assert(sizeof(typename Rule::State) <= kMaxStateBytes);
  Loops loops = {.together = run<Rule, kSideBySide>,
                 .alone = run<Rule, 1>,
                 .columns = run_columns<Rule>,
                 .start = start_states<Rule>,
                 .join = nullptr,
                 .state_bytes = sizeof(typename Rule::State)};
  if constexpr (Rule::kCuts) loops.join = join_pieces<Rule>;
  return loops;
}

// Pieces [begin, end), kSideBySide of equal length at a time: place(i) is piece i, and states[0] is
// that of the first.
template <class Place>
void run_pieces(const Job& job, const Loops& loops, std::int64_t begin, std::int64_t end,
                Place place, std::byte* states, bool store) {
  std::int64_t at = begin;
  while (at < end) {
    Line lines[kSideBySide];
    std::int64_t firsts[kSideBySide];
    int together = 0;
    const std::int64_t count = place(at).count;
    for (; together < kSideBySide && at + together < end; ++together) {
      const Piece piece = place(at + together);
      if (piece.count != count) break;
      lines[together] = line_of(job, piece.line);
      firsts[together] = piece.first;
    }
    std::byte* const first_state = states + (at - begin) * loops.state_bytes;
    if (together == kSideBySide) {
      loops.together(job, lines, firsts, count, first_state, store);
    } else {
      for (int l = 0; l < together; ++l) {
        loops.alone(job, lines + l, firsts + l, count, first_state + l * loops.state_bytes, store);
      }
    }
    at += together;
  }
}

// Few long lines, in pieces.
void scan_pieces(const Job& job, const Loops& loops) {
  const std::int64_t lines = job.outer.count() * job.inner.count(), n = job.length;
  const std::int64_t pieces = ceil_div(n, kPiece);
  const auto place = [=](std::int64_t at) {
    const std::int64_t first = at % pieces * kPiece;
    return Piece{at / pieces, first, std::min(kPiece, n - first)};
  };
  std::byte* const states = scratch<std::byte>(9, lines * pieces * loops.state_bytes);
  loops.start(states, lines * pieces);
  const auto run_all = [&](bool store) {
    for_chunks(lines * pieces, kPiece / kSideBySide, [&](std::int64_t begin, std::int64_t end) {
      run_pieces(job, loops, begin, end, place, states + begin * loops.state_bytes, store);
    });
  };
  run_all(false);
  for (std::int64_t line = 0; line < lines; ++line) {
    loops.join(states + line * pieces * loops.state_bytes, pieces);
  }
  run_all(true);
}

void scan_lines(const Job& job, const Loops& loops) {
  const std::int64_t lines = job.outer.count() * job.inner.count(), n = job.length;
  if (loops.join != nullptr && n >= 2 * kPiece && lines < kSideBySide) {
    return scan_pieces(job, loops);
  }
  const auto place = [n](std::int64_t at) { return Piece{at, 0, n}; };
  const std::int64_t groups = ceil_div(lines, kSideBySide);
  for_chunks(groups, n * kSideBySide, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t group = begin; group < end; ++group) {
      alignas(16) std::byte states[kSideBySide * kMaxStateBytes];
      loops.start(states, kSideBySide);
      const std::int64_t first = group * kSideBySide;
      run_pieces(job, loops, first, std::min(lines, first + kSideBySide), place, states, true);
    }
  });
}

void scan_columns(const Job& job, const Loops& loops) {
  const std::int64_t inner = job.inner.count();
  const std::int64_t tiles = ceil_div(inner, kMaxColumns);
  for_chunks(job.outer.count() * tiles, job.length * std::min(inner, kMaxColumns),
             [&](std::int64_t begin, std::int64_t end) {
               std::byte* const states = scratch<std::byte>(10, kMaxColumns * loops.state_bytes);
               for (std::int64_t task = begin; task < end; ++task) {
                 const std::int64_t first = task % tiles * kMaxColumns;
                 const std::int64_t width = std::min(kMaxColumns, inner - first);
                 loops.start(states, width);
                 const Line line = line_of(job, task / tiles * inner + first);
                 loops.columns(job, line, width, states);
               }
             });
}

void scan(const Launch& launch, const Loops& loops, int axis, bool reverse) {
  const Job job(launch, reverse, axis);
  if (job.inner.count() >= kNeighbours && job.dense()) {
    scan_columns(job, loops);
  } else {
    scan_lines(job, loops);
  }
}

template <template <class> class Rule, bool kFloatsOnly, bool kDirected = true>
void launch_scan(const Launch& launch) {
  ParamReader statics = statics_of(launch);
  const auto axis = static_cast<int>(statics.i64());
  const bool reverse = kDirected && statics.boolean();
  if (element_count(launch.signature->output.shape) == 0) return;
  with_element_type(launch.signature->output.dtype, [&]<class E>() {
    if constexpr (!kFloatsOnly || !std::is_integral_v<E>) {
      static constexpr Loops kLoops = loops_of<Rule<E>>();
      scan(launch, kLoops, axis, reverse);
    }
  });
}

// Sums and products of integers have the same bits with and without a sign.
template <class E>
using Unsigned =
    typename std::conditional_t<is_integer<E>, std::make_unsigned<E>, std::type_identity<E>>::type;
template <class E>
using AnySum = Sum<Unsigned<E>>;
template <class E>
using AnyProduct = Product<Unsigned<E>>;
template <class E>
using Largest = Extreme<E, false>;
template <class E>
using Smallest = Extreme<E, true>;

constexpr Implementation lines(const OpDef& op, LaunchFunction launch) {
  return {.name = "lines", .op = &op, .launch = launch};
}

constexpr Implementation kImplementations[] = {
    lines(defs::cumsum_op, launch_scan<AnySum, false>),
    lines(defs::cumprod_op, launch_scan<AnyProduct, false>),
    lines(defs::cummax_op, launch_scan<Largest, false, false>),
    lines(defs::cummin_op, launch_scan<Smallest, false, false>),
    lines(defs::cummax_with_indices_op, launch_scan<Largest, false, false>),
    lines(defs::cummin_with_indices_op, launch_scan<Smallest, false, false>),
    lines(defs::logcumsumexp_op, launch_scan<LogSum, true>),
    lines(defs::linear_scan_op, launch_scan<Linear, true>),
};

}  // namespace

Family scan_family() { return kImplementations; }

}  // namespace hearth::cpu
