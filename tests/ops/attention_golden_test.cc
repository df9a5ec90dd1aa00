// Attention and rotary positions against their definitions: attention.txt and ropes.txt.
#include <gtest/gtest.h>

#include <algorithm>

#include "hearth/ops.h"
#include "ops/golden_rows.h"

namespace hearth::testing {
namespace {

using Arrays = std::vector<Array>;

// The input that the option `more` names, which the others of `before` precede; or none.
Array named_input(const GoldenRow& row, const Arrays& in, std::size_t before,
                  const std::string& name) {
  if (!row.has("more")) return Array();
  const std::vector<std::string>& names = row.options.at("more");
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return Array();
  return in.at(before + static_cast<std::size_t>(found - names.begin()));
}

AttentionOptions attention_options(const GoldenRow& row, const Arrays& in) {
  AttentionOptions options;
  if (row.has("scale")) options.scale = row.number("scale", 0);
  options.softcap = row.number("softcap", 0);
  options.causal = row.whole("causal") != 0;
  options.window = row.whole("window");
  if (row.has("kv_length")) options.kv_length = row.whole("kv_length");
  options.mask = named_input(row, in, 3, "mask");
  options.bias = named_input(row, in, 3, "bias");
  options.lengths = named_input(row, in, 3, "lengths");
  options.starts = named_input(row, in, 3, "starts");
  options.sinks = named_input(row, in, 3, "sinks");
  return options;
}

TEST(AttentionGolden, AgreesWithItsDefinition) {
  expect_golden("attention",
                {{"attention",
                  [](const GoldenRow& row, const Arrays& in) -> Arrays {
                    return {attention(in[0], in[1], in[2], attention_options(row, in))};
                  }},
                 {"attention_with_lse", [](const GoldenRow& row, const Arrays& in) -> Arrays {
                    const auto [out, lse] =
                        attention_with_lse(in[0], in[1], in[2], attention_options(row, in));
                    return {out, lse};
                  }}});
}

TEST(AttentionGolden, WeightsGiveTheSame) {
  const auto mixed = [](const GoldenRow& row, const Arrays& in) {
    return attention_with_weights(in[0], in[1], in[2], attention_options(row, in)).first;
  };
  expect_golden(
      "attention",
      {{"attention",
        [&](const GoldenRow& row, const Arrays& in) -> Arrays { return {mixed(row, in)}; }},
       {"attention_with_lse", [&](const GoldenRow& row, const Arrays& in) -> Arrays {
          const AttentionOptions options = attention_options(row, in);
          return {mixed(row, in), attention_with_lse(in[0], in[1], in[2], options).second};
        }}});
}

Arrays turned(const GoldenRow& row, const Arrays& in) {
  return {rope(in[0], {.base = row.number("base", 0),
                       .interleaved = row.whole("interleaved") != 0,
                       .offset = row.whole("offset"),
                       .dims = row.whole("dims"),
                       .positions = named_input(row, in, 1, "positions"),
                       .frequencies = named_input(row, in, 1, "frequencies"),
                       .magnitude = row.number("magnitude", 1),
                       .sections = row.list("sections"),
                       .mixed_sections = row.whole("mixed") != 0})};
}

// Their logarithms, in f64.
Arrays frequencies(const GoldenRow& row, const Arrays& in) {
  static const std::map<std::string, RopeScalingKind> kKinds = {{"none", RopeScalingKind::none},
                                                                {"linear", RopeScalingKind::linear},
                                                                {"llama3", RopeScalingKind::llama3},
                                                                {"yarn", RopeScalingKind::yarn}};
  RopeScaling scaling;
  scaling.kind = kKinds.at(row.word("kind"));
  scaling.factor = row.number("factor", scaling.factor);
  scaling.original_length = row.whole("original_length", scaling.original_length);
  scaling.low_frequency_factor = row.number("low_frequency_factor", 1);
  scaling.high_frequency_factor = row.number("high_frequency_factor", 4);
  scaling.beta_fast = row.number("beta_fast", scaling.beta_fast);
  scaling.beta_slow = row.number("beta_slow", scaling.beta_slow);
  scaling.truncate = row.whole("truncate", 1) != 0;
  const Array pair = rope_frequencies(row.whole("dims"), row.number("base", 0), scaling,
                                      in.empty() ? Array() : in[0]);
  return {log(sum(cast(to_device(pair, Device::cpu()), DType::f64), Dims{0}))};
}

TEST(RopeGolden, AgreesWithItsDefinition) {
  expect_golden("ropes", {{"rope", turned}, {"rope_frequencies", frequencies}});
}

}  // namespace
}  // namespace hearth::testing
