#include "tools/lm/trainer.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <utility>

#include "core/json.h"
#include "hearth/grad.h"
#include "hearth/ops.h"
#include "io/file.h"
#include "models/config_json.h"
#include "runtime/trace/timeline.h"

namespace hearth::tools {
namespace {

constexpr double kGradientNorm = 1.0;

Device device_named(const std::string& name) {
  const Device device = name.empty() ? Device() : Device::named(name);
  Device::set_default(device);
  return device;
}

// FNV-1a, to tell texts apart.
std::uint64_t fingerprint(std::span<const std::uint8_t> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const std::uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3u;
  return hash;
}

// Refuses what could only exhaust the host's memory.
void require_batch(std::int64_t batch, std::int64_t context) {
  constexpr std::int64_t kMaxTokens = std::int64_t{1} << 26;
  if (batch < 1 || context < 1 || batch > kMaxTokens / context) {
    throw Error(ErrorCode::invalid_argument,
                "train: too many tokens in a step; got " + std::to_string(batch) + " x " +
                    std::to_string(context) + ", expected at most 2^26");
  }
}

void make_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw Error(ErrorCode::io, folder + ": cannot make the folder; got " + error.message());
  }
}

models::Transformer make_model(const TrainingOptions& options, Device device) {
  seed(options.seed);
  return models::Transformer(options.model, options.dtype, device, &generator());
}

Array tokens_of(const std::vector<std::int32_t>& values, const TokenBatch& batch, Device device) {
  return Array::from_data(values, {batch.batch, batch.context}, device);
}

}  // namespace

Trainer::Trainer(const TrainingOptions& options)
    : options_(options),
      device_(device_named(options.device)),
      dataset_(TextDataset::open(options.text, options.model.context)),
      model_(make_model(options, device_)),
      optimizer_({.beta1 = 0.9,
                  .beta2 = 0.98,
                  .epsilon = 1e-8,
                  .weight_decay = options.weight_decay,
                  .decay_vectors = false}) {
  options_.model = model_.config;
  require_batch(options_.batch, options_.model.context);
  make_folder(options_.out);
  if (options_.fresh) {
    std::error_code ignored;
    std::filesystem::remove(checkpoint_path(options_.out), ignored);
  }
  if (has_checkpoint(options_.out)) {
    state_ = load_checkpoint(options_.out, model_, optimizer_, run_description());
    generator() = state_.generator;
  }
  io::replace_file(options_.out + "/config.json", models::config_json(model_.config));
}

std::string Trainer::run_description() const {
  const JsonObject run = {
      {"text_bytes", dataset_.train().size() + dataset_.held_out().size()},
      {"text", fingerprint(dataset_.train()) ^ fingerprint(dataset_.held_out())},
      {"dim", options_.model.dim},
      {"hidden", options_.model.hidden},
      {"layers", options_.model.layers},
      {"heads", options_.model.heads},
      {"kv_heads", options_.model.kv_heads},
      {"context", options_.model.context},
      {"batch", options_.batch},
      {"dtype", std::string(name(options_.dtype))},
      {"lr", options_.learning_rate},
      {"weight_decay", options_.weight_decay},
      {"warm_up", options_.warm_up},
      {"seed", options_.seed},
      {"steps", options_.seconds > 0 ? 0 : options_.steps},
      {"seconds", options_.seconds},
  };
  return json_text(run);
}

// With a budget of time: as many steps as fit at the pace so far.
std::int64_t Trainer::planned_steps() const {
  if (!(options_.seconds > 0)) return options_.steps;
  if (state_.seconds >= options_.seconds) return state_.step;
  if (state_.step == 0) return 1000;
  const double left =
      (options_.seconds - state_.seconds) * static_cast<double>(state_.step) / state_.seconds;
  return state_.step + std::max<std::int64_t>(1, std::llround(left));
}

Array Trainer::train_step() {
  const TokenBatch batch = dataset_.train_batch(options_.seed, state_.step, options_.batch);
  const std::int64_t total = planned_steps();
  const std::int64_t warm_up = std::min(options_.warm_up, total / 10);
  const double rate = optim::linear_warm_up(
      warm_up, optim::cosine(options_.learning_rate, total - warm_up))(state_.step);
  const Array loss = model_.loss(tokens_of(batch.tokens, batch, device_),
                                 tokens_of(batch.targets, batch, device_));
  Gradients gradients = backward(loss);
  optim::clip_by_norm(gradients, kGradientNorm);
  optimizer_.step(model_, std::move(gradients), rate);
  return loss.detach();
}

