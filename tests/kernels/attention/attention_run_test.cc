// attention on the simulator, and on cards where there are some, against f64 on the CPU: few and
// many queries, lengths that only the device knows, and whatever lies after them.
#include <gtest/gtest.h>

#include "check.h"
#include "devices/gpu/gpu_device.h"
#include "devices/sim/sim_driver.h"
#include "hearth/device.h"
#include "ran.h"

namespace hearth {
namespace {

using namespace check;

std::vector<Device> gpus() {
  std::vector<Device> found;
  for (const Device& device : Device::all()) {
    const std::string name = device.name();
    if (name.starts_with("sim") || name.starts_with("cuda")) found.push_back(device);
  }
  return found;
}

// A simulator that runs what every GPU has.
Device sim_with_tiles() {
  sim::SimOptions options;
  options.check = false;
  gpu::GpuOptions device_options;
  device_options.rules = "attention=tiles";
  // Devices live as long as the process.
  static const Device device(
      new gpu::GpuDevice("sim", 3, std::make_unique<sim::SimDriver>(options), device_options));
  return device;
}

struct Case {
  std::int64_t batch = 1, heads = 1, kv_heads = 1, rows = 1, keys = 1, d = 8, dv = 8;
  DType dtype = DType::f32;
};

// Inputs on the CPU. Keys and values from `end` on are NaN.
struct Inputs {
  Inputs(const Case& c, std::int64_t end, std::uint64_t seed = 1) {
    q = random_array({c.batch, c.heads, c.rows, c.d}, c.dtype, -2, 2, seed);
    k = poisoned({c.batch, c.kv_heads, c.keys, c.d}, c.dtype, end, seed + 1);
    v = poisoned({c.batch, c.kv_heads, c.keys, c.dv}, c.dtype, end, seed + 2);
  }
  static Array poisoned(const Shape& shape, DType dtype, std::int64_t end, std::uint64_t seed) {
    Values values = random_values(element_count(shape), -2, 2, seed);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto key = static_cast<std::int64_t>(i) / shape[3] % shape[2];
      if (key >= end) values[i] = kNan;
    }
    return array(values, shape, dtype);
  }
  Array q, k, v;
};

AttentionOptions moved(AttentionOptions options, Device device) {
  if (options.mask.defined()) options.mask = to_device(options.mask, device);
  if (options.bias.defined()) options.bias = to_device(options.bias, device);
  return options;
}

void expect_matches(Device device, const Inputs& in, const AttentionOptions& options,
                    const std::string& what) {
  AttentionOptions wide = options;
  if (wide.bias.defined()) wide.bias = cast(wide.bias, DType::f64);
  const Values expected =
      attention(cast(in.q, DType::f64), cast(in.k, DType::f64), cast(in.v, DType::f64), wide)
          .to_doubles();
  const Array out = attention(to_device(in.q, device), to_device(in.k, device),
                              to_device(in.v, device), moved(options, device));
  const Values got = out.to_doubles();
  ASSERT_EQ(got.size(), expected.size()) << what;
  const double allowed = 5 * tolerance(in.q.dtype());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_TRUE(std::abs(got[i] - expected[i]) <= allowed)
        << device.name() << " " << what << ": element " << i << " is " << got[i] << ", expected "
        << expected[i];
  }
}

// Each kernel for the attention that it is for, on the simulator, which has what CUDA cards have.
TEST(AttentionRun, EveryKernelHasItsCases) {
  const auto expect_runs = [](std::initializer_list<std::string_view> kernels, Device device,
                              const Case& c, const AttentionOptions& options = {}) {
    hearth::testing::expect_ran(
        kernels, [&] { expect_matches(device, Inputs(c, c.keys), options, "this case"); });
  };
  const Device sim = Device::named("sim");
  expect_runs({"flash_decoding", "split_kv_combine"}, sim, {2, 8, 2, 1, 700, 128, 128, DType::f32});
  expect_runs({"flash_decoding"}, sim, {1, 3, 3, 3, 150, 17, 61, DType::f16});
  expect_runs({"flash_decoding_mma", "split_kv_combine"}, sim,
              {2, 6, 2, 3, 150, 96, 72, DType::bf16}, {.causal = true});
  expect_runs({"attention_small_mma"}, sim, {2, 4, 2, 64, 64, 64, 64, DType::f16});
  expect_runs({"attention_simdgroup"}, sim, {2, 4, 2, 130, 200, 40, 72, DType::f32},
              {.causal = true});
  expect_runs({"attention_tiles"}, sim_with_tiles(), {2, 4, 2, 130, 200, 40, 72, DType::f32},
              {.causal = true});
}

