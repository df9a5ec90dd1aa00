// paged_attention against plain loops in f64: ragged batches of prompts and single rows, shuffled
// pages, numbers that name nothing, caches of other dtypes; and that a sequence's rows have the
// same bits in any company.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "check.h"
#include "devices_under_test.h"

namespace hearth {
namespace {

using namespace check;
using hearth::testing::devices_under_test;

class PagedAttention : public BothWays {};
INSTANTIATE_TEST_SUITE_P(, PagedAttention, ::testing::Bool(), way_name);

using Numbers = std::vector<std::int64_t>;

struct Sequence {
  std::int64_t rows, length;
};

// A batch in pages that are shuffled over the caches; slots that nobody has are NaN.
struct Paged {
  std::int64_t heads = 2, kv_heads = 1, d = 8, dv = 8, page_size = 4, slots = 0;
  DType dtype = DType::f32, cache_dtype = DType::f32;
  std::vector<Sequence> sequences = {};
  std::int64_t before = 0, padding = 0;  // rows of no sequence
  std::int64_t window = 0;
  double softcap = 0;
  bool has_sinks = false;
  std::uint64_t seed = 1;
  DType index = DType::i32;
  // What the arrays hold: made by fill().
  Numbers pages = {}, starts = {}, lengths = {};
  std::int64_t most = 0;
  Array q = {}, keys = {}, values = {}, sinks = {};

  std::int64_t count() const { return std::ssize(lengths); }
  std::int64_t rows() const { return q.shape()[0]; }

  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  Paged& fill() {
    std::mt19937_64 random(seed);
    most = 1;
    std::int64_t used = 0;
    starts = {before};
    for (const Sequence& s : sequences) {
      const std::int64_t own = (s.length + page_size - 1) / page_size;
      most = std::max(most, own);
      used += own;
      starts.push_back(starts.back() + s.rows);
      lengths.push_back(s.length);
    }
    Numbers free(at(used + 3));
    std::iota(free.begin(), free.end(), 0);
    std::shuffle(free.begin(), free.end(), random);
    slots = std::ssize(free) * page_size;
    pages.assign(at(count() * most), -7);
    for (std::int64_t s = 0; s < count(); ++s) {
      for (std::int64_t p = 0; p * page_size < lengths[at(s)]; ++p) {
        pages[at(s * most + p)] = free.back();
        free.pop_back();
      }
    }
    q = random_array({starts.back() + padding, heads, d}, dtype, -2, 2, 10 * seed);
    keys = cache(d, 10 * seed + 1);
    values = cache(dv, 10 * seed + 2);
    sinks = random_array({heads}, dtype, -2, 4, 10 * seed + 3);
    return *this;
  }

  // NaN but where a sequence has a key.
  Array cache(std::int64_t columns, std::uint64_t from) const {
    const std::int64_t line = kv_heads * columns;
    const Values drawn = random_values(slots * line, -2, 2, from);
    Values made(drawn.size(), kNan);
    for (std::int64_t s = 0; s < count(); ++s) {
      for (std::int64_t key = 0; key < lengths[at(s)]; ++key) {
        const std::int64_t slot = slot_of(s, key);
        std::copy_n(drawn.begin() + slot * line, line, made.begin() + slot * line);
      }
    }
    return array(made, {slots, kv_heads, columns}, cache_dtype);
  }
  // Below 0 where there is none.
  std::int64_t slot_of(std::int64_t s, std::int64_t key) const {
    const std::int64_t page = pages[at(s * most + key / page_size)];
    return page < 0 || page >= slots / page_size ? -1 : page * page_size + key % page_size;
  }

  Array run(Device device = Device::cpu()) const {
    const auto there = [&](const Numbers& numbers, const Shape& shape) {
      return to_device(cast(Array::from_data(numbers, shape), index), device);
    };
    PagedAttentionOptions options{.softcap = softcap, .window = window};
    if (has_sinks) options.sinks = to_device(sinks, device);
    return paged_attention(to_device(q, device), to_device(keys, device), to_device(values, device),
                           there(pages, {count(), most}), there(starts, {count() + 1}),
                           there(lengths, {count()}), page_size, options);
  }

