// Products whose rows have bits of their own: the kernel of all floats, which other devices than
// the simulator take for f32, at any address and with any steps; and which implementations serve,
// on three kinds of device, whatever the number of rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "devices_under_test.h"
#include "graph/selector.h"
#include "hearth/device.h"
#include "hearth/numerics.h"
#include "hearth/ops.h"
#include "hearth/random.h"
#include "kernels/families.h"
#include "kernels/launch/step_plan.h"
#include "kernels/matmul/matmul.h"
#include "ops/definition/defs.h"
#include "ops/packed/blocks.h"
#include "ran.h"
#include "runtime/commands/command_batch.h"
#include "runtime/commands/encoder.h"
#include "runtime/compile/kernel_registry.h"

namespace hearth::gpu {
namespace {

// Lines of `length` elements, `column` apart, of a matrix whose lines are `line` apart.
struct Lines {
  std::int64_t count, length, line, column = 1;
  std::int64_t end() const { return (count - 1) * line + (length - 1) * column + 1; }
};

Signature row_product(const Lines& x, const Lines& w, DType dtype = DType::f32) {
  Signature signature;
  signature.op = &defs::matmul_op;
  signature.inputs = {{dtype, {x.count, x.length}, {x.line, x.column}, false},
                      {dtype, {w.length, w.count}, {w.column, w.line}, false}};
  signature.output = {dtype, {x.count, w.count}, {w.count, 1}, false};
  return signature;
}

class RowLanes : public ::testing::Test {
 protected:
  RowLanes()
      : driver_(*hearth::testing::kernel_device_under_test().impl().driver()),
        registry_(driver_, runtime::KernelCache("")) {}
  ~RowLanes() override {
    for (const Address block : blocks_) driver_.free(block);
  }

  Address upload(const std::vector<float>& values) {
    const auto bytes = static_cast<std::int64_t>(values.size() * sizeof(float));
    const Address address = blocks_.emplace_back(driver_.allocate(bytes));
    driver_.copy_to_device(address, values.data(), bytes);
    return address;
  }

  std::vector<float> random_floats(std::int64_t count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    std::uniform_real_distribution<float> any(-1, 1);
    for (float& value : values) value = any(random_);
    return values;
  }

  std::vector<float> run(const Lines& x, Address x_at, const Lines& w, Address w_at) {
    const Signature signature = row_product(x, w);
    EXPECT_TRUE(accepts_row_lanes(signature));
    const Prepared prepared = prepare_row_lanes(signature);
    std::vector<float> got(static_cast<std::size_t>(x.count * w.count), -1000);
    const Address result = upload(got);
    const Address operands[] = {x_at, w_at, result};
    runtime::CommandBatch batch;
    runtime::Encoder encoder(registry_, batch, driver_.properties(), nullptr, 0);
    launch_steps({&signature, prepared.state.get(), operands, 3, nullptr, nullptr, 0, &encoder});
    driver_.submit(batch.commands());
    driver_.copy_to_host(got.data(), result, static_cast<std::int64_t>(got.size() * sizeof(float)));
    return got;
  }

  // All rows against f64, and against each number of rows from each end.
  void check(const Lines& x, const Lines& w, std::int64_t shift) {
    SCOPED_TRACE(std::to_string(w.count) + " x " + std::to_string(x.length) + ", " +
                 std::to_string(x.line) + " apart");
    const std::vector<float> left = random_floats(shift + x.end());
    const std::vector<float> right = random_floats(shift + w.end());
    const Address x_at = upload(left) + shift * 4, w_at = upload(right) + shift * 4;
    const std::vector<float> all = run(x, x_at, w, w_at);
    for (std::int64_t row = 0; row < x.count; ++row) {
      for (std::int64_t output = 0; output < w.count; ++output) {
        double sum = 0;
        for (std::int64_t i = 0; i < x.length; ++i) {
          sum += static_cast<double>(
                     left[static_cast<std::size_t>(shift + row * x.line + i * x.column)]) *
                 right[static_cast<std::size_t>(shift + output * w.line + i * w.column)];
        }
        ASSERT_NEAR(all[static_cast<std::size_t>(row * w.count + output)], sum, 1e-4);
      }
    }
    for (const std::int64_t count : {1, 2, 5, 16, 17, 40}) {
      for (const std::int64_t first : {std::int64_t{0}, x.count - count}) {
        Lines some = x;
        some.count = count;
        const std::vector<float> got = run(some, x_at + first * x.line * 4, w, w_at);
        ASSERT_TRUE(std::equal(got.begin(), got.end(), all.begin() + first * w.count))
            << count << " rows from " << first;
      }
    }
  }

