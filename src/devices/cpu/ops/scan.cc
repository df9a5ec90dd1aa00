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

// Pointers to the next element of a line.
template <class E>
struct Line {
  const E* x = nullptr;
  const E* second = nullptr;
  E* y = nullptr;
  std::int64_t* index = nullptr;
};
template <class E>
Line<E> line_of(const Job& job, std::int64_t line) {
  const std::int64_t o = line / job.inner.count(), i = line % job.inner.count();
  const std::int64_t to = job.to(o, i);
  return {reinterpret_cast<const E*>(job.input.at(job.from(o, i))),
          reinterpret_cast<const E*>(job.second.at(job.second_from(o, i))),
          reinterpret_cast<E*>(job.output.at(to)),
          job.has_indices ? reinterpret_cast<std::int64_t*>(job.indices.at(to)) : nullptr};
}

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

// `count` elements of some lines from firsts[] on, side by side; results are stored if kStore.
// kDense: elements of a line are neighbours.
template <class Rule, int kLines, bool kStore, bool kDense>
void run_lines(const Job& job, const Line<typename Rule::Element>* lines,
               const std::int64_t* firsts, std::int64_t count, typename Rule::State* states) {
  using E = typename Rule::Element;
  const std::int64_t step = kDense ? 1 : job.step, second_step = kDense ? 1 : job.second_step;
  const std::int64_t output_step = kDense ? 1 : job.output_step;
  typename Rule::State state[kLines];
  Line<E> line[kLines];
  for (int l = 0; l < kLines; ++l) {
    state[l] = states[l];
    line[l] = lines[l];
    line[l].x += firsts[l] * step;
    line[l].second += firsts[l] * second_step;
    line[l].y += firsts[l] * output_step;
    if (line[l].index != nullptr) line[l].index += firsts[l] * output_step;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    for (int l = 0; l < kLines; ++l) {
      advance<Rule>(state[l], line[l].x + i * step, line[l].second + i * second_step,
                    firsts[l] + i);
      if constexpr (kStore) {
        line[l].y[i * output_step] = Rule::result(state[l]);
        if constexpr (requires { state[l].at; }) {
          if (line[l].index != nullptr) line[l].index[i * output_step] = state[l].at;
        }
      }
    }
  }
  for (int l = 0; l < kLines; ++l) states[l] = state[l];
}
template <class Rule, int kLines, bool kStore>
void run_lines(const Job& job, const Line<typename Rule::Element>* lines,
               const std::int64_t* firsts, std::int64_t count, typename Rule::State* states) {
  if (job.step == 1 && job.second_step == 1 && job.output_step == 1) {
    run_lines<Rule, kLines, kStore, true>(job, lines, firsts, count, states);
  } else {
    run_lines<Rule, kLines, kStore, false>(job, lines, firsts, count, states);
  }
}

// Lines, or pieces of one, [begin, end): kSideBySide of equal length at a time. `place` gives the
// line, where the piece begins, and its length; states[0] is that of the first.
struct Piece {
  std::int64_t line, first, count;
};
template <class Rule, bool kStore, class Place>
void run_pieces(const Job& job, std::int64_t begin, std::int64_t end, Place place,
                typename Rule::State* states) {
  using E = typename Rule::Element;
  std::int64_t at = begin;
  while (at < end) {
    Line<E> lines[kSideBySide];
    std::int64_t firsts[kSideBySide];
    int together = 0;
    const std::int64_t count = place(at).count;
    for (; together < kSideBySide && at + together < end; ++together) {
      const Piece piece = place(at + together);
      if (piece.count != count) break;
      lines[together] = line_of<E>(job, piece.line);
      firsts[together] = piece.first;
    }
    if (together == kSideBySide) {
      run_lines<Rule, kSideBySide, kStore>(job, lines, firsts, count, states + (at - begin));
    } else {
      for (int l = 0; l < together; ++l) {
        run_lines<Rule, 1, kStore>(job, lines + l, firsts + l, count, states + (at - begin) + l);
      }
    }
    at += together;
  }
}

