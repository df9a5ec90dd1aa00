#include "hearth/tensor/types.h"

#include <string>

#include "graph/record/array_access.h"
#include "graph/record/node.h"

namespace hearth {
inline namespace v0 {
namespace tensor_detail {

// For results whose rank or kind does not follow from types: what fits costs two
// comparisons.
void check(const Array& array, int rank, Kind wanted) {
  const Node* node = node_of(array);
  if (node != nullptr && node->shape.rank() == rank && kind(node->dtype) == wanted) return;
  constexpr const char* kNames[] = {"a float", "an integer", "bool"};
  if (array.rank() != rank) {
    throw Error(ErrorCode::shape, "tensor: wrong rank; got " + to_string(array.shape()) +
                                      ", expected rank " + std::to_string(rank));
  }
  throw Error(ErrorCode::dtype, "tensor: wrong kind; got " + std::string(name(array.dtype())) +
                                    ", expected " + kNames[static_cast<int>(wanted)] + " dtype");
}

DType dtype_for(const char* op, const TensorOptions& options, Kind wanted, DType fallback) {
  const DType dtype = options.dtype.value_or(fallback);
  if (kind(dtype) == wanted) return dtype;
  throw Error(ErrorCode::dtype, std::string(op) + ": dtype of another kind; got " +
                                    std::string(name(dtype)) + ", expected one like " +
                                    std::string(name(fallback)));
}

}  // namespace tensor_detail
}  // namespace v0
}  // namespace hearth
