#include "tools/model_bench/random_model.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "hearth/error.h"
#include "hearth/ops.h"
#include "hearth/quantization.h"
#include "runtime/device/device_spec.h"

namespace hearth::tools {
namespace {

constexpr std::int64_t kDrawnRows = 64;

// The bytes of kDrawnRows rows of `in` weights.
class DrawnRows {
 public:
  std::span<const std::byte> rows(DType dtype, std::int64_t in) {
    const auto key = std::pair(dtype, in);
    const auto at = drawn_.find(key);
    if (at != drawn_.end()) return at->second;
    std::normal_distribution<float> weights(0.0F, 0.02F);
    std::vector<float> values(static_cast<std::size_t>(kDrawnRows * in));
    for (float& value : values) value = weights(engine_);
    const Array floats = Array::from_data(values, {kDrawnRows, in}, Device::cpu());
    const Array stored = is_packed(dtype) ? quantize(floats, dtype) : cast(floats, dtype);
    const HostBytes bytes = stored.host_bytes(dtype);
    return drawn_.emplace(key, std::vector<std::byte>(bytes.data, bytes.data + bytes.bytes))
        .first->second;
  }

 private:
  std::mt19937_64 engine_{1};
  std::map<std::pair<DType, std::int64_t>, std::vector<std::byte>> drawn_;
};

Array random_matrix(DrawnRows& drawn, DType dtype, const Shape& shape, Device device) {
  const std::int64_t in = shape[shape.rank() - 1];
  const std::span<const std::byte> rows = drawn.rows(dtype, in);
  std::vector<std::byte> all(static_cast<std::size_t>(bytes_of(dtype, element_count(shape))));
  for (std::size_t at = 0; at < all.size(); at += rows.size()) {
    const std::size_t count = std::min(rows.size(), all.size() - at);
    std::copy_n(rows.begin(), count, all.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return Array::from_bytes(all, dtype, shape, device);
}

std::int64_t bytes_of_weights(const std::vector<models::TypedTensor>& tensors) {
  std::int64_t bytes = 0;
  for (const models::TypedTensor& each : tensors) {
    bytes += bytes_of(each.dtype, element_count(each.shape));
  }
  return bytes;
}

void require_room(std::int64_t bytes, Device device) {
  const std::int64_t room = device.impl().room();
  if (bytes <= room) return;
  throw Error(ErrorCode::out_of_memory, "bench-model: the weights are larger than the memory of " +
                                            device.name() + "; got " + std::to_string(bytes >> 20) +
                                            " MiB, expected at most " +
                                            std::to_string(std::max<std::int64_t>(room, 0) >> 20) +
                                            " MiB: a smaller --shape, or a --type of fewer bits");
}

}  // namespace

GgufContents random_model(const ModelShape& shape, const models::QuantizeType& type,
                          std::int64_t context, Device device,
                          const std::function<void(double)>& progress) {
  GgufContents contents;
  contents.metadata = shape_metadata(shape, context);
  contents.metadata.set("general.file_type", static_cast<std::uint32_t>(std::max<std::int64_t>(
                                                 models::file_type_of(type), 0)));
  DrawnRows drawn;
  std::vector<models::TypedTensor> tensors;
  for (const ShapeTensor& each : shape_tensors(shape)) tensors.push_back({each.name, each.shape});
  const std::vector<DType> dtypes =
      models::quantized_dtypes(type, tensors,
                               {.layers = shape.layers,
                                .heads_together = shape.heads / shape.kv_heads,
                                .experts = shape.experts,
                                .has_output = shape.has_output,
                                .has_few_values = shape.layers == 80});
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    tensors[i].dtype = tensors[i].shape.rank() == 1 ? DType::f32 : dtypes[i];
  }
  const std::int64_t bytes = bytes_of_weights(tensors);
  require_room(bytes, device);
  std::int64_t made = 0;
  for (const models::TypedTensor& tensor : tensors) {
    if (tensor.shape.rank() == 1) {
      Array norm = ones(tensor.shape, DType::f32, device);
      norm.eval();
      contents.arrays.push_back({tensor.name, norm});
    } else {
      contents.arrays.push_back(
          {tensor.name, random_matrix(drawn, tensor.dtype, tensor.shape, device)});
    }
    made += bytes_of(tensor.dtype, element_count(tensor.shape));
    if (progress) progress(static_cast<double>(made) / static_cast<double>(bytes));
  }
  return contents;
}

}  // namespace hearth::tools
