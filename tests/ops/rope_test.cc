// rope with positions, frequencies, sections and columns that stay, against plain loops; what
// frequencies the ways of scaling give.
#include <algorithm>
#include <numbers>

#include "check.h"

namespace hearth {
namespace {

using namespace check;

class RopePositions : public BothWays {};
INSTANTIATE_TEST_SUITE_P(, RopePositions, testing::Bool(), way_name);

// The section that pair `pair` belongs to, in words of the definition.
std::int64_t section_of(const RopeOptions& o, std::int64_t pair) {
  const int count = o.sections.rank();
  if (count == 0) return 0;
  if (o.mixed_sections) {
    const auto turn = static_cast<int>(pair % count);
    return pair < count * o.sections[turn] ? turn : 0;
  }
  for (int section = 0; section < count; ++section) {
    if (pair < o.sections[section]) return section;
    pair -= o.sections[section];
  }
  return -1;
}

Values loops(const Array& x, const RopeOptions& o) {
  const Shape& shape = x.shape();
  const std::int64_t n = shape.back(), rows = shape[shape.rank() - 2],
                     dims = o.dims == 0 ? n : o.dims;
  const Values values = x.to_doubles();
  const Values positions = o.positions.defined() ? o.positions.to_doubles() : Values();
  const Values given = o.frequencies.defined() ? o.frequencies.to_doubles() : Values();
  const int front = o.sections.empty() ? 0 : 1;
  const bool batched = o.positions.defined() && o.positions.rank() - front == 2;
  const std::int64_t per_item = element_count(shape) / n / shape[0];
  Values out = values;
  for (std::int64_t line = 0; line * n < element_count(shape); ++line) {
    for (std::int64_t i = 0; i < dims / 2; ++i) {
      double position = static_cast<double>(line % rows);
      if (!positions.empty()) {
        const std::int64_t items = batched ? shape[0] : 1, item = batched ? line / per_item : 0;
        position = positions[static_cast<std::size_t>((section_of(o, i) * items + item) * rows +
                                                      line % rows)];
      }
      position += static_cast<double>(o.offset);
      double frequency =
          std::pow(o.base, -2.0 * static_cast<double>(i) / static_cast<double>(dims));
      if (!given.empty()) {
        const auto at = static_cast<std::size_t>(i);
        frequency = given[at];
        if (o.frequencies.rank() == 2) frequency += given[at + static_cast<std::size_t>(dims / 2)];
      }
      const long double angle = static_cast<long double>(position) * frequency;
      const auto c = static_cast<double>(std::cos(angle)) * o.magnitude;
      const auto s = static_cast<double>(std::sin(angle)) * o.magnitude;
      const auto a = static_cast<std::size_t>(line * n + (o.interleaved ? 2 * i : i));
      const auto b =
          static_cast<std::size_t>(line * n + (o.interleaved ? 2 * i + 1 : i + dims / 2));
      out[a] = values[a] * c - values[b] * s;
      out[b] = values[b] * c + values[a] * s;
    }
  }
  return out;
}

void expect_matches(const Array& x, const RopeOptions& o, const std::string& what) {
  const double allowed = x.dtype() == DType::f64 ? 1e-9 : 3 * tolerance(x.dtype());
  expect_close(rope(x, o), loops(x, o), allowed, what);
}

Array positions_of(const Shape& shape, std::int64_t low, std::int64_t high, std::uint64_t seed,
                   DType dtype = DType::i64) {
  Values values = random_values(element_count(shape), 0, 1, seed);
  for (double& value : values) {
    value = static_cast<double>(low) + std::floor(value * static_cast<double>(high - low));
  }
  return array(values, shape, dtype);
}

TEST_P(RopePositions, MatchesLoops) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    for (const bool interleaved : {false, true}) {
      const Array x = random_array({3, 2, 40, 16}, dtype, -2, 2, 1);
      const Array frequencies = random_array({8}, DType::f32, 0, 1.5, 2);
      const RopeOptions plain{.interleaved = interleaved};
      RopeOptions o = plain;
      o.positions = positions_of({40}, 0, 5000, 3);
      expect_matches(x, o, "positions of rows");
      o.positions = positions_of({3, 40}, -50, 5000, 3, DType::i32);
      o.offset = 7;
      expect_matches(x, o, "positions of items");
      o.frequencies = frequencies;
      o.magnitude = 1.3;
      expect_matches(x, o, "frequencies");
      o.dims = 10;
      o.frequencies = narrow(frequencies, 0, 0, 5);
      expect_matches(x, o, "some columns");
      o.sections = {2, 2, 1};
      o.positions = positions_of({3, 3, 40}, 0, 300, 4);
      expect_matches(x, o, "sections of items");
      o.mixed_sections = true;
      o.positions = positions_of({3, 40}, 0, 300, 4);
      expect_matches(x, o, "mixed sections");
      RopeOptions few = plain;
      few.dims = 2;
      expect_matches(narrow(x, 2, 0, 1), few, "one row, one pair");
      expect_matches(
          random_array({5, 7}, dtype, -2, 2, 5),
          {.interleaved = interleaved, .dims = 4, .positions = positions_of({5}, 0, 9, 6)},
          "rank 2, odd columns");
    }
  }
}

