// attention of a batch of sequences: lengths, starts, windows and sinks against plain loops, keys
// that do not exist, and caches.
#include <algorithm>
#include <random>

#include "check.h"

namespace hearth {
namespace {

using namespace check;

class AttentionSequences : public BothWays {};
INSTANTIATE_TEST_SUITE_P(, AttentionSequences, testing::Bool(), way_name);

using Ends = std::vector<std::int64_t>;

struct Batch {
  std::int64_t batch = 1, heads = 1, kv_heads = 1, rows = 1, keys = 1, d = 8, dv = 8;
  DType dtype = DType::f64;
  Ends lengths = {}, starts = {};  // empty: all keys
  bool causal = false;
  std::int64_t window = 0;
  double softcap = 0;
  bool has_sinks = false, has_mask = false;

  std::int64_t length(std::int64_t b) const {
    return lengths.empty() ? keys : std::clamp<std::int64_t>(lengths[b_of(b)], 0, keys);
  }
  std::int64_t start(std::int64_t b) const {
    return starts.empty() ? 0 : std::clamp<std::int64_t>(starts[b_of(b)], 0, keys);
  }
  bool exists(std::int64_t b, std::int64_t key) const { return key >= start(b) && key < length(b); }
  bool sees(std::int64_t b, std::int64_t row, std::int64_t key) const {
    const std::int64_t own = row + length(b) - rows;
    return exists(b, key) && (!causal || key <= own) && (window == 0 || key > own - window);
  }
  static std::size_t b_of(std::int64_t b) { return static_cast<std::size_t>(b); }

  Array q() const { return random_array({batch, heads, rows, d}, dtype, -2, 2, 1); }
  Array k() const { return poisoned({batch, kv_heads, keys, d}, 2); }
  Array v() const { return poisoned({batch, kv_heads, keys, dv}, 3); }
  Array sinks() const { return random_array({heads}, dtype, -2, 4, 4); }
  Array mask() const {
    return less(random_array({batch, 1, rows, keys}, DType::f64, 0, 1, 5), 0.3);
  }
  // Keys that do not exist are NaN.
  Array poisoned(const Shape& shape, std::uint64_t seed) const {
    Values values = random_values(element_count(shape), -2, 2, seed);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::int64_t line = static_cast<std::int64_t>(i) / shape[3];
      if (!exists(line / keys / kv_heads, line % keys)) values[i] = kNan;
    }
    return array(values, shape, dtype);
  }
  AttentionOptions options(DType index = DType::i64) const {
    AttentionOptions made{.softcap = softcap, .causal = causal, .window = window};
    const auto ends = [&](const Ends& from) {
      return cast(Array::from_data(from, {batch}), index);
    };
    if (!lengths.empty()) made.lengths = ends(lengths);
    if (!starts.empty()) made.starts = ends(starts);
    if (has_sinks) made.sinks = sinks();
    if (has_mask) made.mask = mask();
    return made;
  }
};

Values loops(const Batch& c) {
  const Values q = c.q().to_doubles(), k = c.k().to_doubles(), v = c.v().to_doubles();
  const Values sinks = c.sinks().to_doubles(), mask = c.mask().to_doubles();
  Values out;
  for (std::int64_t line = 0; line < c.batch * c.heads * c.rows; ++line) {
    const std::int64_t row = line % c.rows, head = line / c.rows % c.heads;
    const std::int64_t b = line / c.rows / c.heads;
    const std::int64_t shared = b * c.kv_heads + head / (c.heads / c.kv_heads);
    Values scores(static_cast<std::size_t>(c.keys), -kInf);
    double top = -kInf;
    for (std::int64_t key = 0; key < c.keys; ++key) {
      if (!c.sees(b, row, key)) continue;
      const auto masked = static_cast<std::size_t>((b * c.rows + row) * c.keys + key);
      if (c.has_mask && mask[masked] != 0) continue;
      double dot = 0;
      for (std::int64_t i = 0; i < c.d; ++i) {
        dot += q[static_cast<std::size_t>(line * c.d + i)] *
               k[static_cast<std::size_t>((shared * c.keys + key) * c.d + i)];
      }
      dot /= std::sqrt(static_cast<double>(c.d));
      if (c.softcap > 0) dot = c.softcap * std::tanh(dot / c.softcap);
      scores[static_cast<std::size_t>(key)] = dot;
      top = std::max(top, dot);
    }
    double total = c.has_sinks ? std::exp(sinks[static_cast<std::size_t>(head)] - top) : 0;
    for (const double score : scores) total += top == -kInf ? 0 : std::exp(score - top);
    for (std::int64_t j = 0; j < c.dv; ++j) {
      double sum = 0;
      for (std::int64_t key = 0; key < c.keys; ++key) {
        const double score = scores[static_cast<std::size_t>(key)];
        if (score == -kInf) continue;
        sum += std::exp(score - top) / total *
               v[static_cast<std::size_t>((shared * c.keys + key) * c.dv + j)];
      }
      out.push_back(sum);
    }
  }
  return out;
}

void expect_matches(const Batch& c, const std::string& what, DType index = DType::i64) {
  expect_close(attention(c.q(), c.k(), c.v(), c.options(index)), loops(c), 5 * tolerance(c.dtype),
               what);
}

std::vector<Batch> all_options(const Batch& shape) {
  std::vector<Batch> cases;
  const auto add = [&](auto&& change) {
    Batch c = shape;
    change(c);
    cases.push_back(c);
  };
  std::mt19937_64 random(7);
  const auto ends = [&] {
    Ends made;
    for (std::int64_t b = 0; b < shape.batch; ++b) {
      made.push_back(
          static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(shape.keys + 1)));
    }
    return made;
  };
  for (const bool causal : {false, true}) {
    add([&](Batch& c) { c.causal = causal, c.lengths = ends(); });
    add([&](Batch& c) { c.causal = causal, c.starts = ends(); });
    add([&](Batch& c) { c.causal = causal, c.lengths = ends(), c.starts = ends(); });
    add([&](Batch& c) { c.causal = causal, c.window = 1; });
    add([&](Batch& c) { c.causal = causal, c.window = shape.keys / 3 + 1; });
    add([&](Batch& c) { c.causal = causal, c.window = std::int64_t{1} << 62; });
    add([&](Batch& c) { c.causal = causal, c.has_sinks = true; });
    add([&](Batch& c) {
      c.causal = causal, c.lengths = ends(), c.window = shape.keys / 2 + 1, c.has_sinks = true;
    });
    add([&](Batch& c) {
      c.causal = causal, c.lengths = ends(), c.starts = ends(), c.window = 3, c.softcap = 2;
      c.has_sinks = c.has_mask = true;
    });
  }
  return cases;
}