  Values loops() const {
    const Values qs = q.to_doubles(), ks = keys.to_doubles(), vs = values.to_doubles();
    const Values sink_scores = sinks.to_doubles();
    Values out(at(rows() * heads * dv), 0);
    std::int64_t first = std::clamp<std::int64_t>(starts[0], 0, rows());
    for (std::int64_t s = 0; s < count(); ++s) {
      const std::int64_t end =
          std::max(first, std::clamp<std::int64_t>(starts[at(s + 1)], 0, rows()));
      const std::int64_t length = std::clamp<std::int64_t>(lengths[at(s)], 0, most * page_size);
      for (std::int64_t row = first; row < end; ++row) {
        const std::int64_t position = length - (end - first) + (row - first);
        for (std::int64_t head = 0; head < heads; ++head) {
          attend(s, position, head, &qs[at((row * heads + head) * d)], ks, vs,
                 has_sinks ? sink_scores[at(head)] : -kInf, &out[at((row * heads + head) * dv)]);
        }
      }
      first = end;
    }
    return out;
  }

 private:
  void attend(std::int64_t s, std::int64_t position, std::int64_t head, const double* query,
              const Values& ks, const Values& vs, double sink, double* out) const {
    const std::int64_t kv_head = head / (heads / kv_heads);
    Values scores;
    Numbers lines;
    double top = sink;
    for (std::int64_t key = 0; key <= position; ++key) {
      if ((window > 0 && key <= position - window) || slot_of(s, key) < 0) continue;
      lines.push_back(slot_of(s, key) * kv_heads + kv_head);
      double dot = 0;
      for (std::int64_t i = 0; i < d; ++i) dot += query[i] * ks[at(lines.back() * d + i)];
      dot /= std::sqrt(static_cast<double>(d));
      if (softcap > 0) dot = softcap * std::tanh(dot / softcap);
      scores.push_back(dot);
      top = std::max(top, dot);
    }
    if (scores.empty()) return;
    double total = std::exp(sink - top);
    for (const double score : scores) total += std::exp(score - top);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const double weight = std::exp(scores[i] - top) / total;
      for (std::int64_t j = 0; j < dv; ++j) out[j] += weight * vs[at(lines[i] * dv + j)];
    }
  }
};

void expect_matches(const Paged& c, const std::string& what) {
  const Values expected = c.loops();
  for (const Device device : devices_under_test()) {
    if (c.dtype == DType::f64 && !device.supports(DType::f64)) continue;
    const Array out = c.run(device);
    EXPECT_EQ(out.shape(), (Shape{c.rows(), c.heads, c.dv})) << what;
    EXPECT_EQ(out.dtype(), c.dtype) << what;
    expect_close(out, expected, 5 * std::max(tolerance(c.dtype), 1e-12),
                 what + " on " + device.name());
  }
}

std::vector<Sequence> mixed() { return {{1, 9}, {7, 7}, {0, 0}, {1, 1}, {3, 14}, {12, 25}}; }

TEST_P(PagedAttention, RaggedBatches) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    Paged plain{.heads = 4, .kv_heads = 2, .d = 16, .dv = 16};
    plain.dtype = plain.cache_dtype = dtype;
    plain.sequences = mixed();
    const auto expect = [&](const char* what, auto&& change) {
      Paged c = plain;
      change(c);
      expect_matches(c.fill(), std::string(what) + " " + std::string(name(dtype)));
    };
    expect("plain", [](Paged&) {});
    expect("window", [](Paged& c) { c.window = 5; });
    expect("a window of one", [](Paged& c) { c.window = 1, c.seed = 2; });
    expect("a window of all", [](Paged& c) { c.window = std::int64_t{1} << 62; });
    expect("sinks", [](Paged& c) { c.has_sinks = true, c.page_size = 1; });
    expect("softcap", [](Paged& c) { c.softcap = 1.5, c.page_size = 16; });
    expect("padding", [](Paged& c) { c.before = 2, c.padding = 5, c.seed = 3; });
    expect("i64", [](Paged& c) { c.index = DType::i64, c.seed = 4; });
    expect("everything", [](Paged& c) {
      c.before = 1, c.padding = 2, c.window = 6, c.softcap = 2, c.has_sinks = true;
      c.page_size = 3, c.dv = 24, c.seed = 5;
    });
  }
}

