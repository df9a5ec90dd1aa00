#include <string>

#include "c_api/objects.h"
#include "c_api/status.h"
#include "hearth/c_api.h"
#include "hearth/quantization.h"
#include "hearth/quantization/flow.h"

namespace hearth::c_api {
namespace {

static_assert(static_cast<int>(QuantValue::q8f) == HEARTH_Q8F &&
              static_cast<int>(QuantValue::e2m1) == HEARTH_E2M1);
static_assert(static_cast<int>(QuantStore::Unit::native) == HEARTH_STORE_NATIVE &&
              static_cast<int>(QuantStore::Unit::packed_native) == HEARTH_STORE_PACKED_NATIVE);
static_assert(static_cast<int>(ScaleDType::f32) == HEARTH_SCALE_F32 &&
              static_cast<int>(ScaleDType::ue8m0) == HEARTH_SCALE_UE8M0);

// One of the enumerators up to `last`.
template <class E>
E enumerator(std::int32_t number, E last, const char* function, const char* name) {
  if (number < 0 || number > static_cast<std::int32_t>(last)) {
    throw Error(ErrorCode::invalid_argument, std::string(function) + ": " + name +
                                                 " out of range; got " + std::to_string(number) +
                                                 ", expected 0 to " +
                                                 std::to_string(static_cast<std::int32_t>(last)));
  }
  return static_cast<E>(number);
}

QuantScheme scheme_of(const hearth_scheme* given, const char* function) {
  require_pointer(given, function, "scheme");
  QuantScheme scheme;
  scheme.value = enumerator(given->value, QuantValue::e2m1, function, "value");
  scheme.store = {enumerator(given->store, QuantStore::Unit::packed_native, function, "store"),
                  given->store_axis};
  if (given->block_scale != HEARTH_SCALE_NONE) {
    if (given->block_rank < 0) {
      throw Error(ErrorCode::shape, std::string(function) + ": block_rank out of range; got " +
                                        std::to_string(given->block_rank) + ", expected 0 to " +
                                        std::to_string(kMaxRank));
    }
    scheme = scheme.per_block(
        shape_of(given->block, static_cast<std::size_t>(given->block_rank), function),
        enumerator(given->block_scale, ScaleDType::ue8m0, function, "block_scale"));
  }
  if (given->tensor_scale != HEARTH_SCALE_NONE) {
    scheme.tensor = enumerator(given->tensor_scale, ScaleDType::ue8m0, function, "tensor_scale");
  }
  return scheme;
}

Propagation propagation_of(const hearth_scheme& scheme) {
  return scheme.propagates != 0 ? Propagation::propagate : Propagation::inhibit;
}

hearth_scheme scheme_of(const QuantizedArray& array) {
  const QuantScheme& scheme = array.scheme();
  hearth_scheme given = {};
  given.value = static_cast<std::int32_t>(scheme.value);
  given.store = static_cast<std::int32_t>(scheme.store.unit);
  given.store_axis = static_cast<std::int32_t>(scheme.store.dim);
  given.tensor_scale =
      scheme.tensor ? static_cast<std::int32_t>(*scheme.tensor) : std::int32_t{HEARTH_SCALE_NONE};
  given.block_scale = HEARTH_SCALE_NONE;
  if (scheme.block) {
    given.block_scale = static_cast<std::int32_t>(scheme.block->dtype);
    given.block_rank = scheme.block->size.rank();
    for (int i = 0; i < given.block_rank; ++i) given.block[i] = scheme.block->size[i];
  }
  given.propagates = array.propagation() == Propagation::propagate ? 1 : 0;
  return given;
}

// Undefined for a zero handle.
Array optional(hearth_array array, const char* function, const char* argument) {
  return array.id == 0 ? Array() : plain(array, function, argument);
}

}  // namespace
}  // namespace hearth::c_api

namespace c_api = hearth::c_api;
using c_api::guarded;
using c_api::require_pointer;

