// Tiny models of each family with what transformers makes of them: tests/golden/models, which
// scripts/generate_model_goldens.py writes, and folders as a user has them. A model_type whose
// mathematics are another's by what transformers has, or that transformers does not have, is a file
// by hand: `same_as` names that one's, whose values are expected, and `reason` says why.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "hearth/parameter.h"
#include "hearth/shape.h"

namespace hearth::testing {

struct GoldenTensor {
  std::string name;  // as in the files
  Shape shape;
  double base = 0;
  double scale = 0;
};

struct GoldenPrompt {
  std::vector<std::int64_t> tokens;
  std::int64_t first = 0;      // of the positions that have values
  std::vector<double> values;  // [tokens - first, width], row-major; exact f32
};

struct GoldenModel {
  std::string name;
  std::string output;  // "logits", or "hidden": the last hidden state of an encoder
  JsonObject config;   // config.json
  // The same as files had it before rope_parameters and per_layer_config, where that differs: the
  // values are those of both.
  std::optional<JsonObject> old_config;
  std::vector<GoldenTensor> tensors;  // in the order of their names
  std::vector<GoldenPrompt> prompts;  // of several lengths, the shortest first
  double nmse_of_f32 = 0;             // how far the same model in f32 is from the values

  std::int64_t width() const;  // of a row of values
};

// All that there are, in order: the names of the files without their ending.
std::vector<std::string> golden_model_names();

// Throws std::runtime_error where the file is missing or not what the script writes.
GoldenModel read_golden_model(const std::string& name);

// An adapter's folder as PEFT wrote it, and its model, whose values are those with the adapter:
// tests/golden/adapters, which scripts/generate_adapter_goldens.py writes.
struct GoldenAdapter {
  std::string folder;
  GoldenModel model;
};
std::vector<std::string> golden_adapter_names();
GoldenAdapter read_golden_adapter(const std::string& name);

// The weights, in f32, in the order of their names.
NamedArrays golden_weights(const GoldenModel& model);

// Writes config.json and model.safetensors into the folder, which must exist; with `shards` above
// one, model-00001-of-0000N.safetensors and so on and model.safetensors.index.json, tensors dealt
// out by their size.
void write_model_folder(const GoldenModel& model, const std::filesystem::path& folder,
                        int shards = 1);
// The same with other arrays than golden_weights(), such as rounded ones.
void write_model_folder(const JsonObject& config, const NamedArrays& arrays,
                        const std::filesystem::path& folder, int shards = 1);

// The squared error of `actual` over the mean square of what a prompt expects; `actual` holds the
// same rows. NaN where any value is.
double normalized_error(const std::vector<double>& actual, const GoldenPrompt& prompt);

// A folder that is there while the object lives.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  const std::filesystem::path& path() const noexcept { return path_; }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace hearth::testing
