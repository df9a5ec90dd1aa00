#include "tools/bench/functions/functions.h"

#include <utility>

#include "hearth/grad.h"
#include "hearth/ops.h"
#include "hearth/random.h"
#include "runtime/device/device_spec.h"
#include "tools/bench/bench.h"
#include "tools/bench/gpu/gpu.h"

namespace hearth::tools {

BenchInputs::BenchInputs(Device device, DType dtype, bool is_large)
    : device_(device), dtype_(dtype), is_gpu_(!device.impl().host_visible()), is_large_(is_large) {}

// bench/torch_families.py has the same sizes.
Shape BenchInputs::matrix() const {
  const std::int64_t side = (is_gpu_ ? 1024 : 512) * (is_large_ ? (is_gpu_ ? 8 : 4) : 1);
  return {side, side};
}
Shape BenchInputs::lines() const { return {matrix()[0], 1024}; }
Shape BenchInputs::images() const {
  return is_gpu_ ? Shape{is_large_ ? 64 : 16, is_large_ ? 128 : 64, 56, 56}
                 : Shape{is_large_ ? 16 : 2, 64, 56, 56};
}
Shape BenchInputs::heads() const {
  return is_gpu_ ? Shape{4, 16, is_large_ ? 4096 : 1024, 64}
                 : Shape{is_large_ ? 4 : 1, is_large_ ? 16 : 8, is_large_ ? 1024 : 256, 64};
}
std::int64_t BenchInputs::order() const noexcept { return is_large_ ? 512 : 128; }

Array BenchInputs::normal(const Shape& shape) const {
  return cast(random_normal(shape, 0, 1, DType::f32, device_), dtype_).eval();
}

Array BenchInputs::indices(const Shape& shape, std::int64_t extent) const {
  return random_integers(shape, 0, extent, DType::i64, device_).eval();
}

Array BenchInputs::positive_definite() const {
  const Array x = normal({order(), order()});
  const Array unit = eye(order(), dtype_, device_);
  return (matmul(x, transpose(x)) + unit * Array(static_cast<double>(order()))).eval();
}

BenchFunction unary_function(std::string name, Shape (BenchInputs::*shape)() const,
                             std::function<Array(const Array&)> function) {
  return {std::move(name), [shape, function = std::move(function)](const BenchInputs& in) {
            return [x = in.normal((in.*shape)()), function] { return function(x); };
          }};
}

BenchFunction gradient_function(std::string name, Shape (BenchInputs::*shape)() const,
                                std::function<Array(const Array&)> function) {
  return {std::move(name), [shape, function = std::move(function)](const BenchInputs& in) {
            const Array x = in.normal((in.*shape)()).require_grad();
            const Array given = in.normal(function(x).shape());
            return [=] { return backward(sum(function(x) * given)).at(x); };
          }};
}

std::vector<BenchFunction> all_functions() {
  std::vector<BenchFunction> all = array_functions();
  for (const auto& more : {layer_functions(), matrix_functions(), quantized_functions()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

void bench_all_functions(Bench& bench) {
  const bool is_gpu = !bench.device().impl().host_visible();
  const WithThreads with(bench.threads());
  for (const BenchFunction& function : all_functions()) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      if (function.f32_only && dtype != DType::f32) continue;
      for (const bool is_large : {false, true}) {
        RowSpec spec =
            latency_row(std::string(is_gpu ? "gpu/" : "") + "families/" + function.name + "_" +
                            std::string(name(dtype)) + (is_large ? "_large" : "_small"),
                        is_gpu ? "stream" : "");
        if (function.has_peer) spec.peer = 1;
        spec.threads = bench.threads();
        if (!bench.wants(spec.row)) continue;
        const BenchCall call = function.prepare({bench.device(), dtype, is_large});
        bench.measure(spec, is_gpu ? streamed(bench.device(), queued(call))
                                   : timed("hearth", [&] { call().eval(); }));
      }
    }
  }
}

}  // namespace hearth::tools
