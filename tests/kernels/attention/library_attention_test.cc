// attention as a vendor's library does it, with what Hearth does around it: on cards whose library
// it is, and on a simulator with plain loops in its place. Against f64 on the CPU.
#include <gtest/gtest.h>

#include "check.h"
#include "devices/gpu/gpu_device.h"
#include "hearth/device.h"
#include "machines/sim/sim_library.h"
#include "ops/definition/defs.h"

namespace hearth {
namespace {

using namespace check;

Device simulated(bool refuses) {
  auto driver = std::make_unique<sim::LibraryDriver>(refuses);
  // Devices live as long as the process.
  return Device(new gpu::GpuDevice("sim", 2, std::move(driver)));
}

std::vector<Device> cards() {
  std::vector<Device> found;
  for (const Device& device : Device::all()) {
    if (device.name().starts_with("cuda")) found.push_back(device);
  }
  return found;
}

struct Case {
  std::int64_t batch, heads, kv_heads, rows, keys, d, dv;
  DType dtype;
};

// `end`: keys and values from there on are NaN.
Array drawn(const Shape& shape, DType dtype, std::int64_t end, std::uint64_t seed) {
  Values values = random_values(element_count(shape), -2, 2, seed);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (static_cast<std::int64_t>(i) / shape[3] % shape[2] >= end) values[i] = kNan;
  }
  return array(values, shape, dtype);
}

void expect_near(const Array& got, const Array& expected, DType dtype, const std::string& what) {
  expect_within(got.to_doubles(), expected.to_doubles(), 4 * tolerance(dtype), what, 1);
}

// The result, and with `gradient` those of q, k and v.
void expect_matches(Device device, const Case& c, const AttentionOptions& options, bool gradient,
                    const std::string& name) {
  const std::string what = device.name() + " " + std::string(hearth::name(c.dtype)) + " " + name;
  const std::int64_t end = options.kv_length.value_or(c.keys);
  const Array inputs[] = {drawn({c.batch, c.heads, c.rows, c.d}, c.dtype, c.rows, 1),
                          drawn({c.batch, c.kv_heads, c.keys, c.d}, c.dtype, end, 2),
                          drawn({c.batch, c.kv_heads, c.keys, c.dv}, c.dtype, end, 3)};
  const Array weights = random_array({c.batch, c.heads, c.rows, c.dv}, c.dtype, -1, 1, 4);
  AttentionOptions exact = options, moved = options;
  if (exact.bias.defined()) exact.bias = cast(to_device(exact.bias, Device::cpu()), DType::f64);
  if (moved.bias.defined()) moved.bias = to_device(moved.bias, device);
  if (moved.mask.defined()) moved.mask = to_device(moved.mask, device);
  Array x[3], y[3];
  for (int i = 0; i < 3; ++i) {
    x[i] = cast(inputs[i], DType::f64);
    y[i] = to_device(inputs[i], device);
    if (!gradient) continue;
    x[i] = x[i].require_grad();
    y[i] = y[i].require_grad();
  }
  const Array expected = attention(x[0], x[1], x[2], exact);
  const Array got = attention(y[0], y[1], y[2], moved);
  expect_near(got, expected, c.dtype, what);
  if (!gradient) return;
  const Gradients theirs = backward(sum(mul(expected, cast(weights, DType::f64))));
  const Gradients ours = backward(sum(mul(got, to_device(weights, device))));
  for (int i = 0; i < 3; ++i) {
    expect_near(ours.get(y[i]), theirs.get(x[i]), c.dtype,
                what + ", gradient " + std::to_string(i));
  }
}

// Masked out: a third of all keys, all keys of the first row, and of the second all but the last.
Array mask_of(const Shape& shape) {
  Values values = random_values(element_count(shape), 0, 1, 7);
  const auto keys = static_cast<std::size_t>(shape[shape.rank() - 1]);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t row = i / keys % static_cast<std::size_t>(shape[shape.rank() - 2]);
    values[i] = row == 0 || (row == 1 && i % keys != keys - 1) || values[i] < 0.3 ? 1 : 0;
  }
  return array(values, shape, DType::bool_);
}

