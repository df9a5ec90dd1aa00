#include "tools/training/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "core/json.h"
#include "core/number_text.h"
#include "models/files/checkpoint_names.h"

namespace hearth::tools {
namespace {

constexpr const char* kFormat = "hearth.checkpoint.1";
using models::folders::kCurvePrefix, models::folders::kOptimizerPrefix;

// Of a run, by what their tensors are called behind kCurvePrefix.
struct Curve {
  std::string name;
  std::vector<LossPoint> RunState::* points;
};
const Curve kCurves[] = {{"train", &RunState::train},
                         {"held_out", &RunState::held_out},
                         {"accuracy", &RunState::accuracy}};

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

// What the metadata say under `key`.
const std::string& checkpoint_entry(const SafetensorsContents& contents, const char* key,
                                    const std::string& path) {
  const auto found = contents.metadata.find(key);
  if (found == contents.metadata.end()) {
    corrupt(path, std::string("got no ") + key +
                      " in its metadata, expected what `hearth train` writes there");
  }
  return found->second;
}

template <class T>
T number(const SafetensorsContents& contents, const char* key, const std::string& path) {
  const std::string& text = checkpoint_entry(contents, key, path);
  T value{};
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || result.ptr != text.data() + text.size()) {
    corrupt(path, std::string("got ") + text + " for " + key + ", expected a number");
  }
  return value;
}

// The settings of two runs that differ, as either has them.
struct Differences {
  std::string first;
  std::string second;
};

Differences differences(const std::string& first, const std::string& second) {
  const auto object = [](const std::string& text) {
    const std::optional<JsonValue> read = parse_json(text);
    const JsonObject* const fields = read ? std::get_if<JsonObject>(&*read) : nullptr;
    return fields != nullptr ? *fields : JsonObject{{"settings", text}};
  };
  const auto lacking_in = [](const JsonObject& other, const JsonObject& fields) {
    std::string out;
    for (const auto& [key, value] : fields) {
      const std::string text = json_text(value);
      const bool same = std::any_of(other.begin(), other.end(), [&](const auto& each) {
        return each.first == key && json_text(each.second) == text;
      });
      if (!same) out += (out.empty() ? "" : ", ") + key + " " + text;
    }
    return out.empty() ? std::string("no more") : out;
  };
  const JsonObject a = object(first);
  const JsonObject b = object(second);
  return {lacking_in(b, a), lacking_in(a, b)};
}

// The settings without how long a run is.
std::string without_length(const std::string& run) {
  const std::optional<JsonValue> read = parse_json(run);
  const JsonObject* const fields = read ? std::get_if<JsonObject>(&*read) : nullptr;
  if (fields == nullptr) return run;
  JsonObject rest;
  for (const auto& [key, value] : *fields) {
    if (key != "steps" && key != "seconds") rest.emplace_back(key, value);
  }
  return json_text(rest);
}

bool take_prefix(std::string& name, std::string_view prefix) {
  if (name.compare(0, prefix.size(), prefix) != 0) return false;
  name.erase(0, prefix.size());
  return true;
}

}  // namespace

std::string checkpoint_path(const std::string& folder) {
  return folder + "/" + models::folders::kCheckpointFile;
}

bool has_checkpoint(const std::string& folder) {
  std::error_code ignored;
  return std::filesystem::exists(checkpoint_path(folder), ignored);
}

void save_checkpoint(const std::string& folder, const std::vector<hearth::Parameter>& parameters,
                     const optim::Optimizer& optimizer, const RunState& state,
                     const std::string& run) {
  NamedArrays arrays;
  for (const hearth::Parameter& parameter : parameters) {
    arrays.push_back({parameter.name, parameter.array->detach()});
  }
  for (NamedArray& slot : optimizer.state_dict()) {
    arrays.push_back({std::string(kOptimizerPrefix) + slot.name, std::move(slot.array)});
  }
  for (const auto& [name, points] : kCurves) {
    if (name == "accuracy" && (state.*points).empty()) continue;
    arrays.push_back({std::string(kCurvePrefix) + name, curve_array(state.*points)});
  }
  save_safetensors(checkpoint_path(folder), arrays,
                   {{"format", kFormat},
                    {"run", run},
                    {"step", number_text(state.step)},
                    {"seconds", number_text(state.seconds)},
                    {"generator.seed", number_text(state.generator.seed)},
                    {"generator.counter", number_text(state.generator.counter)}});
}

RunState load_checkpoint(const std::string& folder,
                         const std::vector<hearth::Parameter>& parameters,
                         optim::Optimizer& optimizer, const RunSettings& settings, Device device) {
  const std::string path = checkpoint_path(folder);
  SafetensorsContents contents = load_safetensors(path, device);
  const std::string& format = checkpoint_entry(contents, "format", path);
  if (format != kFormat) corrupt(path, "got format " + format + ", expected " + kFormat);
  const auto compared = [&](const std::string& run) {
    return settings.ignores_length ? without_length(run) : run;
  };
  const std::string kept_run = compared(checkpoint_entry(contents, "run", path));
  const std::string own_run = compared(settings.text);
  if (kept_run != own_run) {
    const auto [got, expected] = differences(kept_run, own_run);
    throw Error(ErrorCode::invalid_argument,
                path + ": checkpoint of another run; got " + got + ", expected " + expected +
                    " (--fresh starts over, --out names another folder, --resume takes another "
                    "number of steps)");
  }
  RunState state;
  state.step = number<std::int64_t>(contents, "step", path);
  state.seconds = number<double>(contents, "seconds", path);
  state.generator.seed = number<std::uint64_t>(contents, "generator.seed", path);
  state.generator.counter = number<std::uint64_t>(contents, "generator.counter", path);
  NamedArrays weights;
  NamedArrays slots;
  for (NamedArray& named : contents.arrays) {
    if (take_prefix(named.name, kCurvePrefix)) {
      for (const auto& [name, points] : kCurves) {
        if (named.name == name) state.*points = curve_points(named.array);
      }
    } else if (take_prefix(named.name, kOptimizerPrefix)) {
      slots.push_back(std::move(named));
    } else {
      weights.push_back(std::move(named));
    }
  }
  load_state_dict(parameters, weights, false, CallSite::none());
  optimizer.load_state_dict(slots, CallSite::none());
  return state;
}

}  // namespace hearth::tools
