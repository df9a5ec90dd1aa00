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

namespace hearth::tools {
namespace {

constexpr const char* kFormat = "hearth.checkpoint.1";
constexpr std::string_view kOptimizer = "optimizer.";

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
  return folder + "/checkpoint.safetensors";
}

bool has_checkpoint(const std::string& folder) {
  std::error_code ignored;
  return std::filesystem::exists(checkpoint_path(folder), ignored);
}

const std::string& checkpoint_entry(const SafetensorsContents& contents, const char* key,
                                    const std::string& path) {
  const auto found = contents.metadata.find(key);
  if (found == contents.metadata.end()) {
    corrupt(path, std::string("got no ") + key + " in its metadata, expected one");
  }
  return found->second;
}

SafetensorsContents require_checkpoint(SafetensorsContents contents, const std::string& path) {
  const std::string& format = checkpoint_entry(contents, "format", path);
  if (format != kFormat) corrupt(path, "got format " + format + ", expected " + kFormat);
  return contents;
}

void save_checkpoint(const std::string& folder, const std::vector<hearth::Parameter>& parameters,
                     const optim::Optimizer& optimizer, const RunState& state,
                     const RunSettings& settings) {
  NamedArrays arrays;
  for (const hearth::Parameter& parameter : parameters) {
    arrays.push_back({parameter.name, parameter.array->detach()});
  }
  for (NamedArray& slot : optimizer.state_dict()) {
    arrays.push_back({std::string(kOptimizer) + slot.name, std::move(slot.array)});
  }
  arrays.push_back({"curve.train", curve_array(state.train)});
  arrays.push_back({"curve.held_out", curve_array(state.held_out)});
  if (!state.accuracy.empty()) {
    arrays.push_back({"curve.accuracy", curve_array(state.accuracy)});
  }
  save_safetensors(checkpoint_path(folder), arrays,
                   {{"format", kFormat},
                    {"run", settings.run},
                    {"config", settings.config},
                    {"step", number_text(state.step)},
                    {"seconds", number_text(state.seconds)},
                    {"generator.seed", number_text(state.generator.seed)},
                    {"generator.counter", number_text(state.generator.counter)}});
}

RunState load_checkpoint(const std::string& folder,
                         const std::vector<hearth::Parameter>& parameters,
                         optim::Optimizer& optimizer, const RunSettings& settings, Device device) {
  const std::string path = checkpoint_path(folder);
  SafetensorsContents contents = require_checkpoint(load_safetensors(path, device), path);
  const auto compared = [&](const std::string& run) {
    return settings.ignores_length ? without_length(run) : run;
  };
  const std::string run = compared(checkpoint_entry(contents, "run", path));
  const std::string own = compared(settings.run);
  if (run != own) {
    const auto [got, expected] = differences(run, own);
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
    if (named.name == "curve.train") {
      state.train = curve_points(named.array);
    } else if (named.name == "curve.held_out") {
      state.held_out = curve_points(named.array);
    } else if (named.name == "curve.accuracy") {
      state.accuracy = curve_points(named.array);
    } else if (take_prefix(named.name, kOptimizer)) {
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
