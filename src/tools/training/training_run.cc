#include "tools/training/training_run.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "core/quoted.h"
#include "hearth/grad.h"
#include "hearth/random.h"
#include "hearth/runtime.h"
#include "io/file.h"
#include "runtime/trace/timeline.h"
#include "tools/output.h"
#include "tools/shutdown_signal.h"
#include "tools/training/progress.h"

namespace hearth::tools {
namespace {

constexpr double kGradientNorm = 1.0;
// Checkpoints by time take at most about one part of so many of it.
constexpr double kSavingShare = 20;

Device default_device(const std::string& name) {
  const Device device = name.empty() ? Device() : Device::named(name);
  Device::set_default(device);
  return device;
}

void make_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw Error(ErrorCode::io, folder + ": cannot make the folder; got " + error.message());
  }
}

}  // namespace

std::uint64_t fingerprint(std::span<const std::uint8_t> bytes, std::uint64_t hash) {
  return fnv1a(std::as_bytes(bytes), hash);
}

TrainingRun::TrainingRun(const RunOptions& options)
    : options_(options),
      device_(default_device(options.device)),
      optimizer_({.beta1 = 0.9,
                  .beta2 = 0.98,
                  .epsilon = 1e-8,
                  .weight_decay = options.weight_decay,
                  .decay_vectors = false}) {
  seed(options.seed);
}

void TrainingRun::open(JsonObject settings, const std::vector<FolderText>& files) {
  const JsonObject shared = {
      {"batch", options_.batch},
      {"dtype", std::string(name(options_.dtype))},
      {"lr", options_.learning_rate},
      {"weight_decay", options_.weight_decay},
      {"warm_up", options_.warm_up},
      {"seed", options_.seed},
      {"steps", options_.seconds > 0 ? 0 : options_.steps},
      {"seconds", options_.seconds},
  };
  settings.insert(settings.end(), shared.begin(), shared.end());
  settings_ = {json_text(settings), options_.resume};
  if (options_.resume && (options_.fresh || !has_checkpoint(options_.out))) {
    throw Error(
        ErrorCode::invalid_argument,
        std::string(options_.command) + ": nothing to resume; got " +
            (options_.fresh ? std::string("--fresh too") : "no " + checkpoint_path(options_.out)) +
            ", expected a run that was stopped");
  }
  make_folder(options_.out);
  if (options_.fresh) {
    std::error_code ignored;
    std::filesystem::remove(checkpoint_path(options_.out), ignored);
  }
  if (has_checkpoint(options_.out)) {
    state_ = load_checkpoint(options_.out, trained(), optimizer_, settings_, device_);
    if (!(options_.seconds > 0) && options_.steps < state_.step) {
      throw Error(ErrorCode::invalid_argument,
                  std::string(options_.command) +
                      ": fewer steps than the run has done already; got --steps " +
                      std::to_string(options_.steps) + ", expected at least " +
                      std::to_string(state_.step) + ", or --fresh");
    }
    generator() = state_.generator;
    write_note(options_.out + ": goes on from step " + std::to_string(state_.step) + "\n");
  }
  for (const auto& [name, text] : files) io::replace_file(options_.out + "/" + name, text);
}

// With a budget of time: as many steps as fit at the pace so far.
std::int64_t TrainingRun::planned_steps() const {
  if (!(options_.seconds > 0)) return options_.steps;
  if (state_.seconds >= options_.seconds) return state_.step;
  if (state_.step == 0) return 1000;
  const double left =
      (options_.seconds - state_.seconds) * static_cast<double>(state_.step) / state_.seconds;
  return state_.step + std::max<std::int64_t>(1, std::llround(left));
}

Array TrainingRun::train_step() {
  const std::int64_t total = planned_steps();
  const std::int64_t warm_up = std::min(options_.warm_up, total / 10);
  const double rate = optim::linear_warm_up(
      warm_up, optim::cosine(options_.learning_rate, total - warm_up))(state_.step);
  const Array lost = loss(state_.step);
  Gradients gradients = backward(lost);
  optim::clip_by_norm(gradients, kGradientNorm);
  optimizer_.step(trained(), std::move(gradients), rate);
  return lost.detach();
}

// A time budget moves the total, so that multiples of a tenth of it would be met at random.
bool TrainingRun::evaluation_is_due() {
  if (options_.seconds > 0 && options_.evaluate_every == 0) {
    const double tenth = options_.seconds / 10;
    if (state_.seconds < tenth * static_cast<double>(tenths_ + 1)) return false;
    tenths_ = static_cast<std::int64_t>(state_.seconds / tenth);
    return true;
  }
  const std::int64_t every = options_.evaluate_every > 0
                                 ? options_.evaluate_every
                                 : std::max<std::int64_t>(1, planned_steps() / 10);
  return state_.step % every == 0;
}

