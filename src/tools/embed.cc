// `hearth embed`: texts as vectors.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/json.h"
#include "hearth/error.h"
#include "io/text_file.h"
#include "models/language/model/text_encoder.h"
#include "models/loading/load_model.h"
#include "tools/commands.h"
#include "tools/lm/escapes.h"
#include "tools/lm/model_options.h"
#include "tools/lm/pooling_option.h"
#include "tools/output.h"

namespace hearth::tools {
namespace {

constexpr std::uint64_t kMaxTexts = std::uint64_t{1} << 30;  // bytes of standard input

struct EmbedArguments {
  ModelArguments model;
  std::string pooling;
  std::vector<std::string> texts;
  EscapeOption escapes;
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

// The lines of `count` texts, of which those that `lists` has none of became no vector.
void write_vectors(const models::LanguageModel& model, const models::TokenLists& lists,
                   const std::vector<bool>& is_there) {
  std::vector<float> values;
  std::size_t dim = 0, at = 0;
  if (!lists.empty()) {
    const Array vectors = models::embed_texts(model, lists);
    dim = static_cast<std::size_t>(vectors.shape(1));
    values = vectors.to_vector<float>();
  }
  for (const bool has_vector : is_there) {
    JsonValue line;
    if (has_vector) {
      JsonArray numbers;
      for (std::size_t i = 0; i < dim; ++i) numbers.emplace_back(double{values[at++]});
      line = std::move(numbers);
    }
    write_out(json_text(line) + "\n");
  }
}

void run_embed(const EmbedArguments& arguments) {
  const Device device = use_device(arguments.model);
  models::LoadedModel loaded =
      load_model(arguments.model.path, load_options(arguments.model, device));
  set_pooling(loaded.model.config, arguments.pooling, "embed");
  require_pooling(loaded.model.config, "embed");
  std::vector<std::string> texts = arguments.escapes.read(arguments.texts);
  if (texts.empty()) texts = lines_of(io::read_input_text(kMaxTexts));
  std::string first_error;
  std::size_t failed = 0;
  for (std::size_t at = 0; at < texts.size(); at += models::kTextsTogether) {
    models::TokenLists lists;
    std::vector<bool> is_there;
    for (std::size_t i = at; i < std::min(texts.size(), at + models::kTextsTogether); ++i) {
      auto tokens = models::tokens_of_text(loaded.tokenizer, loaded.model, texts[i]);
      is_there.push_back(true);
      try {
        models::require_vector_text(loaded.model, tokens);
        lists.push_back(std::move(tokens));
      } catch (const Error& error) {
        is_there.back() = false;
        if (failed++ == 0) first_error = "text " + std::to_string(i + 1) + ": " + error.what();
      }
    }
    write_vectors(loaded.model, lists, is_there);
  }
  if (failed == 0) return;
  throw Error(ErrorCode::invalid_argument,
              "embed: texts without a vector, whose line is null; got " + std::to_string(failed) +
                  " of " + std::to_string(texts.size()) +
                  ", expected a vector for each; the first is " + first_error);
}

}  // namespace

void add_embed(CommandLine& line) {
  auto arguments = std::make_shared<EmbedArguments>();
  Command command = line.add_command("embed", "Turn texts into vectors, one JSON array a line");
  add_model_option(
      command, arguments->model.path,
      "GGUF file or folder of an encoder, or of another model, with --pooling where its files name "
      "none")
      .required();
  command
      .option("-p,--text,--prompt", arguments->texts,
              "A text; may be given several times [each line of standard input]")
      .may_be_empty();
  add_escape_option(command, arguments->escapes);
  add_pooling_option(command, arguments->pooling);
  add_context_option(command, arguments->model.context,
                     "Most tokens of a text [the model's context]");
  add_compute_options(command, arguments->model);
  command.action([arguments] { run_embed(*arguments); });
}

}  // namespace hearth::tools
