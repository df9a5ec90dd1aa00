// Products of a matrix and a few vectors on the device that runs kernels, against sums in f64 over
// small integers, which are exact: any number of vectors and rows, threadgroups that share the
// length, memory with gaps and NaN around, addresses between packets; and which products are left
// to others.
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <random>

#include "devices_under_test.h"
#include "graph/implementation.h"
#include "hearth/device.h"
#include "kernels/launch/step_plan.h"
#include "kernels/matmul/matmul.h"
#include "ops/definition/defs.h"
#include "runtime/commands/command_batch.h"
#include "runtime/commands/encoder.h"
#include "runtime/compile/kernel_registry.h"

namespace hearth::gpu {
namespace {

// Rows of a matrix: `step` elements from one to the next, after `shift` others.
struct Rows {
  std::int64_t count, length, step, shift = 0;
};

Signature product(const Rows& x, const Rows& w, const Rows& y) {
  Signature signature;
  signature.op = &defs::matmul_op;
  signature.inputs = {{DType::f32, {x.count, x.length}, {x.step, 1}, false},
                      {DType::f32, {w.length, w.count}, {1, w.step}, false}};
  signature.output = {DType::f32, {y.count, y.length}, {y.step, 1}, false};
  return signature;
}

// Of a device that a few rows leave idle.
const runtime::DeviceTraits& many_processors() {
  static const runtime::DeviceTraits traits = [] {
    runtime::DeviceTraits made;
    made.processors = 16;
    return made;
  }();
  return traits;
}

class MatvecFew : public ::testing::Test {
 protected:
  MatvecFew()
      : driver_(*hearth::testing::kernel_device_under_test().impl().driver()),
        registry_(driver_, runtime::KernelCache("")) {}
  ~MatvecFew() override {
    for (const Address block : blocks_) driver_.free(block);
  }

  Address allocate(std::int64_t bytes) { return blocks_.emplace_back(driver_.allocate(bytes)); }
  Address upload(const std::vector<float>& values) {
    const auto bytes = static_cast<std::int64_t>(values.size() * sizeof(float));
    const Address address = allocate(bytes);
    driver_.copy_to_device(address, values.data(), bytes);
    return address;
  }

  std::vector<float> small_integers(const Rows& rows) {
    std::vector<float> memory(static_cast<std::size_t>(rows.shift + rows.count * rows.step + 8),
                              std::numeric_limits<float>::quiet_NaN());
    for (std::int64_t row = 0; row < rows.count; ++row) {
      for (std::int64_t i = 0; i < rows.length; ++i) {
        memory[static_cast<std::size_t>(rows.shift + row * rows.step + i)] =
            static_cast<float>(static_cast<int>(random_() % 7) - 3);
      }
    }
    return memory;
  }

  void check(const Rows& x, const Rows& w, std::int64_t y_step) {
    SCOPED_TRACE(std::to_string(x.count) + "x" + std::to_string(x.length) + "x" +
                 std::to_string(w.count));
    const Rows y{x.count, w.count, y_step};
    Signature signature = product(x, w, y);
    signature.device = &many_processors();
    ASSERT_TRUE(is_skinny(signature, 1));
    const Prepared prepared = prepare_skinny(signature);
    const std::vector<float> left = small_integers(x), right = small_integers(w);
    std::vector<float> got(static_cast<std::size_t>(y.count * y.step), -1000);
    const Address result = upload(got);
    const Address operands[] = {upload(left) + x.shift * 4, upload(right) + w.shift * 4, result};
    const Address workspace =
        prepared.workspace_bytes > 0 ? allocate(prepared.workspace_bytes) : nullptr;
    runtime::CommandBatch batch;
    runtime::Encoder encoder(registry_, batch, driver_.properties(), nullptr, 0);
    launch_steps({&signature, prepared.state.get(), operands, 3, workspace, nullptr, 0, &encoder});
    driver_.submit(batch.commands());
    driver_.copy_to_host(got.data(), result, static_cast<std::int64_t>(got.size() * sizeof(float)));
    launches_ = static_cast<int>(batch.size());
    for (std::int64_t row = 0; row < y.count; ++row) {
      for (std::int64_t column = 0; column < y.step; ++column) {
        double sum = column < y.length ? 0 : -1000;
        for (std::int64_t i = 0; column < y.length && i < x.length; ++i) {
          sum += static_cast<double>(left[static_cast<std::size_t>(x.shift + row * x.step + i)]) *
                 right[static_cast<std::size_t>(w.shift + column * w.step + i)];
        }
        ASSERT_EQ(got[static_cast<std::size_t>(row * y.step + column)], sum)
            << "element " << row << ", " << column;
      }
    }
  }