void TrainingRun::note_evaluation() {
  if (!state_.held_out.empty() && state_.held_out.back().step == state_.step) return;
  const Evaluation held_out = evaluate();
  state_.held_out.push_back({state_.step, held_out.loss});
  if (held_out.accuracy) state_.accuracy.push_back({state_.step, *held_out.accuracy});
}

LossPoint TrainingRun::first_loss() {
  if (state_.step == 0) note_evaluation();
  if (!state_.held_out.empty() && state_.held_out.front().step == 0) return state_.held_out.front();
  return {state_.step, evaluate().loss};
}

bool TrainingRun::checkpoint_is_due() const {
  return state_.step % options_.checkpoint_every == 0 || runtime::Timeline::now() >= next_save_;
}

void TrainingRun::save() {
  const double start = runtime::Timeline::now();
  state_.generator = generator();
  save_checkpoint(options_.out, trained(), optimizer_, state_, settings_.text);
  write_result();
  const double end = runtime::Timeline::now();
  next_save_ = end + std::max(options_.checkpoint_seconds, kSavingShare * (end - start));
}

void TrainingRun::note_interruption(int signal) const {
  std::string line = std::string(options_.command) + ": stopped by " + signal_name(signal) +
                     " at step " + std::to_string(state_.step);
  if (!(options_.seconds > 0)) line += " of " + std::to_string(options_.steps);
  line += "; the run so far is in " + hearth::quoted(options_.out, options_.out.size());
  if (options_.may_go_on) {
    line += std::string(", and ") +
            (options_.fresh ? "--resume in place of --fresh" : "the same command") +
            " goes on from there";
  }
  write_note(line + "\n");
}

void TrainingRun::write_curve() const {
  LossCurve curve;
  curve.title = title();
  curve.unit = units().loss;
  if (!state_.accuracy.empty()) {
    curve.title += ": " + decimal(100 * state_.accuracy.back().loss, 1) + " % right";
  }
  curve.train = state_.train;
  if (has_held_out()) curve.held_out = state_.held_out;
  curve.baselines = baselines_;
  write_loss_curve(options_.out + "/loss.svg", curve);
}

TrainingResult TrainingRun::run() {
  const ShutdownSignal signal(options_.command);
  next_save_ = runtime::Timeline::now() + options_.checkpoint_seconds;
  Progress progress;
  const std::int64_t first = state_.step;
  const auto rate = [&] {
    const auto done = static_cast<double>(units().a_step) * static_cast<double>(state_.step);
    return state_.seconds > 0 ? done / state_.seconds : 0;
  };
  // Of a run that was stopped before it.
  if (state_.step > 0 && state_.step < planned_steps() && evaluation_is_due()) note_evaluation();
  Statistics warm = statistics();
  while (signal.received() == 0 && state_.step < planned_steps()) {
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
        throw Error(ErrorCode::invalid_argument,
                    std::string(options_.command) + ": the loss is no number any more at step " +
                        std::to_string(state_.step) + "; a smaller --lr may help");
      }
      state_.train.push_back({state_.step, value});
      TrainingStatus status;
      status.step = state_.step;
      status.total_steps = total;
      status.loss = value;
      if (has_held_out() && !state_.held_out.empty())
        status.held_out_loss = state_.held_out.back().loss;
      if (!state_.accuracy.empty()) status.accuracy = state_.accuracy.back().loss;
      status.rate = rate();
      status.unit = units().rate;
      status.memory_bytes = static_cast<std::uint64_t>(device_.memory().peak);
      progress.update(status);
    }
    if (state_.step >= total) break;
    if (signal.received() == 0 && evaluation_is_due()) note_evaluation();
    if (signal.received() == 0 && checkpoint_is_due()) save();
  }
  // An evaluation out of turn would be in the curve of the run that goes on.
  const int stopped_by = signal.received();
  if (stopped_by == 0) note_evaluation();
  progress.finish();
  save();
  write_curve();
  if (stopped_by != 0) {
    note_interruption(stopped_by);
    throw Interrupted{stopped_by};
  }

  TrainingResult result;
  result.steps = state_.step;
  result.held_out.loss = state_.held_out.back().loss;
  if (!state_.accuracy.empty()) result.held_out.accuracy = state_.accuracy.back().loss;
  result.rate = rate();
  const Statistics last = statistics();
  const auto hits = static_cast<double>(last.plan_hits - warm.plan_hits);
  const auto misses = static_cast<double>(last.plan_misses - warm.plan_misses);
  result.plan_hit_rate = hits + misses > 0 ? hits / (hits + misses) : 1;
  return result;
}

}  // namespace hearth::tools
