// What OpDefs say of their formulas, against what the formulas do.
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "check.h"
#include "devices_under_test.h"
#include "ops/definition/defs.h"

namespace hearth {
namespace {

constexpr DType kNarrow[] = {DType::i8, DType::u8, DType::i16, DType::u16, DType::u32};

bool accepts(const OpDef& op, DType dtype) {
  return op.accepts_dtype == nullptr || op.accepts_dtype(dtype);
}
bool is_numeric(const OpDef& op) {
  return op.formula == Formula::arithmetic || op.formula == Formula::choice;
}
Array evaluate(const OpDef& op, const std::vector<Array>& inputs) {
  std::vector<const Array*> list;
  for (const Array& input : inputs) list.push_back(&input);
  return record(op, list, Params());
}

std::int64_t wrapped(std::int64_t x, DType dtype) {
  switch (dtype) {
    case DType::i8:
      return static_cast<std::int8_t>(x);
    case DType::u8:
      return static_cast<std::uint8_t>(x);
    case DType::i16:
      return static_cast<std::int16_t>(x);
    case DType::u16:
      return static_cast<std::uint16_t>(x);
    default:
      return static_cast<std::uint32_t>(x);
  }
}

// All combinations of `values`, one column for each input of the op, in i64; conditions are bool.
std::vector<Array> combinations(const OpDef& op, const std::vector<std::int64_t>& values) {
  std::vector<Array> inputs;
  std::int64_t count = 1;
  for (int k = 0; k < op.max_inputs; ++k) count *= static_cast<std::int64_t>(values.size());
  std::int64_t step = 1;
  for (int k = 0; k < op.max_inputs; ++k, step *= static_cast<std::int64_t>(values.size())) {
    std::vector<std::int64_t> column;
    for (std::int64_t i = 0; i < count; ++i) {
      column.push_back(values[static_cast<std::size_t>(i / step) % values.size()]);
    }
    const Array made = Array::from_data(column, {count});
    const bool is_condition = op.formula == Formula::choice && k == 0;
    inputs.push_back(is_condition ? greater(made, 0) : made);
  }
  return inputs;
}

TEST(OpFacts, MayWrapIsWhatFormulasDo) {
  for (const OpDef* op : all_ops()) {
    if (!is_numeric(*op) || !accepts(*op, DType::i8)) continue;
    bool leaves = false;
    for (const auto& [least, greatest] : {std::pair(-128, 127), std::pair(0, 255)}) {
      std::vector<std::int64_t> values;
      const int step = op->max_inputs > 2 ? 15 : 1;
      for (int x = least; x <= greatest; x += step) values.push_back(x);
      const Array result = evaluate(*op, combinations(*op, values));
      for (const std::int64_t x : result.to_vector<std::int64_t>()) {
        leaves = leaves || x < least || x > greatest;
      }
    }
    EXPECT_EQ(op->may_wrap, leaves) << op->name.text;
  }
}

// Within a region, where integers are wider than their dtypes.
TEST(OpFacts, NarrowIntegersWrap) {
  std::mt19937_64 random(7);
  for (const Device device : testing::devices_under_test()) {
    for (const OpDef* op : all_ops()) {
      if (!is_numeric(*op)) continue;
      for (const DType dtype : kNarrow) {
        if (!accepts(*op, dtype)) continue;
        constexpr std::int64_t kCount = 257;
        std::vector<Array> narrow;
        std::vector<Array> wide;
        for (int k = 0; k < op->max_inputs; ++k) {
          std::vector<std::int64_t> column;
          for (std::int64_t i = 0; i < kCount; ++i) {
            column.push_back(wrapped(static_cast<std::int64_t>(random()), dtype));
          }
          // The least and the greatest of every dtype, in every place.
          for (const std::size_t i : {0u, 1u}) {
            column[i + 2 * static_cast<std::size_t>(k)] = wrapped(i == 0 ? 0x80808080 : -1, dtype);
          }
          const Array x = Array::from_data(column, {kCount}, device);
          const bool is_condition = op->formula == Formula::choice && k == 0;
          wide.push_back(is_condition ? greater(x, 0) : x);
          narrow.push_back(is_condition ? wide.back() : cast(x, dtype));
        }
        const auto got = cast(evaluate(*op, narrow), DType::i64).to_vector<std::int64_t>();
        std::vector<std::int64_t> want = evaluate(*op, wide).to_vector<std::int64_t>();
        for (std::int64_t& x : want) x = wrapped(x, dtype);
        EXPECT_EQ(got, want) << op->name.text << " of " << name(dtype);
      }
    }
  }
}

TEST(OpFacts, FormulasKeepTheirDtypes) {
  for (const OpDef* op : all_ops()) {
    if (op->kind != OpKind::elementwise) continue;
    EXPECT_NE(op->formula, Formula::none) << op->name.text;
    if (op->formula == Formula::cast) continue;
    const bool truths = op->formula == Formula::comparison || op->formula == Formula::logic;
    for (const DType dtype : {DType::f32, DType::i8, DType::bool_}) {
      if (!accepts(*op, dtype)) continue;
      EXPECT_TRUE(op->formula != Formula::logic || dtype == DType::bool_) << op->name.text;
      std::vector<Array> inputs;
      for (int k = 0; k < op->max_inputs; ++k) {
        const bool is_condition = op->formula == Formula::choice && k == 0;
        inputs.push_back(cast(full({3}, 1.0), is_condition ? DType::bool_ : dtype));
      }
      EXPECT_EQ(evaluate(*op, inputs).dtype(), truths ? DType::bool_ : dtype) << op->name.text;
    }
  }
}

TEST(OpFacts, PartsOfAnFmaAreWhatTheySay) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> uniform(-4, 4);
  std::vector<double> a(64), b(64);
  for (double& x : a) x = uniform(random);
  for (double& x : b) x = uniform(random);
  const Array left = Array::from_data(a, {64}), right = Array::from_data(b, {64});
  for (const OpDef* op : all_ops()) {
    const bool has_floats = accepts(*op, DType::f64);
    if (op->formula != Formula::arithmetic || op->max_inputs != 2 || !has_floats) continue;
    const std::vector<double> got = evaluate(*op, {left, right}).to_vector<double>();
    bool product = true, sum = true, difference = true;
    for (std::size_t i = 0; i < a.size(); ++i) {
      product = product && got[i] == a[i] * b[i];
      sum = sum && got[i] == a[i] + b[i];
      difference = difference && got[i] == a[i] - b[i];
    }
    const FmaPart part = product      ? FmaPart::product
                         : sum        ? FmaPart::sum
                         : difference ? FmaPart::difference
                                      : FmaPart::none;
    EXPECT_EQ(op->fma, part) << op->name.text;
  }
}

double combined(Combine combine, double a, double b) {
  switch (combine) {
    case Combine::sum:
      return a + b;
    case Combine::prod:
      return a * b;
    case Combine::max:
      return std::max(a, b);
    case Combine::min:
      return std::min(a, b);
    case Combine::none:
      break;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

TEST(OpFacts, ReductionsCombineAsTheySay) {
  const double values[] = {-3, -1, 0, 1, 2.5};
  for (const OpDef* op : all_ops()) {
    EXPECT_TRUE(op->kind != OpKind::reduce || op->combine != Combine::none) << op->name.text;
    if (op->combine == Combine::none) continue;
    for (const double a : values) {
      for (const double b : values) {
        const Array x = check::array({a, b}, {2}, DType::f32);
        const Array* const inputs[] = {&x};
        if (op->finds_index) {
          const Params params = Params().i64(0).boolean(false).dtype(DType::i64);
          const double second = combined(op->combine, a, b) == a ? 0 : 1;
          EXPECT_EQ(record(*op, inputs, params).item(), second) << op->name.text;
          continue;
        }
        const Array got = record(*op, inputs, Params().list({0}).boolean(false));
        const bool truths = got.dtype() == DType::bool_;
        const double want =
            truths ? combined(op->combine, a != 0, b != 0) : combined(op->combine, a, b);
        EXPECT_EQ(cast(got, DType::f64).item(), want) << op->name.text << " of " << a << ", " << b;
      }
    }
  }
}

}  // namespace
}  // namespace hearth
