#include "tools/lm/adapter_trainer.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

#include "core/counted.h"
#include "core/hashing.h"
#include "hearth/error.h"
#include "hearth/grad.h"
#include "models/language/model/text_loss.h"
#include "models/language/require_scores.h"
#include "tools/lm/chat_template_option.h"
#include "tools/lm/context_note.h"
#include "tools/lm/model_options.h"
#include "tools/output.h"

namespace hearth::tools {
namespace {

// Of the model below the adapter: its tensors, and what each begins with.
std::uint64_t fingerprint_of(const GgufContents& contents) {
  constexpr std::size_t kMostBytes = 4096;
  std::uint64_t hash = kFnvBasis;
  for (const auto& [name, array] : contents.arrays) {
    const std::string facts =
        name + to_string(array.shape()) + std::string(hearth::name(array.dtype()));
    hash = fnv1a(std::as_bytes(std::span(facts)), hash);
    const HostBytes host = array.host_bytes(array.dtype());
    const std::size_t size = std::min(static_cast<std::size_t>(host.bytes), kMostBytes);
    hash = fnv1a(std::span(reinterpret_cast<const std::byte*>(host.data), size), hash);
  }
  return hash;
}

// Refuses what could only exhaust the host's memory.
void require_rows(std::int64_t batch, std::int64_t context) {
  constexpr std::int64_t kMostTokens = std::int64_t{1} << 24;
  if (batch < 1 || context < 2 || batch > kMostTokens / context) {
    throw Error(ErrorCode::invalid_argument,
                "finetune: tokens in a step; got " + std::to_string(batch) + " x " +
                    std::to_string(context) + ", expected a context of at least 2, at most 2^24");
  }
}

models::NewAdapterOptions adapter_options(const FinetuneOptions& options, Device device) {
  return {.rank = options.rank,
          .alpha = options.alpha,
          .layers = options.layers,
          .dtype = options.dtype == DType::f64 ? DType::f64 : DType::f32,
          .device = device,
          .generator = &generator()};
}

models::LoadedModel load_trained(const FinetuneOptions& options, const models::ModelContents& files,
                                 models::NewAdapter& adapter, Device device) {
  if (files.tokenizer.empty()) {
    throw Error(ErrorCode::unsupported, options.model +
                                            ": finetune: the folder has no tokenizer; got no "
                                            "tokenizer.json, expected one beside config.json");
  }
  models::LoadedModel loaded{models::make_language_model(files, {.device = device,
                                                                 .compute = options.dtype,
                                                                 .context = options.context,
                                                                 .adapters = options.adapters,
                                                                 .low_rank = adapter.finder()}),
                             models::tokenizer_of(files),
                             files.chat_template,
                             {},
                             files.tool_template};
  models::require_scores(loaded.model.config, "finetune: adapters", kEncodersEmbed);
  set_chat_template(loaded, options.chat_template);
  static_cast<void>(adapter.adapter());  // throws where nothing is trained
  return loaded;
}

}  // namespace

AdapterTrainer::AdapterTrainer(const FinetuneOptions& options)
    : TrainingRun(options),
      options_(options),
      files_(models::read_model_contents(options.model)),
      adapter_(adapter_options(options, device())),
      loaded_(load_trained(options, files_, adapter_, device())),
      texts_(TrainingTexts::open(options.text, loaded_, options.context)) {
  require_rows(options.batch, options.context);
  const models::LanguageConfig& config = loaded_.model.config;
  if (options.context > config.context) {
    throw Error(ErrorCode::invalid_argument, "finetune: a context longer than the model's; got " +
                                                 std::to_string(options.context) +
                                                 ", expected at most " +
                                                 std::to_string(config.context));
  }
  warn_of_context("finetune", options.context, loaded_.model.trained_context);
  note_cuts(options);
  JsonArray below;
  for (const AdapterFile& each : options.adapters) {
    below.push_back(JsonObject{{"path", each.path}, {"scale", each.scale}});
  }
  open(
      {
          {"text", texts_.fingerprint()},
          {"model", fingerprint_of(files_.contents)},
          {"adapters", std::move(below)},
          {"rank", options.rank},
          {"alpha", options.alpha},
          {"lora_layers", options.layers},
          {"context", options.context},
      },
      {});
}

void AdapterTrainer::note_cuts(const FinetuneOptions& options) const {
  const TrainingTexts::Cuts& cuts = texts_.cuts();
  if (cuts.left_out + cuts.shortened == 0) return;
  write_note(options.text + ": of " + counted(cuts.lines, "line") + " " +
             std::to_string(cuts.left_out) + " are left out and " + std::to_string(cuts.shortened) +
             " lose their end, being longer than --context " + std::to_string(options.context) +
             "\n");
}

models::AdaptedModel AdapterTrainer::adapted() const {
  return {files_.contents.metadata, loaded_.model.config, files_.kind};
}

Array AdapterTrainer::loss_of(const TokenRows& rows) const {
  const Shape shape = {rows.texts, rows.width};
  return models::text_loss(loaded_.model, Array::from_data(rows.tokens, shape, device()),
                           Array::from_data(rows.targets, shape, device()));
}

Array AdapterTrainer::loss(std::int64_t step) {
  return loss_of(texts_.train_batch(options_.seed, step, options_.batch));
}

Evaluation AdapterTrainer::evaluate() const {
  const NoGrad no_grad;
  double total = 0;
  std::int64_t counted = 0;
  for (const TokenRows& rows : texts_.evaluation_batches(options_.batch)) {
    total += loss_of(rows).item() * static_cast<double>(rows.counted);
    counted += rows.counted;
  }
  return {total / static_cast<double>(counted), std::nullopt};
}

TrainingRun::Units AdapterTrainer::units() const {
  return {"tok", options_.batch * options_.context, "nats per token"};
}

std::string AdapterTrainer::title() const {
  return "An adapter on " + std::filesystem::path(options_.text).filename().string();
}

std::vector<std::string> AdapterTrainer::write_adapter() const {
  const models::Adapter& adapter = adapter_.adapter();
  const models::AdapterFacts facts{options_.rank, options_.alpha, options_.model};
  std::vector<std::string> paths = {options_.out + "/adapter.gguf"};
  models::save_adapter_file(paths.front(), adapter, facts, adapted());
  if (models::has_folder_names(adapter, adapted())) {
    models::save_adapter_folder(options_.out, adapter, facts, adapted());
    paths.push_back(options_.out + "/adapter_model.safetensors");
  }
  return paths;
}

}  // namespace hearth::tools
