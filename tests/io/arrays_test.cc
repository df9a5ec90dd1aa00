// Arrays to files and back.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "devices_under_test.h"
#include "hearth/io.h"
#include "hearth/ops.h"

namespace hearth {
namespace {

template <class T>
Array counting(std::int64_t count, Device device) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(i % 101);
  return Array::from_data(values, {count}, device);
}

class ArrayFiles : public ::testing::TestWithParam<Device> {
 protected:
  void TearDown() override { std::remove(path_.c_str()); }
  const std::string path_ = ::testing::TempDir() + "/hearth_arrays.safetensors";
};

TEST_P(ArrayFiles, AreReadAndMappedAlike) {
  const Device device = GetParam();
  const NamedArrays written = {{"a", counting<float>(5000, device)},
                               {"b", counting<std::int8_t>(33, device)},
                               {"c", reshape(counting<std::int64_t>(12, device), {3, 4})},
                               {"d", counting<float16>(7, device)},
                               {"e", counting<float>(0, device)},
                               {"f", transpose(reshape(counting<float>(6, device), {2, 3}))}};
  save_safetensors(path_, written, {{"kind", "test"}});
  const SafetensorsContents read = load_safetensors(path_, device);
  const SafetensorsContents mapped = map_safetensors(path_, device);
  EXPECT_EQ(mapped.metadata, read.metadata);
  ASSERT_EQ(mapped.arrays.size(), written.size());
  for (std::size_t i = 0; i < written.size(); ++i) {
    const auto& [name, array] = mapped.arrays[i];
    EXPECT_EQ(name, written[i].name);
    EXPECT_EQ(array.dtype(), written[i].array.dtype());
    EXPECT_EQ(array.shape(), written[i].array.shape());
    EXPECT_EQ(array.to_doubles(), written[i].array.to_doubles());
    EXPECT_EQ(read.arrays[i].array.to_doubles(), written[i].array.to_doubles());
  }
}

TEST_P(ArrayFiles, MayBeReplacedWhileTheyAreMapped) {
  const Device device = GetParam();
  save_safetensors(path_, {{"x", counting<float>(3000, device)}});
  Array x = map_safetensors(path_, device).arrays[0].array;
  save_safetensors(path_, {{"x", x * 2.0}});
  const Array twice = map_safetensors(path_, device).arrays[0].array;
  EXPECT_EQ(twice.to_vector<float>()[100], 200);
  EXPECT_EQ(x.to_vector<float>()[100], 100);
  x = x + twice;
  EXPECT_EQ(x.to_vector<float>()[100], 300);
}

INSTANTIATE_TEST_SUITE_P(Devices, ArrayFiles, ::testing::ValuesIn(testing::devices_under_test()),
                         [](const auto& device) {
                           std::string name = device.param.name();
                           std::replace(name.begin(), name.end(), ':', '_');
                           return name;
                         });

}  // namespace
}  // namespace hearth
