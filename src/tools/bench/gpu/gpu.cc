#include "tools/bench/gpu/gpu.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

namespace hearth::tools {
namespace {

// Of a sample: a wait costs some ten microseconds.
constexpr double kMinStreamSeconds = 4e-3;
constexpr double kMinSynchronizedSeconds = 1e-3;
constexpr int kWarmCalls = 4;  // a plan is planned, compiled, made executable, and run as such

constexpr double kTera = 1e-12;

// Reads 16 bytes a thread and step, four steps at once. Bound by memory; the sum is there so that
// nothing is left out.
constexpr char kReader[] = R"(
struct ReadParams { ulong vectors; };

inline float read_sum(float4 v) { return (v.x + v.y) + (v.z + v.w); }

inline void read_memory(device const float4* x, device float* out, constant ReadParams& p, Ctx ctx) {
  ulong step = ulong(ctx.ntg.x) * ulong(ctx.ntid.x);
  float total = 0.0f;
  for (ulong i = ctx.gid.x; i < p.vectors; i += 4ul * step) {
    float4 a = x[i];
    float4 b = x[i + step];
    float4 c = x[i + 2ul * step];
    float4 d = x[i + 3ul * step];
    total += (read_sum(a) + read_sum(b)) + (read_sum(c) + read_sum(d));
  }
  if (total == 12345.0f) out[ctx.gid.x] = total;
}
)";

struct ReadParams {
  std::uint64_t vectors;
};

// A number of samples' calls, found by the first sample.
Contestant repeated(double shortest, std::function<double(int)> seconds_of_calls) {
  auto calls = std::make_shared<int>(0);
  return {"hearth", [seconds_of_calls = std::move(seconds_of_calls), calls, shortest] {
            if (*calls == 0) {
              seconds_of_calls(kWarmCalls);
              const double one = std::max(seconds_of_calls(1), 1e-9);
              // A single call is mostly wait; the second guess is what counts.
              *calls = static_cast<int>(std::clamp(shortest / one, 1.0, 1e5));
              const double each = std::max(seconds_of_calls(*calls) / *calls, 1e-9);
              *calls = static_cast<int>(std::clamp(std::ceil(shortest / each), 1.0, 1e5));
            }
            return seconds_of_calls(*calls) / *calls;
          }};
}

}  // namespace

Contestant streamed(Device device, std::function<void()> queue, int calls) {
  return repeated(kMinStreamSeconds, [device, queue = std::move(queue), calls](int count) {
    return seconds_of([&] {
             for (int i = 0; i < count; ++i) queue();
             device.synchronize();
           }) /
           calls;
  });
}

Contestant synchronized(Device device, std::function<void()> queue) {
  return repeated(kMinSynchronizedSeconds, [device, queue = std::move(queue)](int count) {
    return seconds_of([&] {
      for (int i = 0; i < count; ++i) {
        queue();
        device.synchronize();
      }
    });
  });
}

std::function<void()> queued(std::function<Array()> call) {
  return [call = std::move(call)] {
    const Array result = call();
    submit();
  };
}

RowSpec bandwidth_row(std::string row, double bytes) {
  return {.row = std::move(row),
          .unit = "TB/s",
          .scale = bytes * kTera,
          .rate = true,
          .timing = "stream",
          .recording_included = true};
}

RowSpec throughput_row(std::string row, double flops) {
  RowSpec spec = bandwidth_row(std::move(row), flops);
  spec.unit = "TFLOP/s";
  return spec;
}

RowSpec latency_row(std::string row, std::string timing) {
  return {.row = std::move(row),
          .unit = "us",
          .scale = 1e6,
          .timing = std::move(timing),
          .recording_included = true};
}

MemoryLimits::MemoryLimits(Device device, std::int64_t size) : device_(device), size_(size) {}

runtime::Buffer MemoryLimits::buffer() const {
  return runtime::Buffer::zeros(device_, DType::f32, {size_ / 4});
}

Contestant MemoryLimits::copy(double bytes) {
  if (!from_.defined()) from_ = buffer();
  if (!to_.defined()) to_ = buffer();
  Contestant limit = streamed(device_, [this] { to_.copy_from(from_); });
  const double share = bytes / (2.0 * static_cast<double>(size_));
  return {"copy", [sample = std::move(limit.sample), share] { return sample() * share; }};
}

Contestant MemoryLimits::read(double bytes) {
  using Kind = runtime::KernelParameter::Kind;
  constexpr std::uint64_t kMaxGroups = 2048, kThreads = 256, kSteps = 4;
  const auto vectors = static_cast<std::uint64_t>(size_) / 16;
  const std::uint64_t groups = std::min(kMaxGroups, vectors / (kSteps * kThreads));
  if (!from_.defined()) from_ = buffer();
  if (!reader_) {
    reader_ = runtime::Kernel(device_, {"bench_read_memory",
                                        kReader,
                                        "read_memory",
                                        {{Kind::read, "float4", "x"},
                                         {Kind::write, "float", "out"},
                                         {Kind::constant, "ReadParams", "p"}}});
  }
  const runtime::Buffer out(device_, DType::f32, {static_cast<std::int64_t>(groups * kThreads)});
  Contestant limit = streamed(device_, [this, out, groups, vectors] {
    runtime::CommandEncoder encoder(device_);
    encoder.dispatch(*reader_, {static_cast<std::uint32_t>(groups)}, {kThreads},
                     {from_, out, runtime::constant(ReadParams{vectors})});
    encoder.commit();
  });
  const double share = bytes / static_cast<double>(size_);
  return {"read", [sample = std::move(limit.sample), share] { return sample() * share; }};
}

void bench_gpu(Bench& bench) {
  const Device device = bench.device();
  MemoryLimits limits(device);
  bench_gpu_memory(bench, limits);
  device.trim();
  bench_gpu_products(bench, limits);
  device.trim();
  bench_gpu_packed(bench, limits);
  device.trim();
  bench_gpu_sort(bench);
  device.trim();
  bench_gpu_latency(bench);
  bench_gpu_training(bench);
  device.trim();
  bench_gpu_paged(bench);
  bench_gpu_language(bench);
}

}  // namespace hearth::tools
