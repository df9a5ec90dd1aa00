// Folders of models: their files, what may be wrong with them, weights in forms that no dtype has.
#include "models/files/model_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "devices_under_test.h"
#include "error_text.h"
#include "hearth/io.h"
#include "hearth/quantization/packed.h"
#include "io/safetensors.h"
#include "models/files/float8_weights.h"
#include "models/files/folder_template.h"
#include "models/files/mlx_weights.h"
#include "models/files/safetensors_index.h"
#include "models/golden_model.h"
#include "source_dir.h"

namespace hearth::testing {
namespace {

using check::contains;
using check::error_of;
using models::ModelFolder;
using models::read_model_folder;
using models::WeightForm;

std::string golden_folder(const std::string& name) {
  return (check::source_dir() / "tests/golden/folders" / name).string();
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// Whether no other bf16 or f16 is closer to `exact` than `value`, which is one.
bool is_nearest(double value, double exact, DType dtype) {
  if (std::isnan(exact)) return std::isnan(value);
  const auto with_bits = [&](std::uint16_t bits) -> double {
    if (dtype == DType::f16) return static_cast<float>(std::bit_cast<float16>(bits));
    return static_cast<float>(std::bit_cast<bfloat16>(bits));
  };
  const std::uint16_t bits = dtype == DType::f16 ? float16(static_cast<float>(value)).bits
                                                 : bfloat16(static_cast<float>(value)).bits;
  const double error = std::fabs(value - exact);
  const auto other = [&](int step) {
    return std::fabs(with_bits(static_cast<std::uint16_t>(bits + step)) - exact);
  };
  return with_bits(bits) == value && !(other(1) < error) && !(other(-1) < error);
}

// Checks that the folder's tensors are those of its expected.safetensors, of these dtypes or f32.
void expect_values(const ModelFolder& folder, const std::map<std::string, DType>& dtypes) {
  const NamedArrays expected = load_safetensors(folder.path + "/expected.safetensors").arrays;
  ASSERT_EQ(folder.tensors.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto& [name, array] = folder.tensors[i];
    SCOPED_TRACE(name);
    ASSERT_EQ(name, expected[i].name);
    ASSERT_EQ(array.shape(), expected[i].array.shape());
    const auto wanted = dtypes.find(name);
    EXPECT_EQ(array.dtype(), wanted != dtypes.end() ? wanted->second : DType::f32);
    const std::vector<double> values =
        (is_packed(array.dtype()) ? dequantize(array) : array).to_doubles();
    const std::vector<double> exact = expected[i].array.to_doubles();
    for (std::size_t at = 0; at < exact.size(); ++at) {
      if (array.dtype() == DType::f16 || array.dtype() == DType::bf16) {
        EXPECT_TRUE(is_nearest(values[at], exact[at], array.dtype()))
            << at << ": " << values[at] << " for " << exact[at];
      } else {
        EXPECT_NEAR(values[at], exact[at], 1e-6 * std::fabs(exact[at]) + 1e-7) << at;
      }
    }
  }
}

class ModelFolders : public ::testing::TestWithParam<Device> {};
INSTANTIATE_TEST_SUITE_P(Devices, ModelFolders, ::testing::ValuesIn(devices_under_test()),
                         [](const auto& device) {
                           std::string name = device.param.name();
                           std::replace(name.begin(), name.end(), ':', '_');
                           return name;
                         });

TEST_P(ModelFolders, HoldTheirTensorsInOneFileOrMore) {
  const GoldenModel model = read_golden_model("qwen3_tied_yarn");
  const NamedArrays expected = golden_weights(model);
  for (const int shards : {1, 3}) {
    const TemporaryFolder place;
    write_model_folder(model, place.path(), shards);
    const ModelFolder folder = read_model_folder(place.path().string(), GetParam());
    EXPECT_EQ(JsonValue(folder.config), JsonValue(model.config));
    EXPECT_EQ(folder.form, WeightForm::plain);
    EXPECT_FALSE(folder.is_mlx);
    ASSERT_EQ(folder.tensors.size(), expected.size());
    for (const auto& [name, array] : expected) {
      const Array* found = folder.find(name);
      ASSERT_NE(found, nullptr) << name;
      EXPECT_EQ(found->shape(), array.shape());
      EXPECT_EQ(found->to_doubles(), array.to_doubles()) << name;
    }
    EXPECT_EQ(folder.find("lm_head.weight"), nullptr);
  }
}

TEST_P(ModelFolders, HoldWeightsOfEightBitFloats) {
  const ModelFolder folder = read_model_folder(golden_folder("float8"), GetParam());
  EXPECT_EQ(folder.form, WeightForm::float8);
  expect_values(folder, {{"blocks.weight", DType::bf16},
                         {"rows.weight", DType::bf16},
                         {"whole.weight", DType::bf16},
                         {"experts", DType::bf16},
                         {"powers.weight", DType::bf16},
                         {"every_e4m3.weight", DType::bf16},
                         {"every_e5m2.weight", DType::bf16}});
}

TEST_P(ModelFolders, HoldBlocksOfFourBitFloats) {
  const ModelFolder folder = read_model_folder(golden_folder("mxfp4"), GetParam());
  EXPECT_EQ(folder.form, WeightForm::mxfp4);
  expect_values(folder, {{"experts.gate_up_proj_blocks", DType::mxfp4},
                         {"experts.gate_up_proj_bias", DType::bf16}});
}

TEST_P(ModelFolders, HoldWeightsOfMlx) {
  const ModelFolder folder = read_model_folder(golden_folder("mlx"), GetParam());
  EXPECT_EQ(folder.form, WeightForm::mlx);
  EXPECT_TRUE(folder.is_mlx);
  expect_values(folder, {{"bits_2.weight", DType::q4_1},
                         {"bits_3.weight", DType::q4_1},
                         {"bits_4.weight", DType::q4_1},
                         {"bits_5.weight", DType::q5_1},
                         {"bits_6.weight", DType::affine6},
                         {"bits_8.weight", DType::affine8},
                         {"group_128.weight", DType::q4_1},
                         {"experts.weight", DType::q5_1},
                         {"large.weight", DType::affine6},
                         {"wide.weight", DType::affine6},
                         {"floats.weight", DType::mxfp4},
                         {"default.weight", DType::q4_1}});
}

// A folder with what a test writes into it.
class AFolder : public ::testing::Test {
 protected:
  void SetUp() override { write_file(place_ / "config.json", R"({"model_type": "llama"})"); }

  void write_index(const std::string& map) const {
    write_file(place_ / "model.safetensors.index.json", R"({"weight_map": )" + map + "}");
  }
  // A file of tensors of one element, f32.
  void write_tensors(const std::string& file, const std::vector<std::string>& names) const {
    NamedArrays arrays;
    for (const std::string& name : names) {
      arrays.push_back({name, Array::from_data(std::vector<float>{1}, {1})});
    }
    save_safetensors(place_ / file, arrays);
  }
  std::string error(ErrorCode code) const {
    return error_of(code, [&] { static_cast<void>(read_model_folder(place_.path().string())); });
  }

  TemporaryFolder place_;
};

TEST_F(AFolder, NamesTheFilesThatAreThere) {
  write_tensors("model.safetensors", {"a"});
  write_file(place_ / "tokenizer.json", "{}");
  write_file(place_ / "chat_template.jinja", "x");
  const ModelFolder folder = read_model_folder(place_.path().string());
  EXPECT_EQ(folder.tokenizer, place_ / "tokenizer.json");
  EXPECT_EQ(folder.tokenizer_config, "");
  EXPECT_EQ(folder.chat_template, place_ / "chat_template.jinja");
  EXPECT_EQ(folder.generation_config, "");
  EXPECT_TRUE(models::is_model_folder(place_.path().string()));
  EXPECT_FALSE(models::is_model_folder(place_ / "tokenizer.json"));
}

TEST_F(AFolder, TemplatesForToolsHaveAName) {
  write_tensors("model.safetensors", {"a"});
  const auto templates = [&] {
    return models::chat_templates_of(read_model_folder(place_.path().string()));
  };
  EXPECT_EQ(templates().usual, "");
  write_file(place_ / "tokenizer_config.json", R"({"chat_template": "one"})");
  EXPECT_EQ(templates().usual, "one");
  EXPECT_EQ(templates().with_tools, "");
  write_file(place_ / "tokenizer_config.json",
             R"({"chat_template": [{"name": "tool_use", "template": "tools"},
                 {"name": "rag", "template": "texts"}, {"name": "default", "template": "two"}]})");
  EXPECT_EQ(templates().usual, "two");
  EXPECT_EQ(templates().with_tools, "tools");
  for (const char* broken : {"1", R"([{"name": "default"}])", R"(["one"])"}) {
    write_file(place_ / "tokenizer_config.json",
               R"({"chat_template": )" + std::string(broken) + "}");
    EXPECT_TRUE(contains(error_of(ErrorCode::corrupt_file, [&] { templates(); }), "chat_template"))
        << broken;
  }
  write_file(place_ / "chat_template.jinja", "x");
  EXPECT_EQ(templates().usual, "x");
  EXPECT_EQ(templates().with_tools, "");
  std::filesystem::create_directory(place_.path() / "additional_chat_templates");
  write_file(place_ / "additional_chat_templates/tool_use.jinja", "y");
  EXPECT_EQ(templates().with_tools, "y");
}

TEST_F(AFolder, WithoutFilesIsAnError) {
  EXPECT_TRUE(contains(error(ErrorCode::io), "no weights; got "));
  write_file(place_ / "pytorch_model.bin", "x");
  EXPECT_TRUE(contains(error(ErrorCode::io), "pytorch_model.bin (transformers' save_pretrained()"));
  write_index(R"({"a": "x.safetensors"})");
  EXPECT_TRUE(contains(error(ErrorCode::io), "x.safetensors"));
  std::filesystem::remove(place_ / "config.json");
  EXPECT_TRUE(contains(error(ErrorCode::io), "no configuration; got "));
}

TEST_F(AFolder, WithABrokenConfigurationIsAnError) {
  write_tensors("model.safetensors", {"a"});
  for (const char* text : {"", "[]", "{", "{\"a\": 1} x"}) {
    write_file(place_ / "config.json", text);
    EXPECT_TRUE(contains(error(ErrorCode::corrupt_file), "not a configuration")) << text;
  }
}

TEST_F(AFolder, RefusesOtherWaysOfQuantizing) {
  write_tensors("model.safetensors", {"a"});
  const auto write_config = [&](const std::string& text) {
    write_file(place_ / "config.json", text);
  };
  write_config(R"({"quantization_config": {"quant_method": "gptq", "bits": 4}})");
  EXPECT_TRUE(contains(error(ErrorCode::unsupported), "got quant_method \"gptq\", expected fp8"));
  write_config(R"({"text_config": {"quantization_config": {"quant_method": "awq"}}})");
  EXPECT_TRUE(contains(error(ErrorCode::unsupported), "\"awq\""));
  write_config(R"({"quantization_config": {"quant_method": "fp8", "weight_block_size": [0, 1]}})");
  EXPECT_TRUE(contains(error(ErrorCode::corrupt_file), "got [0,1], expected two numbers"));
  write_config(R"({"quantization": {"bits": 7, "group_size": 64}})");
  EXPECT_TRUE(contains(error(ErrorCode::corrupt_file), "got bits 7 and group_size 64"));
  write_config(R"({"quantization": {"bits": 4, "group_size": 16, "mode": "nvfp4"}})");
  EXPECT_TRUE(contains(error(ErrorCode::unsupported), "got \"nvfp4\""));
}

TEST_F(AFolder, HasEachTensorOnceAndWhereTheIndexSays) {
  write_tensors("one.safetensors", {"a", "b"});
  write_tensors("two.safetensors", {"c"});
  write_index(R"({"a": "one.safetensors", "c": "two.safetensors"})");
  EXPECT_EQ(read_model_folder(place_.path().string()).tensors.size(), 3u);
  write_index(R"({"a": "two.safetensors", "b": "one.safetensors"})");
  EXPECT_TRUE(contains(error(ErrorCode::corrupt_file),
                       "got \"a\" in \"one.safetensors\", expected \"two.safetensors\""));
  write_index(R"({"a": "one.safetensors", "d": "one.safetensors"})");
  EXPECT_TRUE(contains(error(ErrorCode::corrupt_file), "got \"d\" in none, expected"));
  write_tensors("two.safetensors", {"c", "b"});
  write_index(R"({"a": "one.safetensors", "c": "two.safetensors"})");
  EXPECT_TRUE(contains(error(ErrorCode::corrupt_file), "a tensor in two files; got \"b\" in "));
}

TEST_F(AFolder, ReadsNoFileOutside) {
  write_tensors("one.safetensors", {"a"});
  for (const char* name : {"../one.safetensors", "/etc/one.safetensors", "x/one.safetensors",
                           "x\\\\one.safetensors", ".safetensors", "..safetensors", "one.bin", "",
                           "one\\u0000.safetensors", "c:.safetensors"}) {
    write_index(std::string(R"({"a": ")") + name + R"("})");
    EXPECT_TRUE(contains(error(ErrorCode::corrupt_file), "in no file of the folder; got ")) << name;
  }
  for (const char* map : {"[]", "null", "3"}) {
    write_index(map);
    EXPECT_TRUE(contains(error(ErrorCode::corrupt_file), "no weight_map")) << map;
  }
  write_index("{}");
  EXPECT_TRUE(contains(error(ErrorCode::corrupt_file), "an index of no tensors"));
  write_index(R"({"a": 5})");
  EXPECT_TRUE(contains(error(ErrorCode::corrupt_file), "got \"5\", expected the plain name"));
  write_file(place_ / "model.safetensors.index.json", "[1");
  EXPECT_TRUE(contains(error(ErrorCode::corrupt_file), "not an index"));
}

// As static schemes have them; activations are not rounded to eight bits here.
TEST_F(AFolder, ScalesOfActivationsAreLeftOut) {
  const std::vector<std::byte> bytes(32);
  const auto view = [&](const std::string& name, DType dtype, const Shape& shape,
                        io::Float8 float8 = io::Float8::none) {
    const auto size = static_cast<std::size_t>(bytes_of(dtype, element_count(shape)));
    return io::SafetensorsView{name, dtype, shape, std::span(bytes).first(size), float8};
  };
  write_file(place_ / "config.json",
             R"({"quantization_config": {"quant_method": "fp8", "activation_scheme": "static",
                 "weight_block_size": null}})");
  io::write_safetensors(
      place_ / "model.safetensors",
      {view("x.weight", DType::u8, {6, 4}, io::Float8::e4m3),
       view("x.weight_scale_inv", DType::bf16, {}), view("x.activation_scale", DType::bf16, {}),
       view("y.weight", DType::u8, {6, 4}, io::Float8::e4m3),
       view("y.weight_scale", DType::f32, {1}), view("y.input_scale", DType::f32, {1}),
       view("z.weight", DType::f32, {2}), view("z.input_scale", DType::f32, {1})});
  const ModelFolder folder = read_model_folder(place_.path().string(), Device());
  std::vector<std::string> names;
  for (const NamedArray& each : folder.tensors) names.push_back(each.name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"x.weight", "y.weight", "z.input_scale", "z.weight"}));
}