TEST_P(AttentionSequences, MatchLoops) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    const std::vector<Batch> shapes = {{3, 4, 2, 5, 9, 8, 6, dtype, {}, {}},
                                       {4, 4, 1, 1, 33, 16, 16, dtype, {}, {}},
                                       {2, 2, 2, 3, 70, 8, 8, dtype, {}, {}},
                                       {2, 2, 1, 60, 60, 8, 24, dtype, {}, {}}};
    for (const Batch& shape : shapes) {
      int at = 0;
      for (const Batch& c : all_options(shape)) {
        ++at;
        expect_matches(c, "options " + std::to_string(at) + " of " + std::to_string(c.keys),
                       at % 2 == 0 ? DType::i32 : DType::i64);
      }
    }
  }
}

TEST_P(AttentionSequences, LongKeysCrossBlocks) {
  Batch c{2, 2, 1, 130, 1300, 8, 8, DType::f32, {1290, 700}, {600, 0}, true};
  expect_matches(c, "lengths and starts");
  c.window = 520;
  c.has_sinks = true;
  expect_matches(c, "window");
  c.rows = 2;
  expect_matches(c, "few rows");
}

// Ends that are no places of keys are the ends of what there is.
TEST_P(AttentionSequences, WildEnds) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  Batch c{4,
          2,
          2,
          3,
          6,
          8,
          8,
          DType::f32,
          {kHuge, -kHuge - 1, (std::int64_t{1} << 32) + 2, 4},
          {-kHuge - 1, 0, 1, kHuge},
          true};
  expect_matches(c, "wild");
}

// Decoding one step of sequences of different lengths is that of each alone.
TEST_P(AttentionSequences, BatchEqualsEachAlone) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    Batch c{3, 4, 2, 1, 300, 16, 16, dtype, {7, 300, 129}, {0, 40, 3}, true};
    c.window = 90;
    const Array q = c.q(), k = c.k(), v = c.v();
    const Array all = attention(q, k, v, c.options());
    for (std::int64_t b = 0; b < c.batch; ++b) {
      const std::int64_t start = c.start(b), count = c.length(b) - start;
      const auto own = [&](const Array& x) { return narrow(x, 0, b, 1); };
      const Array alone =
          attention(own(q), narrow(own(k), 2, start, count), narrow(own(v), 2, start, count),
                    {.causal = true, .window = c.window});
      expect_close(own(all), alone.to_doubles(), 2 * tolerance(dtype), "sequence");
    }
  }
}

// Rows that come in pieces over a cache of full capacity see what they see all at once.
TEST_P(AttentionSequences, CachedEqualsUncached) {
  Batch c{2, 2, 1, 12, 12, 8, 8, DType::f64, {}, {}, true};
  c.window = 5;
  c.has_sinks = true;
  const Array q = c.q(), k = c.k(), v = c.v();
  const Values whole = attention(q, k, v, c.options()).to_doubles();
  const auto cache = [](const Array& x) {  // behind it is no number
    return cat({x, full({2, 1, 20, 8}, kNan, DType::f64)}, 2);
  };
  std::vector<Array> pieces;
  for (std::int64_t done = 0; done < 12;) {
    const std::int64_t count = std::min<std::int64_t>(12 - done, done % 3 + 1);
    AttentionOptions options = c.options();
    options.lengths = Array::from_data(Ends(2, done + count), {2});
    pieces.push_back(attention(narrow(q, 2, done, count), cache(k), cache(v), options));
    done += count;
  }
  expect_close(cat(pieces, 2), whole, 1e-12);
}

