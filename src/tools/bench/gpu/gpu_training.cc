// Rows of a GPU about training: tokens or images per second with the loss read after every step,
// and the share of that time in which the host works.
#include <chrono>
#include <vector>

#include "hearth/grad.h"
#include "hearth/random.h"
#include "tools/bench/gpu/gpt2.h"
#include "tools/bench/gpu/gpu.h"
#include "tools/bench/resnet.h"
#include "tools/bench/training.h"

namespace hearth::tools {
namespace {

// GPT-2 of 124 million parameters: weights in f32, computed in bf16.
class Gpt2Training {
 public:
  static constexpr std::int64_t kBatch = 8;

  explicit Gpt2Training(Device device)
      : model_(make(device)),
        optimizer_({.epsilon = 1e-8, .weight_decay = 0.01}),
        tokens_(draw(1, device)),
        targets_(draw(2, device)) {
    submit();
  }
  void step() {
    loss_ = model_.loss(tokens_, targets_);
    optimizer_.step(model_, backward(loss_), 3e-4);
  }
  double read_loss() const { return loss_.item(); }
  static double tokens() { return static_cast<double>(kBatch * Gpt2Config().context); }

 private:
  static Gpt2 make(Device device) {
    Generator generator{1, 0};
    return {Gpt2Config(), DType::bf16, device, &generator};
  }
  static Array draw(std::uint64_t seed, Device device) {
    Generator generator{seed, 0};
    const Gpt2Config config;
    return random_integers({kBatch, config.context}, 0, config.vocabulary, DType::i32, device,
                           &generator);
  }

  Gpt2 model_;
  optim::AdamW optimizer_;
  Array tokens_;
  Array targets_;
  Array loss_;
};

// The optimizer alone, on gradients that stay.
class Gpt2Update {
 public:
  explicit Gpt2Update(Device device) : device_(device) {
    Generator generator{1, 0};
    model_ = Gpt2(Gpt2Config(), DType::bf16, device, &generator);
    for (const Parameter& parameter : parameters(model_)) {
      const Array gradient =
          random_normal(parameter.array->shape(), 0, 1e-3, DType::f32, device, &generator);
      gradients_.set(*parameter.array, gradient);
    }
    submit();
  }
  void run() {
    optimizer_.step(model_, gradients_, 3e-4);
    device_.synchronize();
  }

 private:
  Device device_;
  Gpt2 model_;
  optim::AdamW optimizer_{{.epsilon = 1e-8, .weight_decay = 0.01}};
  Gradients gradients_;
};

template <class Training>
void measure(Bench& bench, const std::string& row, const std::string& unit, double items,
             const std::string& note, std::optional<double> peer,
             const std::function<Training()>& make) {
  const std::string share = row + "_host_share";
  const bool wants_speed = bench.wants(row);
  const bool wants_share = bench.wants(share);
  if (!wants_speed && !wants_share) return;
  Training training = make();
  // The first step makes the optimizer's state, the second one's plan is the one that stays, and
  // from the third on it is replayed.
  for (int i = 0; i < 4; ++i) {
    training.step();
    training.read_loss();
  }
  const auto step = [&] {
    training.step();
    training.read_loss();
  };
  if (wants_speed) {
    bench.measure({.row = row,
                   .unit = unit,
                   .scale = items,
                   .rate = true,
                   .peer = peer,
                   .timing = "sync",
                   .threads = bench.threads(),
                   .recording_included = true,
                   .note = note},
                  timed("hearth", step));
  }
  if (!wants_share) return;
  std::vector<double> shares;
  for (int i = 0; i < 20; ++i) {
    const double host = seconds_of([&] { training.step(); });
    shares.push_back(100 * host / (host + seconds_of([&] { training.read_loss(); })));
  }
  bench.report({.row = share,
                .unit = "%",
                .most = 10,
                .timing = "sync",
                .threads = bench.threads(),
                .recording_included = true,
                .note = "recording and queuing, of a step whose loss is read"},
               shares);
}

}  // namespace

void bench_gpu_training(Bench& bench) {
  const Device device = bench.device();
  const WithThreads with(bench.threads());
  const TrainingShape demo;
  measure<TrainingBench>(bench, "gpu/training/demo_step", "tokens/s",
                         static_cast<double>(demo.batch * demo.context),
                         "f32, forward, backward, clipping, AdamW", std::nullopt,
                         [&] { return TrainingBench(demo, device); });
  measure<Gpt2Training>(bench, "gpu/training/gpt2_124m", "tokens/s", Gpt2Training::tokens(),
                        "8 x 1024 tokens, f32 weights computed in bf16, AdamW", 1.1,
                        [&] { return Gpt2Training(device); });
  for (const std::int64_t batch : {64, 256}) {
    measure<ResNetTraining>(bench, "gpu/training/resnet50_" + std::to_string(batch), "images/s",
                            static_cast<double>(batch),
                            "images of 224 x 224, f32 weights computed in bf16, momentum", 1.0,
                            [&] { return ResNetTraining(batch, DType::bf16, device); });
  }

  const RowSpec update{.row = "gpu/training/adamw_148_arrays",
                       .unit = "us",
                       .scale = 1e6,
                       .peer = 1.0,
                       .timing = "sync",
                       .recording_included = true,
                       .note = "the 124 million parameters of GPT-2, f32, waiting included"};
  if (!bench.wants(update.row)) return;
  Gpt2Update optimizer(device);
  for (int i = 0; i < 4; ++i) optimizer.run();
  bench.measure(update, timed("hearth", [&] { optimizer.run(); }));
}

}  // namespace hearth::tools
