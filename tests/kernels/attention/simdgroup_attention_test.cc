// attention by simdgroup matrices on the device that runs kernels, a checking simulator unless
// another is named, against sums in f64: every tile, head sizes, dtypes, memory with gaps and NaN
// around, lengths that only the device knows, rows that see nothing; and on a simulator whose lanes
// have other elements of a matrix.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <random>

#include "check.h"
#include "codegen/kernel_text.h"
#include "devices/element.h"
#include "devices/sim/host_compiler.h"
#include "devices/sim/kernel_library.h"
#include "devices/sim/sim_driver.h"
#include "devices_under_test.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/inputs.h"
#include "kernels/attention/simdgroup.h"
#include "kernels/launch/step_plan.h"
#include "ops/definition/defs.h"
#include "runtime/commands/command_batch.h"
#include "runtime/commands/encoder.h"
#include "runtime/compile/kernel_registry.h"

namespace hearth::gpu {
namespace {

using check::kNan;
using check::tolerance;
using Doubles = std::vector<double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Case {
  DType dtype = DType::f32;
  std::int64_t batch = 1, heads = 1, kv_heads = 1, rows = 1, keys = 1, d = 64, dv = 64;
  bool causal = false;
  std::int64_t length = -1;  // of keys and values, of which the device alone knows; below 0: all
  double softcap = 0;
  bool mask = false, bias = false;
  std::int64_t gap = 0, shift = 0;  // elements between rows of q, k and v, and before them
  bool by_columns = false;          // columns of v lie apart, rows do not

  std::int64_t exists() const { return length < 0 ? keys : length; }
};

// An operand as memory has it: NaN but for its elements.
struct Placed {
  TensorSpec spec;
  Doubles values;  // of its elements, rounded
  std::int64_t shift = 0;
  std::vector<std::byte> bytes;

  double at(std::int64_t i, std::int64_t j, std::int64_t row, std::int64_t column) const {
    const Shape& s = spec.shape;
    const std::int64_t index = ((i % s[0] * s[1] + j % s[1]) * s[2] + row % s[2]) * s[3] + column;
    return values[static_cast<std::size_t>(index)];
  }
};

class SimdgroupAttention : public ::testing::Test {
 protected:
  SimdgroupAttention() : SimdgroupAttention(nullptr, runtime::KernelCache::default_folder()) {}
  SimdgroupAttention(std::unique_ptr<runtime::Driver> driver, const std::string& folder)
      : own_(std::move(driver)) {
    const Device device = hearth::testing::kernel_device_under_test();
    if (own_ == nullptr && device.name().starts_with("sim")) {
      own_ = std::make_unique<sim::SimDriver>();
    }
    driver_ = own_ != nullptr ? own_.get() : device.impl().driver();
    registry_.emplace(*driver_, runtime::KernelCache(folder));
  }
  ~SimdgroupAttention() override { free_blocks(); }

  void free_blocks() {
    for (const Address block : blocks_) driver_->free(block);
    blocks_.clear();
  }
  Address upload(const void* data, std::int64_t bytes) {
    const Address address = blocks_.emplace_back(driver_->allocate(bytes));
    driver_->copy_to_device(address, data, bytes);
    return address;
  }

  // Rows are `gap` elements longer than said, memory begins `shift` elements before; elements of
  // rows from `end` on are NaN.
  Placed place(const Shape& shape, DType dtype, std::int64_t gap, std::int64_t shift,
               std::int64_t end, bool by_columns = false) {
    Placed placed;
    placed.shift = shift;
    placed.spec = {dtype, shape, contiguous_strides(shape), false};
    Strides& strides = placed.spec.strides;
    const std::int64_t line = (by_columns ? shape[2] : shape[3]) + gap;
    strides[by_columns ? 2 : 3] = 1;
    strides[by_columns ? 3 : 2] = line;
    strides[1] = line * (by_columns ? shape[3] : shape[2]);
    strides[0] = strides[1] * shape[1];
    const std::int64_t count = element_count(shape);
    placed.bytes.assign(static_cast<std::size_t>((shift + strides[0] * shape[0]) * size_of(dtype)),
                        std::byte{0xff});
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t row = i / shape[3] % shape[2];
      double value = std::uniform_real_distribution<double>(-2, 2)(random_);
      if (dtype == DType::bool_) value = value < -0.8 ? 1 : 0;
      if (row >= end) value = kNan;
      const std::int64_t at = shift + i / (shape[1] * shape[2] * shape[3]) * strides[0] +
                              i / (shape[2] * shape[3]) % shape[1] * strides[1] + row * strides[2] +
                              i % shape[3] * strides[3];
      cpu::set_element(placed.bytes.data(), at, dtype, value);
      placed.values.push_back(cpu::get_element(placed.bytes.data(), at, dtype));
    }
    return placed;
  }