TEST_P(PagedAttention, HeadsOfGroups) {
  for (const std::int64_t group : {1, 2, 3, 4, 8}) {
    Paged c{.heads = 2 * group, .kv_heads = 2, .d = 24, .dv = 40, .page_size = 8};
    c.sequences = {{1, 30}, {9, 21}, {2, 2}};
    c.seed = static_cast<std::uint64_t>(group);
    expect_matches(c.fill(), "groups of " + std::to_string(group));
  }
}

// Keys cross pieces and blocks, rows cross chunks.
TEST_P(PagedAttention, LongSequences) {
  Paged c{.heads = 4, .kv_heads = 1, .d = 8, .dv = 8, .page_size = 16};
  c.sequences = {{1, 1030}, {70, 600}, {4, 513}, {1, 256}, {150, 150}};
  expect_matches(c.fill(), "long");
  Paged cut = c;
  cut.lengths.clear();
  cut.window = 300;
  cut.has_sinks = true;
  expect_matches(cut.fill(), "long, window");
}

// As latent attention reads them: values are the first columns of the keys.
TEST_P(PagedAttention, LatentHeads) {
  Paged c{.heads = 8, .kv_heads = 1, .d = 576, .dv = 512, .page_size = 8};
  c.sequences = {{1, 40}, {6, 20}};
  c.fill();
  c.values = narrow(c.keys, 2, 0, 512);
  expect_matches(c, "latent");
}

TEST_P(PagedAttention, CachesOfAnotherDtype) {
  const auto expect = [](DType dtype, DType cache) {
    Paged c{.heads = 4, .kv_heads = 2, .d = 16, .dv = 32, .page_size = 4};
    c.dtype = dtype;
    c.cache_dtype = cache;
    c.sequences = mixed();
    expect_matches(c.fill(), std::string(name(cache)) + " under " + std::string(name(dtype)));
  };
  for (const DType cache : {DType::f16, DType::bf16}) {
    for (const DType dtype : {DType::f64, DType::f32}) expect(dtype, cache);
  }
  expect(DType::bf16, DType::f32);
  expect(DType::f16, DType::bf16);
}

// Numbers that name no row, key or page.
TEST_P(PagedAttention, HostileNumbers) {
  constexpr std::int64_t kLow = std::numeric_limits<std::int32_t>::min();
  constexpr std::int64_t kHigh = std::numeric_limits<std::int32_t>::max();
  Paged c{.heads = 2, .kv_heads = 1, .d = 8, .dv = 8, .page_size = 4};
  c.sequences = {{6, 16}, {1, 16}, {9, 16}};
  c.fill();
  const auto whole = [](const Array& x) { return where(equal(x, x), x, 0.5); };
  c.keys = whole(c.keys);
  c.values = whole(c.values);
  const Paged plain = c;
  const auto expect = [&](const char* what, auto&& change) {
    Paged own = plain;
    change(own);
    expect_matches(own, what);
  };
  expect("pages", [](Paged& p) {
    p.pages = {kLow, 1, kHigh, 2, -1, -1, -1, -1, 0, p.slots / p.page_size, 3, 3};
  });
  expect("starts", [](Paged& p) { p.starts = {3, -5, kHigh, kLow}; });
  expect("falling starts", [](Paged& p) { p.starts = {9, 4, 12, 2}; });
  expect("starts beyond all rows", [](Paged& p) { p.starts = {kHigh, kHigh, 0, 0}; });
  expect("lengths", [](Paged& p) { p.lengths = {kHigh, kLow, 3}; });
  expect("no lengths", [](Paged& p) { p.lengths = {0, 0, 0}; });
  expect("wide", [](Paged& p) {
    p.index = DType::i64;
    p.pages[1] = (std::int64_t{1} << 32) + 1;
    p.starts[3] = std::numeric_limits<std::int64_t>::max();
    p.lengths[0] = std::numeric_limits<std::int64_t>::max();
    p.lengths[1] = std::numeric_limits<std::int64_t>::min();
  });
}

