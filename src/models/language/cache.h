// What a language model remembers of the rows that it has seen: keys and values in pages that
// sequences share out among themselves, and states of a fixed size. Written in place.
#pragma once

#include <cstdint>
#include <vector>

#include "hearth/array.h"
#include "models/language/config.h"

namespace hearth::models {

struct CacheOptions {
  std::int64_t pages = 1;
  std::int64_t page_size = 32;  // rows of a page
  std::int64_t states = 1;      // sequences that have states
  DType dtype = DType::f32;     // of keys and values
};

// What one layer remembers. Undefined arrays are of mixers that it does not have, or of keys and
// values that are another layer's.
struct LayerCache {
  Array keys;         // [slots, kv_heads, key_dim]; of latent attention the latent rows
  Array values;       // [slots, kv_heads, value_dim]
  Array convolution;  // [states, kernel - 1, channels]
  Array state;        // [states, heads, ...]
};

struct Cache {
  Cache() = default;
  Cache(const LanguageConfig& config, const CacheOptions& options, DType compute, Device device);

  CacheOptions options;
  std::vector<LayerCache> layers;
};

// Writes rows [rows, ...] into `cache` [slots, ...], in its dtype, at `slots` i32 [rows], in place
// where nobody else holds it.
void write_rows(Array& cache, const Array& slots, const Array& rows);

// What a cache takes in memory.
std::int64_t cache_bytes(const LanguageConfig& config, const CacheOptions& options);

}  // namespace hearth::models
