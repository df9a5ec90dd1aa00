// The CPU's mixers over ragged batches alone: operands in any layout, between guards, with one
// thread and with two, give the bits of dense ones; what is dense is tested in tests/ops.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "devices/kernel_case.h"

namespace hearth::cpu {
namespace {

struct Batch {
  DType rows, others;
  std::vector<Shape> shapes;  // of the inputs before starts, and of that behind it
  int state;                  // which of them is the state
  Values starts;
};

// The same values dense and in any layout.
std::pair<std::vector<Values>, std::vector<Values>> both_ways(const OpDef& op, const Batch& batch,
                                                              const std::vector<int>& beside,
                                                              int starts_at, const Shape& y,
                                                              const Params& params) {
  std::vector<TestTensor> dense, any;
  for (std::size_t i = 0; i < batch.shapes.size(); ++i) {
    if (static_cast<int>(i) == starts_at) {
      const Shape count = {std::ssize(batch.starts)};
      dense.emplace_back(DType::i32, count, batch.starts, Layout::dense);
      any.emplace_back(DType::i32, count, batch.starts);
    }
    const bool is_row =
        std::find(beside.begin(), beside.end(), static_cast<int>(i)) == beside.end();
    const DType dtype = is_row ? batch.rows : batch.others;
    Values values = normal_values(element_count(batch.shapes[i]), 0.3);
    if (!is_row && static_cast<int>(i) != batch.state) {
      for (double& value : values) value = -std::abs(value);  // states grow little, if at all
    }
    dense.emplace_back(dtype, batch.shapes[i], values, Layout::dense);
    any.emplace_back(dtype, batch.shapes[i], values);
  }
  if (starts_at == static_cast<int>(batch.shapes.size())) {
    const Shape count = {std::ssize(batch.starts)};
    dense.emplace_back(DType::i32, count, batch.starts, Layout::dense);
    any.emplace_back(DType::i32, count, batch.starts);
  }
  const Shape state = batch.shapes[static_cast<std::size_t>(batch.state)];
  const std::vector<OutputSpec> outputs = {{batch.rows, y}, {batch.others, state}};
  return {run_kernel(op, std::move(dense), params, outputs),
          run_kernel(op, std::move(any), params, outputs)};
}

void expect_same(const std::pair<std::vector<Values>, std::vector<Values>>& both) {
  ASSERT_EQ(both.first.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(both.first[i], both.second[i]) << "output " << i;
    for (const double value : both.first[i]) ASSERT_TRUE(std::isfinite(value));
  }
}

const Values kStarts = {1, 42, 42, 43, 50};  // of 52 rows
constexpr std::int64_t kRows = 52, kSequences = 4;

TEST(CpuRecurrent, CausalConv) {
  for (const DType dtype : kFloats) {
    const DType wide = dtype == DType::f64 ? DType::f64 : DType::f32;
    for (const std::int64_t channels : {1, 7, 700}) {
      const Batch batch = {
          dtype,
          wide,
          {{kRows, channels}, {channels, 4}, {kSequences, 3, channels}, {channels}},
          2,
          kStarts};
      expect_same(
          both_ways(defs::causal_conv_op, batch, {1, 2, 3}, 3, {kRows, channels}, Params()));
    }
  }
}

TEST(CpuRecurrent, GatedDeltaRule) {
  for (const DType dtype : kFloats) {
    const DType wide = dtype == DType::f64 ? DType::f64 : DType::f32;
    for (const std::int64_t dv : {1, 5, 77}) {
      const Batch batch = {dtype,
                           wide,
                           {{kRows, 2, 6},
                            {kRows, 2, 6},
                            {kRows, 4, dv},
                            {kRows, 4},
                            {kRows, 4},
                            {kSequences, 4, 6, dv}},
                           5,
                           kStarts};
      expect_same(both_ways(defs::gated_delta_rule_op, batch, {3, 4, 5}, 6, {kRows, 4, dv},
                            Params().boolean(dv == 5)));
    }
  }
}

TEST(CpuRecurrent, SelectiveScan) {
  for (const DType dtype : kFloats) {
    const DType wide = dtype == DType::f64 ? DType::f64 : DType::f32;
    for (const std::int64_t n : {1, 5, 77}) {
      const Batch batch = {dtype,
                           wide,
                           {{kRows, 4, 6},
                            {kRows, 4},
                            {4},
                            {kRows, 2, n},
                            {kRows, 2, n},
                            {kSequences, 4, 6, n},
                            {4}},
                           5,
                           kStarts};
      expect_same(
          both_ways(defs::selective_scan_op, batch, {1, 2, 5, 6}, 6, {kRows, 4, 6}, Params()));
    }
  }
}

}  // namespace
}  // namespace hearth::cpu
