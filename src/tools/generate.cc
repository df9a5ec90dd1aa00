#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/serving/text_generation.h"
#include "tools/commands.h"
#include "tools/lm/adapter_options.h"
#include "tools/lm/draft_options.h"
#include "tools/lm/load_with_progress.h"
#include "tools/lm/sampling_options.h"
#include "tools/output.h"

namespace hearth::tools {
namespace {

struct GenerateArguments {
  std::string model;
  std::string prompt;
  std::int64_t tokens = 400;
  std::string dtype = "f32";
  std::string device;
  std::string key_type, value_type;  // of caches; empty: the dtype
  std::vector<std::string> adapters;
  std::vector<std::string> stops;
  SamplingArguments sampling;
  DraftArguments drafts;
};

// The prompt goes before the first text that is written, so that nothing is where options are
// refused.
class PromptBefore {
 public:
  explicit PromptBefore(const std::string& prompt) : prompt_(prompt) {}

  void write(std::string_view text) {
    if (!is_written_) write_out(prompt_);
    is_written_ = true;
    write_out(text);
  }

 private:
  const std::string& prompt_;
  bool is_written_ = false;
};

void run_generate(const GenerateArguments& options) {
  const Device device = options.device.empty() ? Device() : Device::named(options.device);
  Device::set_default(device);
  const models::LoadOptions load{.device = device,
                                 .compute = dtype_from_name(options.dtype),
                                 .adapters = adapter_files(options.adapters)};
  const models::LoadedModel loaded = load_with_progress(options.model, load);
  const auto draft_model = load_draft_model(options.drafts, load);
  models::TextGenerationOptions generate{
      .tokens = options.tokens,
      .sampling = sampling_options(options.sampling, loaded),
      .constraint = sampling_constraint(options.sampling, loaded.tokenizer),
      .stops = options.stops,
      .goes_on = true,
      .drafts = options.drafts.count(),
      .draft_model = draft_model.get()};
  if (!options.key_type.empty()) generate.keys = models::cache_type_from_name(options.key_type);
  if (!options.value_type.empty()) {
    generate.values = models::cache_type_from_name(options.value_type);
  }
  PromptBefore out(options.prompt);
  const models::Generated made =
      models::generate_text(loaded, options.prompt, generate, [&](std::string_view text) {
        out.write(text);
        return true;
      });
  out.write("\n");
  if (generate.drafts > 0) {
    write_note("generate: " + held_text(made.guesses_held, made.tokens_guessed) + "\n");
  }
}

}  // namespace

void add_generate(CommandLine& line) {
  auto options = std::make_shared<GenerateArguments>();
  Command command = line.add_command("generate", "Write text with a language model");
  command
      .option("--model,model", options->model,
              "GGUF file, folder of Hugging Face or MLX, or one that `hearth train` wrote")
      .required();
  command.option("--prompt", options->prompt, "What the text starts with");
  command
      .option("--tokens", options->tokens,
              "Tokens to write; beyond the context from its last half on")
      .range(0, std::int64_t{1} << 40)
      .show_default();
  add_adapter_option(command, options->adapters);
  command.option("--stop", options->stops, "The text ends before this; may be given several times");
  add_sampling_options(command, options->sampling);
  add_draft_options(command, options->drafts);
  command.option("--dtype", options->dtype, "What activations are computed in")
      .one_of({"f32", "bf16"})
      .show_default();
  command.option("--cache-type-k", options->key_type, "What keys are kept as [the dtype]")
      .one_of(models::cache_type_names());
  command.option("--cache-type-v", options->value_type, "And values")
      .one_of(models::cache_type_names());
  command.option("--device", options->device, "See `hearth devices`");
  command.action([options] { run_generate(*options); });
}

}  // namespace hearth::tools