// Values that no row of a tile sees are not read: they are NaN here.
TEST(AttentionRun, TilesSkipWhatTheMaskHides) {
  const Device device = sim_with_tiles();
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const std::int64_t columns : {40, 100, 200}) {
      const Case c{2, 4, 2, 130, 192, 40, columns, dtype};
      const Inputs in(c, 128);
      const Values expected = attention(cast(in.q, DType::f64), cast(in.k, DType::f64),
                                        cast(in.v, DType::f64), {.kv_length = 128})
                                  .to_doubles();
      const Array hidden = greater_equal(arange(0, 192, 1, DType::i64), 128);
      const Array mask = to_device(contiguous(expand(hidden, {2, 1, 130, 192})), device);
      hearth::testing::expect_ran({"attention_tiles"}, [&] {
        const Values got = attention(to_device(in.q, device), to_device(in.k, device),
                                     to_device(in.v, device), {.mask = mask})
                               .to_doubles();
        ASSERT_EQ(got.size(), expected.size());
        for (std::size_t i = 0; i < got.size(); ++i) {
          ASSERT_TRUE(std::abs(got[i] - expected[i]) <= 5 * tolerance(dtype))
              << i << ": " << got[i] << ", expected " << expected[i];
        }
      });
    }
  }
}

TEST(AttentionRun, FewQueriesOverLongKeys) {
  for (const Device& device : gpus()) {
    for (const DType dtype : {DType::bf16, DType::f32, DType::f64}) {
      const Case grouped{2, 8, 2, 1, 700, 128, 128, dtype};
      expect_matches(device, Inputs(grouped, 700), {}, "grouped heads");
      expect_matches(device, Inputs(grouped, 531), {.kv_length = 531}, "shorter");
      expect_matches(device, Inputs(grouped, 3), {.causal = true, .kv_length = 3}, "three keys");
      const Case wide{1, 12, 1, 1, 300, 256, 200, dtype};
      expect_matches(device, Inputs(wide, 300), {}, "more heads than go together");
      const Case odd{1, 3, 3, 3, 150, 17, 61, dtype};
      expect_matches(device, Inputs(odd, 149), {.causal = true, .kv_length = 149}, "odd columns");
      expect_matches(device, Inputs(grouped, 700),
                     {.mask = less(random_array({2, 1, 1, 700}), 0.3)}, "mask");
      expect_matches(device, Inputs(grouped, 700),
                     {.softcap = 2, .bias = random_array({8, 1, 700}, dtype)}, "softcap and bias");
    }
  }
}

// Rows that tensor cores take: padded columns, more queries than go together, whatever is left
// over.
TEST(AttentionRun, FewQueriesOfSmallFloats) {
  for (const Device& device : gpus()) {
    for (const DType dtype : {DType::bf16, DType::f16}) {
      const Case many{1, 20, 2, 1, 200, 64, 64, dtype};
      expect_matches(device, Inputs(many, 200), {}, "ten heads of a group");
      expect_matches(device, Inputs(many, 131), {.softcap = 2, .kv_length = 131}, "softcap");
      const Case rows{2, 6, 2, 3, 150, 96, 72, dtype};
      expect_matches(device, Inputs(rows, 150), {.causal = true}, "rows and padded columns");
      expect_matches(device, Inputs(rows, 2), {.causal = true, .kv_length = 2},
                     "rows that see nothing");
      expect_matches(device, Inputs(rows, 150),
                     {.mask = less(random_array({2, 1, 3, 150}), 0.3),
                      .bias = random_array({6, 1, 150}, dtype)},
                     "mask and bias");
      const Case single{1, 2, 2, 4, 33, 8, 128, dtype};
      expect_matches(device, Inputs(single, 33), {}, "few columns");
      const Array nothing = attention(to_device(random_array({1, 2, 1, 64}, dtype), device),
                                      to_device(random_array({1, 2, 40, 64}, dtype), device),
                                      to_device(random_array({1, 2, 40, 64}, dtype), device),
                                      {.mask = to_device(less(random_array({40}), 2), device)});
      EXPECT_EQ(nothing.to_doubles(), Values(128, 0.0)) << device.name();
    }
  }
}