// Pictures: the first pairs of a head by rows, the others by columns, each part with frequencies
// from 1 on (ggml's VISION); and each half of a head by itself (Gemma's towers), as two axes.
TEST_P(RopePositions, OfPictures) {
  constexpr std::int64_t kRows = 3, kColumns = 5, kDim = 16, kPatches = kRows * kColumns;
  Values places;
  for (std::int64_t i = 0; i < kPatches; ++i) places.push_back(static_cast<double>(i / kColumns));
  for (std::int64_t i = 0; i < kPatches; ++i) places.push_back(static_cast<double>(i % kColumns));
  const Array positions = array(places, {2, kPatches}, DType::i64);
  const Array x = random_array({2, 2, kPatches, kDim}, DType::f64, -1, 1, 1);
  const Values values = x.to_doubles();
  const auto turned = [&](std::int64_t first, std::int64_t second, std::int64_t pair,
                          std::int64_t axis, std::int64_t pairs, Values& out) {
    for (std::int64_t line = 0; line < 4 * kPatches; ++line) {
      const double place = places[static_cast<std::size_t>(axis * kPatches + line % kPatches)];
      const double angle =
          place * std::pow(100.0, -static_cast<double>(pair) / static_cast<double>(pairs));
      const auto a = static_cast<std::size_t>(line * kDim + first);
      const auto b = static_cast<std::size_t>(line * kDim + second);
      out[a] = values[a] * std::cos(angle) - values[b] * std::sin(angle);
      out[b] = values[b] * std::cos(angle) + values[a] * std::sin(angle);
    }
  };
  Values sections = values, halves = values;
  for (std::int64_t i = 0; i < kDim / 4; ++i) {
    for (const std::int64_t axis : {0, 1}) {
      const std::int64_t pair = axis * kDim / 4 + i, half = axis * kDim / 2;
      turned(pair, pair + kDim / 2, i, axis, kDim / 4, sections);
      turned(half + i, half + i + kDim / 4, i, axis, kDim / 4, halves);
    }
  }
  const Array of_axis = rope_frequencies(kDim / 2, 100);
  expect_close(rope(x, {.positions = positions,
                        .frequencies = cat({of_axis, of_axis}, 1),
                        .sections = {kDim / 4, kDim / 4}}),
               sections, 1e-6);
  std::vector<Array> parts = chunk(x, 2, 3);
  for (int axis = 0; axis < 2; ++axis) {
    parts[static_cast<std::size_t>(axis)] =
        rope(parts[static_cast<std::size_t>(axis)],
             {.base = 100, .positions = reshape(narrow(positions, 0, axis, 1), {kPatches})});
  }
  expect_close(cat(parts, 3), halves, 1e-9);
}

// Beyond 2^20 a turn of the first pair is far below the step of floats.
TEST_P(RopePositions, LargePositions) {
  constexpr std::int64_t kFar = std::int64_t{1} << 24;
  for (const DType dtype : {DType::f64, DType::f32}) {
    const Array x = random_array({2, 2, 6, 16}, dtype, -1, 1, 1);
    const Array far = positions_of({2, 6}, kFar, 2 * kFar, 2);
    const double allowed = dtype == DType::f64 ? 1e-7 : 1e-6;
    for (const Array& frequencies :
         {Array(), rope_frequencies(16), random_array({8}, DType::f32, 0, 1, 3)}) {
      const RopeOptions o{.positions = far, .frequencies = frequencies};
      expect_close(rope(x, o), loops(x, o), allowed, "far");
      const RopeOptions moved{.offset = kFar, .frequencies = frequencies};
      expect_close(rope(x, moved), loops(x, moved), allowed, "offset");
    }
    // Both parts of frequencies make them those of the base.
    expect_close(rope(x, {.positions = far, .frequencies = rope_frequencies(16)}),
                 rope(x, {.positions = far}).to_doubles(), allowed, "as the base");
  }
}