template <class Rule>
void scan_lines(const Job& job) {
  using State = typename Rule::State;
  const std::int64_t lines = job.outer.count() * job.inner.count(), n = job.length;
  if constexpr (Rule::kCuts) {
    if (n >= 2 * kPiece && lines < kSideBySide) {
      const std::int64_t pieces = ceil_div(n, kPiece);
      const auto place = [=](std::int64_t at) {
        const std::int64_t first = at % pieces * kPiece;
        return Piece{at / pieces, first, std::min(kPiece, n - first)};
      };
      State* const states = scratch<State>(9, lines * pieces);
      std::fill_n(states, lines * pieces, State());
      const auto each = [&]<bool kStore>() {
        for_chunks(lines * pieces, kPiece / kSideBySide, [&](std::int64_t begin, std::int64_t end) {
          run_pieces<Rule, kStore>(job, begin, end, place, states + begin);
        });
      };
      each.template operator()<false>();
      for (std::int64_t line = 0; line < lines; ++line) {
        State before;
        for (std::int64_t piece = 0; piece < pieces; ++piece) {
          State next = before;
          Rule::join(next, states[line * pieces + piece]);
          states[line * pieces + piece] = before;
          before = next;
        }
      }
      return each.template operator()<true>();
    }
  }
  const auto place = [n](std::int64_t at) { return Piece{at, 0, n}; };
  const std::int64_t groups = ceil_div(lines, kSideBySide);
  for_chunks(groups, n * kSideBySide, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t group = begin; group < end; ++group) {
      State states[kSideBySide];
      const std::int64_t first = group * kSideBySide;
      run_pieces<Rule, true>(job, first, std::min(lines, first + kSideBySide), place, states);
    }
  });
}

// Into the cache.
template <class E>
void fetch(const E* from, std::int64_t count) {
  constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(E));
  for (std::int64_t i = 0; i < count; i += kLine) __builtin_prefetch(from + i);
}

// Neighbours, a row of them at a time.
template <class Rule>
void scan_columns(const Job& job) {
  using E = typename Rule::Element;
  using State = typename Rule::State;
  const std::int64_t inner = job.inner.count();
  const std::int64_t tiles = ceil_div(inner, kMaxColumns);
  for_chunks(job.outer.count() * tiles, job.length * std::min(inner, kMaxColumns),
             [&](std::int64_t begin, std::int64_t end) {
               State* const states = scratch<State>(10, kMaxColumns);
               for (std::int64_t task = begin; task < end; ++task) {
                 const std::int64_t first = task % tiles * kMaxColumns;
                 const std::int64_t width = std::min(kMaxColumns, inner - first);
                 std::fill_n(states, width, State());
                 const Line<E> line = line_of<E>(job, task / tiles * inner + first);
                 for (std::int64_t at = 0; at < job.length; ++at) {
                   const E* const x = line.x + at * job.step;
                   const E* const second = line.second + at * job.second_step;
                   E* const y = line.y + at * job.output_step;
                   if (at + kAhead < job.length) fetch(x + kAhead * job.step, width);
                   for (std::int64_t i = 0; i < width; ++i) {
                     advance<Rule>(states[i], x + i, second + i, at);
                     y[i] = Rule::result(states[i]);
                   }
                   if constexpr (requires { states->at; }) {
                     if (line.index == nullptr) continue;
                     std::int64_t* const index = line.index + at * job.output_step;
                     for (std::int64_t i = 0; i < width; ++i) index[i] = states[i].at;
                   }
                 }
               }
             });
}

template <class Rule>
void scan(const Launch& launch, int axis, bool reverse) {
  const Job job(launch, reverse, axis);
  if (job.inner.count() >= kNeighbours && job.dense()) {
    scan_columns<Rule>(job);
  } else {
    scan_lines<Rule>(job);
  }
}

template <template <class> class Rule, bool kFloatsOnly, bool kDirected = true>
void launch_scan(const Launch& launch) {
  ParamReader statics = statics_of(launch);
  const auto axis = static_cast<int>(statics.i64());
  const bool reverse = kDirected && statics.boolean();
  if (element_count(launch.signature->output.shape) == 0) return;
  with_element_type(launch.signature->output.dtype, [&]<class E>() {
    if constexpr (!kFloatsOnly || !std::is_integral_v<E>) scan<Rule<E>>(launch, axis, reverse);
  });
}

template <class E>
using Largest = Extreme<E, false>;
template <class E>
using Smallest = Extreme<E, true>;

constexpr Implementation lines(const OpDef& op, LaunchFunction launch) {
  return {.name = "lines", .op = &op, .launch = launch};
}

constexpr Implementation kImplementations[] = {
    lines(defs::cumsum_op, launch_scan<Sum, false>),
    lines(defs::cumprod_op, launch_scan<Product, false>),
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
