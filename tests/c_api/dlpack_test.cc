#include "c_api/dlpack_abi.h"

#include "c_api/c_arrays.h"

namespace hearth::c_api::testing {
namespace {

using Floats = std::vector<float>;

TEST(CDlpack, ArraysAreGivenWithoutACopy) {
  Held x = floats({1, 2, 3, 4, 5, 6}, {2, 3});
  Held turned = apply("transpose", {hearth_of_array(x.handle)});
  DLManagedTensorVersioned* tensor = nullptr;
  ASSERT_EQ(hearth_array_to_dlpack(turned.handle, &tensor), HEARTH_OK) << hearth_error_message();
  turned = Held();
  EXPECT_EQ(tensor->version.major, 1u);
  EXPECT_EQ(tensor->flags, kDLReadOnly);
  const DLTensor& given = tensor->dl_tensor;
  ASSERT_EQ(given.ndim, 2);
  EXPECT_EQ(given.shape[0], 3);
  EXPECT_EQ(given.strides[0], 2);
  EXPECT_EQ(given.dtype.code, kDLFloat);
  EXPECT_EQ(given.dtype.bits, 32);
  if (given.device.device_type == kDLCPU) {
    const auto* const data = static_cast<const float*>(given.data);
    EXPECT_EQ(Floats(data, data + 6), (Floats{1, 4, 2, 5, 3, 6}));
  }
  // Back again: of a GPU by a copy there.
  hearth_array back = {0};
  ASSERT_EQ(hearth_array_from_dlpack(tensor, HEARTH_DEFAULT_DEVICE, &back), HEARTH_OK)
      << hearth_error_message();
  EXPECT_EQ(values_of(Held(back)), (Floats{1, 4, 2, 5, 3, 6}));

  DLManagedTensor *first = nullptr, *second = nullptr;
  ASSERT_EQ(hearth_array_to_dlpack_unversioned(x.handle, &first), HEARTH_OK);
  ASSERT_EQ(hearth_array_to_dlpack_unversioned(x.handle, &second), HEARTH_OK);
  EXPECT_EQ(first->dl_tensor.data, second->dl_tensor.data);
  first->deleter(first);
  second->deleter(second);
}

// A tensor of [2, 3] by another library, with its own strides.
struct Foreign {
  alignas(64) float data[64] = {1, 2, 3, 4, 5, 6};
  std::int64_t shape[2] = {2, 3};
  std::int64_t strides[2] = {3, 1};
  int deleted = 0;
  DLManagedTensorVersioned tensor = {};

  Foreign() {
    tensor.version = {1, 1};
    tensor.manager_ctx = this;
    tensor.deleter = [](DLManagedTensorVersioned* self) {
      ++static_cast<Foreign*>(self->manager_ctx)->deleted;
    };
    tensor.dl_tensor = {data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, strides, 0};
  }
};

TEST(CDlpack, TensorsOfOthersAreTakenOver) {
  Foreign foreign;
  hearth_array array = {0};
  ASSERT_EQ(hearth_array_from_dlpack(&foreign.tensor, HEARTH_DEFAULT_DEVICE, &array), HEARTH_OK)
      << hearth_error_message();
  Held x(array);
  EXPECT_EQ(values_of(x), (Floats{1, 2, 3, 4, 5, 6}));
  x = Held();
  EXPECT_EQ(foreign.deleted, 1);

  foreign.strides[0] = 1;
  foreign.strides[1] = 2;
  ASSERT_EQ(hearth_array_from_dlpack(&foreign.tensor, HEARTH_DEFAULT_DEVICE, &array), HEARTH_OK)
      << hearth_error_message();
  EXPECT_EQ(foreign.deleted, 2) << "it was copied";
  EXPECT_EQ(values_of(Held(array)), (Floats{1, 3, 5, 2, 4, 6}));
}

TEST(CDlpack, WhatIsNotTakenStaysTheCallers) {
  Foreign foreign;
  hearth_array array = {0};
  foreign.tensor.dl_tensor.dtype = {kDLFloat, 32, 4};
  expect_refused(hearth_array_from_dlpack(&foreign.tensor, -1, &array), HEARTH_ERROR_DTYPE,
                 "no such dtype; got code 2, 32 bits, 4 lanes");
  foreign.tensor.dl_tensor.dtype = {kDLFloat, 32, 1};
  foreign.tensor.dl_tensor.device.device_type = 14;
  expect_refused(hearth_array_from_dlpack(&foreign.tensor, -1, &array), HEARTH_ERROR_UNSUPPORTED,
                 "no such kind of device; got 14");
  foreign.tensor.dl_tensor.device.device_type = kDLCPU;
  foreign.tensor.dl_tensor.ndim = -1;
  expect_refused(hearth_array_from_dlpack(&foreign.tensor, -1, &array), HEARTH_ERROR_SHAPE,
                 "no shape");
  foreign.tensor.dl_tensor.ndim = 2;
  foreign.tensor.version.major = 2;
  expect_refused(hearth_array_from_dlpack(&foreign.tensor, -1, &array), HEARTH_ERROR_UNSUPPORTED,
                 "no such version of DLPack; got 2");
  EXPECT_EQ(foreign.deleted, 0);
}

TEST(CDlpack, StridesLeadToAddresses) {
  Foreign foreign;
  hearth_array array = {0};
  for (const std::int64_t stride : {INT64_MAX, INT64_MIN, std::int64_t{1} << 62}) {
    foreign.strides[0] = stride;
    expect_refused(hearth_array_from_dlpack(&foreign.tensor, -1, &array),
                   HEARTH_ERROR_INVALID_ARGUMENT,
                   "hearth_array_from_dlpack: strides out of range; got " + std::to_string(stride) +
                       " along axis 0 of [2, 3]");
  }
  foreign.strides[0] = foreign.strides[1] = std::int64_t{1} << 60;
  expect_refused(hearth_array_from_dlpack(&foreign.tensor, -1, &array),
                 HEARTH_ERROR_INVALID_ARGUMENT, "strides out of range");
  EXPECT_EQ(foreign.deleted, 0);
  // Along an axis of one element they lead nowhere, and backwards they may.
  foreign.shape[0] = 1;
  foreign.strides[0] = INT64_MAX;
  foreign.strides[1] = -1;
  foreign.tensor.dl_tensor.byte_offset = 2 * sizeof(float);
  ASSERT_EQ(hearth_array_from_dlpack(&foreign.tensor, -1, &array), HEARTH_OK)
      << hearth_error_message();
  EXPECT_EQ(values_of(Held(array)), (Floats{3, 2, 1}));
}

}  // namespace
}  // namespace hearth::c_api::testing
