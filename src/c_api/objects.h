// What handles of the C API name, and how C's types stand for Hearth's.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "c_api/handles.h"
#include "hearth/array.h"
#include "hearth/c_api.h"
#include "hearth/device.h"
#include "hearth/dtype.h"
#include "hearth/quantization.h"

namespace hearth::c_api {

// What a hearth_array names: one of the two is there.
struct Value {
  Array array;
  std::shared_ptr<const QuantizedArray> quantized;
};

using Arrays = Handles<Value, HandleKind::array>;

inline hearth_array give(Value value) { return {Arrays::give(std::move(value))}; }
inline hearth_array give(Array array) { return give(Value{std::move(array), nullptr}); }
hearth_array give(QuantizedArray array);

// Handles that nobody has released.
inline std::int64_t array_handles() noexcept { return Arrays::count(); }
std::int64_t read_handles() noexcept;
std::int64_t gradients_handles() noexcept;
std::int64_t archive_handles() noexcept;

// Errors name the function and its argument.

// An array that a handle names, for as long as this lives. Throws InvalidHandle.
inline Arrays::Use use(hearth_array array, const char* function, const char* argument) {
  return Arrays::use(array.id, function, argument);
}
// The same of one kind alone. Throw InvalidHandle, and Error{dtype} for an array of the other kind.
Array plain(hearth_array array, const char* function, const char* argument);
std::shared_ptr<const QuantizedArray> quantized(hearth_array array, const char* function,
                                                const char* argument);
[[noreturn]] void refuse_quantized(const char* function, const char* argument);

// Its dtype, device, shape and flags; computes nothing.
void describe(const Value& value, hearth_array_info& info);
// Computes it and copies its elements, or codes and scales. Throws Error{shape} unless `bytes` is
// their size.
void read(const Value& value, void* target, std::size_t bytes, const char* function);

// Throws Error{shape} where memory has not the size of what is copied there.
void require_size(std::size_t bytes, std::size_t needed, const char* function);

// Throw Error{invalid_argument}.
void require_pointer(const void* pointer, const char* function, const char* argument);
[[noreturn]] void refuse_count(std::size_t count, const char* function, const char* argument);
// `count` elements; null for none. Throws Error{invalid_argument} for more than memory holds, which
// a negative number becomes.
template <class T>
std::span<const T> span_of(const T* data, std::size_t count, const char* function,
                           const char* argument) {
  if (count > 0) require_pointer(data, function, argument);
  constexpr std::size_t kMost = PTRDIFF_MAX / sizeof(T);
  if (count > kMost) [[unlikely]]
    refuse_count(count, function, argument);
  return {data, count};
}
DType dtype_of(std::int64_t dtype, const char* function);
Device device_of(std::int64_t device, const char* function);
Shape shape_of(const std::int64_t* shape, std::size_t rank, const char* function);

// An array of a caller's elements: in place where the device can, as long as `keeper` keeps them,
// or a copy where `keeper` is null. Bools become 0 and 1, by a copy where they are not.
Array array_from(const HostElements& elements, const std::shared_ptr<const void>& keeper,
                 Device device);

// The index of a device.
hearth_device index_of(Device device);

}  // namespace hearth::c_api
