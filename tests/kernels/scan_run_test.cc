// Scans on the simulator, against plain loops in f64: rows that lanes, simdgroups and threadgroups
// hold and rows that none does, rows that are cut, columns that simdgroups share; views that begin
// between two packets; both directions.
#include <cmath>
#include <functional>
#include <string>

#include "check.h"
#include "devices_under_test.h"
#include "hearth/device.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ran.h"

namespace hearth {
namespace {

using namespace check;

class ScanRun : public ::testing::Test {
 protected:
  void SetUp() override { Device::set_default(hearth::testing::kernel_device_under_test()); }
  void TearDown() override { Device::set_default(before_); }

 private:
  Device before_ = Device();
};

struct Scan {
  const char* name;
  std::function<Array(const Array& x, std::int64_t axis, bool reverse)> run;
  std::function<double(double before, double value)> step;
  double most = 1;  // elements lie in [-most, most)
};

const std::vector<Scan>& directed() {
  static const std::vector<Scan> all = {
      {"cumsum", cumsum, [](double a, double b) { return a + b; }},
      {"cumprod", cumprod, [](double a, double b) { return a * b; }, 1.5},
      {"logcumsumexp", logcumsumexp,
       [](double a, double b) { return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b))); },
       20},
  };
  return all;
}

// Of x [outer, length, inner].
Values walked(const Array& x, const Scan& scan, bool reverse) {
  const Values values = x.to_doubles();
  const std::int64_t length = x.shape(1), inner = x.shape(2);
  Values out(values.size());
  for (std::int64_t o = 0; o < x.shape(0); ++o) {
    for (std::int64_t c = 0; c < inner; ++c) {
      double state = 0;
      for (std::int64_t i = 0; i < length; ++i) {
        const std::int64_t at = reverse ? length - 1 - i : i;
        const auto here = static_cast<std::size_t>((o * length + at) * inner + c);
        state = i == 0 ? values[here] : scan.step(state, values[here]);
        out[here] = state;
      }
    }
  }
  return out;
}

// `x` as a view that begins `skip` elements into each line of its memory; NaN is between lines.
Array spread(const Array& x, std::int64_t skip) {
  if (skip == 0) return x;
  Shape edge = x.shape();
  edge[1] = skip;
  return narrow(contiguous(cat({full(edge, kNan, x.dtype()), x}, 1)), 1, skip, x.shape(1));
}

void expect_scans(const Scan& scan, const Shape& shape, DType dtype, std::int64_t skip) {
  for (const bool reverse : {false, true}) {
    const Array x = random_array(shape, dtype, -scan.most, scan.most, 5);
    const Values wanted = walked(x, scan, reverse);
    // Small floats round each result once; f32 as many times as it adds.
    double largest = 1;
    for (const double value : wanted) largest = std::max(largest, std::abs(value));
    Array got;
    if (shape[2] == 1) {
      got = scan.run(spread(reshape(x, {shape[0], shape[1]}), skip), 1, reverse);
    } else {
      got = scan.run(spread(x, skip), 1, reverse);
    }
    expect_within(got.to_doubles(), wanted, tolerance(dtype),
                  std::string(scan.name) + " " + to_string(shape) + " " + std::string(name(dtype)) +
                      (reverse ? " reverse" : "") + " skipping " + std::to_string(skip));
  }
}

TEST_F(ScanRun, RowsOfEveryLength) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
    for (const std::int64_t n : {1, 2, 5, 16, 33, 64, 100, 300, 1000, 2049, 4096}) {
      for (const std::int64_t skip : {0, 1, 3}) {
        if (skip == 3 && n > 300) continue;
        const std::int64_t rows = n <= 100 ? 37 : 3;
        for (const Scan& scan : directed()) expect_scans(scan, {rows, n, 1}, dtype, skip);
      }
    }
  }
}

TEST_F(ScanRun, ColumnsOfEveryShape) {
  for (const DType dtype : {DType::f32, DType::f16, DType::f64}) {
    for (const Shape& shape :
         {Shape{3, 5, 7}, Shape{2, 300, 40}, Shape{1, 1100, 5}, Shape{40, 9, 3}, Shape{2, 1, 33}}) {
      for (const Scan& scan : directed()) {
        expect_scans(scan, shape, dtype, 0);
        expect_scans(scan, shape, dtype, 1);
      }
    }
  }
}

TEST_F(ScanRun, RowsThatAreCut) {
  const Scan& sum = directed()[0];
  hearth::testing::expect_ran({"scan_totals", "scan_chunks"},
                              [&] { expect_scans(sum, {1, 40000, 1}, DType::f32, 0); });
  for (const Scan& scan : directed()) expect_scans(scan, {2, 20001, 1}, DType::f32, 1);
}

TEST_F(ScanRun, WhatRuns) {
  const Scan& sum = directed()[0];
  const auto runs = [&](const char* kernel, const Shape& shape) {
    hearth::testing::expect_ran(kernel, [&] { expect_scans(sum, shape, DType::f32, 0); });
  };
  runs("scan_rows", {64, 700, 1});
  runs("scan_columns", {4, 70, 9});
}

TEST_F(ScanRun, ExtremesOfLongRows) {
  for (const Shape& shape : {Shape{1, 40000}, Shape{3, 9001}}) {
    // Few values, so that many are equal.
    Values values = random_values(element_count(shape), -9, 9, 3);
    for (double& value : values) value = std::round(value);
    for (const DType dtype : {DType::i32, DType::f32, DType::i8, DType::u32}) {
      Values own = values;
      if (dtype == DType::u32) {
        for (double& value : own) value += 9;
      }
      const Array x = array(own, shape, dtype);
      Values best(own.size()), at(own.size());
      for (std::size_t i = 0; i < own.size(); ++i) {
        const auto column = static_cast<double>(static_cast<std::int64_t>(i) % shape[1]);
        const bool taken = column == 0 || own[i] >= best[i - 1];
        best[i] = taken ? own[i] : best[i - 1];
        at[i] = taken ? column : at[i - 1];
      }
      EXPECT_EQ(cummax(x, 1).to_doubles(), best) << name(dtype);
      const auto [values_of, places] = cummax_with_indices(x, 1);
      EXPECT_EQ(values_of.to_doubles(), best) << name(dtype);
      EXPECT_EQ(places.to_doubles(), at) << name(dtype);
    }
  }
}

TEST_F(ScanRun, LinearRecurrences) {
  for (const Shape& shape : {Shape{3, 9001}, Shape{5, 33}, Shape{1, 1}}) {
    for (const bool reverse : {false, true}) {
      const Array a = random_array(shape, DType::f32, -1, 1, 3);
      const Array b = random_array(shape, DType::f32, -1, 1, 4);
      const Array got = call(defs::linear_scan_op, Params().i64(1).boolean(reverse), {&a, &b});
      const Values factors = a.to_doubles(), added = b.to_doubles();
      Values wanted(factors.size());
      for (std::int64_t row = 0; row < shape[0]; ++row) {
        double h = 0;
        for (std::int64_t i = 0; i < shape[1]; ++i) {
          const auto here =
              static_cast<std::size_t>(row * shape[1] + (reverse ? shape[1] - 1 - i : i));
          h = factors[here] * h + added[here];
          wanted[here] = h;
        }
      }
      expect_close(got, wanted, tolerance(DType::f32), to_string(shape));
    }
  }
}

}  // namespace
}  // namespace hearth