TEST_F(AFolder, WithScalesThatDoNotFitIsAnError) {
  const std::vector<std::byte> bytes(1 << 12);
  const auto view = [&](const std::string& name, DType dtype, const Shape& shape,
                        io::Float8 float8 = io::Float8::none) {
    const auto size = static_cast<std::size_t>(bytes_of(dtype, element_count(shape)));
    return io::SafetensorsView{name, dtype, shape, std::span(bytes).first(size), float8};
  };
  const auto message = [&](ErrorCode code, const std::string& config,
                           std::vector<io::SafetensorsView> views) {
    write_file(place_ / "config.json", config);
    io::write_safetensors(place_ / "model.safetensors", std::move(views));
    return error(code);
  };
  const auto weight = view("x.weight", DType::u8, {6, 4}, io::Float8::e4m3);
  for (const Shape& shape : {Shape{3}, Shape{6, 2}, Shape{4}, Shape{2, 3, 1}, Shape{0}}) {
    EXPECT_TRUE(contains(
        message(ErrorCode::corrupt_file, "{}", {weight, view("x.weight_scale", DType::f32, shape)}),
        "scales that do not fit"))
        << to_string(shape);
  }
  EXPECT_TRUE(contains(
      message(ErrorCode::unsupported, "{}", {weight, view("x.weight_scale", DType::i32, {1})}),
      "scales of another dtype"));
  EXPECT_TRUE(
      contains(message(ErrorCode::unsupported, "{}", {view("x", DType::u8, {2}, io::Float8::e8m0)}),
               "a tensor of scales without a weight"));
  EXPECT_TRUE(contains(
      message(ErrorCode::corrupt_file, "{}",
              {view("x_blocks", DType::u8, {3, 2, 16}), view("x_scales", DType::u8, {2, 3})}),
      "blocks and scales that do not fit"));
  const std::string mlx = R"({"quantization": {"bits": 4, "group_size": 32, "y": false}})";
  const auto words = view("x.weight", DType::u32, {3, 8});
  EXPECT_TRUE(contains(message(ErrorCode::corrupt_file, mlx, {words}), "without scales"));
  const auto scales = view("x.scales", DType::f16, {3, 2}),
             biases = view("x.biases", DType::f16, {3, 2});
  EXPECT_TRUE(contains(message(ErrorCode::corrupt_file, mlx, {words, scales}), "words and scales"));
  EXPECT_TRUE(contains(
      message(ErrorCode::corrupt_file, mlx, {words, scales, view("x.biases", DType::f16, {3, 1})}),
      "words and scales"));
  EXPECT_TRUE(contains(
      message(ErrorCode::corrupt_file, mlx, {view("x.weight", DType::u32, {3, 7}), scales, biases}),
      "words and scales"));
  EXPECT_TRUE(contains(
      message(ErrorCode::corrupt_file, mlx,
              {view("y.weight", DType::u32, {3, 8}), view("y.scales", DType::f16, {3, 2})}),
      "the configuration says is plain"));
}

