#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "models/loading/load_model.h"
#include "models/serving/text_generation.h"
#include "runtime/trace/timeline.h"
#include "tools/commands.h"
#include "tools/lm/ngram.h"
#include "tools/lm/text_trainer.h"
#include "tools/output.h"

namespace hearth::tools {
namespace {

constexpr double kGenerateSeconds = 20;
constexpr std::int64_t kGenerateBytes = 800;

struct DemoOptions {
  std::string text;
  std::string out;
  double seconds = 150;
};

// Lets the model write until it has written enough or its time is up.
void write_sample(const std::string& folder) {
  const models::LoadedModel loaded = models::load_language_model(folder, {.compute = DType::bf16});
  models::TextGenerationOptions options{.tokens = kGenerateBytes, .goes_on = true};
  options.sampling.temperature = 0.8;
  options.sampling.top_p = 0.95;
  options.sampling.seed = 1;
  write_out("---\n");
  const double end = runtime::Timeline::now() + kGenerateSeconds;
  models::generate_text(loaded, "", options, [&](std::string_view text) {
    write_out(text);
    return runtime::Timeline::now() < end;
  });
  write_out("\n---\n");
}

void run_demo(const DemoOptions& demo) {
  TextTrainingOptions options;
  options.command = "demo";
  options.text = demo.text;
  options.out = demo.out;
  options.seconds = demo.seconds;
  options.fresh = true;
  options.may_go_on = false;
  // What reaches the lowest loss in this time on two cores: small enough to see a few million
  // bytes.
  options.model.dim = 128;
  options.model.layers = 4;
  options.model.heads = 4;
  options.model.kv_heads = 2;
  options.model.context = 256;
  options.batch = 8;
  options.dtype = DType::bf16;
  options.learning_rate = 2e-3;
  options.checkpoint_every = 500;
  TextTrainer trainer(options);

  char line[240];
  std::snprintf(line, sizeof line, "demo: %lld parameters, %zu bytes of text, %.0f s of training\n",
                static_cast<long long>(parameter_count(trainer.model())),
                trainer.dataset().train().size(), demo.seconds);
  write_out(line);
  const TrainingResult result = trainer.run();
  std::snprintf(line, sizeof line, "demo: %lld steps, %.1f %% of plans reused\n",
                static_cast<long long>(result.steps), 100 * result.plan_hit_rate);
  write_out(line);
  write_sample(demo.out);

  const NgramModel ngrams(trainer.dataset().train(), 5);
  const double trigram = ngrams.nats_per_byte(trainer.dataset().held_out(), 3);
  const double fivegram = ngrams.nats_per_byte(trainer.dataset().held_out(), 5);
  trainer.add_baseline("3-gram", trigram);
  trainer.add_baseline("5-gram", fivegram);
  trainer.write_curve();
  const bool ok = result.held_out.loss < trigram;
  const double enough = DemoOptions().seconds;
  const bool is_short = !ok && demo.seconds < enough;
  if (is_short) {
    std::snprintf(line, sizeof line,
                  "demo: the model is not yet better than 3-grams; that takes about %.0f s of "
                  "training\n",
                  enough);
    write_out(line);
  }
  write_out(
      "demo: loss, of held-out text, in nats a byte: of the model, and of counts of what "
      "follows two bytes (trigram) or four (fivegram)\n"
      "demo: the model is in " +
      demo.out + "; `hearth generate --model " + demo.out +
      " --prompt \"In the\"` lets it write more\n");
  std::snprintf(line, sizeof line,
                "demo: %s loss=%.3f trigram=%.3f fivegram=%.3f nats a byte, tokens_per_s=%.0f",
                ok         ? "ok"
                : is_short ? "short"
                           : "failed",
                result.held_out.loss, trigram, fivegram, result.rate);
  if (!ok) throw CommandFailed(line);
  write_out(std::string(line) + "\n");
}

}  // namespace

void add_demo(CommandLine& line) {
  auto options = std::make_shared<DemoOptions>();
  options->out = "demo";
  Command command = line.add_command(
      "demo", "Train on a text for a few minutes, let the model write, compare it with n-grams");
  command.option("--text", options->text, "The text to train on").value_name("FILE").required();
  command.option("--out", options->out, "Folder for the model").show_default();
  command.option("--seconds", options->seconds, "Seconds of training")
      .range(0.1, 1e9)
      .show_default();
  command.action([options] { run_demo(*options); });
}

}  // namespace hearth::tools
