// Rows about the graph itself: recording, planning, tiny programs, memory.
#include <cstdio>
#include <cstdlib>

#include "hearth/device.h"
#include "hearth/grad.h"
#include "hearth/ops.h"
#include "tools/bench/bench.h"
#include "tools/bench/null_device.h"
#include "tools/bench/training.h"

namespace hearth::tools {
namespace {

constexpr int kChain = 1000;
constexpr std::int64_t kGraphNodes = 10000;

Array four(double value, Device device) {
  return contiguous(full({4}, value, DType::f32, device)).eval();
}

Array record_chain(Array x, const Array& y) {
  for (int i = 0; i < kChain; ++i) x = add(x, y);
  return x;
}

void bench_recording(Bench& bench) {
  RowSpec spec{.row = "engine/record_op",
               .unit = "us",
               .scale = 1e6 / kChain,
               .most = 0.02,
               .recording_included = true,
               .note = "add, a chain of 1000, its result dropped"};
  const Array x = four(1, null_device());
  const Array y = four(2, null_device());
  if (bench.wants(spec.row)) {
    bench.measure(spec, {"hearth", [&] {
                           const double seconds = seconds_of([&] { (void)record_chain(x, y); });
                           submit();
                           return seconds;
                         }});
  }
  spec.row = "engine/record_hash_lookup";
  spec.most = 0.04;
  spec.note = "the same chain, submitted to a device that runs nothing";
  if (bench.wants(spec.row)) {
    bench.measure(spec, timed("hearth", [&] { record_chain(x, y).eval(); }));
  }
}

void bench_tiny(Bench& bench) {
  const WithThreads with(1);
  const Array x = four(1, Device::cpu());
  const Array y = four(1e-3, Device::cpu());
  for (const bool fused : {false, true}) {
    const RowSpec spec{.row = std::string("engine/chain1000_") + (fused ? "fused" : "unfused"),
                       .unit = "us",
                       .scale = 1e6 / kChain,
                       .most = fused ? 0.06 : 0.15,
                       .recording_included = true,
                       .note = "add of 4 elements, time an op"};
    if (!bench.wants(spec.row)) continue;
    const WithSwitches with_switches(fusion_switches(fused));
    bench.measure(spec, timed("hearth", [&] { record_chain(x, y).eval(); }));
  }
  const RowSpec spec{.row = "engine/add4_read",
                     .unit = "us",
                     .scale = 1e6,
                     .most = 0.5,
                     .recording_included = true};
  if (bench.wants(spec.row)) {
    float out[4];
    bench.measure(spec, timed("hearth", [&] { add(x, y).read(out, sizeof out, DType::f32); }));
  }
}

// A training graph of at most `nodes` nodes on the idle device, recorded but not submitted by
// step().
class GraphBench {
 public:
  GraphBench(std::int64_t layers, std::int64_t batch) {
    shape_.dim = 64;
    shape_.heads = 2;
    shape_.kv_heads = 1;
    shape_.context = 16;
    shape_.layers = layers;
    shape_.batch = batch;
    Generator generator{1, 0};
    model_ = models::Transformer(shape_.config(), DType::f32, null_device(), &generator);
    for (const Parameter& parameter : parameters(model_)) {
      Moments& moments = moments_.emplace_back();
      moments.parameter = parameter.array;
      moments.first = contiguous(zeros_like(*parameter.array));
      moments.second = contiguous(zeros_like(*parameter.array));
    }
    tokens_ = contiguous(zeros({batch, shape_.context}, DType::i32, null_device()));
    submit();
  }

  // Records forward, backward and an Adam update; submit() is left to the caller.
  void record_step() {
    loss_ = model_.loss(tokens_, tokens_);
    Gradients gradients = backward(loss_);
    for (Moments& moments : moments_) {
      const Array gradient = gradients.take(*moments.parameter);
      moments.first = moments.first * 0.9 + gradient * 0.1;
      moments.second = moments.second * 0.999 + square(gradient) * 1e-3;
      moments.parameter->assign(moments.parameter->detach() -
                                1e-3 * moments.first / (sqrt(moments.second) + 1e-5));
    }
  }

  // Nodes of one step.
  std::int64_t nodes() {
    const std::int64_t before = statistics().recorded;
    record_step();
    submit();
    return statistics().recorded - before;
  }

