#include "tools/lm/draft_options.h"

#include "core/counted.h"
#include "tools/lm/load_with_progress.h"
#include "tools/lm/model_name.h"
#include "tools/lm/option_file.h"
#include "tools/output.h"

namespace hearth::tools {

void add_draft_options(Command& command, DraftArguments& arguments) {
  command
      .option("-md,--draft-model,--model-draft", arguments.model,
              "A smaller model with the same tokens, which guesses ahead: faster, and the text "
              "stays the same")
      .check(model_name_fault)
      .value_name("FILE");
  command
      .option("--drafts,--draft,--draft-max", arguments.drafts,
              "Tokens to guess ahead and check in one step, by --draft-model, else from "
              "repetitions in the text [0; 8 with --draft-model]")
      .range(std::int64_t{0}, std::int64_t{256});
}

std::unique_ptr<const models::LoadedModel> load_draft_model(const DraftArguments& arguments,
                                                            models::LoadOptions options) {
  if (arguments.model.empty() || arguments.count() == 0) return nullptr;
  options.adapters.clear();
  return read_option_file("--draft-model", "a model", [&] {
    return std::make_unique<const models::LoadedModel>(
        load_with_progress(arguments.model, options));
  });
}

std::string held_text(std::int64_t held, std::int64_t guessed) {
  const double share = guessed == 0 ? 0 : static_cast<double>(held) / static_cast<double>(guessed);
  return std::to_string(held) + " of " + counted(guessed, "guess") + " held (" +
         decimal(100 * share, 0) + " %)";
}

}  // namespace hearth::tools
