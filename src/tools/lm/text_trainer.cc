#include "tools/lm/text_trainer.h"

#include <filesystem>

#include "hearth/grad.h"
#include "models/config_json.h"
#include "models/tokenizer/byte_tokenizer.h"

namespace hearth::tools {
namespace {

// Refuses what could only exhaust the host's memory.
void require_batch(std::int64_t batch, std::int64_t context) {
  constexpr std::int64_t kMaxTokens = std::int64_t{1} << 26;
  if (batch < 1 || context < 1 || batch > kMaxTokens / context) {
    throw Error(ErrorCode::invalid_argument,
                "train: too many tokens in a step; got " + std::to_string(batch) + " x " +
                    std::to_string(context) + ", expected at most 2^26");
  }
}

Array tokens_of(const std::vector<std::int32_t>& values, const TokenBatch& batch, Device device) {
  return Array::from_data(values, {batch.batch, batch.context}, device);
}

}  // namespace

TextTrainer::TextTrainer(const TextTrainingOptions& options)
    : TrainingRun(options),
      text_(options.text),
      dataset_(TextDataset::open(options.text, options.model.context)),
      model_(options.model, options.dtype, device(), &generator()) {
  const models::TransformerConfig& config = model_.config;
  require_batch(options.batch, config.context);
  open(
      {
          {"text_bytes", dataset_.train().size() + dataset_.held_out().size()},
          {"text", fingerprint(dataset_.train()) ^ fingerprint(dataset_.held_out())},
          {"dim", config.dim},
          {"hidden", config.hidden},
          {"layers", config.layers},
          {"heads", config.heads},
          {"kv_heads", config.kv_heads},
          {"context", config.context},
      },
      {{"config.json", models::config_json(config)},
       {"tokenizer.json", models::byte_tokenizer_json()},
       {"tokenizer_config.json", models::byte_tokenizer_config_json()}});
}

Array TextTrainer::loss(std::int64_t step) {
  const TokenBatch batch = dataset_.train_batch(run_options().seed, step, run_options().batch);
  return model_.loss(tokens_of(batch.tokens, batch, device()),
                     tokens_of(batch.targets, batch, device()));
}

Evaluation TextTrainer::evaluate() const {
  const NoGrad no_grad;
  double total = 0;
  const std::vector<TokenBatch> batches = dataset_.held_out_batches(run_options().batch);
  for (const TokenBatch& batch : batches) {
    total += model_
                 .loss(tokens_of(batch.tokens, batch, device()),
                       tokens_of(batch.targets, batch, device()))
                 .item();
  }
  return {total / static_cast<double>(batches.size()), std::nullopt};
}

TrainingRun::Units TextTrainer::units() const {
  return {"tok", run_options().batch * model_.config.context, "nats per byte"};
}

std::string TextTrainer::title() const {
  return "Training on " + std::filesystem::path(text_).filename().string();
}

}  // namespace hearth::tools
