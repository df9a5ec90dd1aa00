// Language models made of the weights and configurations of tests/golden/models.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "hearth/ops.h"
#include "models/golden_model.h"
#include "models/language/family.h"
#include "models/language/folder/folder_model.h"
#include "models/language/model/language_model.h"
#include "models/language/read_config.h"

namespace hearth::testing {

inline models::LanguageModel golden_language_model(const GoldenModel& golden, DType compute,
                                                   std::int64_t context) {
  const GgufContents contents = models::gguf_of_folder(golden.config, golden_weights(golden));
  return models::LanguageModel(models::read_config(contents.metadata, models::FileKind::folder),
                               models::Weights(contents.arrays, compute, Device()), Device(),
                               context);
}

// Those of causal families that there are, or of encoders.
inline std::vector<std::string> golden_language_models(bool of_encoders) {
  std::vector<std::string> names;
  for (const std::string& name : golden_model_names()) {
    const GoldenModel golden = read_golden_model(name);
    std::string type;
    for (const auto& [key, value] : golden.config) {
      if (key == "model_type") type = std::get<std::string>(value);
    }
    if (models::find_family_of_folder(type) == nullptr) continue;
    if ((golden.output == "hidden") == of_encoders) names.push_back(name);
  }
  return names;
}

}  // namespace hearth::testing