TEST(Float8Weights, RoundOnce) {
  using models::folders::odd_float;
  // Halfway between two bf16 but for a bit that f32 has no room for.
  const double above = 1 + 0x1p-8 + 0x1p-40;
  std::uint16_t bits = 0;
  models::folders::store_rounded(above, DType::bf16, reinterpret_cast<std::byte*>(&bits));
  EXPECT_EQ(static_cast<float>(std::bit_cast<bfloat16>(bits)), 1 + 0x1p-7f);
  models::folders::store_rounded(-(1 + 0x1p-8 - 0x1p-40), DType::bf16,
                                 reinterpret_cast<std::byte*>(&bits));
  EXPECT_EQ(static_cast<float>(std::bit_cast<bfloat16>(bits)), -1.0f);
  EXPECT_EQ(odd_float(0.75), 0.75f);
  EXPECT_TRUE(std::isinf(odd_float(HUGE_VAL)));
}

TEST(Float8Weights, OfNoElementsAreNone) {
  const io::SafetensorsView none{"x", DType::u8, {1 << 30, 0, 1 << 30}, {}, io::Float8::e4m3};
  const auto made = models::folders::decode_float8_weight(none, nullptr, {});
  EXPECT_EQ(made.shape, none.shape);
  EXPECT_TRUE(made.bytes.empty());
}

