// Convolutions and products of matrices against PyTorch: convolutions.txt and products.txt.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "hearth/ops.h"
#include "ops/golden_rows.h"

namespace hearth::testing {
namespace {

using Arrays = std::vector<Array>;

Array bias_of(const Arrays& in) { return in.size() > 2 ? in[2] : Array(); }

TEST(ProductGolden, ConvolutionsAgreeWithPyTorch) {
  expect_golden("convolutions",
                {{"conv",
                  [](const GoldenRow& row, const Arrays& in) -> Arrays {
                    return {conv(in[0], in[1], bias_of(in),
                                 {.stride = row.list("stride"),
                                  .padding = row.list("padding"),
                                  .padding_end = row.list("padding_end"),
                                  .dilation = row.list("dilation"),
                                  .groups = row.whole("groups"),
                                  .same = row.whole("same") != 0})};
                  }},
                 {"conv_transpose", [](const GoldenRow& row, const Arrays& in) -> Arrays {
                    return {conv_transpose(in[0], in[1], bias_of(in),
                                           {.stride = row.list("stride"),
                                            .padding = row.list("padding"),
                                            .padding_end = row.list("padding_end"),
                                            .dilation = row.list("dilation"),
                                            .groups = row.whole("groups"),
                                            .output_padding = row.list("output_padding")})};
                  }}});
}

std::string subscripts_of(const GoldenRow& row) {
  std::string text = row.word("subscripts");
  std::replace(text.begin(), text.end(), ';', ',');
  return text;
}

TEST(ProductGolden, ProductsAgreeWithPyTorch) {
  expect_golden(
      "products",
      {{"matmul",
        [](const GoldenRow&, const Arrays& in) -> Arrays { return {matmul(in[0], in[1])}; }},
       {"linear",
        [](const GoldenRow&, const Arrays& in) -> Arrays {
          return {linear(in[0], in[1], bias_of(in))};
        }},
       {"outer",
        [](const GoldenRow&, const Arrays& in) -> Arrays { return {outer(in[0], in[1])}; }},
       {"matvec",
        [](const GoldenRow&, const Arrays& in) -> Arrays { return {matvec(in[0], in[1])}; }},
       {"cross",
        [](const GoldenRow& row, const Arrays& in) -> Arrays {
          return {cross(in[0], in[1], row.whole("axis"))};
        }},
       {"einsum", [](const GoldenRow& row, const Arrays& in) -> Arrays {
          return {einsum(subscripts_of(row), in)};
        }}});
}

}  // namespace
}  // namespace hearth::testing
