// What handles of the C API name, and how C's types stand for Hearth's.
#pragma once

#include <span>

#include "c_api/handles.h"
#include "hearth/array.h"
#include "hearth/c_api.h"
#include "hearth/device.h"
#include "hearth/dtype.h"

namespace hearth::c_api {

using Arrays = Handles<Array, HandleKind::array>;

inline hearth_array give(Array array) { return {Arrays::instance().give(std::move(array))}; }
inline Arrays::Use use(hearth_array array) { return Arrays::instance().use(array.id); }

// Throw Error{invalid_argument} with `function` in front.
void require_pointer(const void* pointer, const char* function, const char* name);
// `count` elements; null for none.
template <class T>
std::span<const T> span_of(const T* data, std::size_t count, const char* function,
                           const char* name) {
  if (count > 0) require_pointer(data, function, name);
  return {data, count};
}
DType dtype_of(hearth_dtype dtype, const char* function);
Device device_of(hearth_device device, const char* function);
Shape shape_of(const std::int64_t* shape, std::size_t rank, const char* function);

// The index of a device.
hearth_device index_of(Device device);

}  // namespace hearth::c_api
