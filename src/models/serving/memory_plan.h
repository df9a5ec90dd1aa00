// The plan of memory of models whose files are open.
#pragma once

#include "hearth/models/memory_plan.h"
#include "models/loading/load_model.h"

namespace hearth::models {

// As hearth::memory_plan(). Reads no weights but those that are stored in a form that no dtype has.
MemoryPlan plan_memory(const ModelContents& files, const MemoryPlanOptions& options);

}  // namespace hearth::models
