#include "tools/lm/load_model.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "hearth/io.h"
#include "hearth/ops.h"
#include "io/file.h"
#include "models/config_json.h"
#include "tools/training/checkpoint.h"

namespace hearth::tools {
namespace {

constexpr std::uint64_t kMaxConfigBytes = 1 << 20;

bool is_weight(const std::string& name) {
  return name.rfind("model.", 0) == 0 || name.rfind("lm_head.", 0) == 0;
}

}  // namespace

models::Transformer load_model(const std::string& folder, DType compute, Device device) {
  const std::string config_path = folder + "/config.json";
  SafetensorsContents contents;
  models::TransformerConfig config;
  if (has_checkpoint(folder)) {
    const std::string path = checkpoint_path(folder);
    contents = require_checkpoint(map_safetensors(path, device), path);
    config = models::parse_config(checkpoint_entry(contents, "config", path), path);
  } else {
    const std::vector<std::byte> bytes = io::read_file(config_path, kMaxConfigBytes);
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    config = models::parse_config(text, config_path);
    contents = map_safetensors(folder + "/model.safetensors", device);
  }
  const DType kept = compute == DType::f64 ? DType::f64 : DType::f32;
  NamedArrays weights;
  for (NamedArray& named : contents.arrays) {
    if (!is_weight(named.name)) continue;
    if (config.tied && named.name == "lm_head.weight") continue;
    Array value = is_float(named.array.dtype()) ? cast(named.array, kept) : named.array;
    weights.push_back({std::move(named.name), std::move(value)});
  }
  models::Transformer model(config, compute, device, nullptr);
  load_state_dict(model, weights, false, CallSite::none());
  freeze(model);
  return model;
}

}  // namespace hearth::tools
