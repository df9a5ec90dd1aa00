// attention of a batch of sequences on GPUs against the composite in f64: lengths, starts, windows
// and sinks in each kernel that serves them, and the positions of rope.
#include <gtest/gtest.h>

#include "check.h"
#include "devices/gpu/gpu_device.h"
#include "devices/sim/sim_driver.h"
#include "hearth/device.h"
#include "machines/sim/sim_library.h"
#include "ran.h"

namespace hearth {
namespace {

using namespace check;

std::vector<Device> devices() {
  std::vector<Device> found;
  for (const Device& device : Device::all()) {
    const std::string name = device.name();
    if (name.starts_with("sim") || name.starts_with("cuda")) found.push_back(device);
  }
  return found;
}

// A simulator that runs what every GPU has.
Device with_tiles() {
  sim::SimOptions options;
  options.check = false;
  gpu::GpuOptions device_options;
  device_options.rules = "attention=tiles";
  // Devices live as long as the process.
  static const Device device(
      new gpu::GpuDevice("sim", 5, std::make_unique<sim::SimDriver>(options), device_options));
  return device;
}

// A simulator with loops in the place of a vendor's library.
Device with_library() {
  static const Device device(
      new gpu::GpuDevice("sim", 6, std::make_unique<sim::LibraryDriver>(false)));
  return device;
}

using Ends = std::vector<std::int64_t>;

struct Sequences {
  std::int64_t heads, kv_heads, rows, keys, d, dv;
  DType dtype = DType::f32;
  Ends lengths = {}, starts = {};
  DType index = DType::i64;

  std::int64_t batch() const { return std::ssize(lengths); }
  bool exists(std::int64_t b, std::int64_t key) const {
    const auto at = static_cast<std::size_t>(b);
    return key >= starts[at] && key < lengths[at];
  }
  Array made(std::int64_t lines, std::int64_t length, std::int64_t columns, bool poisons,
             std::uint64_t seed) const {
    Values values = random_values(batch() * lines * length * columns, -2, 2, seed);
    for (std::size_t i = 0; poisons && i < values.size(); ++i) {
      const std::int64_t line = static_cast<std::int64_t>(i) / columns;
      if (!exists(line / length / lines, line % length)) values[i] = kNan;
    }
    return array(values, {batch(), lines, length, columns}, dtype);
  }
};

struct Extra {
  bool causal = true;
  std::int64_t window = 0;
  bool sinks = false, mask = false;
  bool bounds = true;
};

void expect_matches(Device device, const Sequences& c, const Extra& extra,
                    const std::string& what) {
  const Array q = c.made(c.heads, c.rows, c.d, false, 1);
  const Array k = c.made(c.kv_heads, c.keys, c.d, extra.bounds, 2);
  const Array v = c.made(c.kv_heads, c.keys, c.dv, extra.bounds, 3);
  AttentionOptions wide{.causal = extra.causal, .window = extra.window};
  const Array sinks = random_array({c.heads}, c.dtype, -2, 4, 4);
  const auto ends = [&](const Ends& from) {
    return cast(Array::from_data(from, {c.batch()}), c.index);
  };
  if (extra.bounds) {
    wide.lengths = ends(c.lengths);
    wide.starts = ends(c.starts);
  }
  if (extra.sinks) wide.sinks = cast(sinks, DType::f64);
  if (extra.mask)
    wide.mask = less(random_array({c.batch(), 1, 1, c.keys}, DType::f64, 0, 1, 5), 0.2);
  AttentionOptions own = wide;
  for (Array* x : {&own.lengths, &own.starts, &own.mask}) {
    if (x->defined()) *x = to_device(*x, device);
  }
  if (extra.sinks) own.sinks = to_device(sinks, device);
  const Values expected =
      attention(cast(q, DType::f64), cast(k, DType::f64), cast(v, DType::f64), wide).to_doubles();
  const Values got =
      attention(to_device(q, device), to_device(k, device), to_device(v, device), own).to_doubles();
  ASSERT_EQ(got.size(), expected.size()) << what;
  const double allowed = 5 * tolerance(c.dtype);
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_TRUE(std::abs(got[i] - expected[i]) <= allowed)
        << device.name() << " " << what << ": element " << i << " is " << got[i] << ", expected "
        << expected[i];
  }
}

void expect_all(Device device, const Sequences& c) {
  expect_matches(device, c, {}, "lengths and starts");
  expect_matches(device, c, {.causal = false, .sinks = true, .mask = true}, "no order, a mask");
  expect_matches(device, c, {.window = 40}, "window");
  expect_matches(device, c, {.window = 40, .sinks = true, .bounds = false},
                 "window and sinks alone");
  expect_matches(device, c, {.causal = false, .window = 7, .sinks = true}, "window without order");
}

// Decoding: lengths from nothing to all; the second sequence has rows that see nothing.
Sequences few(DType dtype, std::int64_t rows, std::int64_t d, DType index = DType::i64) {
  return {8, 2, rows, 333, d, d, dtype, {333, 1, 0, 150, 77}, {0, 0, 0, 100, 80}, index};
}

TEST(AttentionSequencesRun, FewRows) {
  for (const Device& device : devices()) {
    for (const DType dtype : {DType::bf16, DType::f16, DType::f32, DType::f64}) {
      expect_all(device, few(dtype, 1, 64));
      expect_all(device, few(dtype, 3, 40, DType::i32));
    }
    expect_all(device, few(DType::bf16, 2, 128));
    expect_all(device, few(DType::f32, 1, 200));
  }
}

Sequences many(DType dtype, DType index = DType::i64) {
  return {4, 2, 70, 200, 40, 72, dtype, {200, 66, 0, 150}, {0, 3, 0, 100}, index};
}

TEST(AttentionSequencesRun, ManyRows) {
  std::vector<Device> all = devices();
  all.push_back(with_tiles());
  for (const Device& device : all) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      expect_all(device, many(dtype));
      expect_all(device, many(dtype, DType::i32));
    }
  }
}

