#include "tools/bench/training.h"

#include <vector>

#include "hearth/grad.h"
#include "hearth/random.h"
#include "tools/bench/bench.h"
#include "tools/lm/text_trainer.h"

namespace hearth::tools {
namespace {

Array random_tokens(const TrainingShape& shape, std::uint32_t seed, Device device) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(shape.batch * shape.context));
  for (std::int32_t& token : tokens) {
    seed = seed * 1664525u + 1013904223u;
    token = static_cast<std::int32_t>((seed >> 16) % static_cast<std::uint32_t>(shape.vocabulary));
  }
  return Array::from_data(tokens, {shape.batch, shape.context}, device);
}

models::Transformer make_model(const TrainingShape& shape, Device device) {
  Generator generator{1, 0};
  return models::Transformer(shape.config(), DType::f32, device, &generator);
}

}  // namespace

TrainingShape TrainingShape::of_train() {
  const TextTrainingOptions options;
  const models::TransformerConfig model = options.model.resolved();
  return {.vocabulary = model.vocabulary,
          .dim = model.dim,
          .layers = model.layers,
          .heads = model.heads,
          .kv_heads = model.kv_heads,
          .context = model.context,
          .batch = options.batch};
}

models::TransformerConfig TrainingShape::config() const {
  models::TransformerConfig out;
  out.vocabulary = vocabulary;
  out.dim = dim;
  out.layers = layers;
  out.heads = heads;
  out.kv_heads = kv_heads;
  out.context = context;
  return out;
}

TrainingBench::TrainingBench(const TrainingShape& shape, Device device)
    : shape_(shape),
      model_(make_model(shape, device)),
      optimizer_({.beta2 = 0.98, .epsilon = 1e-8, .weight_decay = 0.1, .decay_vectors = false}),
      tokens_(random_tokens(shape, 1, device)),
      targets_(random_tokens(shape, 2, device)) {
  submit();
}

void TrainingBench::step() {
  loss_ = model_.loss(tokens_, targets_);
  Gradients gradients = backward(loss_);
  optim::clip_by_norm(gradients, 1.0);
  optimizer_.step(model_, std::move(gradients), 1e-3);
}

void bench_training(Bench& bench) {
  const TrainingShape shape = TrainingShape::of_train();
  const RowSpec spec{
      .row = "training/train_step",
      .unit = "tokens/s",
      .scale = static_cast<double>(kReadEvery * shape.batch * shape.context),
      .rate = true,
      .threads = bench.threads(),
      .recording_included = true,
      .note =
          "model and step of `hearth train` without options: f32, forward, backward, "
          "clipping, AdamW; the target, twice PyTorch, is judged by bench/peers.py"};
  if (!bench.wants(spec.row)) return;
  const WithThreads with(bench.threads());
  TrainingBench training(shape, Device::cpu());
  training.step();
  training.step();
  bench.measure(spec, timed("hearth", [&] {
                  for (std::int64_t i = 0; i < kReadEvery; ++i) training.step();
                  training.read_loss();
                }));
}

}  // namespace hearth::tools
