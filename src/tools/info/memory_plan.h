// What a language model will take in memory, before it is loaded.
#pragma once

#include <cstdint>
#include <string>

#include "core/json.h"
#include "hearth/dtype.h"
#include "models/language/cache_type.h"
#include "models/language/load_model.h"

namespace hearth::tools {

struct MemoryOptions {
  std::int64_t context = 0;      // tokens of a sequence; 0: what the model was made for
  std::int64_t sequences = 1;    // side by side
  models::CacheType cache = {};  // of keys and values
};

// In bytes. What a pass computes beside them depends on its rows and is not counted.
struct MemoryPlan {
  std::int64_t weights = 0;
  std::int64_t caches = 0;  // keys and values
  std::int64_t states = 0;  // of layers that remember no rows
  std::int64_t all() const { return weights + caches + states; }

  MemoryOptions options;  // with the context that it is for
};

// Reads no weights but those that are stored in a form that no dtype has. Throws
// Error{unsupported} and Error{invalid_argument} as read_config() does.
MemoryPlan plan_memory(const models::ModelContents& files, const MemoryOptions& options);

std::string memory_text(const MemoryPlan& plan);
JsonObject memory_document(const MemoryPlan& plan);

}  // namespace hearth::tools
