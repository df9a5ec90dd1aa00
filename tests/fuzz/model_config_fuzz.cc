// Reads arbitrary bytes as the config.json of a folder: as the metadata of the GGUF file that it
// would become, as the configuration of a model, and beside one tensor each that the family makes
// another of. What is not accepted must be a hearth::Error; what is must be within the limits that
// building a model counts on.

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include "core/json.h"
#include "hearth/error.h"
#include "hearth/ops.h"
#include "models/language/folder/config_values.h"
#include "models/language/folder/file_layout.h"
#include "models/language/folder/folder_model.h"
#include "models/language/read_config.h"
#include "require.h"

namespace {

constexpr std::size_t kMaxConfig = 1 << 14;

using hearth::testing::require;

template <class Call>
void expect_error_or_success(Call call) {
  try {
    call();
  } catch (const hearth::Error& error) {
    require(error.code() == hearth::ErrorCode::corrupt_file ||
            error.code() == hearth::ErrorCode::invalid_argument ||
            error.code() == hearth::ErrorCode::unsupported ||
            error.code() == hearth::ErrorCode::shape);  // of a tensor
  }
}

// Of the first layer, in a shape that small models have and in one that none has.
void read_with_tensors(const hearth::JsonObject& config) {
  const std::string type = hearth::models::find_text(config, "model_type").value_or("");
  const hearth::models::Family* family = hearth::models::find_family_of_folder(type, config);
  if (family == nullptr) return;
  for (const hearth::models::TensorRule& rule : family->tensors) {
    if (rule.transform == nullptr) continue;
    std::string name(rule.name);
    if (const std::size_t hole = name.find("{}"); hole != std::string::npos) {
      name.erase(hole, 1);
      name[hole] = '0';
    }
    for (const hearth::Shape& shape : {hearth::Shape{144, 48}, hearth::Shape{}}) {
      expect_error_or_success([&] {
        hearth::GgufContents contents =
            hearth::models::gguf_of_folder(config, {{name + ".weight", hearth::zeros(shape)}});
        hearth::models::lay_out_as_file(contents);
      });
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > kMaxConfig) return 0;
  const auto document = hearth::parse_json(std::string(reinterpret_cast<const char*>(data), size));
  if (!document || !std::holds_alternative<hearth::JsonObject>(*document)) return 0;
  const auto& config = std::get<hearth::JsonObject>(*document);
  expect_error_or_success([&] {
    const hearth::GgufContents contents = hearth::models::gguf_of_folder(config, {});
    const auto read =
        hearth::models::read_config(contents.metadata, hearth::models::FileKind::folder);
    require(read.context > 0 && read.dim > 0 && !read.layers.empty());
  });
  expect_error_or_success([&] { read_with_tensors(config); });
  return 0;
}