// The same with -inf where that is masked out.
Array bias_of(const Shape& shape, DType dtype, bool hides = false) {
  const Array bias = random_array(shape, dtype, -2, 2, 8);
  return hides ? where(mask_of(shape), -kInf, bias) : bias;
}

// A third of the rows' and keys' lengths is no multiple of anything; `s` is one of 8.
struct Cases {
  Cases(std::int64_t size, DType type) : s(size), dtype(type) {}
  std::int64_t s;
  DType dtype;
  Case square{2, 4, 2, s, s, 64, 64, dtype};
  Case longer{2, 4, 2, s - 3, s + 16, 32, 48, dtype};
  Case odd{1, 2, 2, s - 3, s + 5, 64, 64, dtype};
  Case shorter{2, 4, 2, s + 16, s - 3, 64, 32, dtype};
};

void check_plain(Device device, const Cases& c, bool gradient) {
  expect_matches(device, c.longer, {.causal = true}, gradient, "causal");
  expect_matches(device, c.odd, {.causal = true}, gradient, "causal, odd");
  expect_matches(device, c.shorter, {}, gradient, "fewer keys than rows");
  expect_matches(device, c.shorter, {.causal = true}, gradient, "causal, fewer keys than rows");
}

void check_wide(Device device, const Cases& c, bool gradient) {
  expect_matches(device, {1, 4, 2, c.s, c.s, 256, 256, c.dtype}, {.causal = true}, gradient,
                 "wide");
  expect_matches(device, {1, 2, 1, c.s - 3, c.s + 8, 192, 136, c.dtype}, {}, gradient,
                 "wide, uneven");
}

void check_bias(Device device, const Cases& c, bool gradient) {
  const std::int64_t s = c.s;
  expect_matches(device, c.square, {.bias = bias_of({1, 1, s, s}, c.dtype)}, gradient, "bias");
  expect_matches(device, c.square, {.causal = true, .bias = bias_of({4, s, s}, c.dtype)}, gradient,
                 "bias of heads, causal");
  expect_matches(device, c.square, {.bias = bias_of({2, 1, s, s}, c.dtype, true)}, gradient,
                 "bias that hides");
  expect_matches(device, c.longer, {.causal = true, .bias = bias_of({s - 3, s + 16}, c.dtype)},
                 gradient, "bias, causal, longer keys");
  expect_matches(device, c.odd, {.bias = bias_of({2, 1, s + 5}, c.dtype)}, gradient,
                 "bias of keys");
  expect_matches(device, c.square, {.causal = true, .bias = bias_of({2, 4, s, s}, c.dtype, true)},
                 gradient, "bias that hides, causal");
  expect_matches(device, c.shorter, {.bias = bias_of({2, 1, s + 16, s - 3}, c.dtype, true)},
                 gradient, "bias that hides, fewer keys than rows");
}

// Rows of the bias lie further apart than they are long.
void check_bias_within(Device device, const Cases& c, bool gradient) {
  const std::int64_t s = c.s;
  const auto within = [&](const Shape& shape) {
    Shape wide = shape;
    wide[shape.rank() - 1] += 16;
    return narrow(to_device(bias_of(wide, c.dtype), device), shape.rank() - 1, 8, s);
  };
  expect_matches(device, c.square, {.bias = within({4, s, s})}, gradient, "bias within another");
  expect_matches(device, c.square, {.causal = true, .bias = within({2, 4, s, s})}, gradient,
                 "bias within another, causal");
}

void check_mask(Device device, const Cases& c, bool gradient) {
  const std::int64_t s = c.s;
  expect_matches(device, c.square, {.mask = mask_of({1, 1, s, s})}, gradient, "mask");
  expect_matches(device, c.square, {.causal = true, .mask = mask_of({2, 1, s, s})}, gradient,
                 "mask of items, causal");
  expect_matches(device, c.odd, {.mask = mask_of({2, s - 3, s + 5})}, gradient, "mask, odd");
  expect_matches(device, c.longer,
                 {.causal = true,
                  .mask = mask_of({2, 1, s - 3, s + 16}),
                  .bias = bias_of({4, 1, s + 16}, c.dtype)},
                 gradient, "mask, bias, causal, longer keys");
  expect_matches(device, c.shorter, {.mask = mask_of({2, 1, s + 16, s - 3})}, gradient,
                 "mask, fewer keys than rows");
}

