// Which matrix gets which dtype: what llama-quantize gives the same models.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/quantize/tensor_types.h"

namespace hearth::models {
namespace {

struct SketchedModel {
  std::string family = "llama";
  std::int64_t layers = 32;
  std::int64_t heads = 8, kv_heads = 2;
  std::int64_t experts = 0;
  bool has_output = true;
  bool has_importance = false;
  std::int64_t dim = 256;
};

std::vector<TypedTensor> tensors_of(const SketchedModel& model) {
  std::vector<TypedTensor> all = {{"token_embd.weight", {8, model.dim}},
                                  {"output_norm.weight", {model.dim}}};
  if (model.has_output) all.push_back({"output.weight", {8, model.dim}});
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const std::string block = "blk." + std::to_string(layer) + ".";
    for (const char* name : {"attn_q", "attn_k", "attn_v", "attn_output"}) {
      all.push_back({block + name + ".weight", {4, model.dim}});
    }
    for (const char* name : {"ffn_gate", "ffn_up", "ffn_down"}) {
      if (model.experts > 0) {
        all.push_back({block + name + "_exps.weight", {model.experts, 4, model.dim}});
      } else {
        all.push_back({block + name + ".weight", {4, model.dim}});
      }
    }
    if (model.experts > 0) all.push_back({block + "ffn_gate_inp.weight", {model.experts, 256}});
  }
  return all;
}

using Dtypes = std::vector<std::pair<std::string, DType>>;

Dtypes dtypes_of(const std::string& type, const SketchedModel& model) {
  const std::vector<TypedTensor> tensors = tensors_of(model);
  GgufMetadata metadata = {{"general.architecture", model.family}};
  metadata.set(model.family + ".attention.head_count", static_cast<std::uint32_t>(model.heads));
  metadata.set(model.family + ".attention.head_count_kv",
               static_cast<std::uint32_t>(model.kv_heads));
  metadata.set(model.family + ".expert_count", static_cast<std::uint32_t>(model.experts));
  const std::vector<DType> dtypes = quantized_dtypes(
      quantize_type_from_name(type), tensors, mixed_model(metadata, tensors, model.has_importance));
  Dtypes named;
  for (std::size_t i = 0; i < tensors.size(); ++i) named.emplace_back(tensors[i].name, dtypes[i]);
  return named;
}

DType of(const Dtypes& dtypes, const std::string& name) {
  for (const auto& [each, dtype] : dtypes) {
    if (each == name) return dtype;
  }
  throw std::logic_error(name);
}

// How many tensors of this part of a name have which dtypes: "q6_k 16, q4_k 16".
std::string counted(const Dtypes& dtypes, const std::string& part) {
  std::vector<std::pair<DType, int>> counts;
  for (const auto& [each, dtype] : dtypes) {
    if (each.find(part) == std::string::npos) continue;
    auto found = counts.begin();
    while (found != counts.end() && found->first != dtype) ++found;
    if (found == counts.end()) found = counts.insert(found, {dtype, 0});
    ++found->second;
  }
  std::string text;
  for (const auto& [dtype, count] : counts) {
    text += (text.empty() ? "" : ", ") + std::string(name(dtype)) + " " + std::to_string(count);
  }
  return text;
}

struct Case {
  const char* type;
  const char* part;
  const char* expected;  // in the order in which they come
};

void expect_cases(const std::vector<Case>& cases, const SketchedModel& model) {
  for (const Case& each : cases) {
    EXPECT_EQ(counted(dtypes_of(each.type, model), each.part), each.expected)
        << each.type << " " << each.part;
  }
}

TEST(QuantizeMixes, OfModelsWhoseHeadsShareValues) {
  expect_cases({{"Q4_K_M", "attn_v.", "q6_k 16, q4_k 16"},
                {"Q4_K_M", "ffn_down", "q6_k 16, q4_k 16"},
                {"Q4_K", "ffn_down", "q6_k 16, q4_k 16"},
                {"Q4_K_M", "attn_output", "q4_k 32"},
                {"Q4_K_S", "attn_v.", "q5_k 4, q4_k 28"},
                {"Q4_K_S", "ffn_down", "q5_k 4, q4_k 28"},
                {"Q5_K_M", "ffn_down", "q6_k 16, q5_k 16"},
                {"Q5_K_S", "ffn_down", "q5_k 32"},
                {"Q3_K_M", "attn_v.", "q5_k 2, q4_k 30"},
                {"Q3_K", "ffn_down", "q5_k 2, q4_k 30"},
                {"Q3_K_M", "attn_output", "q4_k 32"},
                {"Q3_K_L", "attn_output", "q5_k 32"},
                {"Q3_K_L", "ffn_up", "q3_k 32"},
                {"Q3_K_S", "ffn_down", "q3_k 32"},
                {"Q2_K", "attn_v.", "q4_k 32"},
                {"Q2_K", "ffn_down", "q3_k 32"},
                {"Q2_K", "ffn_up", "q2_k 32"},
                {"Q2_K_S", "attn_v.", "q4_k 32"},
                {"Q2_K_S", "ffn_down", "q4_k 4, q2_k 28"},
                {"IQ1_S", "attn_output", "iq2_xxs 32"},
                {"IQ1_M", "attn_v.", "q4_k 32"},
                {"IQ1_M", "ffn_down", "q2_k 4, iq1_m 28"},
                {"IQ2_XS", "ffn_down", "q2_k 4, iq2_xs 28"},
                {"IQ2_S", "ffn_up", "iq2_xs 32"},
                {"IQ2_M", "ffn_up", "iq2_s 32"},
                {"IQ2_M", "ffn_down", "iq3_s 4, iq2_s 28"},
                {"IQ2_M", "attn_output", "iq3_s 32"},
                {"IQ3_XXS", "attn_q.", "iq2_s 32"},
                {"IQ3_XXS", "ffn_down", "q4_k 4, q3_k 28"},
                {"IQ3_XS", "attn_k.", "iq3_xxs 32"},
                {"IQ3_XS", "ffn_gate", "iq3_s 8, iq3_xxs 24"},
                {"IQ3_S", "attn_v.", "q4_k 32"},
                {"IQ3_M", "ffn_down", "q4_k 4, iq3_s 28"},
                {"IQ4_XS", "attn_v.", "q5_k 32"},
                {"IQ4_NL", "ffn_down", "q5_k 4, iq4_nl 28"},
                {"Q4_0", "ffn_down", "q4_0 32"},
                {"MXFP4_MOE", "ffn_down", "q8_0 32"}},
               {});
}

TEST(QuantizeMixes, OfModelsWhoseHeadsHaveValuesOfTheirOwn) {
  expect_cases({{"Q2_K", "attn_v.", "q3_k 32"},
                {"IQ1_S", "attn_v.", "q2_k 32"},
                {"IQ2_S", "attn_v.", "iq3_s 32"},
                {"IQ3_XXS", "attn_v.", "iq3_s 32"},
                {"IQ3_S", "attn_v.", "iq3_s 32"},
                {"IQ4_XS", "attn_v.", "iq4_xs 32"}},
               {.kv_heads = 8});
}

TEST(QuantizeMixes, OfModelsOfEightExperts) {
  expect_cases({{"Q4_K_M", "attn_v.", "q8_0 32"},
                {"Q4_K_M", "attn_k.", "q8_0 32"},
                {"Q4_K_M", "attn_output", "q5_k 32"},
                {"Q4_K_M", "ffn_down_exps", "q6_k 16, q4_k 16"},
                {"Q3_K_L", "attn_output", "q3_k 32"},
                {"Q4_0", "attn_v.", "q8_0 32"},
                {"IQ2_XS", "attn_k.", "q4_k 32"},
                {"IQ2_XS", "attn_output", "q5_k 32"},
                {"IQ3_M", "ffn_down_exps", "q4_k 16, iq3_s 16"},
                {"MXFP4_MOE", "ffn_up_exps", "mxfp4 32"},
                {"MXFP4_MOE", "attn_q.", "q8_0 32"},
                {"Q4_K_M", "ffn_gate_inp", "f32 32"}},
               {.experts = 8});
}

TEST(QuantizeMixes, OutputsAndEmbeddings) {
  expect_cases({{"Q4_0", "output.weight", "q6_k 1, q4_0 32"},
                {"Q8_0", "token_embd", "q8_0 1"},
                {"Q4_K_M", "token_embd", "q4_k 1"},
                {"IQ2_XXS", "token_embd", "q2_k 1"},
                {"IQ2_M", "token_embd", "iq3_s 1"},
                {"IQ3_XXS", "token_embd", "iq3_s 1"},
                {"TQ1_0", "token_embd", "q4_k 1"},
                {"IQ3_M", "token_embd", "iq3_s 1"}},
               {});
  // The embedding in the place of the output.
  expect_cases({{"Q4_K_M", "token_embd", "q6_k 1"},
                {"IQ2_M", "token_embd", "q5_k 1"},
                {"IQ3_XXS", "token_embd", "q5_k 1"},
                {"IQ3_M", "token_embd", "q6_k 1"},
                {"MXFP4_MOE", "token_embd", "q8_0 1"}},
               {.has_output = false});
}

TEST(QuantizeMixes, AnImportanceMatrixChangesSome) {
  expect_cases({{"Q4_0", "ffn_down", "q4_1 4, q4_0 28"},
                {"Q5_0", "ffn_down", "q5_1 4, q5_0 28"},
                {"IQ3_XXS", "ffn_down", "iq3_xxs 32"},
                {"IQ4_XS", "ffn_down", "iq4_xs 32"}},
               {.has_importance = true});
}

TEST(QuantizeMixes, OfModelsOfEightyLayers) {
  const SketchedModel large{.layers = 80, .heads = 8, .kv_heads = 1};
  expect_cases({{"Q4_K_M", "attn_v.", "q6_k 40, q5_k 40"}, {"Q2_K", "attn_v.", "q5_k 80"}}, large);
  SketchedModel other = large;
  other.family = "qwen3";
  expect_cases({{"Q2_K", "attn_v.", "q4_k 80"}}, other);
  // Values that heads do not share are as large as queries, but llama.cpp has more bits for
  // qwen2's.
  SketchedModel unshared{.layers = 80, .heads = 8, .kv_heads = 8};
  expect_cases({{"Q2_K", "attn_v.", "q3_k 80"}}, unshared);
  unshared.family = "qwen2";
  expect_cases({{"Q2_K", "attn_v.", "q5_k 80"}}, unshared);
}

TEST(QuantizeMixes, RowsThatBlocksDoNotFit) {
  expect_cases({{"Q2_K", "ffn_up", "q4_0 32"},
                {"Q4_K_M", "attn_q.", "q5_0 32"},
                {"IQ3_S", "ffn_up", "iq4_nl 32"},
                {"IQ2_M", "output.weight", "q8_0 1, iq4_nl 32"},
                {"Q4_K_M", "output.weight", "q8_0 1, q5_0 32"}},
               {.dim = 288});
}

// Of layers that have no values of their own the others count.
TEST(QuantizeMixes, CountMatricesAndNotLayers) {
  std::vector<TypedTensor> tensors;
  for (int layer = 0; layer < 32; layer += 4) {
    tensors.push_back({"blk." + std::to_string(layer) + ".attn_v.weight", {4, 256}});
  }
  tensors.push_back({"blk.31.attn_norm.weight", {256}});
  const std::vector<DType> dtypes =
      quantized_dtypes(quantize_type_from_name("q4_k_s"), tensors, mixed_model({}, tensors, false));
  for (std::size_t i = 0; i + 1 < tensors.size(); ++i) {
    EXPECT_EQ(dtypes[i], i < 4 ? DType::q5_k : DType::q4_k) << tensors[i].name;
  }
}

TEST(QuantizeMixes, NamesAreThoseOfLlamaQuantize) {
  for (const auto& [name, number] : std::vector<std::pair<const char*, std::int64_t>>{
           {"Q1_0", 40},   {"Q2_0", 41},   {"Q4_0", 2},     {"Q4_1", 3},    {"MXFP4_MOE", 38},
           {"Q5_0", 8},    {"Q5_1", 9},    {"IQ2_XXS", 19}, {"IQ2_XS", 20}, {"IQ2_S", 28},
           {"IQ2_M", 29},  {"IQ1_S", 24},  {"IQ1_M", 31},   {"TQ1_0", 36},  {"TQ2_0", 37},
           {"Q2_K", 10},   {"Q2_K_S", 21}, {"IQ3_XXS", 23}, {"IQ3_S", 26},  {"IQ3_M", 27},
           {"Q3_K", 12},   {"IQ3_XS", 22}, {"Q3_K_S", 11},  {"Q3_K_M", 12}, {"Q3_K_L", 13},
           {"IQ4_NL", 25}, {"IQ4_XS", 30}, {"Q4_K", 15},    {"Q4_K_S", 14}, {"Q4_K_M", 15},
           {"Q5_K", 17},   {"Q5_K_S", 16}, {"Q5_K_M", 17},  {"Q6_K", 18},   {"Q8_0", 7},
           {"F16", 1},     {"BF16", 32},   {"F32", 0}}) {
    EXPECT_EQ(file_type_of(quantize_type_from_name(name)), number) << name;
  }
  EXPECT_TRUE(quantize_type_from_name("COPY").is_kept);
  EXPECT_EQ(file_type_of({.dtype = DType::q5_k}), 16);
  EXPECT_TRUE(needs_importance(quantize_type_from_name("IQ1_S").dtype));
  EXPECT_FALSE(needs_importance(quantize_type_from_name("IQ3_S").dtype));
}

TEST(QuantizeMixes, PureTypesAndBareDtypesAreAlike) {
  const SketchedModel model;
  QuantizeType pure = quantize_type_from_name("IQ2_M");
  pure.is_pure = true;
  const std::vector<TypedTensor> tensors = tensors_of(model);
  const std::vector<DType> dtypes =
      quantized_dtypes(pure, tensors, mixed_model({}, tensors, false));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const bool is_norm = tensors[i].shape.rank() == 1;
    EXPECT_EQ(dtypes[i], is_norm ? DType::f32 : DType::iq2_s) << tensors[i].name;
  }
  const std::vector<DType> bare =
      quantized_dtypes({.dtype = DType::q4_k}, tensors, mixed_model({}, tensors, false));
  Dtypes named;
  for (std::size_t i = 0; i < tensors.size(); ++i) named.emplace_back(tensors[i].name, bare[i]);
  EXPECT_EQ(counted(named, "blk."), "q4_k 224");
  EXPECT_EQ(of(named, "output.weight"), DType::q6_k);
}

}  // namespace
}  // namespace hearth::models