  void draw(const Case& c) {
    const std::int64_t rows = std::numeric_limits<std::int64_t>::max();
    operands_.clear();
    operands_.push_back(place({c.batch, c.heads, c.rows, c.d}, c.dtype, c.gap, c.shift, rows));
    operands_.push_back(
        place({c.batch, c.kv_heads, c.keys, c.d}, c.dtype, c.gap, c.shift, c.exists()));
    operands_.push_back(place({c.batch, c.kv_heads, c.keys, c.dv}, c.dtype, c.gap, c.shift,
                              c.exists(), c.by_columns));
    operands_.push_back(place({c.batch, 1, c.rows, c.keys}, DType::bool_, 3, 0, rows));
    operands_.push_back(place({1, c.heads, 1, c.keys}, c.dtype, 0, 0, rows));
    operands_[3].spec.absent = !c.mask;
    operands_[4].spec.absent = !c.bias;
  }

  // What is expected, row by row.
  Doubles reference(const Case& c) const {
    Doubles all;
    for (std::int64_t line = 0; line < c.batch * c.heads * c.rows; ++line) {
      const std::int64_t row = line % c.rows, head = line / c.rows % c.heads;
      const std::int64_t item = line / c.rows / c.heads, kv = head / (c.heads / c.kv_heads);
      const std::int64_t end = c.causal ? row + 1 + c.exists() - c.rows : c.exists();
      Doubles scores;
      double top = -kInfinity, total = 0;
      for (std::int64_t key = 0; key < end; ++key) {
        double score = 0;
        for (std::int64_t i = 0; i < c.d; ++i) {
          score += operands_[0].at(item, head, row, i) * operands_[1].at(item, kv, key, i);
        }
        score *= scale(c);
        if (c.softcap > 0) score = c.softcap * std::tanh(score / c.softcap);
        if (c.bias) score += operands_[4].at(0, head, 0, key);
        if (c.mask && operands_[3].at(item, 0, row, key) != 0) score = -kInfinity;
        scores.push_back(score);
        top = std::max(top, score);
      }
      for (double& score : scores) {
        score = top == -kInfinity ? 0 : std::exp(score - top);
        total += score;
      }
      for (std::int64_t i = 0; i < c.dv; ++i) {
        double sum = 0;
        for (std::size_t key = 0; key < scores.size(); ++key) {
          sum += scores[key] * operands_[2].at(item, kv, static_cast<std::int64_t>(key), i);
        }
        all.push_back(total == 0 ? 0 : sum / total);
      }
    }
    return all;
  }
  static double scale(const Case& c) { return 1 / std::sqrt(static_cast<double>(c.d)); }

  Signature signature_of(const Case& c) {
    statics_ =
        Params().f64(scale(c)).f64(c.softcap).boolean(c.causal).boolean(c.length >= 0).i64(0);
    Signature signature;
    signature.op = &defs::attention_op;
    signature.statics = statics_.statics().span();
    for (const Placed& operand : operands_) signature.inputs.push_back(operand.spec);
    const Shape out = {c.batch, c.heads, c.rows, c.dv};
    signature.output = {c.dtype, out, contiguous_strides(out), false};
    signature.dynamic = 1;
    return signature;
  }

  // What the kernel makes of the operands, with NaN before.
  Doubles launch(const Case& c, const Signature& signature, const AttentionTile& tile) {
    const Prepared prepared = simdgroup_attention(signature, tile);
    const std::uint64_t dynamics[] = {~std::uint64_t{0}, static_cast<std::uint64_t>(c.exists())};
    const Address block = upload(dynamics, sizeof(dynamics));
    std::vector<std::byte> out(
        static_cast<std::size_t>(element_count(signature.output.shape) * size_of(c.dtype)),
        std::byte{0xff});
    const auto bytes = static_cast<std::int64_t>(out.size());
    std::vector<Address> addresses;
    for (const Placed& operand : operands_) {
      addresses.push_back(
          operand.spec.absent
              ? nullptr
              : upload(operand.bytes.data(), static_cast<std::int64_t>(operand.bytes.size())) +
                    operand.shift * size_of(operand.spec.dtype));
    }
    addresses.push_back(upload(out.data(), bytes));
    runtime::CommandBatch batch;
    runtime::Encoder encoder(*registry_, batch, driver_->properties(), block, sizeof(dynamics));
    launch_steps({&signature, prepared.state.get(), addresses.data(),
                  static_cast<int>(addresses.size()), nullptr, dynamics, 2, &encoder});
    driver_->submit(batch.commands());
    driver_->copy_to_host(out.data(), addresses.back(), bytes);
    free_blocks();
    Doubles values;
    for (std::int64_t i = 0; i < element_count(signature.output.shape); ++i) {
      values.push_back(cpu::get_element(out.data(), i, c.dtype));
    }
    return values;
  }

