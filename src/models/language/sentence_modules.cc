#include "models/language/sentence_modules.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "core/json.h"
#include "core/json_fields.h"
#include "core/quoted.h"
#include "hearth/error.h"
#include "models/files/folder_tensors.h"
#include "models/language/read_text_vectors.h"

namespace hearth::models {
namespace {

struct PoolingMode {
  std::string_view flag;
  Pooling pooling;
};
constexpr PoolingMode kPoolingModes[] = {
    {"pooling_mode_cls_token", Pooling::first},
    {"pooling_mode_max_tokens", Pooling::largest},
    {"pooling_mode_mean_tokens", Pooling::mean},
    {"pooling_mode_mean_sqrt_len_tokens", Pooling::root_mean},
    {"pooling_mode_weightedmean_tokens", Pooling::weighted_mean},
    {"pooling_mode_lasttoken", Pooling::last},
};

std::string source_of(const std::string& path) {
  return "read_model_folder: " + hearth::quoted(path);
}

JsonValue read_document(const std::string& path) {
  std::optional<JsonValue> document = parse_json(folders::read_folder_text(path));
  if (!document) {
    throw Error(ErrorCode::corrupt_file, source_of(path) + ": no JSON; expected one value");
  }
  return *std::move(document);
}

// A file of a module, whose own folder lies in the model's; empty where it is not there.
std::string module_file(const std::string& folder, const JsonFields& module, const char* name) {
  const std::string path = module.text("path", "");
  const bool is_inside =
      path.find_first_of("/\\") == std::string::npos && path != ".." && path != ".";
  if (!is_inside) {
    module.fail("path is no name of a folder within; got " + hearth::quoted(path) +
                ", expected one like 1_Pooling");
  }
  return folders::existing_file((std::filesystem::path(folder) / path).string(), name);
}

Pooling read_mode(const JsonFields& config) {
  if (config.find("pooling_mode") != nullptr) {
    return pooling_by_name(config.text("pooling_mode"), config.name() + ": pooling_mode");
  }
  std::optional<Pooling> found;
  bool says_any = false;
  for (const PoolingMode& mode : kPoolingModes) {
    says_any = says_any || config.find(mode.flag) != nullptr;
    if (!config.flag(mode.flag, false)) continue;
    if (found) {
      config.unsupported("several poolings; got " + hearth::quoted(pooling_name(*found)) + " and " +
                         hearth::quoted(pooling_name(mode.pooling)) + ", expected one of them");
    }
    found = mode.pooling;
  }
  if (!found && says_any)
    config.unsupported("no pooling; got every flag false, expected one that is true");
  return found.value_or(Pooling::mean);
}

class SentenceModules {
 public:
  SentenceModules(const ModelFolder& folder, GgufMetadata& metadata)
      : folder_(folder.path),
        metadata_(metadata),
        prefix_(metadata.as_text("general.architecture") + ".") {}

  void add(const JsonFields& module) {
    const std::string& type = module.text("type");
    const std::string_view kind = std::string_view(type).substr(type.rfind('.') + 1);
    if (kind == "Transformer") {
      add_transformer(module);
    } else if (kind == "Pooling") {
      add_pooling(module);
    } else if (kind == "Normalize") {
      is_normalised_ = true;
    } else {
      module.unsupported("unknown module; got " + hearth::quoted(type) +
                         ", expected Transformer, Pooling or Normalize");
    }
  }

  void finish(const std::string& source) {
    if (!has_pooling_) {
      throw Error(ErrorCode::unsupported,
                  source + ": no pooling; got no module that pools, expected one such as Pooling");
    }
    metadata_.set(key(kNormalisedKey), is_normalised_);
    add_prompt();
  }

 private:
  std::string key(std::string_view name) const { return prefix_ + std::string(name); }

  void add_transformer(const JsonFields& module) {
    const std::string path = module_file(folder_, module, "sentence_bert_config.json");
    if (path.empty()) return;
    const JsonValue document = read_document(path);
    const JsonFields config(document, source_of(path));
    if (config.flag("do_lower_case", false)) {
      config.unsupported("texts in small letters; got do_lower_case true, expected false");
    }
    const std::int64_t longest = config.integer("max_seq_length", 0);
    if (longest < 0 || longest > UINT32_MAX) {
      config.fail("max_seq_length is out of range; got " + std::to_string(longest) +
                  ", expected 0 to 2^32 - 1");
    }
    if (longest > 0) metadata_.set(key(kLongestKey), static_cast<std::uint32_t>(longest));
  }

  void add_pooling(const JsonFields& module) {
    const std::string path = module_file(folder_, module, "config.json");
    if (path.empty())
      module.fail(
          "a pooling without its config.json; got no such file, expected one in its folder");
    const JsonValue document = read_document(path);
    const JsonFields config(document, source_of(path));
    const Pooling pooling = read_mode(config);
    leaves_prompt_out_ = !config.flag("include_prompt", true);
    has_pooling_ = true;
    if (pooling <= Pooling::last) {
      metadata_.set(prefix_ + "pooling_type", static_cast<std::uint32_t>(pooling));
    } else {
      metadata_.set(key(kPoolingKey), std::string(pooling_name(pooling)));
      metadata_.erase(prefix_ + "pooling_type");
    }
  }

  // The prompt of texts for which none is named.
  void add_prompt() {
    const std::string path = folders::existing_file(folder_, "config_sentence_transformers.json");
    if (path.empty()) return;
    const JsonValue document = read_document(path);
    const JsonFields config(document, source_of(path));
    const std::string name = config.text("default_prompt_name", "");
    if (name.empty()) return;
    const std::string prompt = config.object("prompts").text(name);
    if (prompt.empty()) return;
    if (leaves_prompt_out_) {
      config.unsupported("a prompt that vectors leave out; got " + hearth::quoted(name) +
                         ", expected a pooling with include_prompt");
    }
    metadata_.set(key(kPromptKey), prompt);
  }

  const std::string folder_;
  GgufMetadata& metadata_;
  const std::string prefix_;
  bool has_pooling_ = false, is_normalised_ = false, leaves_prompt_out_ = false;
};

}  // namespace

void add_sentence_modules_of(const ModelFolder& folder, GgufMetadata& metadata) {
  const std::string path = folders::existing_file(folder.path, "modules.json");
  if (path.empty()) return;
  const JsonValue document = read_document(path);
  const auto* modules = std::get_if<JsonArray>(&document);
  if (modules == nullptr) {
    throw Error(ErrorCode::corrupt_file, source_of(path) + ": no modules; expected an array");
  }
  SentenceModules sentence(folder, metadata);
  for (const JsonValue& each : *modules) sentence.add(JsonFields(each, source_of(path)));
  sentence.finish(source_of(path));
}

}  // namespace hearth::models
