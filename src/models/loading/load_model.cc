#include "models/loading/load_model.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string_view>
#include <utility>

#include "core/quoted.h"
#include "hearth/error.h"
#include "hearth/io.h"
#include "models/adapters/adapter.h"
#include "models/adapters/stored_adapter.h"
#include "models/files/folder_template.h"
#include "models/files/model_folder.h"
#include "models/files/tensor_roles.h"
#include "models/language/read_config.h"
#include "models/loading/folder_contents.h"

namespace hearth::models {
namespace {

// Whether a message names the file or folder, or what is in it: not as a word of a sentence.
bool names(std::string_view message, std::string_view path) {
  for (std::size_t at = message.find(path); at != std::string_view::npos;
       at = message.find(path, at + 1)) {
    const std::string_view before = message.substr(0, at),
                           behind = message.substr(at + path.size());
    const bool begins = before.empty() || before.ends_with(": ") || before.ends_with("got ") ||
                        before.ends_with('"');
    const bool ends = behind.empty() || behind.starts_with(':') || behind.starts_with('/') ||
                      behind.starts_with('"');
    if (begins && ends) return true;
  }
  return false;
}

// Runs `read`, whose errors get the path in front unless they name it, or begin with the path of an
// adapter, whose fault they are.
template <class Read>
auto with_path(const std::string& path, const std::vector<AdapterFile>& adapters,
               const Read& read) try {
  return read();
} catch (const Error& error) {
  const std::string_view message = error.what();
  const bool is_of_adapter = std::ranges::any_of(adapters, [&](const AdapterFile& adapter) {
    return message.starts_with(adapter.path + ": adapter: ");
  });
  if (is_of_adapter || names(message, path)) throw;
  throw Error(error.code(), path + ": " + error.what());
}

[[noreturn]] void refuse_adapter_as_model(const std::string& path) {
  throw Error(ErrorCode::unsupported,
              "load_model: this is an adapter, not a model; got " + hearth::quoted(path) +
                  ", expected the model that it was trained for, and the adapter beside it");
}

ModelContents contents_of(const std::string& path) {
  if (is_model_folder(path)) {
    const ModelFolder folder = read_model_folder(path);
    FolderTemplates templates = chat_templates_of(folder);
    return {contents_of_folder(folder), FileKind::folder, folder.tokenizer,
            std::move(templates.usual), std::move(templates.with_tools)};
  }
  if (is_adapter_folder(path)) refuse_adapter_as_model(path);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    const std::string what = unfit_folder(path);
    throw Error(ErrorCode::unsupported, "load_model: the folder has no model; " +
                                            (what.empty() ? "got " + hearth::quoted(path) +
                                                                ", expected one with config.json"
                                                          : what));
  }
  GgufContents contents = map_gguf(path);
  if (says_adapter(contents.metadata)) refuse_adapter_as_model(path);
  std::string source = contents.metadata.as_text("tokenizer.chat_template", "");
  std::string with_tools = contents.metadata.as_text("tokenizer.chat_template.tool_use", "");
  return {std::move(contents), FileKind::gguf, path, std::move(source), std::move(with_tools)};
}

}  // namespace

ModelContents read_model_contents(const std::string& path) {
  return with_path(path, {}, [&] { return contents_of(path); });
}

LanguageModel make_language_model(const ModelContents& files, const LoadOptions& options) {
  const GgufMetadata& metadata = files.contents.metadata;
  const LanguageConfig config = read_config(metadata, files.kind);
  LoadedAdapters adapters(options.adapters, {metadata, config, files.kind}, options.compute,
                          options.device);
  const auto find = [&](const std::string& name, std::int64_t out, std::int64_t in) {
    auto pairs = adapters.finder()(name, out, in);
    if (options.low_rank) {
      for (auto& pair : options.low_rank(name, out, in)) pairs.push_back(std::move(pair));
    }
    return pairs;
  };
  const bool is_usual = options.context == 0 && options.usual_context > 0;
  LanguageModel model(
      config,
      Weights(files.contents.arrays, options.compute, options.device, find, options.progress),
      options.device, is_usual ? std::min(options.usual_context, config.context) : options.context);
  adapters.require_used();
  return model;
}

Tokenizer tokenizer_of(const ModelContents& files) {
  return read_tokenizer(files.tokenizer,
                        static_cast<std::size_t>(vocabulary_of(files.contents.arrays)));
}

LoadedModel load_language_model(const std::string& path, const LoadOptions& options) {
  return with_path(path, options.adapters, [&]() -> LoadedModel {
    const ModelContents files = contents_of(path);
    if (files.tokenizer.empty()) {
      throw Error(
          ErrorCode::unsupported,
          "the folder has no tokenizer; got no tokenizer.json, expected one beside config.json (of "
          "a tokenizer.model, transformers' AutoTokenizer and save_pretrained() make it)");
    }
    RecommendedSampling recommended = recommended_sampling(files.contents.metadata);
    return {make_language_model(files, options), tokenizer_of(files), files.chat_template,
            std::move(recommended), files.tool_template};
  });
}

}  // namespace hearth::models