TEST(AttentionSequencesRun, FastPathsServeThem) {
  const auto expect_runs = [](std::initializer_list<std::string_view> kernels, Device device,
                              const Sequences& c) {
    hearth::testing::expect_ran(
        kernels, [&] { expect_matches(device, c, {.window = 50, .sinks = true}, "fast path"); });
  };
  const Device sim = Device::named("sim");
  expect_runs({"flash_decoding", "split_kv_combine"}, sim, few(DType::f32, 1, 64));
  expect_runs({"flash_decoding_mma", "split_kv_combine"}, sim, few(DType::bf16, 1, 64));
  expect_runs({"attention_simdgroup"}, sim, many(DType::f32));
  expect_runs({"attention_tiles"}, with_tiles(), many(DType::f32));
  // Few keys have a kernel that knows none of them.
  expect_matches(sim, {2, 2, 20, 30, 16, 16, DType::f16, {30, 9}, {4, 0}}, {.sinks = true},
                 "few rows and keys");
}

// Lengths are counts for a library, and what it has no word for is put around it.
TEST(AttentionSequencesRun, BesideALibrary) {
  const Sequences c{2, 1, 10, 24, 16, 8, DType::bf16, {24, 9, 0}, {3, 0, 0}};
  expect_matches(with_library(), c, {}, "lengths and starts");
  expect_matches(with_library(), c, {.causal = false, .window = 7, .sinks = true},
                 "window without order");
  expect_matches(with_library(), c, {.window = 6, .sinks = true}, "window and sinks");
}

// A window, which a library gets as a bias, in its gradient; and sinks, which make it composed.
TEST(AttentionSequencesRun, GradientsBesideALibrary) {
  std::vector<Device> all = devices();
  all.push_back(with_library());
  for (const Device& device : all) {
    for (const bool sinks : {false, true}) {
      const Shape shape = {2, 4, 70, 32};
      AttentionOptions options{.causal = true, .window = 20};
      Array exact[4], own[4];
      for (std::size_t i = 0; i < 4; ++i) {
        const Array x = random_array(i == 3 ? Shape{4} : shape, DType::bf16, -1, 1, i + 1);
        exact[i] = cast(x, DType::f64).require_grad();
        own[i] = to_device(x, device).require_grad();
      }
      const auto slopes = [&](Array* x) {
        if (sinks) options.sinks = x[3];
        return backward(sum(cast(attention(x[0], x[1], x[2], options), DType::f32)));
      };
      const Gradients expected = slopes(exact), got = slopes(own);
      for (std::size_t i = 0; i < (sinks ? 4U : 3U); ++i) {
        expect_within(got.get(own[i]).to_doubles(), expected.get(exact[i]).to_doubles(),
                      4 * tolerance(DType::bf16), device.name() + " " + std::to_string(i), 1);
      }
    }
  }
}

TEST(RopeRun, PositionsAndFrequencies) {
  for (const Device& device : devices()) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const Array x = random_array({3, 2, 9, 25}, dtype, -2, 2, 1);
      const Array y = random_array({3, 2, 9, 24}, dtype, -2, 2, 1);
      const auto far = [](const Shape& shape, DType index) {
        Values values = random_values(element_count(shape), -100, 1 << 22, 2);
        for (double& value : values) value = std::floor(value);
        return array(values, shape, index);
      };
      std::vector<RopeOptions> cases;
      for (const bool interleaved : {false, true}) {
        cases.push_back(
            {.interleaved = interleaved, .offset = 5, .positions = far({3, 9}, DType::i64)});
        cases.push_back({.interleaved = interleaved, .positions = far({9}, DType::i32)});
        cases.push_back({.interleaved = interleaved,
                         .offset = 77,
                         .dims = 24,
                         .frequencies = rope_frequencies(24),
                         .magnitude = 1.5});
        cases.push_back({.interleaved = interleaved,
                         .dims = 10,
                         .positions = far({3, 3, 9}, DType::i32),
                         .frequencies = random_array({5}, DType::f32, -0.5, 40, 3),
                         .sections = {2, 2, 1}});
        cases.push_back({.interleaved = interleaved,
                         .dims = 24,
                         .positions = far({3, 9}, DType::i64),
                         .sections = {5, 4, 3},
                         .mixed_sections = true});
      }
      for (const RopeOptions& options : cases) {
        const Array& in = options.dims == 0 ? y : x;
        RopeOptions own = options;
        for (Array* array : {&own.positions, &own.frequencies}) {
          if (array->defined()) *array = to_device(*array, device);
        }
        hearth::testing::expect_ran({"rope"}, [&] {
          expect_close(rope(to_device(in, device), own),
                       rope(cast(in, DType::f64), options).to_doubles(), 3 * tolerance(dtype),
                       device.name());
        });
      }
    }
  }
}

}  // namespace
}  // namespace hearth
