// Bools of callers, whatever their bytes.
#include <algorithm>

#include "c_api/c_arrays.h"
#include "c_api/dlpack_abi.h"

namespace hearth::c_api::testing {
namespace {

using Bytes = std::vector<unsigned char>;

constexpr std::int64_t kCount = 256;

// All there are.
Bytes any_bytes() {
  Bytes bytes;
  for (int i = 0; i < kCount; ++i) bytes.push_back(static_cast<unsigned char>(i));
  return bytes;
}

void expect_bools(const Held& x) {
  Bytes read(kCount, 77);
  ASSERT_EQ(hearth_array_read(x.handle, read.data(), read.size()), HEARTH_OK)
      << hearth_error_message();
  for (std::size_t i = 0; i < read.size(); ++i) ASSERT_EQ(read[i], i == 0 ? 0 : 1) << i;
  std::int64_t set = 0;
  const Held numbers =
      apply("cast", {hearth_of_array(x.handle)}, {{"dtype", hearth_of_int(HEARTH_I64)}});
  const Held counted = apply("sum", {hearth_of_array(numbers.handle)});
  ASSERT_EQ(hearth_array_read(counted.handle, &set, sizeof set), HEARTH_OK)
      << hearth_error_message();
  EXPECT_EQ(set, kCount - 1);
}

TEST(CBools, AreCopiedAsZeroAndOne) {
  const Bytes bytes = any_bytes();
  hearth_array array = {0};
  ASSERT_EQ(
      hearth_array_from_bytes(bytes.data(), bytes.size(), HEARTH_BOOL, &kCount, 1, -1, &array),
      HEARTH_OK);
  expect_bools(Held(array));
}

TEST(CBools, AreCopiedOutOfMemoryThatHasOthers) {
  alignas(4096) static unsigned char memory[8192];
  static int released;
  released = 0;
  const auto release = [](void*) { ++released; };
  hearth_array array = {0};
  const Bytes bytes = any_bytes();
  std::copy(bytes.begin(), bytes.end(), memory);
  ASSERT_EQ(hearth_array_from_memory(memory, kCount, HEARTH_BOOL, &kCount, 1, -1, release, nullptr,
                                     &array),
            HEARTH_OK);
  EXPECT_EQ(released, 1) << "it was copied";
  expect_bools(Held(array));
  for (int i = 0; i < kCount; ++i) memory[i] = i == 0 ? 0 : 1;
  ASSERT_EQ(hearth_array_from_memory(memory, kCount, HEARTH_BOOL, &kCount, 1, -1, release, nullptr,
                                     &array),
            HEARTH_OK);
  const Held x(array);
  if (std::string(hearth_device_name(device_of(x))).rfind("cpu", 0) == 0) {
    EXPECT_EQ(released, 1) << "it is used where it lies";
  }
  expect_bools(x);
}

TEST(CBools, OfTensorsOfOthersAreZeroAndOne) {
  alignas(64) static unsigned char memory[8192];
  std::int64_t shape[] = {kCount}, strides[] = {1};
  DLManagedTensor tensor = {};
  for (const std::int64_t stride : {1, 2}) {
    const Bytes bytes = any_bytes();
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      memory[i * static_cast<std::size_t>(stride)] = bytes[i];
    }
    strides[0] = stride;
    tensor.dl_tensor = {memory, {kDLCPU, 0}, 1, {kDLBool, 8, 1}, shape, strides, 0};
    hearth_array array = {0};
    ASSERT_EQ(hearth_array_from_dlpack_unversioned(&tensor, -1, &array), HEARTH_OK)
        << hearth_error_message();
    expect_bools(Held(array));
  }
}

}  // namespace
}  // namespace hearth::c_api::testing
