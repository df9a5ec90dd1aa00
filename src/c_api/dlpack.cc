#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "c_api/dlpack_abi.h"
#include "c_api/objects.h"
#include "c_api/status.h"
#include "core/forked.h"
#include "graph/record/node.h"
#include "hearth/c_api.h"
#include "hearth/ops/elementwise.h"
#include "hearth/ops/movement.h"
#include "runtime/commands/driver_calls.h"
#include "runtime/memory/host_vector.h"

namespace hearth::c_api {
namespace {

// ---- Dtypes and devices

// `dtype` is plain.
DLDataType dtype_for(DType dtype) {
  const auto bits = static_cast<std::uint8_t>(8 * size_of(dtype));
  const std::uint8_t code = is_bool(dtype)          ? kDLBool
                            : dtype == DType::bf16  ? kDLBfloat
                            : is_float(dtype)       ? kDLFloat
                            : info(dtype).is_signed ? kDLInt
                                                    : kDLUInt;
  return {code, bits, 1};
}

DType dtype_from(const DLDataType& wanted, const char* function) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const DLDataType one = dtype_for(static_cast<DType>(i));
    if (one.code == wanted.code && one.bits == wanted.bits && wanted.lanes == 1) {
      return static_cast<DType>(i);
    }
  }
  throw Error(ErrorCode::dtype,
              std::string(function) + ": no such dtype; got code " + std::to_string(wanted.code) +
                  ", " + std::to_string(wanted.bits) + " bits, " + std::to_string(wanted.lanes) +
                  " lanes, expected one of Hearth's");
}

bool is_cuda(Device device) { return device.name().rfind("cuda:", 0) == 0; }

// ---- From Hearth

// What a tensor that was given away needs.
struct Given {
  Array array;     // keeps memory of a GPU
  HostBytes host;  // keeps memory of the host
  Shape shape;
  Strides strides;
};

// `given` becomes the tensor's context.
DLTensor describe(Given& given, const Array& array) {
  if (is_packed(array.dtype())) {
    throw Error(ErrorCode::unsupported, "hearth_array_to_dlpack: packed elements; got " +
                                            std::string(name(array.dtype())) +
                                            ", expected a plain dtype");
  }
  given.array = contiguous(array.detach()).eval();
  given.shape = array.shape();
  given.strides = contiguous_strides(given.shape);
  DLTensor tensor = {};
  tensor.dtype = dtype_for(array.dtype());
  tensor.ndim = given.shape.rank();
  tensor.shape = given.shape.data();
  tensor.strides = given.strides.data();
  const Device device = array.device();
  if (is_cuda(device) && !array.is_scalar()) {
    const Node& node = *node_of(given.array);
    tensor.device = {kDLCUDA, std::stoi(device.name().substr(std::strlen("cuda:")))};
    tensor.data = node.storage->address;
    tensor.byte_offset = static_cast<std::uint64_t>(node.layout.offset * size_of(array.dtype()));
    return tensor;
  }
  given.host = given.array.host_bytes(array.dtype());
  tensor.device = {kDLCPU, 0};
  tensor.data = const_cast<std::byte*>(given.host.data);
  return tensor;
}

template <class Managed>
void destroy(Managed* managed) {
  if (is_forked()) return;  // locks that the array would take may stay locked here
  delete static_cast<Given*>(managed->manager_ctx);
  delete managed;
}

template <class Managed>
Managed* give_away(const Array& array) {
  auto given = std::make_unique<Given>();
  auto managed = std::make_unique<Managed>();
  managed->dl_tensor = describe(*given, array);
  managed->manager_ctx = given.release();
  managed->deleter = destroy<Managed>;
  return managed.release();
}

// ---- To Hearth

bool is_row_major(const DLTensor& tensor, const Shape& shape) {
  return tensor.strides == nullptr || is_dense(shape, Strides(tensor.strides, shape.size()));
}

// Throws Error{invalid_argument} where strides lead to no address.
void require_strides(const DLTensor& tensor, const Shape& shape, std::int64_t element,
                     const char* function) {
  std::int64_t low = 0, high = 0;  // bytes, from the first element
  for (int axis = 0; axis < shape.rank(); ++axis) {
    std::int64_t reach = 0;
    std::int64_t& end = tensor.strides[axis] < 0 ? low : high;
    if (!__builtin_mul_overflow(shape[axis] - 1, tensor.strides[axis], &reach) &&
        !__builtin_mul_overflow(reach, element, &reach) &&
        !__builtin_add_overflow(end, reach, &end)) {
      continue;
    }
    throw Error(ErrorCode::invalid_argument,
                std::string(function) + ": strides out of range; got " +
                    std::to_string(tensor.strides[axis]) + " along axis " + std::to_string(axis) +
                    " of " + to_string(shape) + ", expected addresses of memory");
  }
}

