#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "c_api/objects.h"
#include "c_api/status.h"
#include "core/bools.h"
#include "hearth/c_api.h"
#include "hearth/grad.h"

namespace hearth::c_api {

static_assert(HEARTH_MAX_RANK == kMaxRank);
static_assert(static_cast<int>(DType::f64) == HEARTH_F64 &&
              static_cast<int>(DType::bf16) == HEARTH_BF16 &&
              static_cast<int>(DType::i64) == HEARTH_I64 &&
              static_cast<int>(DType::u64) == HEARTH_U64 &&
              static_cast<int>(DType::bool_) == HEARTH_BOOL && kDTypeCount == HEARTH_BOOL + 1 &&
              static_cast<int>(DType::q8_0) == HEARTH_Q8_0 &&
              static_cast<int>(DType::iq4_nl) == HEARTH_IQ4_NL &&
              static_cast<int>(DType::affine8) == HEARTH_AFFINE8 &&
              kDTypeCount + kPackedDTypeCount == HEARTH_AFFINE8 + 1);

void require_pointer(const void* pointer, const char* function, const char* argument) {
  if (pointer == nullptr) {
    throw Error(ErrorCode::invalid_argument, std::string(function) + ": " + argument +
                                                 ": missing; got NULL, expected a pointer");
  }
}

void refuse_count(std::size_t count, const char* function, const char* argument) {
  throw Error(ErrorCode::invalid_argument,
              std::string(function) + ": " + argument + ": number out of range; got " +
                  std::to_string(count) + ", expected one that memory holds");
}

void require_size(std::size_t bytes, std::size_t needed, const char* function) {
  if (bytes == needed) return;
  throw Error(ErrorCode::shape, std::string(function) + ": wrong size; got " +
                                    std::to_string(bytes) + " bytes, expected " +
                                    std::to_string(needed));
}

hearth_array give(QuantizedArray array) {
  return give(Value{Array(), std::make_shared<const QuantizedArray>(std::move(array))});
}

void refuse_quantized(const char* function, const char* argument) {
  throw Error(ErrorCode::dtype, std::string(function) + ": " + argument +
                                    ": wrong kind of array; got one that is quantized, expected "
                                    "one that is not");
}

Array plain(hearth_array array, const char* function, const char* argument) {
  const Arrays::Use used = use(array, function, argument);
  if (used->quantized != nullptr) refuse_quantized(function, argument);
  return used->array;
}

std::shared_ptr<const QuantizedArray> quantized(hearth_array array, const char* function,
                                                const char* argument) {
  const Arrays::Use used = use(array, function, argument);
  if (used->quantized == nullptr) {
    throw Error(ErrorCode::dtype, std::string(function) + ": " + argument +
                                      ": wrong kind of array; got one that is not quantized, "
                                      "expected one that is");
  }
  return used->quantized;
}

DType dtype_of(std::int64_t dtype, const char* function) {
  if (dtype < 0 || dtype > HEARTH_AFFINE8) {
    throw Error(ErrorCode::dtype, std::string(function) + ": no such dtype; got " +
                                      std::to_string(dtype) + ", expected 0 to " +
                                      std::to_string(HEARTH_AFFINE8));
  }
  return static_cast<DType>(dtype);
}

Shape shape_of(const std::int64_t* shape, std::size_t rank, const char* function) {
  if (rank > kMaxRank) {
    throw Error(ErrorCode::shape, std::string(function) + ": rank out of range; got " +
                                      std::to_string(rank) + ", expected " +
                                      std::to_string(kMaxRank) + " at most");
  }
  const Shape all(span_of(shape, rank, function, "shape"));
  check_shape(function, all);
  return all;
}

Array array_from(const HostElements& elements, const std::shared_ptr<const void>& keeper,
                 Device device) {
  const auto& [bytes, dtype, shape] = elements;
  if (is_bool(dtype) && !are_bools(bytes)) {
    return Array::from_bytes(as_bools(bytes), dtype, shape, device);
  }
  if (keeper == nullptr) return Array::from_bytes(bytes, dtype, shape, device);
  return host_arrays({&elements, 1}, keeper, device)[0];
}

void describe(const Value& value, hearth_array_info& info) {
  const auto fill = [&](const auto& array, std::uint32_t flags) {
    const Shape& shape = array.shape();
    info.dtype = static_cast<hearth_dtype>(array.dtype());
    info.device = index_of(array.device());
    info.rank = shape.rank();
    info.flags = flags;
    for (int i = 0; i < HEARTH_MAX_RANK; ++i) info.shape[i] = i < shape.rank() ? shape[i] : 0;
  };
  if (value.quantized != nullptr) {
    fill(*value.quantized, HEARTH_IS_QUANTIZED);
  } else {
    fill(value.array, gradient_id(value.array) != 0 ? HEARTH_IS_LEAF : 0);
  }
}

void read(const Value& value, void* target, std::size_t bytes, const char* function) {
  if (value.quantized == nullptr) {
    const std::int64_t needed = bytes_of(value.array.dtype(), value.array.size());
    require_size(bytes, static_cast<std::size_t>(needed), function);
    value.array.read(target, static_cast<std::int64_t>(bytes), value.array.dtype());
    return;
  }
  const std::vector<std::byte> stored = to_bytes(*value.quantized);
  require_size(bytes, stored.size(), function);
  std::copy(stored.begin(), stored.end(), static_cast<std::byte*>(target));
}

namespace {

// Memory of the host as the caller describes it.
HostElements elements_of(const void* data, std::size_t bytes, hearth_dtype dtype,
                         const std::int64_t* shape, std::size_t rank, const char* function) {
  HostElements elements;
  elements.bytes = {static_cast<const std::byte*>(data), bytes};
  if (bytes > 0) require_pointer(data, function, "data");
  elements.dtype = dtype_of(dtype, function);
  elements.shape = shape_of(shape, rank, function);
  const std::int64_t needed = bytes_of(elements.dtype, element_count(elements.shape));
  require_size(bytes, static_cast<std::size_t>(needed), function);
  return elements;
}

}  // namespace
}  // namespace hearth::c_api

