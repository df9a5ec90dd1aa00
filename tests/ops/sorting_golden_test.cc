// Sorting, places in sorted rows, counts and quantiles against Python and NumPy: sorting.txt.
#include <gtest/gtest.h>

#include "hearth/ops.h"
#include "ops/golden_rows.h"

namespace hearth::testing {
namespace {

using Arrays = std::vector<Array>;

Arrays both(const std::pair<Array, Array>& pair) { return {pair.first, pair.second}; }

std::int64_t axis_of(const GoldenRow& row) { return row.whole("axis"); }
bool keeps(const GoldenRow& row) { return row.whole("keepdim") != 0; }

Arrays histogram_of(const GoldenRow& row, const Arrays& in) {
  std::optional<Bounds> bounds;
  if (row.has("low")) bounds = {row.number("low", 0), row.number("high", 0)};
  return both(histogram(in[0], row.whole("bins"), bounds));
}

Arrays quantile_of(const GoldenRow& row, const Arrays& in) {
  static const std::map<std::string, Interpolation> kMethods = {
      {"linear", Interpolation::linear},
      {"lower", Interpolation::lower},
      {"higher", Interpolation::higher},
      {"midpoint", Interpolation::midpoint},
      {"nearest", Interpolation::nearest}};
  std::optional<std::int64_t> axis;
  if (row.has("axis")) axis = axis_of(row);
  return {quantile(in[0], row.numbers("q"), axis, false, kMethods.at(row.word("method")))};
}

TEST(SortingGolden, AgreesWithPythonAndNumpy) {
  expect_golden(
      "sorting",
      {{"sort",
        [](const GoldenRow& row, const Arrays& in) {
          return both(sort_with_indices(in[0], axis_of(row), row.whole("descending") != 0));
        }},
       {"topk",
        [](const GoldenRow& row, const Arrays& in) {
          return both(topk_with_indices(in[0], row.whole("k"), axis_of(row)));
        }},
       {"median",
        [](const GoldenRow& row, const Arrays& in) {
          return both(median_with_indices(in[0], axis_of(row), keeps(row)));
        }},
       {"max",
        [](const GoldenRow& row, const Arrays& in) {
          return both(max_with_indices(in[0], axis_of(row), keeps(row)));
        }},
       {"min",
        [](const GoldenRow& row, const Arrays& in) {
          return both(min_with_indices(in[0], axis_of(row), keeps(row)));
        }},
       {"searchsorted",
        [](const GoldenRow& row, const Arrays& in) -> Arrays {
          return {searchsorted(in[0], in[1], row.whole("right") != 0)};
        }},
       {"bucketize",
        [](const GoldenRow& row, const Arrays& in) -> Arrays {
          return {bucketize(in[0], in[1], row.whole("right") != 0)};
        }},
       {"bincount",
        [](const GoldenRow& row, const Arrays& in) -> Arrays {
          return {bincount(in[0], in.size() > 1 ? in[1] : Array(), row.whole("least"))};
        }},
       {"histogram", histogram_of},
       {"histogram_by_edges",
        [](const GoldenRow&, const Arrays& in) -> Arrays {
          return {histogram_by_edges(in[0], in[1])};
        }},
       {"quantile", quantile_of}});
}

}  // namespace
}  // namespace hearth::testing
