#include "models/files/model_folder.h"

#include <algorithm>
#include <optional>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "core/bools.h"
#include "core/json_fields.h"
#include "core/json_object.h"
#include "core/quoted.h"
#include "hearth/error.h"
#include "models/files/float8_weights.h"
#include "models/files/folder_tensors.h"
#include "models/files/fp4_blocks.h"
#include "models/files/mlx_weights.h"

namespace hearth::models {
namespace {

using folders::FolderTensors;
using folders::HostTensor;
using io::SafetensorsView;

constexpr std::string_view kWeight = ".weight", kBlocks = "_blocks", kScales = "_scales";

// How the weights are quantized, as config.json says.
struct WeightScheme {
  std::optional<folders::MlxQuantization> mlx;
  folders::ScaleBlock scale_block;  // of eight-bit floats
};

std::string without_ending(std::string_view text, std::string_view ending) {
  return std::string(text.substr(0, text.size() - ending.size()));
}

// Reads "quantization_config", and refuses what is not known: weights of another kind would be
// taken for what they are not.
void read_quantization_config(const JsonFields& config, WeightScheme& scheme) {
  if (config.find("quantization_config") == nullptr) return;
  const JsonFields fields = config.object("quantization_config");
  const std::string method = fields.text("quant_method", "");
  const bool is_known =
      method == "fp8" || method == "fbgemm_fp8" || method == "mxfp4" ||
      (method == "compressed-tensors" && fields.text("format", "") == "float-quantized") ||
      (method == "modelopt" && fields.text("quant_algo", "") == "FP8");
  if (!is_known) {
    fields.unsupported("weights quantized in another way; got quant_method " +
                       hearth::quoted(method) + ", expected fp8 or mxfp4");
  }
  if (fields.find("weight_block_size") == nullptr) return;
  std::vector<std::int64_t> sizes;
  for (const JsonValue& each : fields.array("weight_block_size")) {
    const auto* size = std::get_if<std::int64_t>(&each);
    sizes.push_back(size != nullptr ? *size : 0);
  }
  if (sizes.size() != 2 || sizes[0] <= 0 || sizes[1] <= 0) {
    fields.fail("weight_block_size is no pair of sizes; got " +
                json_text(*fields.find("weight_block_size")) + ", expected two numbers above 0");
  }
  scheme.scale_block = {sizes[0], sizes[1]};
}

WeightScheme read_weight_scheme(const JsonObject& config, const std::string& source) {
  WeightScheme scheme;
  scheme.mlx = folders::parse_mlx_quantization(config, source);
  // MLX repeats what it says there under the other name.
  if (scheme.mlx) return scheme;
  const JsonValue document(config);
  const JsonFields root(document, source);
  read_quantization_config(root, scheme);
  if (root.find("text_config") != nullptr) {
    read_quantization_config(root.object("text_config"), scheme);
  }
  return scheme;
}

// Makes the tensors that are stored in another form, and says which others that uses up.
class WeightDecoder {
 public:
  WeightDecoder(const FolderTensors& stored, const WeightScheme& scheme)
      : stored_(stored), scheme_(scheme) {
    for (const folders::StoredTensor& each : stored.tensors()) find_partners(*each.view);
  }

  WeightForm form() const noexcept { return form_; }
  bool is_used_up(const SafetensorsView& view) const { return used_up_.contains(view.name); }

  // Nothing for a tensor that is stored as it is read.
  std::optional<HostTensor> decode(const SafetensorsView& view) const {
    if (view.float8 != io::Float8::none) {
      return folders::decode_float8_weight(view, float8_scale(view), scheme_.scale_block);
    }
    if (const SafetensorsView* scales = block_scales(view); scales != nullptr) {
      return folders::mxfp4_of_blocks(view, *scales);
    }
    if (const SafetensorsView* scales = mlx_scales(view); scales != nullptr) {
      const std::string module = without_ending(view.name, kWeight);
      const std::optional<folders::MlxScheme> scheme = scheme_.mlx->scheme_of(module);
      if (!scheme) {
        throw Error(ErrorCode::corrupt_file,
                    "read_model_folder: scales of a weight that the configuration says is plain; "
                    "got " +
                        hearth::quoted(scales->name) + ", expected weights without scales there");
      }
      return folders::decode_mlx_weight(view, *scales, stored_.find(module + ".biases"), *scheme);
    }
    if (is_bool(view.dtype) && !are_bools(view.bytes)) {
      return HostTensor{view.dtype, view.shape, as_bools(view.bytes)};
    }
    return std::nullopt;
  }

 private:
  void find_partners(const SafetensorsView& view) {
    if (view.float8 != io::Float8::none) {
      if (view.float8 != io::Float8::e8m0) form_ = WeightForm::float8;
      use_up(float8_scale(view));
      use_up_activation_scales(view);
    } else if (const SafetensorsView* scales = block_scales(view); scales != nullptr) {
      form_ = WeightForm::mxfp4;
      use_up(scales);
    } else if (mlx_scales(view) != nullptr) {
      form_ = WeightForm::mlx;
      const std::string module = without_ending(view.name, kWeight);
      use_up(mlx_scales(view));
      use_up(stored_.find(module + ".biases"));
    }
  }

