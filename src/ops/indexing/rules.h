// What the ops that read and update by index share.
#pragma once

#include <cstdint>

#include "graph/op_def.h"
#include "hearth/ops/indexing.h"

namespace hearth::indexing {

// Inference of scatter_add and select_add, and of ops with their inputs and an axis first.
void infer_scatter(Inference& inference);
void infer_select_update(Inference& inference);

// Record gather or select; scatter_add or select_add; scatter or select_assign.
Array by_index(const OpDef& op, const Array& x, const Array& indices, std::int64_t axis);
Array by_index(const OpDef& op, const Array& x, const Array& indices, const Array& values,
               std::int64_t axis);
Array by_index(const OpDef& op, const Array& x, const Array& indices, const Array& values,
               std::int64_t axis, IndexingUpdateOp update);

}  // namespace hearth::indexing