TEST_P(AttentionSequences, RowsWithoutKeysGiveZero) {
  Batch c{3, 2, 1, 4, 6, 8, 8, DType::f32, {0, 3, 2}, {0, 3, 4}, false};
  c.has_sinks = true;
  expect_values(attention(c.q(), c.k(), c.v(), c.options()), {3, 2, 4, 8}, Values(192, 0.0));
  c.causal = true;  // the first rows of the last sequence come before its first key
  c.lengths = {6, 4, 3};
  c.starts = {5, 0, 0};
  expect_matches(c, "some rows");
}

// A sink so low or so high that it takes nothing or all.
TEST_P(AttentionSequences, SinksOfAllSizes) {
  for (const double sink : {-kInf, -1e4, 1e4}) {
    for (const std::int64_t rows : {1, 7}) {
      const Batch c{1, 2, 2, rows, 9, 8, 8, DType::f32, {}, {}};
      const Array sinks = full({2}, sink, DType::f32);
      const Array plain = attention(c.q(), c.k(), c.v());
      Values expected = plain.to_doubles();
      if (sink > 0) std::fill(expected.begin(), expected.end(), 0.0);
      expect_close(attention(c.q(), c.k(), c.v(), {.sinks = sinks}), expected, 1e-6, "sink");
    }
  }
}

Array finite(const Array& x) { return where(equal(x, x), x, 0.5); }

TEST_P(AttentionSequences, Gradients) {
  Batch c{2, 4, 2, 3, 5, 4, 3, DType::f64, {5, 4}, {1, 0}, true};
  for (const std::int64_t window : {0, 2}) {
    for (const double softcap : {0.0, 2.0}) {
      c.window = window;
      c.softcap = softcap;
      AttentionOptions options = c.options();
      check_gradients(
          [options](std::span<const Array> x) mutable {
            options.sinks = x[3];
            return attention(x[0], x[1], x[2], options);
          },
          {c.q(), finite(c.k()), finite(c.v()), c.sinks()});
      check_gradients(
          [options](std::span<const Array> x) { return attention(x[0], x[1], x[2], options); },
          {c.q(), finite(c.k()), finite(c.v())});
    }
  }
}

// Of keys that do not exist they are 0, whatever lies there.
TEST_P(AttentionSequences, GradientsNeverReadWhatIsNotThere) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    Batch c{2, 4, 2, 30, 50, 8, 8, dtype, {50, 31}, {9, 0}, true};
    c.window = 20;
    const Array q = c.q().require_grad(), k = c.k().require_grad(), v = c.v().require_grad();
    const Gradients gradients = backward(sum(cast(attention(q, k, v, c.options()), DType::f32)));
    for (const Array& leaf : {q, k, v}) {
      for (const double value : gradients.get(leaf).to_doubles()) {
        ASSERT_TRUE(std::isfinite(value));
      }
    }
    const Values keys = gradients.get(k).to_doubles();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::int64_t line = static_cast<std::int64_t>(i) / 8;
      ASSERT_TRUE(c.exists(line / 100, line % 50) || keys[i] == 0) << i;
    }
  }
}

TEST_P(AttentionSequences, SecondGradients) {
  const Batch c{2, 2, 1, 2, 3, 2, 2, DType::f64, {3, 2}, {}, true, 2};
  AttentionOptions options = c.options();
  check_second_gradients(
      [options](std::span<const Array> x) mutable {
        options.sinks = x[3];
        return attention(x[0], x[1], x[2], options);
      },
      {c.q(), finite(c.k()), finite(c.v()), c.sinks()});
}

TEST_P(AttentionSequences, Errors) {
  const Batch c{2, 4, 2, 3, 5, 8, 8};
  const auto fails = [&](ErrorCode code, const AttentionOptions& options) {
    expect_error(code, [&] { (void)attention(c.q(), c.k(), c.v(), options); });
  };
  const Array two = ones({2}, DType::i64);
  fails(ErrorCode::dtype, {.lengths = ones({2}, DType::f32)});
  fails(ErrorCode::dtype, {.starts = ones({2}, DType::u8)});
  fails(ErrorCode::shape, {.lengths = ones({3}, DType::i64)});
  fails(ErrorCode::shape, {.starts = ones({2, 1}, DType::i64)});
  fails(ErrorCode::shape, {.sinks = ones({2}, DType::f64)});
  fails(ErrorCode::dtype, {.sinks = ones({4}, DType::f32)});
  fails(ErrorCode::invalid_argument, {.lengths = two, .window = -1});
}

}  // namespace
}  // namespace hearth
