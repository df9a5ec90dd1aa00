// What ops with indices make of an element and the values that go to it.
#pragma once

#include <cstdint>
#include <span>

#include "graph/params.h"
#include "hearth/dtype.h"
#include "hearth/ops/indexing.h"

namespace hearth {

// Of the static parameters of scatter and select_assign, which name an update, or of scatter_add
// and select_add, which have an axis only.
inline IndexingUpdateOp named_update(std::span<const std::uint64_t> statics) {
  ParamReader reader(statics);
  (void)reader.i64();
  return statics.size() > 1 ? static_cast<IndexingUpdateOp>(reader.i64()) : IndexingUpdateOp::add;
}

// What computes the update in a dtype: of truth values the larger one is or, the smaller one and.
inline IndexingUpdateOp update_rule(IndexingUpdateOp update, DType dtype) {
  if (!is_bool(dtype)) return update;
  if (update == IndexingUpdateOp::add) return IndexingUpdateOp::max;
  return update == IndexingUpdateOp::mul ? IndexingUpdateOp::min : update;
}
inline IndexingUpdateOp update_rule(std::span<const std::uint64_t> statics, DType dtype) {
  return update_rule(named_update(statics), dtype);
}

}  // namespace hearth