// Of which simdgroups, keys of a turn and columns of a lane are there in part only.
TEST(AttentionRun, FewRowsAndFewKeys) {
  for (const Device& device : gpus()) {
    for (const DType dtype : {DType::bf16, DType::f16}) {
      for (const Case& c :
           {Case{2, 4, 2, 64, 64, 64, 64, dtype}, Case{1, 3, 3, 49, 49, 32, 32, dtype},
            Case{3, 2, 1, 5, 33, 40, 24, dtype}, Case{2, 2, 2, 17, 1, 8, 64, dtype},
            Case{1, 2, 2, 40, 23, 56, 8, dtype}}) {
        expect_matches(device, Inputs(c, c.keys), {}, "few rows and keys");
        expect_matches(device, Inputs(c, c.keys), {.scale = -3.0, .causal = true},
                       "few rows and keys, causal");
      }
    }
  }
}

TEST(AttentionRun, ManyQueriesGoOverTiles) {
  std::vector<Device> devices = gpus();
  devices.push_back(sim_with_tiles());
  for (const Device& device : devices) {
    for (const DType dtype : {DType::f32, DType::f16}) {
      const Case grouped{2, 4, 2, 130, 200, 40, 72, dtype};
      expect_matches(device, Inputs(grouped, 200), {.causal = true}, "causal");
      expect_matches(device, Inputs(grouped, 171), {.kv_length = 171}, "shorter");
      expect_matches(device, Inputs(grouped, 90), {.causal = true, .kv_length = 90},
                     "rows that see nothing");
      expect_matches(device, Inputs(grouped, 200),
                     {.softcap = 2,
                      .mask = less(random_array({2, 1, 130, 200}), 0.3),
                      .bias = random_array({4, 1, 200}, dtype)},
                     "softcap, mask and bias");
      const Case wide{1, 1, 1, 65, 64, 17, 256, dtype};
      expect_matches(device, Inputs(wide, 64), {}, "wide values");
    }
  }
}

TEST(AttentionRun, ViewsThatNoVectorFits) {
  for (const Device& device : gpus()) {
    const Case c{1, 4, 2, 2, 90, 32, 32, DType::bf16};
    const Inputs in(c, 90);
    const Values expected =
        attention(cast(in.q, DType::f64), cast(in.k, DType::f64), cast(in.v, DType::f64))
            .to_doubles();
    // One column too far to the right, and every other head.
    const auto shifted = [&](const Array& x) {
      const Array wider = to_device(cat({narrow(x, 3, 0, 1), x}, 3), device);
      return narrow(wider, 3, 1, x.shape()[3]);
    };
    const Array out = attention(shifted(in.q), shifted(in.k),
                                transpose(contiguous(transpose(to_device(in.v, device)))));
    const Values got = out.to_doubles();
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_TRUE(std::abs(got[i] - expected[i]) <= 0.04) << device.name() << " " << i;
    }
  }
}

// The same plan, replayed with other lengths: what a key-value cache does.
TEST(AttentionRun, LengthsChangeBetweenRuns) {
  for (const Device& device : gpus()) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const Case c{1, 4, 2, 1, 600, 64, 64, dtype};
      const Inputs in(c, 600);
      const Array q = to_device(in.q, device), k = to_device(in.k, device),
                  v = to_device(in.v, device);
      const double allowed = dtype == DType::f32 ? 1e-5 : 5 * tolerance(dtype);
      for (const std::int64_t length : {1, 2, 33, 64, 65, 599, 600, 7}) {
        const AttentionOptions options{.causal = true, .kv_length = length};
        const Values expected = attention(in.q, in.k, in.v, options).to_doubles();
        const Values got = attention(q, k, v, options).to_doubles();
        for (std::size_t i = 0; i < got.size(); ++i) {
          ASSERT_TRUE(std::abs(got[i] - expected[i]) <= allowed) << device.name() << " " << length;
        }
      }
    }
  }
}

}  // namespace
}  // namespace hearth
