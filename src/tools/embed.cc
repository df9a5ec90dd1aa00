// `hearth embed`: texts as vectors.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/json.h"
#include "io/file.h"
#include "models/language/load_model.h"
#include "models/language/text_encoder.h"
#include "tools/commands.h"
#include "tools/lm/model_options.h"
#include "tools/output.h"

namespace hearth::tools {
namespace {

constexpr std::uint64_t kMaxTexts = std::uint64_t{1} << 30;  // bytes of standard input
constexpr std::size_t kTextsAtOnce = 32;

struct EmbedArguments {
  ModelArguments model;
  std::vector<std::string> texts;
};

// One text a line.
std::vector<std::string> lines_of(const std::string& all) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find('\n', at), all.size());
    lines.push_back(all.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

void write_vectors(const Array& vectors) {
  const std::vector<float> values = vectors.to_vector<float>();
  const auto dim = static_cast<std::size_t>(vectors.shape(1));
  for (std::size_t at = 0; at < values.size(); at += dim) {
    JsonArray numbers;
    for (std::size_t i = 0; i < dim; ++i) numbers.emplace_back(double{values[at + i]});
    write_out(json_text(JsonValue(std::move(numbers))) + "\n");
  }
}

void run_embed(const EmbedArguments& arguments) {
  const Device device = use_device(arguments.model);
  const models::LoadedModel loaded =
      models::load_language_model(arguments.model.path, load_options(arguments.model, device));
  std::vector<std::string> texts = arguments.texts;
  if (texts.empty()) {
    const auto bytes = io::read_file("/dev/stdin", kMaxTexts);
    texts = lines_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  for (std::size_t at = 0; at < texts.size(); at += kTextsAtOnce) {
    models::TokenLists lists;
    for (std::size_t i = at; i < std::min(texts.size(), at + kTextsAtOnce); ++i) {
      lists.push_back(loaded.tokenizer.encode(texts[i]));
    }
    write_vectors(models::embed_texts(loaded.model, lists));
  }
}

}  // namespace

void add_embed(CommandLine& line) {
  auto arguments = std::make_shared<EmbedArguments>();
  Command command =
      line.add_command("embed", "Texts as vectors of length 1, one JSON array a line");
  add_model_option(command, arguments->model, "GGUF file or folder of an encoder").required();
  command.option("-p,--text,--prompt", arguments->texts,
                 "A text; may be given again [lines of standard input]");
  add_context_option(command, arguments->model, "Tokens of a text at most [the model's]");
  add_compute_options(command, arguments->model);
  command.action([arguments] { run_embed(*arguments); });
}

}  // namespace hearth::tools