TEST_P(PagedAttention, NothingToSee) {
  Paged c{.heads = 2, .kv_heads = 1};
  c.padding = 3;
  c.fill();  // no sequence
  expect_matches(c, "no sequence");
  c.sequences = {{0, 5}, {0, 0}};
  c.padding = 0;
  c.lengths.clear();
  expect_matches(c.fill(), "no row");
}

// What the first cached rows of a sequence give, one by one, is what they give all at once.
TEST_P(PagedAttention, EqualsAttention) {
  Paged c{.heads = 4, .kv_heads = 2, .d = 16, .dv = 16, .page_size = 4};
  c.sequences = {{30, 30}};
  c.fill();
  Numbers slots;
  for (std::int64_t key = 0; key < 30; ++key) slots.push_back(c.slot_of(0, key));
  const auto dense = [&](const Array& cache) {
    return unsqueeze(permute(select(cache, ints(slots, {30}), 0), {1, 0, 2}), {0});
  };
  const Array expected = attention(unsqueeze(permute(c.q, {1, 0, 2}), {0}), dense(c.keys),
                                   dense(c.values), {.causal = true});
  expect_close(permute(c.run(), {1, 0, 2}), expected.to_doubles(), 1e-5);
}

// A tree of guesses behind a text: in pages of one slot each row has a list of its own, of what it
// sees, so that any tree is one call.
TEST_P(PagedAttention, TreesOfGuesses) {
  constexpr std::int64_t kText = 13, kGuesses = 7, kHeads = 4, kDim = 8;
  const Numbers parents = {-1, 0, 0, 1, 1, 2, -1};  // of guesses, two roots
  const Array keys = random_array({32, 2, kDim}, DType::f32, -1, 1, 2);
  const Array values = random_array({32, 2, kDim}, DType::f32, -1, 1, 3);
  const Array q = random_array({kGuesses, kHeads, kDim}, DType::f32, -1, 1, 4);
  Numbers slots;  // of the text, then of guesses
  for (std::int64_t i = 0; i < kText + kGuesses; ++i) slots.push_back((7 * i + 3) % 32);

  constexpr std::int64_t kMost = kText + kGuesses;
  Numbers pages(kGuesses * kMost, -1), starts = {0}, lengths;
  Values hidden(kGuesses * kMost, 1);
  for (std::int64_t row = 0; row < kGuesses; ++row) {
    Numbers seen;
    for (std::int64_t at = row; at >= 0; at = parents[static_cast<std::size_t>(at)]) {
      seen.insert(seen.begin(), kText + at);
    }
    for (std::int64_t i = kText; i-- > 0;) seen.insert(seen.begin(), i);
    for (std::size_t i = 0; i < seen.size(); ++i) {
      pages[static_cast<std::size_t>(row * kMost) + i] = slots[static_cast<std::size_t>(seen[i])];
      hidden[static_cast<std::size_t>(row * kMost + seen[i])] = 0;
    }
    starts.push_back(row + 1);
    lengths.push_back(std::ssize(seen));
  }
  const Array got = paged_attention(q, keys, values, ints(pages, {kGuesses, kMost}),
                                    ints(starts, {kGuesses + 1}), ints(lengths, {kGuesses}), 1);
  const auto dense = [&](const Array& cache) {
    const Array rows = select(cast(cache, DType::f64), ints(slots, {kMost}), 0);
    return unsqueeze(permute(rows, {1, 0, 2}), {0});
  };
  const Array wide = unsqueeze(permute(cast(q, DType::f64), {1, 0, 2}), {0});
  const Array expected = attention(wide, dense(keys), dense(values),
                                   {.mask = cast(array(hidden, {kGuesses, kMost}), DType::bool_)});
  expect_close(permute(got, {1, 0, 2}), expected.to_doubles(), 1e-5);
}

