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
  std::int64_t page_size = 32;    // rows of a page
  std::int64_t states = 1;        // sequences that have states
  std::int64_t saved_states = 0;  // more of them, of earlier rows
  DType dtype = DType::f32;       // of keys and values
};

// What one layer remembers. Undefined arrays are of mixers that it does not have, or of keys and
// values that are another layer's.
struct LayerCache {
  Array keys;         // [slots, kv_heads, key_dim]; of latent attention the latent rows
  Array values;       // [slots, kv_heads, value_dim]
  Array convolution;  // [states + saved_states, kernel - 1, channels]
  Array state;        // [states + saved_states, heads, ...]
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

// All layers' rows of a page, or states of a slot, to another one.
void copy_page(Cache& cache, std::int64_t from, std::int64_t to, Device device);
void copy_states(Cache& cache, std::int64_t from, std::int64_t to, Device device);
// Those that a sequence begins with.
void clear_states(Cache& cache, std::int64_t slot, Device device);

// What a cache takes in memory.
std::int64_t cache_bytes(const LanguageConfig& config, const CacheOptions& options);

}  // namespace hearth::models
