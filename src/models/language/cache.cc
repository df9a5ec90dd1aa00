#include "models/language/cache.h"

#include <utility>

#include "hearth/dtype.h"
#include "hearth/ops.h"

namespace hearth::models {
namespace {

struct LayerShapes {
  Shape keys, values, convolution, state;  // empty: none
};

LayerShapes shapes_of(const LanguageConfig& config, const LayerConfig& layer,
                      const CacheOptions& options) {
  LayerShapes shapes;
  const std::int64_t slots = options.pages * options.page_size;
  switch (layer.mixer) {
    case Mixer::attention: {
      const AttentionConfig& attention = layer.attention;
      if (attention.shared_layer >= 0) break;
      if (attention.latent) {
        shapes.keys = {slots, 1, attention.latent->rank + attention.latent->rope_dims};
      } else {
        shapes.keys = {slots, attention.kv_heads, attention.key_dim};
        shapes.values = {slots, attention.kv_heads, attention.value_dim};
      }
      break;
    }
    case Mixer::delta: {
      const DeltaConfig& delta = config.delta;
      const std::int64_t channels =
          2 * delta.key_heads * delta.key_dim + delta.value_heads * delta.value_dim;
      shapes.convolution = {options.states, delta.kernel - 1, channels};
      shapes.state = {options.states, delta.value_heads, delta.key_dim, delta.value_dim};
      break;
    }
    case Mixer::scan: {
      const ScanConfig& scan = config.scan;
      const std::int64_t channels = scan.heads * scan.head_dim + 2 * scan.groups * scan.state;
      shapes.convolution = {options.states, scan.kernel - 1, channels};
      shapes.state = {options.states, scan.heads, scan.head_dim, scan.state};
      break;
    }
  }
  return shapes;
}

}  // namespace

Cache::Cache(const LanguageConfig& config, const CacheOptions& its_options, DType compute,
             Device device)
    : options(its_options) {
  const DType wide = compute == DType::f64 ? DType::f64 : DType::f32;
  for (const LayerConfig& layer : config.layers) {
    const LayerShapes shapes = shapes_of(config, layer, options);
    const auto make = [&](const Shape& shape, DType dtype) {
      return shape.empty() ? Array() : zeros(shape, dtype, device);
    };
    LayerCache& cache = layers.emplace_back();
    cache.keys = make(shapes.keys, options.dtype);
    cache.values = make(shapes.values, options.dtype);
    cache.convolution = make(shapes.convolution, wide);
    cache.state = make(shapes.state, wide);
  }
}

void write_rows(Array& cache, const Array& slots, const Array& rows) {
  const Array values = cast(rows, cache.dtype());
  cache = select_assign(std::exchange(cache, Array()), slots, values, 0, IndexingUpdateOp::assign);
}

std::int64_t cache_bytes(const LanguageConfig& config, const CacheOptions& options) {
  std::int64_t bytes = 0;
  for (const LayerConfig& layer : config.layers) {
    const LayerShapes shapes = shapes_of(config, layer, options);
    const auto add = [&](const Shape& shape, DType dtype) {
      if (!shape.empty()) bytes += bytes_of(dtype, element_count(shape));
    };
    add(shapes.keys, options.dtype);
    add(shapes.values, options.dtype);
    add(shapes.convolution, DType::f32);
    add(shapes.state, DType::f32);
  }
  return bytes;
}

}  // namespace hearth::models