 private:
  struct Moments {
    Array* parameter;
    Array first;
    Array second;
  };
  TrainingShape shape_;
  models::Transformer model_;
  std::vector<Moments> moments_;
  Array tokens_;
  Array loss_;
};

void bench_planning(Bench& bench) {
  RowSpec miss{.row = "engine/plan_miss", .unit = "us", .most = 2};
  RowSpec hit{.row = "engine/plan_hit", .unit = "us", .scale = 1e6, .most = 500};
  if (!bench.wants(miss.row) && !bench.wants(hit.row)) return;
  // Tapes are cut where they have grown long, so the graph is submitted in three parts that are
  // not.
  constexpr std::int64_t kParts = 3;
  const std::int64_t few = GraphBench(1, 1).nodes();
  const std::int64_t more = GraphBench(2, 1).nodes() - few;
  const std::int64_t layers = 1 + (kGraphNodes / kParts - few) / more;
  GraphBench graph(layers, 2);
  const std::int64_t nodes = graph.nodes();
  const double parts = static_cast<double>(kGraphNodes) / static_cast<double>(nodes);
  char note[160];
  std::snprintf(note, sizeof note,
                "a step of a %lld-layer transformer, %lld nodes a submission; nothing is run",
                static_cast<long long>(layers), static_cast<long long>(nodes));
  if (bench.wants(miss.row)) {
    // Every sample is of another batch size, so that no plan fits; what a hit takes is part of it.
    std::int64_t batch = 3;
    miss.scale = 1e6 / static_cast<double>(nodes);
    miss.note = std::string("time a node; ") + note;
    bench.measure(miss, {"hearth", [&] {
                           GraphBench fresh(layers, batch++);
                           fresh.record_step();
                           return seconds_of([] { submit(); });
                         }});
  }
  if (bench.wants(hit.row)) {
    hit.scale *= parts;
    hit.note = std::string("for 10,000 nodes; ") + note;
    bench.measure(hit, {"hearth", [&] {
                          graph.record_step();
                          return seconds_of([] { submit(); });
                        }});
  }
}

void bench_demo(Bench& bench) {
  const RowSpec hits{.row = "engine/demo_plan_hits",
                     .unit = "%",
                     .rate = true,
                     .most = 99,
                     .note = "100 steps from the fourth on, the loss read every 7th"};
  const RowSpec memory{.row = "engine/demo_peak_memory",
                       .unit = "MB",
                       .ratio = 1.1,
                       .note =
                           "reference: unfused, in recorded order, every value from its op to "
                           "its last reader, without gaps; with parameters and moments"};
  if (!bench.wants(hits.row) && !bench.wants(memory.row)) return;
  TrainingBench training(TrainingShape(), null_device());
  for (int step = 0; step < 3; ++step) training.step();
  if (bench.wants(hits.row)) {
    constexpr int kSteps = 100;
    const Statistics before = statistics();
    for (int step = 3; step < 3 + kSteps; ++step) {
      training.step();
      if (step % 7 == 0) training.read_loss();
    }
    const Statistics after = statistics();
    const auto found = static_cast<double>(after.plan_hits - before.plan_hits);
    const auto built = static_cast<double>(after.plan_misses - before.plan_misses);
    bench.report(hits, {100 * found / (found + built)});
  }
  if (bench.wants(memory.row)) {
    const Device device = null_device();
    device.reset_peak();
    training.step();
    const double planned = static_cast<double>(device.memory().peak) * 1e-6;
    double eager = 0;
    {
      const WithSwitches unfused(fusion_switches(false));
      training.step();
      const std::int64_t held = device.memory().in_use;
      start_liveness_trace();
      training.step();
      eager = static_cast<double>(held + finish_liveness_trace()) * 1e-6;
    }
    bench.report(memory, {planned}, "eager order", eager);
  }
}

}  // namespace

void bench_engine(Bench& bench) {
  bool any = false;
  for (const char* row :
       {"engine/record_op", "engine/record_hash_lookup", "engine/chain1000_unfused",
        "engine/chain1000_fused", "engine/add4_read", "engine/plan_miss", "engine/plan_hit",
        "engine/demo_plan_hits", "engine/demo_peak_memory"}) {
    any |= bench.wants(row);
  }
  if (!any) return;
  bench_recording(bench);
  bench_tiny(bench);
  bench_planning(bench);
  bench_demo(bench);
}

}  // namespace hearth::tools
