#include "models/language/cache.h"

#include <string>
#include <utility>

#include "hearth/dtype.h"
#include "hearth/error.h"
#include "hearth/ops.h"
#include "hearth/quantization/packed.h"

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

void require_fit(const LayerConfig& layer, const CacheOptions& options) {
  if (layer.mixer != Mixer::attention) return;
  const auto refuse = [](const std::string& why) {
    throw Error(ErrorCode::unsupported, "cache: " + why);
  };
  if (layer.attention.latent) {
    if (!options.keys.is_coded() && !options.rotate) return;
    refuse("latent rows are not coded; got " + name(options.keys) + ", expected a float type");
  }
  const std::string keys = why_unfit(options.keys, options.rotate, layer.attention.key_dim);
  if (!keys.empty()) refuse(keys);
  const std::string values = why_unfit(options.values, options.rotate, layer.attention.value_dim);
  if (!values.empty()) refuse(values);
}

// The shape in memory of rows that are stored as `type`, and the dtype of that.
Shape stored_shape(Shape shape, CacheType type) {
  if (!shape.empty() && type.is_coded()) {
    shape[shape.rank() - 1] = type.row_bytes(shape.back());
  }
  return shape;
}
DType stored_dtype(CacheType type) { return type.is_coded() ? DType::u8 : type.dtype; }

}  // namespace

Cache::Cache(const LanguageConfig& config, const CacheOptions& its_options, DType compute,
             Device device)
    : options(its_options) {
  const DType wide = compute == DType::f64 ? DType::f64 : DType::f32;
  for (const LayerConfig& layer : config.layers) {
    require_fit(layer, options);
    const LayerShapes shapes = shapes_of(config, layer, options);
    const auto make = [&](const Shape& shape, DType dtype) {
      return shape.empty() ? Array() : zeros(shape, dtype, device);
    };
    LayerCache& cache = layers.emplace_back();
    cache.key_type = options.keys;
    cache.value_type = options.values;
    cache.keys = make(stored_shape(shapes.keys, options.keys), stored_dtype(options.keys));
    cache.values = make(stored_shape(shapes.values, options.values), stored_dtype(options.values));
    if (options.rotate && cache.values.defined()) {
      cache.key_rotation = HeadRotation(shapes.keys.back(), options.seed, compute, device);
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

Array readable(const Array& cache, CacheType type) {
  return is_packed(type.dtype) ? packed_blocks(cache, type.dtype) : cache;
}

std::int64_t cache_bytes(const LanguageConfig& config, const CacheOptions& options) {
  std::int64_t bytes = 0;
  for (const LayerConfig& layer : config.layers) {
    const LayerShapes shapes = shapes_of(config, layer, options);
    const auto add = [&](const Shape& shape, DType dtype) {
      if (!shape.empty()) bytes += bytes_of(dtype, element_count(shape));
    };
    add(stored_shape(shapes.keys, options.keys), stored_dtype(options.keys));
    add(stored_shape(shapes.values, options.values), stored_dtype(options.values));
    add(shapes.convolution, DType::f32);
    add(shapes.state, DType::f32);
  }
  return bytes;
}

}  // namespace hearth::models
