#include "tools/model_bench/random_model.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "hearth/ops.h"
#include "hearth/quantization.h"

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

}  // namespace

GgufContents random_model(const ModelShape& shape, const models::QuantizeType& type,
                          std::int64_t context, Device device) {
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
    const models::TypedTensor& tensor = tensors[i];
    if (tensor.shape.rank() == 1) {
      Array norm = ones(tensor.shape, DType::f32, device);
      norm.eval();
      contents.arrays.push_back({tensor.name, norm});
      continue;
    }
    contents.arrays.push_back({tensor.name, random_matrix(drawn, dtypes[i], tensor.shape, device)});
  }
  return contents;
}

}  // namespace hearth::tools
