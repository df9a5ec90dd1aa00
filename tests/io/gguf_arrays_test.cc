// Arrays to GGUF files and back.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "devices_under_test.h"
#include "error_text.h"
#include "hearth/io.h"
#include "hearth/ops.h"
#include "io/gguf_bytes.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;
using check::contains;
using check::error_of;

template <class T>
Array gguf_counting(std::int64_t count, Device device) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i % 101);
  return Array::from_data(values, {count}, device);
}

class GgufArrays : public ::testing::TestWithParam<Device> {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "hearth_gguf_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    path_ = (folder_ / "model.gguf").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  static NamedArrays arrays(Device device) {
    return {{"z", gguf_counting<float>(5000, device)},
            {"a", gguf_counting<std::int8_t>(33, device)},
            {"c", reshape(gguf_counting<std::int64_t>(12, device), {3, 4})},
            {"d", gguf_counting<float16>(7, device)},
            {"e", gguf_counting<float>(0, device)},
            {"scalar", reshape(gguf_counting<std::int32_t>(1, device), {})},
            {"f", transpose(reshape(gguf_counting<float>(6, device), {2, 3}))},
            {"g", gguf_counting<bfloat16>(3, device) + 1.0},
            {"h", gguf_counting<std::int16_t>(3, device)}};
  }

  static void expect_equal(const NamedArrays& read, const NamedArrays& written) {
    ASSERT_EQ(read.size(), written.size());
    for (std::size_t i = 0; i < written.size(); ++i) {
      EXPECT_EQ(read[i].name, written[i].name);
      EXPECT_EQ(read[i].array.dtype(), written[i].array.dtype());
      EXPECT_EQ(read[i].array.shape(), written[i].array.shape());
      EXPECT_EQ(read[i].array.to_doubles(), written[i].array.to_doubles()) << read[i].name;
    }
  }

  fs::path folder_;
  std::string path_;
};

TEST_P(GgufArrays, AreReadAndMappedAlike) {
  const Device device = GetParam();
  const NamedArrays written = arrays(device);
  const GgufMetadata metadata = testing::every_value();
  for (const std::int64_t alignment : {0, 8, 64}) {
    EXPECT_EQ(save_gguf(path_, written, metadata, {.alignment = alignment}), std::vector{path_});
    const GgufContents read = load_gguf(path_, device);
    const GgufContents mapped = map_gguf(path_, device);
    EXPECT_EQ(read.metadata, mapped.metadata);
    EXPECT_EQ(read.metadata.as_text("general.architecture"), "llama");
    expect_equal(read.arrays, written);
    expect_equal(mapped.arrays, written);
  }
}

TEST_P(GgufArrays, AreSplit) {
  const Device device = GetParam();
  const NamedArrays written = arrays(device);
  const std::vector<std::string> paths =
      save_gguf(path_, written, {{"general.name", "split"}}, {.max_shard_bytes = 100});
  ASSERT_EQ(paths.size(), 4u);
  EXPECT_EQ(paths[0], (folder_ / "model-00001-of-00004.gguf").string());
  EXPECT_FALSE(fs::exists(path_));
  for (const std::string& path : paths) {
    const GgufContents mapped = map_gguf(path, device);
    EXPECT_EQ(mapped.metadata, (GgufMetadata{{"general.name", "split"}}));
    expect_equal(mapped.arrays, written);
  }
  expect_equal(load_gguf(paths[1], device).arrays, written);
}

TEST_P(GgufArrays, MayBeReplacedWhileTheyAreMapped) {
  const Device device = GetParam();
  save_gguf(path_, {{"x", gguf_counting<float>(3000, device)}});
  const Array x = map_gguf(path_, device).arrays[0].array;
  save_gguf(path_, {{"x", x * 2.0}});
  const Array twice = map_gguf(path_, device).arrays[0].array;
  EXPECT_EQ(twice.to_vector<float>()[100], 200);
  EXPECT_EQ(x.to_vector<float>()[100], 100);
}

// Tensors at odd multiples of 8 bytes, and the axes in the order of the format.
TEST_P(GgufArrays, MayLieAnywhere) {
  const Device device = GetParam();
  testing::GgufBytes file;
  file.start(2, 1).key("general.alignment", GgufType::u32).put(std::uint32_t{8});
  file.tensor("bytes", {8}, 24, 0).tensor("w", {3, 2}, 0, 8).data(0, 8).raw("\1\2\3\4\5\6\7\x8");
  for (int i = 0; i < 6; ++i) file.put(static_cast<float>(i));
  std::ofstream(path_, std::ios::binary) << file.str();
  for (const GgufContents& read : {load_gguf(path_, device), map_gguf(path_, device)}) {
    EXPECT_EQ(read.arrays[0].array.to_doubles(), (std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8}));
    EXPECT_EQ(read.arrays[1].array.shape(), Shape({2, 3}));
    EXPECT_EQ(read.arrays[1].array.to_doubles(), (std::vector<double>{0, 1, 2, 3, 4, 5}));
  }
}

TEST_P(GgufArrays, ThatCannotBeWrittenLeaveNoFile) {
  const Device device = GetParam();
  const Array x = gguf_counting<float>(3, device);
  EXPECT_TRUE(contains(
      error_of(ErrorCode::invalid_argument, [&] { save_gguf(path_, {{"x", x}, {"x", x}}); }),
      "save_gguf: two tensors with one name; got \"x\""));
  EXPECT_TRUE(contains(
      error_of(ErrorCode::dtype, [&] { save_gguf(path_, {{"x", x}, {"u", cast(x, DType::u8)}}); }),
      "save_gguf: tensor \"u\" has a dtype that the format lacks; got u8"));
  EXPECT_TRUE(contains(error_of(ErrorCode::invalid_argument,
                                [&] { save_gguf(path_, {{"x", reshape(x, {1, 1, 1, 1, 3})}}); }),
                       "too many axes; got [1, 1, 1, 1, 3], expected at most 4"));
  EXPECT_TRUE(fs::is_empty(folder_));
  error_of(ErrorCode::io, [&] { save_gguf((folder_ / "none" / "x.gguf").string(), {{"x", x}}); });
  error_of(ErrorCode::io, [&] { load_gguf(path_, device); });
}

INSTANTIATE_TEST_SUITE_P(Devices, GgufArrays, ::testing::ValuesIn(testing::devices_under_test()),
                         [](const auto& device) {
                           std::string name = device.param.name();
                           std::replace(name.begin(), name.end(), ':', '_');
                           return name;
                         });

}  // namespace
}  // namespace hearth