TEST(MlxWeights, NameSchemesByModule) {
  const auto config = std::get<JsonObject>(*parse_json(
      R"({"quantization": {"bits": 4, "group_size": 32, "mode": "mxfp4", "a": {"bits": 8},
          "b": true, "c": false, "d": {"mode": "mxfp4"}}})"));
  const auto quantization = models::folders::parse_mlx_quantization(config, "test");
  ASSERT_TRUE(quantization.has_value());
  const auto shown = [&](const char* module) {
    const auto scheme = quantization->scheme_of(module);
    if (!scheme) return std::string("none");
    return std::string(scheme->mode == models::folders::MlxMode::affine ? "affine " : "mxfp4 ") +
           std::to_string(scheme->bits) + " " + std::to_string(scheme->group_size);
  };
  EXPECT_EQ(shown("other"), "mxfp4 4 32");
  EXPECT_EQ(shown("a"), "affine 8 64");  // as MLX, what is not said is its default
  EXPECT_EQ(shown("b"), "mxfp4 4 32");
  EXPECT_EQ(shown("c"), "none");
  EXPECT_EQ(shown("d"), "mxfp4 4 32");
  EXPECT_FALSE(models::folders::parse_mlx_quantization({}, "test").has_value());
}

}  // namespace
}  // namespace hearth::testing