  // Of the inputs of this weight, which keep their precision here.
  void use_up_activation_scales(const SafetensorsView& weight) {
    if (!weight.name.ends_with(kWeight)) return;
    const std::string module = without_ending(weight.name, kWeight);
    for (const char* name : {".activation_scale", ".input_scale"}) {
      use_up(stored_.find(module + name));
    }
  }

  void use_up(const SafetensorsView* view) {
    if (view != nullptr) used_up_.insert(view->name);
  }

  const SafetensorsView* float8_scale(const SafetensorsView& view) const {
    const SafetensorsView* scale = stored_.find(view.name + "_scale_inv");
    return scale != nullptr ? scale : stored_.find(view.name + "_scale");
  }

  // Null for what are no blocks of four-bit floats.
  const SafetensorsView* block_scales(const SafetensorsView& view) const {
    if (view.dtype != DType::u8 || !view.name.ends_with(kBlocks)) return nullptr;
    return stored_.find(without_ending(view.name, kBlocks).append(kScales));
  }

  // Null for a tensor that is no quantized weight of MLX.
  const SafetensorsView* mlx_scales(const SafetensorsView& view) const {
    if (!scheme_.mlx || view.dtype != DType::u32 || !view.name.ends_with(kWeight)) return nullptr;
    const std::string name = without_ending(view.name, kWeight) + ".scales";
    const SafetensorsView* scales = stored_.find(name);
    if (scales != nullptr) return scales;
    throw Error(ErrorCode::corrupt_file,
                "read_model_folder: a quantized weight without scales; "
                "got " +
                    hearth::quoted(view.name) + ", expected " + hearth::quoted(name) +
                    " beside it");
  }

  const FolderTensors& stored_;
  const WeightScheme& scheme_;
  WeightForm form_ = WeightForm::plain;
  std::set<std::string, std::less<>> used_up_;
};

// Arrays of all tensors: of the pages of their files where nothing has to be made.
NamedArrays read_tensors(const FolderTensors& stored, const WeightDecoder& decoder, Device device) {
  NamedArrays arrays;
  std::vector<std::vector<HostElements>> elements(stored.files().size());
  std::vector<std::vector<std::size_t>> places(stored.files().size());
  for (const auto& [view, file] : stored.tensors()) {
    if (decoder.is_used_up(*view)) continue;
    if (const std::optional<HostTensor> made = decoder.decode(*view)) {
      arrays.push_back(
          {view->name, Array::from_bytes(made->bytes, made->dtype, made->shape, device)});
      continue;
    }
    elements[file].push_back({view->bytes, view->dtype, view->shape});
    places[file].push_back(arrays.size());
    arrays.push_back({view->name, Array()});
  }
  for (std::size_t file = 0; file < elements.size(); ++file) {
    std::vector<Array> mapped = host_arrays(elements[file], stored.files()[file], device);
    for (std::size_t i = 0; i < mapped.size(); ++i) {
      arrays[places[file][i]].array = std::move(mapped[i]);
    }
  }
  return arrays;
}

bool has_mlx_files(const FolderTensors& stored) {
  return std::any_of(stored.files().begin(), stored.files().end(), [](const auto& file) {
    const auto format = file->metadata().find("format");
    return format != file->metadata().end() && format->second == "mlx";
  });
}

}  // namespace

const Array* ModelFolder::find(std::string_view name) const noexcept {
  const auto at = std::lower_bound(
      tensors.begin(), tensors.end(), name,
      [](const NamedArray& each, std::string_view wanted) { return each.name < wanted; });
  return at != tensors.end() && at->name == name ? &at->array : nullptr;
}

bool is_model_folder(const std::string& path) {
  return !folders::existing_file(path, "config.json").empty();
}

ModelFolder read_model_folder(const std::string& path, Device device) {
  ModelFolder folder;
  folder.path = path;
  const std::string config_path = folders::existing_file(path, "config.json");
  if (config_path.empty()) {
    throw Error(ErrorCode::io, "read_model_folder: no configuration; got " + hearth::quoted(path) +
                                   ", expected a folder with config.json");
  }
  const std::string source = "read_model_folder: " + hearth::quoted(config_path);
  folder.config =
      parse_json_object(folders::read_folder_text(config_path), source, "a configuration");
  const WeightScheme scheme = read_weight_scheme(folder.config, source);
  const FolderTensors stored = FolderTensors::open(path);
  const WeightDecoder decoder(stored, scheme);
  folder.tensors = read_tensors(stored, decoder, device);
  folder.form = decoder.form();
  folder.is_mlx = scheme.mlx.has_value() || has_mlx_files(stored);
  folder.tokenizer = folders::existing_file(path, "tokenizer.json");
  folder.tokenizer_config = folders::existing_file(path, "tokenizer_config.json");
  folder.chat_template = folders::existing_file(path, "chat_template.jinja");
  folder.tool_template = folders::existing_file(path, "additional_chat_templates/tool_use.jinja");
  folder.generation_config = folders::existing_file(path, "generation_config.json");
  return folder;
}

}  // namespace hearth::models
