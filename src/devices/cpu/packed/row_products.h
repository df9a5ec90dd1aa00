// Rows of x times the rows of a packed weight: how rows are coded, what is multiplied together, and
// where results go. Ops say which rows meet which weight.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/integer_math.h"
#include "devices/cpu/packed/products.h"
#include "devices/cpu/rows/rows.h"

namespace hearth::cpu {

// What products with weights [out, in] of one format come to.
struct PackedWeight {
  PackedWeight(DType format, std::int64_t in_extent, std::int64_t out_extent);

  // Whether so many rows are multiplied as lines, by weights as they lie. Else they are woven into
  // bundles, and weights are unpacked into panels.
  bool in_lines(std::int64_t rows) const;
  std::int64_t bundle_bytes(std::int64_t rows) const {
    return 4 * groups * bundle_words(rows, line.group);
  }
  std::int64_t panels() const { return ceil_div(out, std::int64_t{kPanelWeights}); }
  // Weights of a task that multiplies lines, and panels of one that multiplies `bundles` bundles
  // by each of `weights` weights.
  std::int64_t line_grain() const;
  std::int64_t panel_grain(std::int64_t bundles, std::int64_t weights) const;

  const PackedMachine* machine = &packed_machine();
  const PackedProducts* products;
  std::int64_t in, out, groups;
  LineShape line;
};

// Rows in bundles of 12, of which the last one or two have 8, so that all are wide enough.
struct Bundles {
  std::int64_t rows;

  std::int64_t count() const { return ceil_div(rows, kMostBundleRows); }
  std::int64_t rows_of(std::int64_t bundle) const {
    return bundle < first_short() ? kMostBundleRows : 8;
  }
  std::int64_t first_row(std::int64_t bundle) const {
    const std::int64_t whole = std::min(bundle, first_short());
    return kMostBundleRows * whole + 8 * (bundle - whole);
  }
  // With those that are not there, which are zero: `rows`, and up to 15 more.
  std::int64_t padded() const { return first_row(count()); }

 private:
  std::int64_t first_short() const {
    const std::int64_t fours = ceil_div(rows, 4) % 3;  // behind whole bundles
    return count() - (fours == 0 ? 0 : 3 - fours);
  }
};

// The rows that meet one weight: `count` rows of the result. Row i is places[i], or i where that is
// null, and comes from line row / rows_of_line.
struct MetRows {
  std::int64_t count;
  const std::int64_t* places = nullptr;
  std::int64_t rows_of_line = 1;

  std::int64_t row(std::int64_t i) const { return places == nullptr ? i : places[i]; }
  std::int64_t line(std::int64_t i) const { return row(i) / rows_of_line; }
};

// The operands of a launch: x [..., in], coded into `lines`, and a result of dense rows.
struct RowProducts {
  const PackedWeight& plan;
  Operand x, output;
  std::byte* lines;

  // Codes rows [begin, end) of x, counted over all but the last axis.
  void code(std::int64_t begin, std::int64_t end, std::byte* to) const;
  void code_lines(std::int64_t begin, std::int64_t end) const {
    code(begin, end, lines + begin * plan.line.bytes());
  }
};

// One weight [out, in], its bias [out], of which `bias` says no more than strides and dtype, and
// the rows that it meets.
struct WeightProduct {
  const RowProducts& all;
  const std::uint8_t* weights;
  std::int64_t weight_stride;  // bytes
  const Operand* bias;         // null: none
  Address bias_data;
  std::int64_t bias_stride;
  MetRows rows;
  std::byte* bundles;  // where rows are not in_lines(): bundle_bytes(padded()) of them

  // Of the lines of rows, which are coded.
  void weave(std::int64_t bundle) const;
  // Of rows that were never coded to lines: row i of x, for MetRows without places.
  void code_and_weave(std::int64_t bundle) const;
  // Results of weights [begin, end), and of panels, whose bundles are woven.
  void multiply_lines(std::int64_t begin, std::int64_t end) const;
  void multiply_panels(std::int64_t begin, std::int64_t end) const;

 private:
  const float* biases(std::int64_t first, std::int64_t count, float* copy) const;
  void finish(float* results, const float* addends, std::int64_t row, std::int64_t first,
              std::int64_t count) const;
  void put_tile_row(const float* results, const float* addends, std::int64_t row,
                    std::int64_t first, std::int64_t count) const;
  std::byte* bundle_at(std::int64_t bundle) const;
  void multiply_bundles(std::int64_t begin, std::int64_t end, const std::uint32_t* panels,
                        std::int64_t panel_count, float* sums) const;
};

}  // namespace hearth::cpu