void check_lengths(Device device, const Cases& c, bool /*gradient*/) {
  const std::int64_t s = c.s, ends[] = {s + 16, s - 2, s / 2, 1};
  for (const std::int64_t end : ends) {
    const std::string to = " to " + std::to_string(end);
    expect_matches(device, c.longer, {.kv_length = end}, false, "keys" + to);
    expect_matches(device, c.longer, {.causal = true, .kv_length = end}, false,
                   "causal, keys" + to);
    expect_matches(device, c.longer,
                   {.causal = true, .mask = mask_of({s - 3, s + 16}), .kv_length = end}, false,
                   "mask, causal, keys" + to);
  }
  expect_matches(device, c.shorter, {.kv_length = s - 5}, false, "some of fewer keys than rows");
  expect_matches(device, {1, 2, 1, s, s + 64, 128, 128, c.dtype},
                 {.causal = true, .kv_length = s + 40}, false, "a prompt behind others");
}

struct Group {
  const char* name;
  void (*check)(Device, const Cases&, bool);
};
constexpr Group kGroups[] = {{"Plain", check_plain}, {"Wide", check_wide},
                             {"Bias", check_bias},   {"BiasWithin", check_bias_within},
                             {"Mask", check_mask},   {"Lengths", check_lengths}};

class LibraryAttention : public testing::TestWithParam<Group> {};
std::string group_name(const testing::TestParamInfo<Group>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(, LibraryAttention, testing::ValuesIn(kGroups), group_name);

class LibraryAttentionOfCudaCards : public LibraryAttention {};
INSTANTIATE_TEST_SUITE_P(, LibraryAttentionOfCudaCards, testing::ValuesIn(kGroups), group_name);

TEST_P(LibraryAttentionOfCudaCards, IsAttention) {
  for (const Device& card : cards()) {
    GetParam().check(card, Cases(272, DType::bf16), true);
    GetParam().check(card, Cases(40, DType::f16), true);
  }
}

TEST_P(LibraryAttention, IsAttention) {
  static const Device device = simulated(false);
  GetParam().check(device, Cases(8, DType::bf16), true);
}

TEST_P(LibraryAttention, IsPortableWhereTheLibraryRefuses) {
  static const Device device = simulated(true);
  GetParam().check(device, Cases(8, DType::f16), false);
}

// Beside a library of products.
TEST(ComposedAttention, IsForManyRowsWhoseScoresFitAndSeeAllKeys) {
  const Selector plain({.families = gpu::families()});
  SelectorOptions options{.families = gpu::families()};
  options.traits.libraries.matmul = {.exists = true, .strided = true};
  const Selector composing(options);
  const auto has_kernel = [](const Selector& selector, std::int64_t rows, std::int64_t keys,
                             bool causal = false, std::int64_t columns = 64) {
    const Params params =
        Params().f64(1).f64(0).boolean(causal).boolean(false).i64(0).dynamic_i64(keys);
    Signature signature;
    signature.op = &defs::attention_op;
    signature.statics = params.statics().span();
    for (const std::int64_t length : {rows, keys, keys}) {
      const Shape shape = {1, 8, length, columns};
      signature.inputs.push_back({DType::f32, shape, contiguous_strides(shape)});
    }
    signature.output = signature.inputs[0];
    return selector.find(signature) != nullptr;
  };
  EXPECT_TRUE(has_kernel(plain, 64, 64));
  EXPECT_FALSE(has_kernel(composing, 64, 64));
  EXPECT_FALSE(has_kernel(composing, 4096, 4096));
  EXPECT_TRUE(has_kernel(composing, 4096, 4097));
  EXPECT_TRUE(has_kernel(composing, 4, 4096));
  // Tiles skip what a row does not see, but hold few rows of many columns.
  EXPECT_TRUE(has_kernel(composing, 64, 64, true));
  EXPECT_FALSE(has_kernel(composing, 64, 64, true, 200));
}

}  // namespace
}  // namespace hearth