// Neither is a place from which an angle would be exact: it is said, or NaN.
TEST_P(RopePositions, BeyondTheRange) {
  const Array x = random_array({5, 8}, DType::f32, -1, 1, 1);
  constexpr std::int64_t kEnd = std::int64_t{1} << 31;
  for (const std::int64_t offset :
       {kEnd - 4, kEnd, -kEnd - 1, (std::int64_t{1} << 53) + 1, INT64_MAX, INT64_MIN}) {
    expect_error(ErrorCode::invalid_argument, [&] { (void)rope(x, {.offset = offset}); });
  }
  for (const std::int64_t offset : {kEnd - 5, -kEnd}) {
    const RopeOptions o{.offset = offset};
    expect_close(rope(x, o), loops(x, o), 2e-5, "at an end");
  }
  for (const std::int64_t bad : {kEnd, -kEnd - 1, kEnd + 32, INT64_MAX, INT64_MIN}) {
    for (const std::int64_t offset : {std::int64_t{0}, std::int64_t{7}, std::int64_t{-7}}) {
      const std::int64_t last = bad == kEnd && offset < 0 ? bad + 7 : bad;
      const std::int64_t one = last == -kEnd - 1 && offset > 0 ? last - 7 : last;
      const Array places = Array::from_data(std::vector<std::int64_t>{3, 4, one, 6, 7}, {5});
      const Values got = rope(x, {.offset = offset, .positions = places}).to_doubles();
      for (std::size_t i = 0; i < got.size(); ++i) {
        EXPECT_EQ(std::isnan(got[i]), i / 8 == 2) << bad << " " << offset << " " << i;
      }
      const Array few = narrow(places, 0, 1, 2);
      const Values two =
          rope(narrow(x, 0, 1, 2), {.offset = offset, .positions = few}).to_doubles();
      EXPECT_TRUE(std::isnan(two[15]) && std::isfinite(two[0]));
    }
  }
}

// The same positions in one piece or one row at a time.
TEST_P(RopePositions, PositionsEqualOffsets) {
  const Array x = random_array({1, 2, 9, 8}, DType::f32, -1, 1, 1);
  const Array moved = rope(x, {.offset = 31});
  expect_close(rope(x, {.positions = arange(31, 40)}), moved.to_doubles(), 1e-6);
  for (std::int64_t row = 0; row < 9; ++row) {
    const Array one = rope(narrow(x, 2, row, 1), {.positions = arange(31 + row, 32 + row)});
    expect_close(one, narrow(moved, 2, row, 1).to_doubles(), 1e-6);
  }
}

TEST_P(RopePositions, Gradients) {
  const Array x = random_array({2, 2, 3, 9}, DType::f64, -1, 1, 1);
  for (const bool interleaved : {false, true}) {
    const RopeOptions o{.interleaved = interleaved,
                        .dims = 8,
                        .positions = positions_of({3, 2, 3}, 0, 90, 2),
                        .frequencies = rope_frequencies(8),
                        .magnitude = 1.2,
                        .sections = {1, 2, 1}};
    const std::vector<Array> inputs = {x};
    check_gradients([o](std::span<const Array> in) { return square(rope(in[0], o)); }, inputs);
  }
}

// In steps that floats hold.
TEST_P(RopePositions, GradientOfFrequencies) {
  constexpr double kStep = 1.0 / 1024;
  const Array x = random_array({2, 2, 4, 9}, DType::f64, -1, 1, 1);
  const Values start = {0.75, 0.5, 0.25, 0.125};
  for (const bool interleaved : {false, true}) {
    RopeOptions o{.interleaved = interleaved,
                  .dims = 8,
                  .positions = positions_of({3, 2, 4}, -2, 4, 2),
                  .magnitude = 1.2,
                  .sections = {1, 2, 1}};
    const auto total = [&](const Array& frequencies) {
      o.frequencies = frequencies;
      return sum(square(add(rope(x, o), x)));
    };
    const Array leaf = array(start, {4}, DType::f32).require_grad();
    const Values slopes = backward(total(leaf)).get(leaf).to_doubles();
    for (std::size_t i = 0; i < 4; ++i) {
      Values above = start, below = start;
      above[i] += kStep;
      below[i] -= kStep;
      const double numeric = (total(array(above, {4}, DType::f32)).item<double>() -
                              total(array(below, {4}, DType::f32)).item<double>()) /
                             (2 * kStep);
      EXPECT_NEAR(slopes[i], numeric, 1e-3) << i;
    }
  }
}

