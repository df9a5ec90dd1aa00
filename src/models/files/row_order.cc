#include "models/files/row_order.h"

#include <cstddef>
#include <cstring>
#include <string>

#include "hearth/error.h"
#include "hearth/ops.h"
#include "hearth/quantization/packed.h"

namespace hearth::models {
namespace {

// Whole rows of blocks, by their bytes.
Array packed_rows(const Array& x, const std::vector<std::int64_t>& order) {
  const HostBytes all = x.host_bytes(x.dtype());
  const auto row = static_cast<std::size_t>(all.bytes / x.shape(0));
  std::vector<std::byte> bytes(order.size() * row);
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::memcpy(bytes.data() + i * row, all.data + static_cast<std::size_t>(order[i]) * row, row);
  }
  return Array::from_bytes(bytes, x.dtype(), x.shape(), Device::cpu());
}

}  // namespace

std::vector<std::int64_t> neighbours_first(std::int64_t heads, std::int64_t head_dim) {
  std::vector<std::int64_t> order;
  for (std::int64_t head = 0; head < heads; ++head) {
    for (std::int64_t i = 0; i < head_dim; ++i) {
      order.push_back(head * head_dim + i % 2 * (head_dim / 2) + i / 2);
    }
  }
  return order;
}

void require_extent(const Array& x, int axis, std::int64_t expected) {
  if (x.rank() > axis && x.shape(axis) == expected) return;
  throw Error(ErrorCode::invalid_argument,
              "model: tensor does not fit its heads; got " + to_string(x.shape()) + ", expected " +
                  std::to_string(expected) + " along axis " + std::to_string(axis));
}

Array in_order(const Array& x, const std::vector<std::int64_t>& order, int axis) {
  require_extent(x, axis, static_cast<std::int64_t>(order.size()));
  if (is_packed(x.dtype()) && axis == 0) return packed_rows(x, order);
  const Array open = is_packed(x.dtype()) ? dequantize(x) : x;
  const std::vector<std::int32_t> indices(order.begin(), order.end());
  const auto count = static_cast<std::int64_t>(indices.size());
  return select(open, Array::from_data(indices, {count}, x.device()), axis);
}

}  // namespace hearth::models
