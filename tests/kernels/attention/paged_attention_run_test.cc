// paged_attention on GPUs against the composite in f64: each kernel that serves it, caches of other
// dtypes, rows that vectors do not fit, and how many pieces share a row.
#include <gtest/gtest.h>

#include <cmath>

#include "check.h"
#include "hearth/device.h"
#include "ran.h"

namespace hearth {
namespace {

using namespace check;

std::vector<Device> kernel_devices() {
  std::vector<Device> found;
  for (const Device& device : Device::all()) {
    const std::string name = device.name();
    if (name.starts_with("sim") || name.starts_with("cuda")) found.push_back(device);
  }
  return found;
}

// Sequences of few rows, of many, of none, and rows that are no sequence's.
struct Mixture {
  std::int64_t heads = 8, kv_heads = 2, d = 64, dv = 64;
  DType dtype = DType::f32, cache = DType::f32;
  double softcap = 0;
  std::int64_t window = 0;
  bool has_sinks = false;

  static constexpr std::int64_t kRows = 90, kSlots = 720, kPage = 12, kMost = 50;

  Array q() const { return random_array({kRows, heads, d}, dtype, -2, 2, 1); }
  Array keys() const { return random_array({kSlots, kv_heads, d}, cache, -2, 2, 2); }
  Array values() const { return random_array({kSlots, kv_heads, dv}, cache, -2, 2, 3); }
  Array sinks() const { return random_array({heads}, dtype, -2, 4, 4); }
  static Array pages() {
    std::vector<std::int64_t> numbers(5 * kMost);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = static_cast<std::int64_t>(i * 37 % 61);  // of which 60 is none
    }
    return cast(ints(numbers, {5, kMost}), DType::i32);
  }
  static Array starts() { return cast(ints({1, 2, 70, 70, 73, 85}, {6}), DType::i32); }
  static Array lengths() { return cast(ints({600, 300, 9, 270, 5}, {5}), DType::i32); }
};

void expect_matches(Device device, const Mixture& m, const std::string& what) {
  const auto wide = [](const Array& x) { return cast(x, DType::f64); };
  const auto there = [&](const Array& x) { return to_device(x, device); };
  PagedAttentionOptions options{.softcap = m.softcap, .window = m.window};
  if (m.has_sinks) options.sinks = wide(m.sinks());
  const Values expected =
      paged_attention(wide(m.q()), wide(m.keys()), wide(m.values()), Mixture::pages(),
                      Mixture::starts(), Mixture::lengths(), Mixture::kPage, options)
          .to_doubles();
  if (m.has_sinks) options.sinks = there(m.sinks());
  const Array got =
      paged_attention(there(m.q()), there(m.keys()), there(m.values()), there(Mixture::pages()),
                      there(Mixture::starts()), there(Mixture::lengths()), Mixture::kPage, options);
  expect_close(got, expected, 5 * tolerance(m.dtype), device.name() + " " + what);
}

TEST(PagedAttentionRun, Mixtures) {
  for (const Device& device : kernel_devices()) {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
      Mixture m{.dtype = dtype, .cache = dtype};
      expect_matches(device, m, "plain");
      m.window = 100;
      m.has_sinks = true;
      expect_matches(device, m, "window and sinks");
      m.softcap = 3;
      m.d = 40;
      m.dv = 136;
      expect_matches(device, m, "softcap, wide values");
    }
    for (const DType dtype : {DType::f16, DType::bf16}) {
      Mixture m{.kv_heads = 1, .d = 128, .dv = 128, .dtype = dtype, .cache = DType::f16};
      expect_matches(device, m, "rows of 128, f16 caches");
      m = {.heads = 20, .kv_heads = 2, .d = 40, .dv = 72, .dtype = dtype, .cache = dtype};
      m.softcap = 3;
      m.window = 100;
      expect_matches(device, m, "columns that fill no tile, softcap, window");
    }
    expect_matches(device, {.heads = 3, .kv_heads = 1, .d = 20, .dv = 12}, "no vectors");
    expect_matches(device, {.heads = 20, .kv_heads = 1, .d = 192, .dv = 128}, "many heads");
    expect_matches(device, {.dtype = DType::f32, .cache = DType::f16}, "f16 caches");
    expect_matches(device, {.dtype = DType::f32, .cache = DType::bf16}, "bf16 caches");
    expect_matches(device, {.dtype = DType::bf16, .cache = DType::f32}, "f32 caches");
    if (!device.supports(DType::f64)) continue;
    expect_matches(device, {.dtype = DType::f64, .cache = DType::f64}, "f64");
    expect_matches(device, {.dtype = DType::f64, .cache = DType::f16}, "f16 caches under f64");
  }
}

// Rows of prompts by tensor cores: columns of all sizes, groups that fill a tile and that do not.
TEST(PagedAttentionRun, Prompts) {
  struct Case {
    std::int64_t heads, kv_heads, d, dv;
    std::int64_t window = 0;
    double softcap = 0;
    bool has_sinks = false;
  };
  const Case cases[] = {{3, 3, 80, 80, 70},
                        {6, 2, 96, 96, 0, 2, true},
                        {16, 1, 128, 128, 33},
                        {5, 1, 192, 128},
                        {4, 1, 256, 256, 64, 0, true}};
  for (const Device& device : kernel_devices()) {
    for (const Case& c : cases) {
      const Mixture m{.heads = c.heads,
                      .kv_heads = c.kv_heads,
                      .d = c.d,
                      .dv = c.dv,
                      .dtype = DType::bf16,
                      .cache = c.d == 96 ? DType::f16 : DType::bf16,
                      .softcap = c.softcap,
                      .window = c.window,
                      .has_sinks = c.has_sinks};
      expect_matches(device, m, "prompts, columns " + std::to_string(c.d));
    }
  }
}

TEST(PagedAttentionRun, KernelsServeIt) {
  const Device sim = Device::named("sim");
  hearth::testing::expect_ran({"paged_plan", "paged_pieces", "paged_combine", "paged_tiles"},
                              [&] { expect_matches(sim, {}, "tiles"); });
  hearth::testing::expect_ran(
      {"paged_plan", "paged_matrix", "paged_combine", "paged_prompts"},
      [&] { expect_matches(sim, {.dtype = DType::bf16, .cache = DType::f16}, "matrix"); });
  hearth::testing::expect_ran({"paged_plan", "paged_pieces", "paged_combine"}, [&] {
    expect_matches(sim, {.dtype = DType::f64, .cache = DType::f64}, "pieces");
  });
}

}  // namespace
}  // namespace hearth
