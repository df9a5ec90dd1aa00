// Tiny models with golden values: the formula of their weights, what their files hold, the folders
// that are written of them.
#include "models/golden_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>

#include "hearth/array.h"
#include "hearth/io.h"
#include "models/golden_weights.h"
#include "models/language/family.h"

namespace hearth::testing {
namespace {

// What scripts/golden/model_weights.py gives.
TEST(GoldenWeights, AreThoseOfPython) {
  const auto weights = [](std::string_view name, std::size_t count, double base, double scale) {
    std::vector<float> out;
    for (std::size_t i = 0; i < count; ++i) {
      out.push_back(golden_weight(fnv1a(name), i, base, scale));
    }
    return out;
  };
  EXPECT_EQ(weights("model.norm.weight", 5, 1, 0.30078125),
            (std::vector<float>{0x1.74fefp-1f, 0x1.c8f5fep-1f, 0x1.97576cp-1f, 0x1.ef4a76p-1f,
                                0x1.36247ep+0f}));
  EXPECT_EQ(weights("lm_head.weight", 6, 0, 0.25),
            (std::vector<float>{0x1.f89b54p-3f, -0x1.e55d9p-4f, -0x1.074224p-3f, -0x1.818358p-3f,
                                0x1.6b758p-5f, 0x1.8c9f58p-3f}));
  EXPECT_EQ(weights("\xc3\xa9", 3, -2, 1),
            (std::vector<float>{-0x1.11dbfp+1f, -0x1.37b256p+1f, -0x1.d4233cp+0f}));
}

TEST(GoldenModel, EveryFileIsWhole) {
  const std::vector<std::string> names = golden_model_names();
  std::set<std::string> types;
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const GoldenModel model = read_golden_model(name);
    EXPECT_EQ(model.name, name);
    EXPECT_TRUE(model.output == "logits" || model.output == "hidden") << model.output;
    EXPECT_GT(model.nmse_of_f32, 0);
    EXPECT_LT(model.nmse_of_f32, 2e-11);
    for (const auto& [key, value] : model.config) {
      if (key == "model_type") types.insert(std::get<std::string>(value));
    }
    EXPECT_TRUE(!model.old_config || JsonValue(*model.old_config) != JsonValue(model.config));
    ASSERT_FALSE(model.tensors.empty());
    for (std::size_t i = 0; i < model.tensors.size(); ++i) {
      const GoldenTensor& tensor = model.tensors[i];
      EXPECT_TRUE(i == 0 || model.tensors[i - 1].name < tensor.name) << tensor.name;
      EXPECT_GT(element_count(tensor.shape), 0) << tensor.name;
      EXPECT_NE(tensor.scale, 0) << tensor.name;
    }
    ASSERT_EQ(model.prompts.size(), 4u);
    for (const GoldenPrompt& prompt : model.prompts) {
      const auto tokens = static_cast<std::int64_t>(prompt.tokens.size());
      ASSERT_LT(prompt.first, tokens);
      EXPECT_EQ(static_cast<std::int64_t>(prompt.values.size()),
                (tokens - prompt.first) * model.width());
      EXPECT_TRUE(std::all_of(prompt.values.begin(), prompt.values.end(),
                              [](double value) { return std::isfinite(value); }));
      EXPECT_TRUE(std::all_of(prompt.tokens.begin(), prompt.tokens.end(),
                              [](std::int64_t token) { return token >= 0 && token < 96; }));
      EXPECT_EQ(normalized_error(prompt.values, prompt), 0);
    }
  }
  for (const models::Family& family : models::families()) {
    for (const models::FolderType& type : family.model_types) {
      EXPECT_TRUE(types.contains(std::string(type.name)))
          << family.architecture << ": no golden model of the type " << type.name;
    }
  }
}

TEST(GoldenModel, ErrorsAreRelativeAndSeeNaN) {
  const GoldenPrompt prompt{{1}, 0, {3, 4}};
  EXPECT_DOUBLE_EQ(normalized_error({3, 4.5}, prompt), 0.25 / 25);
  EXPECT_TRUE(std::isnan(normalized_error({3}, prompt)));
  EXPECT_TRUE(std::isnan(normalized_error({3, std::numeric_limits<double>::quiet_NaN()}, prompt)));
}

TEST(GoldenModel, FoldersHoldItsTensors) {
  const GoldenModel model = read_golden_model("llama");
  const NamedArrays expected = golden_weights(model);
  for (const int shards : {1, 3}) {
    SCOPED_TRACE(shards);
    const TemporaryFolder folder;
    write_model_folder(model, folder.path(), shards);
    std::ifstream config(folder / "config.json");
    const std::string text{std::istreambuf_iterator<char>(config), {}};
    EXPECT_EQ(parse_json(text), JsonValue(model.config));
    NamedArrays found;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      if (entry.path().extension() != ".safetensors") continue;
      const SafetensorsContents part = load_safetensors(entry.path().string());
      EXPECT_FALSE(part.arrays.empty());
      found.insert(found.end(), part.arrays.begin(), part.arrays.end());
    }
    std::sort(found.begin(), found.end(),
              [](const NamedArray& a, const NamedArray& b) { return a.name < b.name; });
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].name, expected[i].name);
      EXPECT_EQ(found[i].array.dtype(), DType::f32);
      EXPECT_EQ(found[i].array.shape(), model.tensors[i].shape);
      EXPECT_EQ(found[i].array.to_doubles(), expected[i].array.to_doubles());
    }
  }
}

}  // namespace
}  // namespace hearth::testing