  void compare(const Case& c, const AttentionTile* tile, const std::string& what) {
    SCOPED_TRACE(what);
    const Signature signature = signature_of(c);
    ASSERT_TRUE(accepts_simdgroup_attention(signature));
    const Doubles got =
        launch(c, signature, tile != nullptr ? *tile : simdgroup_attention_tiles(signature)[0]);
    const Doubles expected = reference(c);
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_TRUE(std::abs(got[i] - expected[i]) <= 3 * tolerance(c.dtype))
          << "element " << i << " is " << got[i] << ", expected " << expected[i];
    }
  }
  void check(const Case& c, const std::string& what) {
    draw(c);
    compare(c, nullptr, what);
  }

  std::unique_ptr<runtime::Driver> own_;
  runtime::Driver* driver_ = nullptr;
  std::optional<runtime::KernelRegistry> registry_;
  std::mt19937 random_{11};
  std::vector<Placed> operands_;
  Params statics_;
  std::vector<Address> blocks_;
};

std::string name_of(const AttentionTile& tile) {
  return std::to_string(tile.simdgroups) + " x " + std::to_string(tile.blocks) + ", " +
         std::to_string(tile.keys) + (tile.held ? ", held" : "");
}

TEST_F(SimdgroupAttention, EveryTile) {
  for (const DType dtype : {DType::f32, DType::f16}) {
    const Case c{.dtype = dtype,
                 .batch = 2,
                 .heads = 4,
                 .kv_heads = 2,
                 .rows = 75,
                 .keys = 90,
                 .causal = true};
    draw(c);
    const std::vector<AttentionTile> tiles = simdgroup_attention_tiles(signature_of(c));
    EXPECT_GE(tiles.size(), 7u);
    for (const AttentionTile& tile : tiles) compare(c, &tile, name_of(tile));
  }
}

TEST_F(SimdgroupAttention, HeadSizes) {
  const auto all = [&](DType dtype, std::initializer_list<std::int64_t> sizes) {
    for (const std::int64_t d : sizes) {
      check({.dtype = dtype, .heads = 2, .kv_heads = 1, .rows = 37, .keys = 50, .d = d, .dv = d},
            std::to_string(d));
    }
  };
  all(DType::f32, {32, 80, 128, 256});
  all(DType::f16, {80, 96, 128, 256});
  all(DType::bf16, {64, 192, 256});
  check({.dtype = DType::f16, .rows = 19, .keys = 33, .d = 17, .dv = 61}, "17 and 61");
  check({.dtype = DType::f16, .rows = 19, .keys = 33, .d = 72, .dv = 40}, "72 and 40");
  check({.dtype = DType::bf16, .rows = 19, .keys = 33, .d = 200, .dv = 8}, "200 and 8");
  check({.rows = 9, .keys = 20, .d = 1, .dv = 250}, "1 and 250");
}

TEST_F(SimdgroupAttention, OddExtents) {
  for (const std::int64_t rows : {5, 8, 31, 64, 65, 129}) {
    for (const std::int64_t keys : {1, 7, 32, 63, 130}) {
      for (const bool causal : {false, true}) {
        check({.dtype = DType::f16,
               .heads = 2,
               .kv_heads = 2,
               .rows = rows,
               .keys = keys,
               .d = 32,
               .dv = 32,
               .causal = causal},
              std::to_string(rows) + " rows, " + std::to_string(keys) + " keys");
      }
    }
  }
}

// After the length is NaN; the first rows see nothing where it is short.
TEST_F(SimdgroupAttention, LengthsThatOnlyTheDeviceKnows) {
  for (const std::int64_t length : {0, 1, 20, 33, 64, 69, 70}) {
    for (const bool causal : {false, true}) {
      check({.heads = 2, .kv_heads = 1, .rows = 41, .keys = 70, .causal = causal, .length = length},
            std::to_string(length));
    }
  }
}

TEST_F(SimdgroupAttention, SoftcapMaskAndBias) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Case c{.dtype = dtype, .batch = 2, .heads = 4, .kv_heads = 2, .rows = 40, .keys = 45};
    Case masked = c, biased = c, all = c;
    masked.mask = biased.bias = true;
    all.mask = all.bias = all.causal = true;
    all.softcap = 1.5;
    all.length = 39;
    check(masked, "mask");
    check(biased, "bias");
    check(all, "all of them");
  }
}

