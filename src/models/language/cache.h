// What a language model remembers of the rows that it has seen: keys and values in pages that
// sequences share out among themselves, and states of a fixed size. Written in place.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hearth/array.h"
#include "models/language/cache_type.h"
#include "models/language/config.h"

namespace hearth::models {

inline constexpr std::int64_t kPageRows = 32;  // where nobody says else

// Pages that so many rows fill, the last one perhaps not wholly.
constexpr std::int64_t pages_of(std::int64_t rows, std::int64_t page_size = kPageRows) {
  return (rows + page_size - 1) / page_size;
}

struct CacheOptions {
  std::int64_t pages = 1;
  // Of the layers with windows (windows.h); nothing: as many as the others have.
  std::optional<std::int64_t> window_pages = std::nullopt;
  std::int64_t page_size = kPageRows;
  std::int64_t states = 1;        // sequences that have states
  std::int64_t saved_states = 0;  // more of them, of earlier rows
  // Coded rows are rotated before they are stored, and queries with the keys; this lowers the
  // coding error.
  CacheType keys = DType::f32, values = DType::f32;
  std::uint64_t seed = 0;  // of the rotation: what is stored with one is read with the same

  std::int64_t pages_of_windows() const { return window_pages.value_or(pages); }
};

// What one layer remembers. Undefined arrays are of mixers that it does not have, or of keys and
// values that are another layer's. In a pass over whole texts (Batch::width) keys and values become
// those of its rows, for layers that share them.
struct LayerCache {
  // Of codes u8, the bytes of rows.
  Array keys;         // [slots, kv_heads, key_dim]; of latent attention the latent rows
  Array values;       // [slots, kv_heads, value_dim]
  Array convolution;  // [states + saved_states, kernel - 1, channels]
  Array state;        // [states + saved_states, heads, ...]
  CacheType key_type, value_type;
  bool keeps_window = false;  // its pages and slots are those of the layers with windows
  HeadRotation key_rotation, value_rotation;
};

struct Cache {
  Cache() = default;
  // Throws what require_cache_types() does.
  Cache(const LanguageConfig& config, const CacheOptions& options, DType compute, Device device);

  CacheOptions options;
  std::vector<LayerCache> layers;
};

// Writes rows [rows, ...] into `cache` [slots, ...], as `type` has them, at `slots` i32 [rows], in
// place where nobody else holds it.
void write_rows(Array& cache, CacheType type, const Array& slots, const Array& rows);

// A cache as paged_attention() takes it: codes of blocks as a packed array, others as they are.
Array readable(const Array& cache, CacheType type);

// The rows of a page to another one, of all layers without windows, or of all with them.
void copy_page(Cache& cache, std::int64_t from, std::int64_t to, Device device);
void copy_window_page(Cache& cache, std::int64_t from, std::int64_t to, Device device);
// All layers' states of a slot to another one.
void copy_states(Cache& cache, std::int64_t from, std::int64_t to, Device device);
// Those that a sequence begins with.
void clear_states(Cache& cache, std::int64_t slot, Device device);

// With one page of each kind and one state more, for what padding writes.
CacheOptions with_padding(CacheOptions options);

// What a cache takes in memory, of a model that computes in `compute`.
std::int64_t bytes_of_caches(const LanguageConfig& config, const CacheOptions& options,
                             DType compute);

// Throws Error{unsupported} where caches of these do not fit the heads: of codes these are
// multiples of 32 columns, and latent rows are floats.
void require_cache_types(const LanguageConfig& config, CacheType keys, CacheType values);

}  // namespace hearth::models
