// Rows of a GPU about the overhead of an op.
#include "hearth/ops.h"
#include "tools/bench/gpu/gpu.h"

namespace hearth::tools {

void bench_gpu_latency(Bench& bench) {
  constexpr int kChain = 1000;
  const Device device = bench.device();
  const auto four = [&](double value) {
    return contiguous(full({4}, value, DType::f32, device)).eval();
  };
  RowSpec spec = latency_row("gpu/latency/add4_chain1000", "replay");
  spec.most = 1.2;
  spec.note = "dependent adds of 4 floats, unfused, in one plan; time an op";
  if (bench.wants(spec.row)) {
    const WithSwitches unfused(fusion_switches(false));
    const Array x = four(1), y = four(1e-3);
    bench.measure(spec, streamed(device, queued([=] {
                                   Array sum = x;
                                   for (int i = 0; i < kChain; ++i) sum = add(sum, y);
                                   return sum;
                                 }),
                                 kChain));
  }
  spec = latency_row("gpu/latency/add4_sync", "sync");
  spec.most = 8;
  if (bench.wants(spec.row)) {
    const Array x = four(1), y = four(1e-3);
    bench.measure(spec, synchronized(device, queued([=] { return add(x, y); })));
  }
  spec = latency_row("gpu/latency/add4_stream", "stream");
  spec.peer = 1.0;
  spec.note = "what the host takes to record and queue one op";
  if (bench.wants(spec.row)) {
    const Array x = four(1), y = four(1e-3);
    bench.measure(spec, streamed(device, queued([=] { return add(x, y); })));
  }
}

}  // namespace hearth::tools
