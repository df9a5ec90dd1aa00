// Models in training as what loads them for texts.
#pragma once

#include <optional>
#include <variant>

#include "core/json.h"
#include "models/config_json.h"
#include "models/language/folder/folder_model.h"
#include "models/language/model/language_model.h"
#include "models/language/read_config.h"
#include "models/transformer.h"

namespace hearth::testing {

inline models::LanguageModel language_model_of(const models::Transformer& model, DType compute,
                                               Device device = Device()) {
  const std::optional<JsonValue> config = parse_json(models::config_json(model.config));
  const GgufContents contents =
      models::gguf_of_folder(std::get<JsonObject>(*config), state_dict(model));
  return models::LanguageModel(models::read_config(contents.metadata, models::FileKind::folder),
                               models::Weights(contents.arrays, compute, device), device);
}

}  // namespace hearth::testing
