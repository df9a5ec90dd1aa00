#include "models/golden_model.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "hearth/array.h"
#include "hearth/io.h"
#include "models/golden_weights.h"
#include "source_dir.h"

namespace hearth::testing {
namespace {

std::filesystem::path golden_models_folder() { return check::source_dir() / "tests/golden/models"; }

template <class Object>
auto* find_member(Object& object, const std::string& key) {
  for (auto& [name, value] : object) {
    if (name == key) return &value;
  }
  return static_cast<decltype(&object.front().second)>(nullptr);
}

const JsonValue& member(const JsonObject& object, const std::string& key) {
  if (const JsonValue* value = find_member(object, key)) return *value;
  throw std::runtime_error("golden model: no member " + key);
}

template <class T>
const T& get(const JsonObject& object, const std::string& key) {
  if (const T* value = std::get_if<T>(&member(object, key))) return *value;
  throw std::runtime_error("golden model: " + key + " is of the wrong type");
}

double number(const JsonObject& object, const std::string& key) {
  const JsonValue& value = member(object, key);
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  return get<double>(object, key);
}

std::vector<std::int64_t> integers(const JsonObject& object, const std::string& key) {
  std::vector<std::int64_t> out;
  for (const JsonValue& each : get<JsonArray>(object, key)) {
    out.push_back(std::get<std::int64_t>(each));
  }
  return out;
}

std::string decoded_base64(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    if (c == '=') break;
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) throw std::runtime_error("golden model: no base64");
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    held += 6;
    if (held >= 8) {
      held -= 8;
      out += static_cast<char>(bits >> held & 0xff);
    }
  }
  return out;
}

std::vector<double> floats_of(const std::string& bytes) {
  std::vector<double> out;
  for (std::size_t i = 0; i + 4 <= bytes.size(); i += 4) {
    std::uint32_t word = 0;
    for (std::size_t byte = 0; byte < 4; ++byte) {
      word |= std::uint32_t{static_cast<unsigned char>(bytes[i + byte])} << (8 * byte);
    }
    out.push_back(std::bit_cast<float>(word));
  }
  return out;
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  if (!file.flush()) throw std::runtime_error("golden model: cannot write " + path.string());
}

std::string shard_name(int number, int count) {
  char name[64];
  std::snprintf(name, sizeof name, "model-%05d-of-%05d.safetensors", number, count);
  return name;
}

}  // namespace

std::int64_t GoldenModel::width() const {
  const GoldenPrompt& prompt = prompts.front();
  return static_cast<std::int64_t>(prompt.values.size()) /
         (static_cast<std::int64_t>(prompt.tokens.size()) - prompt.first);
}

std::vector<std::string> golden_model_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(golden_models_folder())) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

namespace {

std::filesystem::path golden_adapters_folder() {
  return check::source_dir() / "tests/golden/adapters";
}

// The model that another model_type is the same as, with that type.
GoldenModel renamed_model(const JsonObject& object) {
  if (get<std::string>(object, "reason").empty()) {
    throw std::runtime_error("golden model: no reason to be the same");
  }
  GoldenModel model = read_golden_model(get<std::string>(object, "same_as"));
  model.name = get<std::string>(object, "case");
  const JsonValue& type = member(object, "model_type");
  *find_member(model.config, "model_type") = type;
  if (model.old_config) *find_member(*model.old_config, "model_type") = type;
  return model;
}

GoldenModel read_golden_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  const std::optional<JsonValue> document = parse_json(text.str());
  if (!file || !document || !std::holds_alternative<JsonObject>(*document)) {
    throw std::runtime_error("golden model: no JSON object in " + path.string());
  }
  const auto& object = std::get<JsonObject>(*document);
  if (find_member(object, "same_as") != nullptr) return renamed_model(object);
  GoldenModel model;
  model.name = get<std::string>(object, "case");
  model.output = get<std::string>(object, "output");
  model.config = get<JsonObject>(object, "config");
  if (const auto* old = std::get_if<JsonObject>(&member(object, "old_config"))) {
    model.old_config = *old;
  }
  model.nmse_of_f32 = number(object, "nmse_of_f32");
  for (const JsonValue& each : get<JsonArray>(object, "tensors")) {
    const auto& tensor = std::get<JsonObject>(each);
    Shape shape;
    for (const std::int64_t extent : integers(tensor, "shape")) shape.push_back(extent);
    model.tensors.push_back(
        {get<std::string>(tensor, "name"), shape, number(tensor, "base"), number(tensor, "scale")});
  }
  for (const JsonValue& each : get<JsonArray>(object, "prompts")) {
    const auto& prompt = std::get<JsonObject>(each);
    model.prompts.push_back({integers(prompt, "tokens"), get<std::int64_t>(prompt, "first"),
                             floats_of(decoded_base64(get<std::string>(prompt, "values")))});
  }
  return model;
}

}  // namespace

