// Reads arbitrary bytes as the config.json of a folder: as the metadata of the GGUF file that it
// would become, and as the configuration of a model. What is not accepted must be a hearth::Error;
// what is must be within the limits that building a model counts on.

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include "core/json.h"
#include "hearth/error.h"
#include "models/language/folder/folder_model.h"
#include "models/language/read_config.h"
#include "require.h"

namespace {

constexpr std::size_t kMaxConfig = 1 << 14;

using hearth::testing::require;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > kMaxConfig) return 0;
  const auto document = hearth::parse_json(std::string(reinterpret_cast<const char*>(data), size));
  if (!document || !std::holds_alternative<hearth::JsonObject>(*document)) return 0;
  try {
    const hearth::GgufContents contents =
        hearth::models::gguf_of_folder(std::get<hearth::JsonObject>(*document), {});
    const auto config =
        hearth::models::read_config(contents.metadata, hearth::models::FileKind::folder);
    require(config.context > 0 && config.dim > 0 && !config.layers.empty());
  } catch (const hearth::Error& error) {
    require(error.code() == hearth::ErrorCode::corrupt_file ||
            error.code() == hearth::ErrorCode::invalid_argument ||
            error.code() == hearth::ErrorCode::unsupported);
  }
  return 0;
}