TEST_F(SimdgroupAttention, GapsAndAddressesBetweenPackets) {
  for (const DType dtype : {DType::f16, DType::f32}) {
    for (const std::int64_t gap : {0, 8, 3}) {
      for (const std::int64_t shift : {0, 1, 8}) {
        check({.dtype = dtype,
               .heads = 2,
               .kv_heads = 2,
               .rows = 21,
               .keys = 40,
               .gap = gap,
               .shift = shift},
              std::to_string(gap) + " between, " + std::to_string(shift) + " before");
      }
    }
    check({.dtype = dtype, .heads = 2, .kv_heads = 2, .rows = 21, .keys = 40, .by_columns = true},
          "columns of values apart");
  }
}

// What is wrong with one row stays in it.
TEST_F(SimdgroupAttention, RowsAreKeptApart) {
  const Case c{.rows = 24, .keys = 40};
  draw(c);
  const auto spoil = [&](std::int64_t row, double value) {
    cpu::set_element(operands_[0].bytes.data(), row * c.d + 5, c.dtype, value);
  };
  spoil(2, kNan);
  spoil(12, kInfinity);
  const Signature signature = signature_of(c);
  const Doubles expected = reference(c);
  const Doubles got = launch(c, signature, simdgroup_attention_tiles(signature)[0]);
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (i / 64 == 2 || i / 64 == 12) {
      EXPECT_TRUE(std::isnan(got[i])) << i;
    } else {
      EXPECT_NEAR(got[i], expected[i], 3 * tolerance(c.dtype)) << i;
    }
  }
}

TEST_F(SimdgroupAttention, IsForManyRowsOfSmallHeads) {
  const auto accepts = [&](Case c) {
    draw(c);
    return accepts_simdgroup_attention(signature_of(c));
  };
  EXPECT_TRUE(accepts({.rows = 5, .d = 256, .dv = 256}));
  EXPECT_FALSE(accepts({.rows = 4}));
  EXPECT_FALSE(accepts({.rows = 5, .d = 257}));
  EXPECT_FALSE(accepts({.rows = 5, .dv = 257}));
  EXPECT_FALSE(accepts({.dtype = DType::f64, .rows = 5}));
}

// Items are threadgroups along z, of which a launch has 65,535 at most.
TEST_F(SimdgroupAttention, OtherKernelsAreForAsManyItemsAsALaunchHasLayers) {
  const auto signature = [&](std::int64_t batch, std::int64_t heads) {
    draw({.batch = batch, .heads = heads, .rows = 1, .keys = 1, .d = 8, .dv = 8});
    return signature_of({.batch = batch, .heads = heads, .rows = 1, .keys = 1, .d = 8, .dv = 8});
  };
  const Signature most = signature(65535, 1);
  EXPECT_TRUE(accepts_attention_tiles(most));
  EXPECT_TRUE(accepts_flash_decoding(most));
  const Signature more = signature(65536, 1);
  EXPECT_FALSE(accepts_attention_tiles(more));
  EXPECT_FALSE(accepts_flash_decoding(more));
  // Eight heads of one head of keys are a threadgroup.
  EXPECT_TRUE(accepts_flash_decoding(signature(32767, 16)));
  EXPECT_FALSE(accepts_flash_decoding(signature(32768, 16)));
}

// Lanes have other elements than on any GPU there is.
class OtherLanes final : public sim::SimDriver {
 public:
  std::vector<std::byte> compile(const runtime::KernelSource& source) override {
    std::string text = assemble(source, Target::host);
    const auto replace = [&](const std::string& from, const std::string& to, int times) {
      for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) {
        text.replace(at, from.size(), to);
        --times;
      }
      EXPECT_EQ(times, 0) << from;
    };
    // 13 and 5 undo each other.
    replace("const uint lane = lane_index();\n", "const uint lane = (lane_index() * 13u) & 31u;\n",
            2);
    replace("return ushort(((row & 4u)", "return ushort(5u * (((row & 4u)", 1);
    replace("((column >> 1) & 1u));", "((column >> 1) & 1u)) & 31u);", 1);
    return sim::seal_image(sim::compile_for_host(source.name, text, {.checked = true}));
  }
};
class SimdgroupAttentionOnOtherLanes : public SimdgroupAttention {
 protected:
  SimdgroupAttentionOnOtherLanes() : SimdgroupAttention(std::make_unique<OtherLanes>(), "") {}
};

TEST_F(SimdgroupAttentionOnOtherLanes, IsTheSame) {
  check({.heads = 2, .kv_heads = 1, .rows = 75, .keys = 90, .causal = true}, "f32");
  check({.dtype = DType::f16, .rows = 40, .keys = 45, .mask = true}, "f16");
}

}  // namespace
}  // namespace hearth::gpu
