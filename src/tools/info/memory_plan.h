// What `hearth info` says of the memory that a language model will take.
#pragma once

#include <string>

#include "core/json.h"
#include "hearth/models/memory_plan.h"

namespace hearth::tools {

// `cache`: the type of keys and values.
std::string memory_text(const MemoryPlan& plan, const std::string& cache);
JsonObject memory_document(const MemoryPlan& plan, const std::string& cache);

}  // namespace hearth::tools
