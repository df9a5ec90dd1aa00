// What attention keeps of positions seen so far.
#include <string>
#include <utility>

#include "core/throw_as.h"
#include "hearth/nn/attention.h"
#include "hearth/ops.h"

namespace hearth {
inline namespace v0 {
namespace nn {

KvCache::KvCache(std::int64_t batch, std::int64_t kv_heads, std::int64_t capacity,
                 std::int64_t head_dim, DType dtype, Device device) try {
  const Shape shape = {batch, kv_heads, capacity, head_dim};
  // Dense arrays of their own, so that the first append already writes in place.
  keys = Tensor<4>(contiguous(zeros(shape, dtype, device)));
  values = Tensor<4>(contiguous(zeros(shape, dtype, device)));
} catch (const Error& error) {
  throw_as("kv_cache", error);
}

void KvCache::append(const Tensor<4>& k, const Tensor<4>& v) {
  const std::int64_t rows = k.shape()[2];
  Shape wanted = keys.shape();
  wanted[2] = rows;
  if (k.shape() != wanted || v.shape() != wanted) {
    throw Error(ErrorCode::shape, "kv_cache: keys and values do not fit; got " +
                                      to_string(k.shape()) + " and " + to_string(v.shape()) +
                                      ", expected both of shape " + to_string(wanted));
  }
  if (length < 0 || rows > capacity() - length) {
    throw Error(ErrorCode::shape, "kv_cache: the cache is full; got " + std::to_string(rows) +
                                      " rows behind " + std::to_string(length) +
                                      ", expected at most " + std::to_string(capacity()) +
                                      " in all");
  }
  Tensor<4> longer_keys = dynamic_slice_assign(keys, {0, 0, length, 0}, k);
  values = dynamic_slice_assign(values, {0, 0, length, 0}, v);
  keys = std::move(longer_keys);
  length += rows;
}

void KvCache::clear() {
  const auto are_there = [this] {
    return keys.array().is_evaluated() && values.array().is_evaluated();
  };
  if (keys.array().defined() && !are_there()) {
    submit();  // what is still to be computed is, or fails, now
    if (!are_there()) {
      const Shape& shape = keys.shape();
      *this = KvCache(shape[0], shape[1], shape[2], shape[3], keys.dtype(), keys.device());
    }
  }
  length = 0;
}

}  // namespace nn
}  // namespace v0
}  // namespace hearth