double Trainer::held_out_loss() const {
  const NoGrad no_grad;
  double total = 0;
  const std::vector<TokenBatch> batches = dataset_.held_out_batches(options_.batch);
  for (const TokenBatch& batch : batches) {
    total +=
        model_
            .loss(tokens_of(batch.tokens, batch, device_), tokens_of(batch.targets, batch, device_))
            .item();
  }
  return total / static_cast<double>(batches.size());
}

void Trainer::evaluate() {
  if (!state_.held_out.empty() && state_.held_out.back().step == state_.step) return;
  state_.held_out.push_back({state_.step, held_out_loss()});
}

void Trainer::save() {
  state_.generator = generator();
  save_checkpoint(options_.out, model_, optimizer_, state_, run_description());
}

void Trainer::write_curve() const {
  LossCurve curve;
  curve.title = "Training on " + std::filesystem::path(options_.text).filename().string();
  curve.train = state_.train;
  curve.held_out = state_.held_out;
  curve.baselines = baselines_;
  write_loss_curve(options_.out + "/loss.svg", curve);
}

TrainingResult Trainer::run() {
  Progress progress;
  const std::int64_t first = state_.step;
  const auto tokens_per_step = static_cast<double>(options_.batch * options_.model.context);
  Statistics warm = statistics();
  std::int64_t next_check = 0;
  while (state_.step < planned_steps()) {
    const double start = runtime::Timeline::now();
    const Array loss = train_step();
    const bool read = state_.step % kReadEvery == 0 || state_.step + 1 >= planned_steps();
    const double value = read ? loss.item() : 0;
    ++state_.step;
    state_.seconds += runtime::Timeline::now() - start;
    if (state_.step == first + 3) warm = statistics();
    const std::int64_t total = planned_steps();
    if (read) {
      if (!std::isfinite(value)) {
        throw Error(ErrorCode::invalid_argument, "train: the loss is no number any more at step " +
                                                     std::to_string(state_.step) +
                                                     "; a smaller --lr may help");
      }
      state_.train.push_back({state_.step, value});
      TrainingStatus status;
      status.step = state_.step;
      status.total_steps = total;
      status.loss = value;
      if (!state_.held_out.empty()) status.held_out_loss = state_.held_out.back().loss;
      status.tokens_per_s = tokens_per_step * static_cast<double>(state_.step) / state_.seconds;
      status.memory_bytes = static_cast<std::uint64_t>(device_.memory().peak);
      progress.update(status);
    }
    if (state_.step >= total) break;
    const std::int64_t every = options_.evaluate_every > 0 ? options_.evaluate_every
                                                           : std::max<std::int64_t>(1, total / 10);
    // A time budget moves the total, so that multiples of a tenth of it would be met at random.
    const bool due =
        options_.seconds > 0 && options_.evaluate_every == 0
            ? state_.seconds >= options_.seconds / 10 * static_cast<double>(next_check + 1)
            : state_.step % every == 0;
    if (due) {
      if (options_.seconds > 0) {
        next_check = static_cast<std::int64_t>(state_.seconds / (options_.seconds / 10));
      }
      evaluate();
    }
    if (state_.step % options_.checkpoint_every == 0) save();
  }
  evaluate();
  progress.finish();
  save();
  write_curve();

  TrainingResult result;
  result.steps = state_.step;
  result.held_out_loss = state_.held_out.back().loss;
  if (state_.seconds > 0) {
    result.tokens_per_s = tokens_per_step * static_cast<double>(state_.step) / state_.seconds;
  }
  const Statistics last = statistics();
  const auto hits = static_cast<double>(last.plan_hits - warm.plan_hits);
  const auto misses = static_cast<double>(last.plan_misses - warm.plan_misses);
  result.plan_hit_rate = hits + misses > 0 ? hits / (hits + misses) : 1;
  return result;
}

}  // namespace hearth::tools
