// The structs of DLPack 1.0, in which libraries hand each other tensors without a copy: their
// layout is the standard (https://dmlc.github.io/dlpack/latest/c_api.html).
#pragma once

#include <cstdint>

extern "C" {

struct DLDevice {
  std::int32_t device_type;  // DLDeviceType
  std::int32_t device_id;
};

struct DLDataType {
  std::uint8_t code;  // DLDataTypeCode
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: row-major
  std::uint64_t byte_offset;
};

struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);
};

struct DLPackVersion {
  std::uint32_t major;
  std::uint32_t minor;
};

struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  std::uint64_t flags;
  DLTensor dl_tensor;
};

}  // extern "C"

namespace hearth::c_api {

enum DLDeviceType : std::int32_t { kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3 };
enum DLDataTypeCode : std::uint8_t {
  kDLInt = 0,
  kDLUInt = 1,
  kDLFloat = 2,
  kDLBfloat = 4,
  kDLBool = 6
};
inline constexpr std::uint64_t kDLReadOnly = 1;  // among the flags

}  // namespace hearth::c_api
