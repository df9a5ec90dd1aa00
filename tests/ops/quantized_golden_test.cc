// Quantized arrays against what NumPy gives: quantized.txt.
#include <gtest/gtest.h>

#include "hearth/quantization.h"
#include "ops/golden_rows.h"

namespace hearth::testing {
namespace {

using Arrays = std::vector<Array>;

QuantScheme scheme_of(const GoldenRow& row) {
  static const std::map<std::string, QuantValue> kValues = {
      {"q8f", QuantValue::q8f},   {"q8s", QuantValue::q8s},   {"q4f", QuantValue::q4f},
      {"q4s", QuantValue::q4s},   {"q2f", QuantValue::q2f},   {"q2s", QuantValue::q2s},
      {"e4m3", QuantValue::e4m3}, {"e5m2", QuantValue::e5m2}, {"e2m1", QuantValue::e2m1}};
  static const std::map<std::string, ScaleDType> kScales = {{"f32", ScaleDType::f32},
                                                            {"f16", ScaleDType::f16},
                                                            {"bf16", ScaleDType::bf16},
                                                            {"ue4m3", ScaleDType::ue4m3},
                                                            {"ue8m0", ScaleDType::ue8m0}};
  QuantScheme scheme;
  scheme.value = kValues.at(row.word("value"));
  scheme.store = QuantStore::packed_u32(row.whole("dim"));
  if (row.has("block")) scheme = scheme.per_block(row.list("block"), kScales.at(row.word("scale")));
  if (row.whole("two_levels") != 0) scheme.tensor = ScaleDType::f32;
  return scheme;
}

TEST(QuantizedGolden, AgreesWithNumpy) {
  expect_golden("quantized",
                {{"quantize", [](const GoldenRow& row, const Arrays& in) -> Arrays {
                    const QuantizedArray x = quantize_dynamic(
                        in[0], scheme_of(row),
                        row.whole("mean") != 0 ? Calibration::abs_mean : Calibration::min_max);
                    return {x.combined_scales(), quantized_values(x), dequantize(x, DType::f32),
                            x.payload()};
                  }}});
}

}  // namespace
}  // namespace hearth::testing