std::vector<std::byte> bytes_of(const Array& x) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(x.size() * size_of(x.dtype())));
  x.read(bytes.data(), std::ssize(bytes), x.dtype());
  return bytes;
}

// A sequence has the same bits alone, in a batch, and with its pages elsewhere.
TEST(PagedAttentionBits, DoNotDependOnTheBatch) {
  for (const Device device : devices_under_test()) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      for (const std::int64_t window : {0, 90}) {
        Paged batch{.heads = 4, .kv_heads = 2, .d = 16, .dv = 16, .page_size = 3};
        batch.dtype = batch.cache_dtype = dtype;
        batch.sequences = {{1, 700}, {40, 40}, {2, 300}, {1, 5}, {70, 530}};
        batch.window = window;
        batch.padding = 3;
        batch.fill();
        const Array all = batch.run(device);
        for (std::int64_t s = 0; s < batch.count(); ++s) {
          Paged alone = batch;
          alone.sequences = {batch.sequences[Paged::at(s)]};
          alone.lengths.clear();
          alone.padding = 0;
          alone.seed = 99;
          alone.fill();
          const std::int64_t first = batch.starts[Paged::at(s)];
          const std::int64_t rows = alone.sequences[0].rows, length = alone.sequences[0].length;
          alone.q = narrow(batch.q, 0, first, rows);
          Numbers from, to;
          for (std::int64_t key = 0; key < length; ++key) {
            from.push_back(batch.slot_of(s, key));
            to.push_back(alone.slot_of(0, key));
          }
          const auto moved = [&](const Array& there, const Array& here) {
            return select_assign(here, ints(to, {length}), select(there, ints(from, {length}), 0),
                                 0, IndexingUpdateOp::assign);
          };
          alone.keys = moved(batch.keys, alone.keys);
          alone.values = moved(batch.values, alone.values);
          EXPECT_EQ(bytes_of(contiguous(narrow(all, 0, first, rows))), bytes_of(alone.run(device)))
              << device.name() << " sequence " << s << " " << name(dtype);
        }
      }
    }
  }
}

// A row has the same bits on the CPU however many rows of its sequence run with it.
TEST(PagedAttentionBits, DoNotDependOnHowASequenceIsCut) {
  std::mt19937_64 random(7);
  const std::vector<std::pair<DType, DType>> dtypes = {{DType::f32, DType::f32},
                                                       {DType::f32, DType::f16},
                                                       {DType::bf16, DType::bf16},
                                                       {DType::f16, DType::f16},
                                                       {DType::f64, DType::f64}};
  for (const auto& [dtype, cache_dtype] : dtypes) {
    for (int i = 0; i < 4; ++i) {
      Paged whole{.heads = 4, .kv_heads = i % 2 + 1, .d = 16, .dv = 16, .page_size = 5};
      if (i == 1) whole.d = 40, whole.dv = 72;
      whole.dtype = dtype;
      whole.cache_dtype = cache_dtype;
      whole.window = i < 2 ? 0 : 300;
      whole.softcap = i == 3 ? 5 : 0;
      whole.has_sinks = i != 0;
      constexpr std::int64_t kRows = 650;
      whole.sequences = {{kRows, kRows}};
      whole.fill();
      const Array all = whole.run();
      for (std::int64_t first = 0; first < kRows;) {
        const auto most = static_cast<std::int64_t>(first % 2 == 0 ? 5 : 200);
        const std::int64_t rows =
            std::min(1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most)),
                     kRows - first);
        Paged part = whole;
        part.q = narrow(whole.q, 0, first, rows);
        part.starts = {0, rows};
        part.lengths = {first + rows};
        ASSERT_EQ(bytes_of(contiguous(narrow(all, 0, first, rows))), bytes_of(part.run()))
            << name(dtype) << " case " << i << " rows " << first << " and " << rows;
        first += rows;
      }
    }
  }
}

