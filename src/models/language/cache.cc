#include "models/language/cache.h"

#include <string>
#include <utility>
#include <vector>

#include "hearth/dtype.h"
#include "hearth/error.h"
#include "hearth/ops.h"
#include "hearth/quantization/packed.h"
#include "models/language/mixer.h"
#include "models/language/windows.h"

namespace hearth::models {
namespace {

// `shape` of each of `count` rows or sequences; empty where that is.
Shape with_count(std::int64_t count, const Shape& shape) {
  if (shape.empty()) return {};
  std::vector<std::int64_t> sizes = {count};
  sizes.insert(sizes.end(), shape.begin(), shape.end());
  return Shape(sizes);
}

// What the layer's arrays have, with the axis of slots or states.
MixerMemory shapes_of(const LanguageConfig& config, const LayerConfig& layer,
                      const CacheOptions& options) {
  const std::int64_t pages = keeps_window(layer) ? options.pages_of_windows() : options.pages;
  const std::int64_t slots = pages * options.page_size;
  const std::int64_t states = options.states + options.saved_states;
  const MixerMemory one = definition_of(layer.mixer).memory(config, layer);
  return {.keys = with_count(slots, one.keys),
          .values = with_count(slots, one.values),
          .convolution = with_count(states, one.convolution),
          .state = with_count(states, one.state)};
}

// i32 [count] from `first` on: data, so that any copy shares the plan.
Array slots_from(std::int64_t first, std::int64_t count, Device device) {
  std::vector<std::int32_t> slots;
  for (std::int64_t i = 0; i < count; ++i) slots.push_back(static_cast<std::int32_t>(first + i));
  return Array::from_data(slots, {count}, device);
}

void copy_rows(Array& cache, const Array& from, const Array& to) {
  if (!cache.defined()) return;
  const Array rows = select(cache, from, 0);
  cache = select_assign(std::exchange(cache, Array()), to, rows, 0, IndexingUpdateOp::assign);
}

void copy_page_of(Cache& cache, bool of_windows, std::int64_t from, std::int64_t to,
                  Device device) {
  const std::int64_t rows = cache.options.page_size;
  const Array of_from = slots_from(from * rows, rows, device);
  const Array of_to = slots_from(to * rows, rows, device);
  for (LayerCache& layer : cache.layers) {
    if (layer.keeps_window != of_windows) continue;
    copy_rows(layer.keys, of_from, of_to);
    copy_rows(layer.values, of_from, of_to);
  }
}

void require_fit(const LayerConfig& layer, CacheType of_keys, CacheType of_values) {
  const MixerDef& mixer = definition_of(layer.mixer);
  if (mixer.why_unfit == nullptr) return;
  const std::string why = mixer.why_unfit(layer, of_keys, of_values);
  if (!why.empty()) throw Error(ErrorCode::unsupported, "cache: " + why);
}

// The shape in memory of rows that are stored as `type`, and the dtype of that.
Shape stored_shape(Shape shape, CacheType type) {
  if (!shape.empty() && type.is_coded()) {
    shape[shape.rank() - 1] = type.row_bytes(shape.back());
  }
  return shape;
}
DType stored_dtype(CacheType type) { return type.is_coded() ? DType::u8 : type.dtype; }

// Of states, which add up many rows.
DType state_dtype(DType compute) { return compute == DType::f64 ? DType::f64 : DType::f32; }

}  // namespace

Cache::Cache(const LanguageConfig& config, const CacheOptions& its_options, DType compute,
             Device device)
    : options(its_options) {
  require_cache_types(config, options.keys, options.values);
  const DType wide = state_dtype(compute);
  for (const LayerConfig& layer : config.layers) {
    const MixerMemory shapes = shapes_of(config, layer, options);
    const auto make = [&](const Shape& shape, DType dtype) {
      return shape.empty() ? Array() : zeros(shape, dtype, device);
    };
    LayerCache& cache = layers.emplace_back();
    cache.keeps_window = keeps_window(layer);
    cache.key_type = options.keys;
    cache.value_type = options.values;
    cache.keys = make(stored_shape(shapes.keys, options.keys), stored_dtype(options.keys));
    cache.values = make(stored_shape(shapes.values, options.values), stored_dtype(options.values));
    if (options.keys.is_coded() && cache.keys.defined()) {
      cache.key_rotation = HeadRotation(shapes.keys.back(), options.seed, compute, device);
    }
    if (options.values.is_coded() && cache.values.defined()) {
      cache.value_rotation = HeadRotation(shapes.values.back(), options.seed, compute, device);
    }
    cache.convolution = make(shapes.convolution, wide);
    cache.state = make(shapes.state, wide);
  }
}

void write_rows(Array& cache, CacheType type, const Array& slots, const Array& rows) {
  const Array values = to_cache(rows, type);
  cache = select_assign(std::exchange(cache, Array()), slots, values, 0, IndexingUpdateOp::assign);
}

void copy_page(Cache& cache, std::int64_t from, std::int64_t to, Device device) {
  copy_page_of(cache, false, from, to, device);
}

void copy_window_page(Cache& cache, std::int64_t from, std::int64_t to, Device device) {
  copy_page_of(cache, true, from, to, device);
}

void copy_states(Cache& cache, std::int64_t from, std::int64_t to, Device device) {
  const Array of_from = slots_from(from, 1, device), of_to = slots_from(to, 1, device);
  for (LayerCache& layer : cache.layers) {
    copy_rows(layer.convolution, of_from, of_to);
    copy_rows(layer.state, of_from, of_to);
  }
}

void clear_states(Cache& cache, std::int64_t slot, Device device) {
  const Array which = slots_from(slot, 1, device);
  for (LayerCache& layer : cache.layers) {
    for (Array* states : {&layer.convolution, &layer.state}) {
      if (!states->defined()) continue;
      Shape one = states->shape();
      one[0] = 1;
      const Array nothing = zeros(one, states->dtype(), device);
      *states = select_assign(std::exchange(*states, Array()), which, nothing, 0,
                              IndexingUpdateOp::assign);
    }
  }
}

Array readable(const Array& cache, CacheType type) {
  return is_packed(type.dtype) ? packed_blocks(cache, type.dtype) : cache;
}

CacheOptions with_padding(CacheOptions options) {
  options.window_pages = options.pages_of_windows() + 1;
  ++options.pages;
  ++options.states;
  return options;
}

void require_cache_types(const LanguageConfig& config, CacheType keys, CacheType values) {
  for (const LayerConfig& layer : config.layers) require_fit(layer, keys, values);
}

std::int64_t bytes_of_caches(const LanguageConfig& config, const CacheOptions& options,
                             DType compute) {
  std::int64_t bytes = 0;
  for (const LayerConfig& layer : config.layers) {
    const MixerMemory shapes = shapes_of(config, layer, options);
    const auto add = [&](const Shape& shape, DType dtype) {
      if (!shape.empty()) bytes += bytes_of(dtype, element_count(shape));
    };
    add(stored_shape(shapes.keys, options.keys), stored_dtype(options.keys));
    add(stored_shape(shapes.values, options.values), stored_dtype(options.values));
    add(shapes.convolution, state_dtype(compute));
    add(shapes.state, state_dtype(compute));
  }
  return bytes;
}

}  // namespace hearth::models