  runtime::Driver& driver_;
  runtime::KernelRegistry registry_;
  std::mt19937 random_{5};
  std::vector<Address> blocks_;
  int launches_ = 0;
};

TEST_F(MatvecFew, AnyNumberOfVectorsAndRows) {
  for (const std::int64_t vectors : {2, 3, 4, 5, 8, 9, 16}) {
    for (const auto& [rows, length] :
         {std::array<std::int64_t, 2>{8, 4}, {9, 132}, {70, 516}, {129, 1024}}) {
      check({vectors, length, length}, {rows, length, length}, rows);
      EXPECT_EQ(launches_, 1);
    }
  }
}

TEST_F(MatvecFew, ThreadgroupsShareLongRows) {
  for (const std::int64_t vectors : {2, 6, 16}) {
    check({vectors, 2052, 2052}, {40, 2052, 2052}, 40);
    EXPECT_EQ(launches_, 2);
    check({vectors, 9000, 9004}, {33, 9000, 9008}, 35);
    EXPECT_EQ(launches_, 2);
  }
}

TEST_F(MatvecFew, GapsAndAddressesBetweenPackets) {
  for (const std::int64_t shift : {0, 1, 4, 7}) {
    check({3, 260, 264, shift}, {21, 260, 272}, 23);
    check({7, 260, 264}, {21, 260, 272, shift}, 21);
    check({16, 2100, 2104, shift}, {21, 2100, 2100, shift}, 24);
  }
}

TEST_F(MatvecFew, OthersAreNone) {
  const auto is = [](const Rows& x, const Rows& w, const Rows& y) {
    return is_skinny(product(x, w, y), 1);
  };
  EXPECT_TRUE(is({2, 64, 64}, {32, 64, 64}, {2, 32, 32}));
  EXPECT_FALSE(is({1, 64, 64}, {32, 64, 64}, {1, 32, 32}));
  EXPECT_FALSE(is({17, 64, 64}, {32, 64, 64}, {17, 32, 32}));
  EXPECT_FALSE(is({2, 64, 64}, {2, 64, 64}, {2, 2, 2}));     // fewer rows than a simdgroup has
  EXPECT_FALSE(is({2, 63, 64}, {32, 63, 64}, {2, 32, 32}));  // no whole packets
  EXPECT_FALSE(is({2, 64, 66}, {32, 64, 64}, {2, 32, 32}));
  EXPECT_FALSE(is({2, 64, 64}, {32, 64, 65}, {2, 32, 32}));
  Signature signature = product({2, 64, 64}, {32, 64, 64}, {2, 32, 32});
  EXPECT_TRUE(is_skinny(signature, 32 * 64));
  EXPECT_FALSE(is_skinny(signature, 32 * 64 + 1));
  signature.inputs[1].strides = {32, 1};
  EXPECT_FALSE(is_skinny(signature, 1));
  signature = product({2, 64, 64}, {32, 64, 64}, {2, 32, 32});
  for (TensorSpec* spec : {&signature.inputs[0], &signature.inputs[1], &signature.output}) {
    spec->dtype = DType::bf16;
  }
  EXPECT_FALSE(is_skinny(signature, 1));
}

}  // namespace
}  // namespace hearth::gpu