// New numbers need no new plan.
TEST(PagedAttentionPlans, NumbersAreData) {
  Paged c{.heads = 2, .kv_heads = 1, .d = 8, .dv = 8};
  c.sequences = {{1, 9}, {3, 12}};
  c.fill();
  (void)c.run().to_doubles();
  (void)c.run().to_doubles();
  const std::int64_t before = statistics().plan_misses;
  c.lengths = {7, 3};
  c.starts = {0, 2, 4};
  expect_close(c.run(), c.loops(), 1e-5);
  EXPECT_EQ(statistics().plan_misses, before);
}

// Rows are written to caches in place; padding rows all name one slot.
TEST(PagedAttentionCaches, AreWrittenInPlace) {
  for (const Device device : devices_under_test()) {
    const Array zero = to_device(zeros({32, 2, 8}, DType::f16), device);
    Array cache = add(zero, 1.0).eval();
    const Array slots = to_device(cast(ints({5, 17, 31, 31, 31}, {5}), DType::i32), device).eval();
    for (int step = 0; step < 4; ++step) {
      const Array rows = to_device(full({5, 2, 8}, step + 2.0, DType::f16), device).eval();
      const Statistics before = statistics();
      cache = select_assign(std::move(cache), slots, rows, 0, IndexingUpdateOp::assign);
      cache.eval();
      const Statistics after = statistics();
      EXPECT_EQ(after.donations - before.donations, 1) << device.name() << " step " << step;
      EXPECT_EQ(after.copies - before.copies, 0) << device.name() << " step " << step;
    }
    Values expected(32 * 16, 1);
    for (const std::size_t slot : {5U, 17U, 31U}) {
      std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(slot * 16), 16, 5.0);
    }
    expect_values(cache, {32, 2, 8}, expected);
  }
}

TEST_P(PagedAttention, Errors) {
  const Array q = zeros({3, 4, 8}), keys = zeros({16, 2, 8}), values = zeros({16, 2, 6});
  const Array pages = ints({0, 1}, {1, 2}), starts = ints({0, 3}, {2}), lengths = ints({5}, {1});
  const auto fails = [](ErrorCode code, auto&&... in) {
    expect_error(code, [&] { (void)paged_attention(in...); });
  };
  fails(ErrorCode::invalid_argument, q, keys, values, pages, starts, lengths, 5);
  fails(ErrorCode::invalid_argument, q, keys, values, pages, starts, lengths, 0);
  fails(ErrorCode::invalid_argument, q, keys, values, pages, starts, lengths,
        std::numeric_limits<std::int64_t>::min());
  fails(ErrorCode::invalid_argument, q, keys, values, pages, starts, lengths, 4,
        PagedAttentionOptions{.window = -1});
  fails(ErrorCode::invalid_argument, q, keys, values, pages, starts, lengths, 4,
        PagedAttentionOptions{.softcap = kNan});
  fails(ErrorCode::invalid_argument, q, zeros({0, 2, 8}), zeros({0, 2, 6}), pages, starts, lengths,
        std::int64_t{1} << 40);
  fails(ErrorCode::shape, q, keys, zeros({16, 1, 6}), pages, starts, lengths, 4);
  fails(ErrorCode::shape, zeros({3, 3, 8}), keys, values, pages, starts, lengths, 4);
  fails(ErrorCode::shape, q, keys, values, pages, lengths, lengths, 4);
  fails(ErrorCode::shape, q, keys, values, pages, starts, starts, 4);
  fails(ErrorCode::shape, q, keys, values, lengths, starts, lengths, 4);
  fails(ErrorCode::dtype, q, keys, values, zeros({1, 2}), starts, lengths, 4);
  fails(ErrorCode::dtype, q, keys, cast(values, DType::i32), pages, starts, lengths, 4);
  fails(ErrorCode::dtype, q, keys, values, pages, starts, lengths, 4,
        PagedAttentionOptions{.sinks = zeros({4}, DType::f16)});
}

}  // namespace
}  // namespace hearth
