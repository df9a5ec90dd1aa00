#include "models/quantize/quantize_file.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "hearth/ops.h"
#include "hearth/quantization.h"
#include "io/gguf.h"
#include "io/gguf_writer.h"

namespace hearth::models {
namespace {

constexpr std::int64_t kQuantizationVersion = 2;  // of the formats of blocks, as ggml counts

std::int64_t layers_of(const std::vector<io::GgufView>& tensors) {
  std::int64_t layers = 0;
  for (const io::GgufView& tensor : tensors) {
    layers = std::max(layers, 1 + layer_of(tensor.name));
  }
  return layers;
}

// [in], or [experts, in] as a weight of rank 3 has them: what quantize() takes for each row.
Array weights_of(const io::GgufView& tensor, const std::vector<float>& mean) {
  const std::int64_t in = tensor.shape.back();
  const auto count = static_cast<std::int64_t>(mean.size());
  if (count == in) return Array::from_data(mean, {in}, Device::cpu());
  const int rank = tensor.shape.rank();
  const std::int64_t experts = rank == 3 ? tensor.shape[0] : 1;
  if (rank != 3 || count != experts * in) {
    throw Error(ErrorCode::invalid_argument,
                "quantize: importance does not fit " + tensor.name + "; got " +
                    std::to_string(count) + " values, expected " + std::to_string(experts * in));
  }
  const Array each = Array::from_data(mean, {experts, 1, in}, Device::cpu());
  return contiguous(expand(each, tensor.shape));
}

Array converted(const io::GgufView& tensor, DType to, const Importance& importance) {
  const Array x = Array::from_bytes(tensor.bytes, tensor.dtype, tensor.shape, Device::cpu());
  const Array floats = is_packed(tensor.dtype) ? dequantize(x) : x;
  if (!is_packed(to)) return cast(floats, to);
  const auto mean = importance.find(tensor.name);
  if (mean == importance.end()) return quantize(floats, to);
  return quantize(floats, to, weights_of(tensor, mean->second));
}

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code none;
  return std::filesystem::equivalent(a, b, none);
}

}  // namespace

std::vector<std::string> quantize_file(const std::string& in, const std::string& out,
                                       const QuantizeOptions& options) {
  if (is_same_file(in, out)) {
    throw Error(ErrorCode::invalid_argument,
                "quantize: the file would be written over itself; got " + in + " twice");
  }
  const io::GgufFile file = io::GgufFile::open(in);
  const std::int64_t layers = layers_of(file.tensors());
  const bool has_output = file.find("output.weight") != nullptr;
  std::vector<io::GgufTensor> tensors;
  for (const io::GgufView& each : file.tensors()) {
    const DType given = each.dtype;
    const bool is_real = is_float(given) || is_packed(given);
    const DType dtype =
        is_real ? quantized_dtype(options.type, each.name, each.shape, given, layers, has_output)
                : given;
    tensors.push_back({each.name, dtype, each.shape});
  }
  GgufMetadata metadata = file.metadata();
  const std::int64_t file_type = file_type_of(options.type);
  if (file_type >= 0) {
    metadata.set("general.file_type", static_cast<std::uint32_t>(file_type));
  } else {
    metadata.erase("general.file_type");
  }
  if (is_packed(options.type.dtype)) {
    metadata.set("general.quantization_version", static_cast<std::uint32_t>(kQuantizationVersion));
  }
  io::GgufWriter writer(out, tensors, metadata, options.file);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const io::GgufView& from = file.tensors()[i];
    QuantizedTensorReport report{from.name, from.dtype, tensors[i].dtype,
                                 static_cast<std::int64_t>(from.bytes.size()), 0};
    if (report.from == report.to) {
      writer.write(from.bytes);
      report.bytes_after = report.bytes_before;
    } else {
      const HostBytes bytes = converted(from, report.to, options.importance).host_bytes(report.to);
      writer.write({bytes.data, static_cast<std::size_t>(bytes.bytes)});
      report.bytes_after = bytes.bytes;
    }
    if (options.progress) options.progress(report, i + 1, tensors.size());
  }
  writer.commit();
  return writer.paths();
}

}  // namespace hearth::models