namespace c_api = hearth::c_api;
using c_api::guarded;

extern "C" {

const char* hearth_dtype_name(hearth_dtype dtype) {
  if (dtype < 0 || dtype > HEARTH_AFFINE8) return nullptr;
  return hearth::name(static_cast<hearth::DType>(dtype)).data();
}

size_t hearth_dtype_size(hearth_dtype dtype) {
  if (dtype < 0 || dtype > HEARTH_AFFINE8) return 0;
  return static_cast<size_t>(hearth::size_of(static_cast<hearth::DType>(dtype)));
}

size_t hearth_dtype_block(hearth_dtype dtype) {
  if (dtype < 0 || dtype > HEARTH_AFFINE8) return 0;
  return static_cast<size_t>(hearth::block_of(static_cast<hearth::DType>(dtype)));
}

hearth_status hearth_array_from_bytes(const void* data, size_t bytes, hearth_dtype dtype,
                                      const int64_t* shape, size_t rank, hearth_device device,
                                      hearth_array* array) {
  return guarded(__func__, [&, function = __func__] {
    c_api::require_pointer(array, function, "array");
    const auto elements = c_api::elements_of(data, bytes, dtype, shape, rank, function);
    *array = c_api::give(c_api::array_from(elements, nullptr, c_api::device_of(device, function)));
  });
}

hearth_status hearth_array_from_memory(const void* data, size_t bytes, hearth_dtype dtype,
                                       const int64_t* shape, size_t rank, hearth_device device,
                                       void (*release)(void* context), void* context,
                                       hearth_array* array) {
  return guarded(__func__, [&, function = __func__] {
    c_api::require_pointer(array, function, "array");
    const auto elements = c_api::elements_of(data, bytes, dtype, shape, rank, function);
    const hearth::Device where = c_api::device_of(device, function);
    // Armed once nothing can fail any more.
    struct Keeper {
      void (*release)(void*) = nullptr;
      void* context = nullptr;
      ~Keeper() {
        if (release != nullptr) c_api::call_back([this] { release(context); });
      }
    };
    const auto keeper = std::make_shared<Keeper>();
    *array = c_api::give(c_api::array_from(elements, keeper, where));
    keeper->context = context;
    keeper->release = release;
  });
}

hearth_status hearth_array_copy(hearth_array array, hearth_array* copy) {
  return guarded(__func__, [&, function = __func__] {
    c_api::require_pointer(copy, function, "copy");
    *copy = c_api::give(c_api::Value(*c_api::use(array, function, "array")));
  });
}

hearth_status hearth_array_release(hearth_array array) {
  return guarded(__func__,
                 [&, function = __func__] { c_api::Arrays::release(array.id, function, "array"); });
}

hearth_status hearth_array_describe(hearth_array array, hearth_array_info* info) {
  return guarded(__func__, [&, function = __func__] {
    c_api::require_pointer(info, function, "info");
    c_api::describe(*c_api::use(array, function, "array"), *info);
  });
}

hearth_status hearth_array_read(hearth_array array, void* target, size_t bytes) {
  return guarded(__func__, [&, function = __func__] {
    if (bytes > 0) c_api::require_pointer(target, function, "target");
    c_api::read(*c_api::use(array, function, "array"), target, bytes, function);
  });
}

hearth_status hearth_eval(const hearth_array* arrays, size_t count) {
  return guarded(__func__, [&, function = __func__] {
    std::vector<hearth::Array> all;
    for (const hearth_array& array : c_api::span_of(arrays, count, function, "arrays")) {
      const auto used = c_api::Arrays::find(array.id);
      if (!used) {
        throw c_api::InvalidHandle(c_api::HandleKind::array, array.id, function,
                                   ("arrays[" + std::to_string(&array - arrays) + "]").c_str());
      }
      if (used->quantized != nullptr) {
        used->quantized->eval();
      } else {
        all.push_back(used->array);
      }
    }
    hearth::eval(all);
  });
}

hearth_status hearth_submit(void) {
  return guarded(__func__, [] { hearth::submit(); });
}

}  // extern "C"