// Elements of the host's memory in row-major order, for an array of `device`.
std::vector<std::byte> gathered(const std::byte* data, const DLTensor& tensor, const Shape& shape,
                                std::int64_t element, Device device, const char* function) {
  const std::int64_t count = element_count(shape);
  if (count == 0) return {};
  require_strides(tensor, shape, element, function);
  std::vector<std::byte> out = host_vector<std::byte>(function, count * element, device);
  Dims index = Dims::filled(shape.rank(), 0);
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t at = 0;
    for (int axis = 0; axis < shape.rank(); ++axis) at += index[axis] * tensor.strides[axis];
    std::memcpy(out.data() + i * element, data + at * element, static_cast<std::size_t>(element));
    for (int axis = shape.rank(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
  return out;
}

Array from_cuda(const std::byte* data, const DLTensor& tensor, DType dtype, const Shape& shape,
                const char* function) {
  const Device device = Device::named("cuda:" + std::to_string(tensor.device.device_id));
  if (!is_row_major(tensor, shape)) {
    throw Error(ErrorCode::unsupported, std::string(function) +
                                            ": strides of a GPU's tensor are not those of "
                                            "row-major order; got shape " +
                                            to_string(shape) + ", expected a contiguous one");
  }
  const std::int64_t bytes = bytes_of(dtype, element_count(shape));
  Storage* const storage = allocate_storage(device.impl(), bytes);
  Array made = make_ready(device.impl(), storage, is_bool(dtype) ? DType::u8 : dtype, shape);
  if (bytes > 0) {
    const std::lock_guard lock(device.impl().queue_mutex());
    runtime::copy_on_device(*device.impl().driver(), storage->address, const_cast<std::byte*>(data),
                            bytes);
  }
  device.synchronize();
  // Bools of others may have other bytes than 0 and 1.
  return is_bool(dtype) ? not_equal(made, std::int64_t{0}) : made;
}

// `keeper` keeps the tensor.
Array take_over(const DLTensor& tensor, const std::shared_ptr<const void>& keeper,
                hearth_device device, const char* function) {
  if (tensor.ndim < 0 || (tensor.ndim > 0 && tensor.shape == nullptr)) {
    throw Error(ErrorCode::shape, std::string(function) + ": no shape; got rank " +
                                      std::to_string(tensor.ndim) + ", expected its extents");
  }
  const Shape shape = shape_of(tensor.shape, static_cast<std::size_t>(tensor.ndim), function);
  const DType dtype = dtype_from(tensor.dtype, function);
  if (element_count(shape) > 0) require_pointer(tensor.data, function, "data");
  const auto* const data = static_cast<const std::byte*>(tensor.data) + tensor.byte_offset;
  if (tensor.device.device_type == kDLCUDA) {
    Array made = from_cuda(data, tensor, dtype, shape, function);
    return device == HEARTH_DEFAULT_DEVICE ? made : to_device(made, device_of(device, function));
  }
  if (tensor.device.device_type != kDLCPU && tensor.device.device_type != kDLCUDAHost) {
    throw Error(ErrorCode::unsupported, std::string(function) + ": no such kind of device; got " +
                                            std::to_string(tensor.device.device_type) +
                                            ", expected the CPU or CUDA");
  }
  const Device where = device_of(device, function);
  const auto bytes = static_cast<std::size_t>(bytes_of(dtype, element_count(shape)));
  if (!is_row_major(tensor, shape)) {
    return array_from(
        {gathered(data, tensor, shape, size_of(dtype), where, function), dtype, shape}, nullptr,
        where);
  }
  return array_from({{data, bytes}, dtype, shape}, keeper, where);
}

template <class Managed>
hearth_array take_over(Managed* managed, hearth_device device, const char* function) {
  // Armed once nothing can fail any more: the caller keeps what is not taken.
  struct Keeper {
    Managed* managed = nullptr;
    ~Keeper() {
      if (managed == nullptr || managed->deleter == nullptr) return;
      call_back([this] { managed->deleter(managed); });
    }
  };
  const auto keeper = std::make_shared<Keeper>();
  const hearth_array array =
      give(take_over(managed->dl_tensor, std::shared_ptr<const void>(keeper), device, function));
  keeper->managed = managed;
  return array;
}

}  // namespace
}  // namespace hearth::c_api

namespace c_api = hearth::c_api;
using c_api::guarded;
using c_api::require_pointer;

extern "C" {

hearth_status hearth_array_to_dlpack(hearth_array array, struct DLManagedTensorVersioned** tensor) {
  return guarded(__func__, [&, function = __func__] {
    require_pointer(tensor, function, "tensor");
    auto* const given =
        c_api::give_away<DLManagedTensorVersioned>(c_api::plain(array, function, "array"));
    given->version = {1, 0};
    given->flags = c_api::kDLReadOnly;
    *tensor = given;
  });
}

hearth_status hearth_array_to_dlpack_unversioned(hearth_array array,
                                                 struct DLManagedTensor** tensor) {
  return guarded(__func__, [&, function = __func__] {
    require_pointer(tensor, function, "tensor");
    *tensor = c_api::give_away<DLManagedTensor>(c_api::plain(array, function, "array"));
  });
}

hearth_status hearth_array_from_dlpack(struct DLManagedTensorVersioned* tensor,
                                       hearth_device device, hearth_array* array) {
  return guarded(__func__, [&, function = __func__] {
    require_pointer(tensor, function, "tensor");
    require_pointer(array, function, "array");
    if (tensor->version.major != 1) {
      throw hearth::Error(hearth::ErrorCode::unsupported,
                          std::string(function) + ": no such version of DLPack; got " +
                              std::to_string(tensor->version.major) + ", expected 1");
    }
    *array = c_api::take_over(tensor, device, function);
  });
}

hearth_status hearth_array_from_dlpack_unversioned(struct DLManagedTensor* tensor,
                                                   hearth_device device, hearth_array* array) {
  return guarded(__func__, [&, function = __func__] {
    require_pointer(tensor, function, "tensor");
    require_pointer(array, function, "array");
    *array = c_api::take_over(tensor, device, function);
  });
}

}  // extern "C"