  runtime::Driver& driver_;
  runtime::KernelRegistry registry_;
  std::mt19937 random_{5};
  std::vector<Address> blocks_;
};

TEST_F(RowLanes, RowsHaveTheirOwnBits) {
  check({130, 260, 260}, {37, 260, 260}, 0);
  check({43, 131, 133}, {9, 131, 140}, 3);
  check({43, 64, 1, 43}, {6, 64, 1, 6}, 0);  // both lie the other way
}

// Any number of rows, each by the form of its kernel, beside f64 and with the same bits, a sum with
// what is added to the product included.
TEST(RowTiles, RowsHaveTheirOwnBits) {
  Numerics wanted = numerics();
  wanted.batch_invariant = true;
  const WithNumerics invariant(wanted);
  const Device device = hearth::testing::kernel_device_under_test();
  constexpr std::int64_t kRows = 70, kOutputs = 41;
  for (const DType dtype : {DType::bf16, DType::f16}) {
    // Of slices that end early, of parts without a slice, and of no packets.
    for (const std::int64_t length : {200, 72, 67}) {
      SCOPED_TRACE(std::string(name(dtype)) + ", " + std::to_string(length));
      const auto random = [&](const Shape& shape) {
        return to_device(cast(random_normal(shape), dtype), device).eval();
      };
      const Array x = random({kRows, length}), w = random({kOutputs, length});
      const Array added = random({kRows, kOutputs});
      const auto product = [&](std::int64_t first, std::int64_t count) {
        return matmul(narrow(x, 0, first, count), transpose(w)) + narrow(added, 0, first, count);
      };
      std::vector<float> all;
      hearth::testing::expect_ran("matmul_row_tiles", [&] {
        all = cast(product(0, kRows), DType::f32).to_vector<float>();
      });
      const auto exact = [](const Array& each) {
        return cast(to_device(each, Device::cpu()), DType::f64);
      };
      const std::vector<double> expected =
          (matmul(exact(x), transpose(exact(w))) + exact(added)).to_vector<double>();
      for (std::size_t i = 0; i < all.size(); ++i) {
        ASSERT_NEAR(all[i], expected[i], 0.01 * std::abs(expected[i]) + 0.05) << i;
      }
      for (const std::int64_t count : {1, 9, 17, 33, 65}) {
        for (const std::int64_t first : {std::int64_t{0}, kRows - count}) {
          const std::vector<float> got = cast(product(first, count), DType::f32).to_vector<float>();
          ASSERT_TRUE(std::equal(got.begin(), got.end(), all.begin() + first * kOutputs))
              << count << " rows from " << first;
        }
      }
    }
  }
}

std::vector<runtime::DeviceTraits> kinds() {
  const runtime::DeviceTraits plain;
  runtime::DeviceTraits cuda;
  cuda.processors = 128;
  cuda.processor_threads = 2048;
  cuda.processor_registers = 64 * 1024;
  cuda.processor_memory = 228 * 1024;
  cuda.has_tile_products = true;
  cuda.libraries.matmul = {.exists = true, .strided = true};
  runtime::DeviceTraits metal;
  metal.processors = 16;
  metal.processor_registers = 52 * 1024;
  metal.processor_memory = 60 * 1024;
  metal.has_simdgroup_matrix = true;
  metal.libraries.matmul = {.exists = true};
  return {plain, cuda, metal};
}

// What serves `signature_of(rows)` for any number of rows.
template <typename Of>
std::string serves_all(const runtime::DeviceTraits& traits, const Of& signature_of) {
  SelectorOptions options{.traits = traits, .families = families()};
  const Selector selector(options);
  std::string name;
  for (const std::int64_t rows : {1, 2, 5, 8, 9, 16, 17, 32, 33, 130, 4096}) {
    const Implementation* const found = selector.find(signature_of(rows));
    const std::string own = found == nullptr ? "none" : found->name;
    if (!name.empty() && own != name) return name + " and " + own;
    name = own;
    if (found == nullptr) continue;
    EXPECT_NE(found->row_bits, RowBits::shared) << name;
  }
  return name;
}

TEST(RowChoices, OneImplementationServesAnyNumberOfRows) {
  Numerics wanted = numerics();
  wanted.batch_invariant = true;
  const WithNumerics invariant(wanted);
  const std::vector<std::vector<std::string>> of_products = {
      {"row_lanes", "row_lanes", "row_lanes"},
      {"row_lanes", "row_tiles", "row_tiles"},
      {"row_simdgroups", "row_simdgroups", "row_simdgroups"}};
  const std::vector<std::string> of_packed = {"row_lanes", "row_tiles", "row_lanes"};
  for (std::size_t kind = 0; kind < of_products.size(); ++kind) {
    SCOPED_TRACE(kind);
    const runtime::DeviceTraits traits = kinds()[kind];
    const DType dtypes[] = {DType::f32, DType::f16, DType::bf16};
    for (std::size_t i = 0; i < 3; ++i) {
      const DType dtype = dtypes[i];
      EXPECT_EQ(serves_all(traits,
                           [&](std::int64_t rows) {
                             return row_product({rows, 512, 512}, {4096, 512, 512}, dtype);
                           }),
                of_products[kind][i]);
      EXPECT_EQ(serves_all(traits,
                           [&](std::int64_t rows) {
                             Signature signature;
                             signature.op = &defs::expert_linear_op;
                             signature.inputs = {{dtype, {rows, 512}, {512, 1}, false},
                                                 {dtype, {8, 64, 512}, {64 * 512, 512, 1}, false},
                                                 {DType::i32, {rows, 2}, {2, 1}, false}};
                             signature.output = {dtype, {rows, 2, 64}, {128, 64, 1}, false};
                             return signature;
                           }),
                "row_lanes");
    }
    const Params format = format_params(DType::q4_k);
    EXPECT_EQ(serves_all(traits,
                         [&](std::int64_t rows) {
                           Signature signature;
                           signature.op = &defs::packed_linear_op;
                           signature.statics = format.statics().span();
                           signature.inputs = {{DType::f32, {rows, 512}, {512, 1}, false},
                                               {DType::u8, {64, 288}, {288, 1}, false}};
                           signature.output = {DType::f32, {rows, 64}, {64, 1}, false};
                           return signature;
                         }),
              of_packed[kind]);
  }
}

}  // namespace
}  // namespace hearth::gpu
