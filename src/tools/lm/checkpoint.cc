#include "tools/lm/checkpoint.h"

#include <charconv>
#include <filesystem>
#include <string_view>
#include <utility>

#include "core/number_text.h"
#include "io/file.h"
#include "models/config_json.h"

namespace hearth::tools {
namespace {

constexpr const char* kFormat = "hearth.checkpoint.1";
constexpr std::string_view kOptimizer = "optimizer.";
constexpr std::uint64_t kMaxConfigBytes = 1 << 20;

Array curve_array(const std::vector<LossPoint>& points) {
  std::vector<double> values;
  for (const LossPoint& point : points) {
    values.push_back(static_cast<double>(point.step));
    values.push_back(point.loss);
  }
  return Array::from_data(values, {static_cast<std::int64_t>(points.size()), 2});
}

std::vector<LossPoint> curve_points(const Array& array) {
  const std::vector<double> values = array.to_doubles();
  std::vector<LossPoint> points;
  for (std::size_t i = 0; i + 1 < values.size(); i += 2) {
    points.push_back({static_cast<std::int64_t>(values[i]), values[i + 1]});
  }
  return points;
}

[[noreturn]] void corrupt(const std::string& path, const std::string& what) {
  throw Error(ErrorCode::corrupt_file, path + ": no checkpoint that can be read; " + what);
}

const std::string& entry(const SafetensorsContents& contents, const char* key,
                         const std::string& path) {
  const auto found = contents.metadata.find(key);
  if (found == contents.metadata.end()) {
    corrupt(path, std::string("got no ") + key + " in its metadata, expected one");
  }
  return found->second;
}

template <class T>
T number(const SafetensorsContents& contents, const char* key, const std::string& path) {
  const std::string& text = entry(contents, key, path);
  T value{};
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) {
    corrupt(path, std::string("got ") + text + " for " + key + ", expected a number");
  }
  return value;
}

SafetensorsContents check_format(SafetensorsContents contents, const std::string& path) {
  const std::string& format = entry(contents, "format", path);
  if (format != kFormat) corrupt(path, "got format " + format + ", expected " + kFormat);
  return contents;
}

bool take_prefix(std::string& name, std::string_view prefix) {
  if (name.compare(0, prefix.size(), prefix) != 0) return false;
  name.erase(0, prefix.size());
  return true;
}

bool is_weight(const std::string& name) {
  return name.rfind("model.", 0) == 0 || name.rfind("lm_head.", 0) == 0;
}

}  // namespace

std::string checkpoint_path(const std::string& folder) {
  return folder + "/checkpoint.safetensors";
}

bool has_checkpoint(const std::string& folder) {
  std::error_code ignored;
  return std::filesystem::exists(checkpoint_path(folder), ignored);
}

void save_checkpoint(const std::string& folder, const models::Transformer& model,
                     const optim::Optimizer& optimizer, const RunState& state,
                     const std::string& run) {
  NamedArrays arrays = state_dict(model);
  for (NamedArray& slot : optimizer.state_dict()) {
    arrays.push_back({std::string(kOptimizer) + slot.name, std::move(slot.array)});
  }
  arrays.push_back({"curve.train", curve_array(state.train)});
  arrays.push_back({"curve.held_out", curve_array(state.held_out)});
  save_safetensors(checkpoint_path(folder), arrays,
                   {{"format", kFormat},
                    {"run", run},
                    {"config", models::config_json(model.config)},
                    {"step", number_text(state.step)},
                    {"seconds", number_text(state.seconds)},
                    {"generator.seed", number_text(state.generator.seed)},
                    {"generator.counter", number_text(state.generator.counter)}});
}

RunState load_checkpoint(const std::string& folder, models::Transformer& model,
                         optim::Optimizer& optimizer, const std::string& run) {
  const std::string path = checkpoint_path(folder);
  SafetensorsContents contents =
      check_format(load_safetensors(path, model.embed_tokens.weight.device()), path);
  if (entry(contents, "run", path) != run) {
    throw Error(ErrorCode::invalid_argument,
                path + ": checkpoint of another run; got " + entry(contents, "run", path) +
                    ", expected " + run + " (--fresh starts over, --out names another folder)");
  }
  RunState state;
  state.step = number<std::int64_t>(contents, "step", path);
  state.seconds = number<double>(contents, "seconds", path);
  state.generator.seed = number<std::uint64_t>(contents, "generator.seed", path);
  state.generator.counter = number<std::uint64_t>(contents, "generator.counter", path);
  NamedArrays weights;
  NamedArrays slots;
  for (NamedArray& named : contents.arrays) {
    if (named.name == "curve.train") {
      state.train = curve_points(named.array);
    } else if (named.name == "curve.held_out") {
      state.held_out = curve_points(named.array);
    } else if (take_prefix(named.name, kOptimizer)) {
      slots.push_back(std::move(named));
    } else {
      weights.push_back(std::move(named));
    }
  }
  load_state_dict(model, weights, false, CallSite::none());
  optimizer.load_state_dict(slots, CallSite::none());
  return state;
}

models::Transformer load_model(const std::string& folder, DType compute, Device device) {
  const std::string config_path = folder + "/config.json";
  SafetensorsContents contents;
  models::TransformerConfig config;
  if (has_checkpoint(folder)) {
    const std::string path = checkpoint_path(folder);
    contents = check_format(map_safetensors(path, device), path);
    config = models::parse_config(entry(contents, "config", path), path);
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