GoldenModel read_golden_model(const std::string& name) {
  return read_golden_file(golden_models_folder() / (name + ".json"));
}

std::vector<std::string> golden_adapter_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(golden_adapters_folder())) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

GoldenAdapter read_golden_adapter(const std::string& name) {
  const std::filesystem::path folder = golden_adapters_folder() / name;
  return {folder.string(), read_golden_file(folder / "golden.json")};
}

NamedArrays golden_weights(const GoldenModel& model) {
  NamedArrays arrays;
  for (const GoldenTensor& tensor : model.tensors) {
    std::vector<float> values(static_cast<std::size_t>(element_count(tensor.shape)));
    const std::uint64_t hash = fnv1a(tensor.name);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = golden_weight(hash, i, tensor.base, tensor.scale);
    }
    arrays.push_back({tensor.name, Array::from_data(values, tensor.shape)});
  }
  return arrays;
}

void write_model_folder(const GoldenModel& model, const std::filesystem::path& folder, int shards) {
  write_model_folder(model.config, golden_weights(model), folder, shards);
}

void write_model_folder(const JsonObject& config, const NamedArrays& arrays,
                        const std::filesystem::path& folder, int shards) {
  write_text(folder / "config.json", json_text(config, 2) + "\n");
  if (shards == 1) {
    save_safetensors((folder / "model.safetensors").string(), arrays, {{"format", "pt"}});
    return;
  }
  std::int64_t total = 0;
  for (const NamedArray& each : arrays) total += element_count(each.array.shape());
  std::vector<NamedArrays> parts(static_cast<std::size_t>(shards));
  JsonObject places;
  std::int64_t dealt = 0;
  for (const NamedArray& each : arrays) {
    const auto part = static_cast<std::size_t>(dealt * shards / std::max<std::int64_t>(total, 1));
    dealt += element_count(each.array.shape());
    parts[part].push_back(each);
    places.emplace_back(each.name, shard_name(static_cast<int>(part) + 1, shards));
  }
  for (int i = 0; i < shards; ++i) {
    save_safetensors((folder / shard_name(i + 1, shards)).string(),
                     parts[static_cast<std::size_t>(i)], {{"format", "pt"}});
  }
  const JsonObject index = {{"metadata", JsonObject{{"total_size", 4 * total}}},
                            {"weight_map", std::move(places)}};
  write_text(folder / "model.safetensors.index.json", json_text(index, 2) + "\n");
}

double normalized_error(const std::vector<double>& actual, const GoldenPrompt& prompt) {
  if (actual.size() != prompt.values.size()) return std::numeric_limits<double>::quiet_NaN();
  double error = 0, square = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double difference = actual[i] - prompt.values[i];
    error += difference * difference;
    square += prompt.values[i] * prompt.values[i];
  }
  return error / square;
}

TemporaryFolder::TemporaryFolder() {
  static std::atomic<int> count = 0;
  path_ = std::filesystem::temp_directory_path() /
          ("hearth_models_" + std::to_string(getpid()) + "_" + std::to_string(count++));
  std::filesystem::create_directories(path_);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace hearth::testing