double turn_of(const Array& frequencies, std::size_t pair) {
  const Values parts = frequencies.to_doubles();
  return parts[pair] + parts[pair + parts.size() / 2];
}

TEST(RopeFrequencies, OfTheBase) {
  const Array made = rope_frequencies(64, 1e6);
  EXPECT_EQ(made.shape(), (Shape{2, 32}));
  for (std::size_t i = 0; i < 32; ++i) {
    const double exact = std::pow(1e6, -2.0 * static_cast<double>(i) / 64);
    EXPECT_NEAR(turn_of(made, i), exact, 1e-14 * exact);
  }
  EXPECT_NEAR(turn_of(rope_frequencies(64, 1e4, {.kind = RopeScalingKind::linear, .factor = 8}), 0),
              1.0 / 8, 1e-15);
  const Array divided = rope_frequencies(4, 100, {}, array({2, 5}, {2}, DType::f32));
  EXPECT_NEAR(turn_of(divided, 0), 0.5, 1e-15);
  EXPECT_NEAR(turn_of(divided, 1), 0.1 / 5, 1e-15);
  EXPECT_EQ(rope_frequencies(0).shape(), (Shape{2, 0}));
}

// Llama 3.1: waves shorter than 8192 / 4 stay, those longer than 8192 get 8 times longer.
TEST(RopeFrequencies, OfLlama3) {
  const RopeScaling scaling{.kind = RopeScalingKind::llama3, .factor = 8};
  const Array made = rope_frequencies(128, 500000, scaling);
  for (std::size_t i = 0; i < 64; ++i) {
    const double plain = std::pow(500000.0, -2.0 * static_cast<double>(i) / 128);
    const double wave = 2 * std::numbers::pi / plain;
    double expected = plain;
    if (wave > 8192) {
      expected = plain / 8;
    } else if (wave > 2048) {
      const double smooth = (8192 / wave - 1) / 3;
      expected = plain / (1 / ((1 - smooth) / 8 + smooth));
    }
    EXPECT_NEAR(turn_of(made, i), expected, 1e-12 * expected) << i;
  }
}

TEST(RopeFrequencies, OfYarn) {
  // By hand, from the paper: with 32 pairs, base 1e4 and 4096 positions, pairs below
  // floor(10.4...) stay and those from ceil(22.5...) on are 4 times slower.
  const RopeScaling scaling{.kind = RopeScalingKind::yarn, .factor = 4, .original_length = 4096};
  const Array made = rope_frequencies(64, 10000, scaling);
  const auto pair_of = [](double turns) {
    return 64 * std::log(4096 / (turns * 2 * std::numbers::pi)) / (2 * std::log(10000.0));
  };
  const double low = std::floor(pair_of(32)), high = std::ceil(pair_of(1));
  EXPECT_EQ(low, 10);
  EXPECT_EQ(high, 23);
  for (std::size_t i = 0; i < 32; ++i) {
    const double plain = std::pow(10000.0, -2.0 * static_cast<double>(i) / 64);
    const double share = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    EXPECT_NEAR(turn_of(made, i), plain / 4 * share + plain * (1 - share), 1e-13) << i;
  }
  EXPECT_NEAR(rope_magnitude(32), 0.1 * std::log(32.0) + 1, 1e-15);
  EXPECT_EQ(rope_magnitude(0.5), 1);
}

TEST(RopeFrequencies, Errors) {
  const auto fails = [](ErrorCode code, std::int64_t dims, double base, const RopeScaling& s) {
    expect_error(code, [&] { (void)rope_frequencies(dims, base, s); });
  };
  fails(ErrorCode::invalid_argument, 3, 1e4, {});
  fails(ErrorCode::invalid_argument, -2, 1e4, {});
  fails(ErrorCode::invalid_argument, 8, 0, {});
  fails(ErrorCode::invalid_argument, 8, kNan, {});
  fails(ErrorCode::invalid_argument, 8, 1e4, {.kind = RopeScalingKind::linear, .factor = 0});
  fails(ErrorCode::invalid_argument, 8, 1, {.kind = RopeScalingKind::yarn});
  fails(ErrorCode::invalid_argument, 8, 1e4,
        {.kind = RopeScalingKind::llama3, .high_frequency_factor = 1});
  expect_error(ErrorCode::shape, [] { (void)rope_frequencies(8, 1e4, {}, ones({3})); });
}

}  // namespace
}  // namespace hearth