extern "C" {

hearth_status hearth_scheme_supported(const hearth_scheme* scheme, int32_t* supported) {
  return guarded(__func__, [&, function = __func__] {
    require_pointer(supported, function, "supported");
    *supported = hearth::is_quantizable(c_api::scheme_of(scheme, function)) ? 1 : 0;
  });
}

hearth_status hearth_quantize(hearth_array x, const hearth_scheme* scheme, hearth_array scales,
                              hearth_array global, hearth_array* quantized) {
  return guarded(__func__, [&, function = __func__] {
    require_pointer(quantized, function, "quantized");
    const hearth::QuantScheme wanted = c_api::scheme_of(scheme, function);
    const hearth::Array values = c_api::plain(x, function, "x");
    if (scales.id == 0 && global.id != 0) {
      throw hearth::Error(
          hearth::ErrorCode::invalid_argument,
          std::string(function) +
              ": scales: missing; got a zero handle, expected those of the blocks beside `global`");
    }
    const hearth::QuantizedArray made =
        scales.id == 0 ? hearth::quantize_dynamic(values, wanted)
                       : hearth::quantize(values, wanted,
                                          {c_api::optional(scales, function, "scales"),
                                           c_api::optional(global, function, "global")});
    *quantized = c_api::give(made.with_propagation(c_api::propagation_of(*scheme)));
  });
}

hearth_status hearth_quantize_like(hearth_array x, hearth_array like, int32_t keeps_scales,
                                   hearth_array* quantized) {
  return guarded(__func__, [&, function = __func__] {
    require_pointer(quantized, function, "quantized");
    const hearth::Array values = c_api::plain(x, function, "x");
    const auto model = c_api::quantized(like, function, "like");
    *quantized = c_api::give(keeps_scales != 0 ? hearth::quantized_like(values, *model)
                                               : hearth::quantized_as(values, *model));
  });
}

hearth_status hearth_dequantize(hearth_array quantized, hearth_dtype dtype, hearth_array* x) {
  return guarded(__func__, [&, function = __func__] {
    require_pointer(x, function, "x");
    const auto array = c_api::quantized(quantized, function, "quantized");
    *x = c_api::give(hearth::dequantize(*array, c_api::dtype_of(dtype, function)));
  });
}

hearth_status hearth_array_from_quantized_bytes(const void* data, size_t bytes,
                                                const hearth_scheme* scheme, hearth_dtype dtype,
                                                const int64_t* shape, size_t rank,
                                                hearth_device device, hearth_array* quantized) {
  return guarded(__func__, [&, function = __func__] {
    require_pointer(quantized, function, "quantized");
    const hearth::QuantScheme wanted = c_api::scheme_of(scheme, function);
    const auto stored =
        c_api::span_of(static_cast<const std::byte*>(data), bytes, function, "data");
    const hearth::QuantizedArray made = hearth::quantized_from_bytes(
        stored, wanted, c_api::shape_of(shape, rank, function), c_api::dtype_of(dtype, function),
        c_api::device_of(device, function));
    *quantized = c_api::give(made.with_propagation(c_api::propagation_of(*scheme)));
  });
}

hearth_status hearth_quantized_describe(hearth_array quantized, hearth_scheme* scheme,
                                        size_t* bytes) {
  return guarded(__func__, [&, function = __func__] {
    require_pointer(scheme, function, "scheme");
    require_pointer(bytes, function, "bytes");
    const auto array = c_api::quantized(quantized, function, "quantized");
    *scheme = c_api::scheme_of(*array);
    *bytes = static_cast<size_t>(array->bytes());
  });
}

hearth_status hearth_quantized_to_device(hearth_array quantized, hearth_device device,
                                         hearth_array* moved) {
  return guarded(__func__, [&, function = __func__] {
    require_pointer(moved, function, "moved");
    const auto array = c_api::quantized(quantized, function, "quantized");
    *moved = c_api::give(hearth::to_device(*array, c_api::device_of(device, function))
                             .with_propagation(array->propagation()));
  });
}

}  // extern "C"
