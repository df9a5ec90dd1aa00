#include "models/quantize/quantize_file.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "core/counted.h"
#include "core/quoted.h"
#include "hearth/ops.h"
#include "hearth/quantization.h"
#include "io/gguf_writer.h"
#include "models/adapters/adapter.h"
#include "models/files/model_folder.h"
#include "models/files/tensor_roles.h"
#include "models/language/read_config.h"
#include "models/quantize/folder_file.h"
#include "models/quantize/held_weights.h"
#include "models/quantize/read_files.h"

namespace hearth::models {
namespace {

constexpr std::int64_t kQuantizationVersion = 2;  // of the formats of blocks, as ggml counts

// [in], or [experts, in] as a weight of rank 3 has them: what quantize() takes for each row.
Array weights_of(const NamedArray& tensor, const std::vector<float>& mean) {
  const Shape& shape = tensor.array.shape();
  const std::int64_t in = shape.back();
  const auto count = static_cast<std::int64_t>(mean.size());
  if (count == in) return Array::from_data(mean, {in}, Device::cpu());
  const std::int64_t experts = shape.rank() == 3 ? shape[0] : 1;
  if (shape.rank() != 3 || count != experts * in) {
    throw Error(ErrorCode::invalid_argument, "quantize: importance does not fit " + tensor.name +
                                                 "; got " + counted(count, "value") +
                                                 ", expected " + std::to_string(experts * in));
  }
  const Array each = Array::from_data(mean, {experts, 1, in}, Device::cpu());
  return contiguous(expand(each, shape));
}

// That of another model would be of no use, and nobody would know.
void require_own(const Importance& importance, const NamedArrays& tensors) {
  const auto is_known = [&](const NamedArray& each) { return importance.contains(each.name); };
  if (importance.empty() || std::any_of(tensors.begin(), tensors.end(), is_known)) return;
  throw Error(ErrorCode::invalid_argument, "quantize: importance of another model; got that of " +
                                               hearth::quoted(importance.begin()->first) + " and " +
                                               std::to_string(importance.size() - 1) +
                                               " others, expected names of this one");
}

using Pairs = std::vector<std::shared_ptr<const LowRank>>;

// A weight and what adapters add to it.
Array merged(const Array& weight, const Pairs& pairs) {
  Array sum = cast(weight, DType::f32);
  for (const auto& pair : pairs) sum = sum + matmul(pair->b, pair->a) * pair->scale;
  return sum;
}

// What becomes weights of another dtype.
Array own_floats(const Array& x, const Pairs& pairs) {
  const Array own = is_packed(x.dtype()) ? dequantize(x) : x;
  return pairs.empty() ? own : merged(own, pairs);
}

Array converted(const NamedArray& tensor, const Array& floats, DType to,
                const Importance& importance) {
  if (!is_packed(to)) return cast(floats, to);
  const auto mean = importance.find(tensor.name);
  if (mean == importance.end()) return quantize(floats, to);
  return quantize(floats, to, weights_of(tensor, mean->second));
}

// Those of the file's matrix; none of what is no matrix.
Pairs pairs_of(const NamedArray& tensor, const FindLowRank& find) {
  constexpr std::string_view kEnding = ".weight";
  const Shape& shape = tensor.array.shape();
  if (!find || shape.rank() != 2 || !tensor.name.ends_with(kEnding)) return {};
  return find(tensor.name.substr(0, tensor.name.size() - kEnding.size()), shape[0], shape[1]);
}

// That of most weights; f32 where there are none.
DType dtype_of_most(const std::vector<io::GgufTensor>& tensors) {
  std::map<DType, std::int64_t> elements;
  for (const io::GgufTensor& each : tensors) {
    if (is_matrix(each.name, each.shape)) elements[each.dtype] += element_count(each.shape);
  }
  const auto most = std::max_element(elements.begin(), elements.end(),
                                     [](auto& a, auto& b) { return a.second < b.second; });
  return most == elements.end() ? DType::f32 : most->first;
}

// What names the type of the tensors to be written; -1 for none.
std::int64_t written_file_type(const QuantizeType& type, const GgufMetadata& metadata,
                               const std::vector<io::GgufTensor>& tensors) {
  constexpr const char* kKey = "general.file_type";
  if (type.is_kept && metadata.contains(kKey)) return metadata.as_int(kKey);
  const DType most = dtype_of_most(tensors);
  const bool is_of_type = !type.is_kept && is_packed(most) == is_packed(type.dtype);
  return file_type_of(is_of_type ? type : QuantizeType{.dtype = most});
}

}  // namespace

std::vector<std::string> quantize_file(const std::string& in, const std::string& out,
                                       const QuantizeOptions& options) {
  std::vector<std::string> weights = {in};
  for (const AdapterFile& each : options.adapters) weights.push_back(each.path);
  std::vector<std::string> read = read_files(weights);
  read.insert(read.end(), options.sources.begin(), options.sources.end());
  // Before anything is read; the names of several parts are known only with all tensors' sizes.
  if (options.file.max_shard_bytes == 0) require_other_files("quantize", {out}, read);
  const FileStates states(weights);
  GgufContents contents = is_model_folder(in) ? file_of_folder(in) : map_gguf(in, Device::cpu());
  require_own(options.importance, contents.arrays);
  std::optional<LoadedAdapters> adapters;
  if (!options.adapters.empty()) {
    const LanguageConfig config = read_config(contents.metadata, FileKind::gguf);
    adapters.emplace(options.adapters, AdaptedModel{contents.metadata, config, FileKind::gguf},
                     DType::f32, Device::cpu());
  }
  const FindLowRank find = adapters ? adapters->finder() : FindLowRank();
  std::vector<Pairs> pairs;
  for (const NamedArray& each : contents.arrays) pairs.push_back(pairs_of(each, find));
  if (adapters) adapters->require_used();
  std::vector<TypedTensor> given;
  for (const auto& [name, array] : contents.arrays) {
    given.push_back({name, array.shape(), array.dtype()});
  }
  const std::vector<DType> dtypes = quantized_dtypes(
      options.type, given, mixed_model(contents.metadata, given, !options.importance.empty()));
  std::vector<io::GgufTensor> tensors;
  for (std::size_t i = 0; i < given.size(); ++i) {
    tensors.push_back({given[i].name, dtypes[i], given[i].shape});
  }
  GgufMetadata& metadata = contents.metadata;
  const std::int64_t file_type = written_file_type(options.type, metadata, tensors);
  if (file_type >= 0) {
    metadata.set("general.file_type", static_cast<std::uint32_t>(file_type));
  } else {
    metadata.erase("general.file_type");
  }
  if (std::any_of(tensors.begin(), tensors.end(),
                  [](const io::GgufTensor& each) { return is_packed(each.dtype); })) {
    metadata.set("general.quantization_version", static_cast<std::uint32_t>(kQuantizationVersion));
  }
  io::GgufWriter writer(out, tensors, metadata, options.file);
  require_other_files("quantize", writer.paths(), read);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    // Its memory is free again once it is written.
    const NamedArray from = std::exchange(contents.arrays[i], {});
    QuantizedTensorReport report{from.name, from.array.dtype(), tensors[i].dtype, 0, 0};
    report.bytes_before = bytes_of(report.from, element_count(tensors[i].shape));
    report.stays = report.from == report.to && pairs[i].empty();
    const bool is_of_numbers = is_float(report.from) || is_packed(report.from);
    if (is_of_numbers && is_matrix(from.name, tensors[i].shape)) {
      report.row = tensors[i].shape.back();
    }
    const Array floats = report.stays ? from.array : own_floats(from.array, pairs[i]);
    if (is_float(floats.dtype())) {
      require_held(hearth::quoted(from.name) + (pairs[i].empty() ? "" : " with its adapters"),
                   floats, report.to);
    }
    const Array to = report.stays ? floats : converted(from, floats, report.to, options.importance);
    const HostBytes bytes = to.host_bytes(report.to);
    writer.write({bytes.data, static_cast<std::size_t>(bytes.bytes)});
    report.bytes_after = bytes.bytes;
    if (options.progress) options.progress(report, i + 1, tensors.size());
  }
  states.require_unchanged("quantize");
  writer.commit();
  return writer.paths();
}

}  // namespace hearth::models
