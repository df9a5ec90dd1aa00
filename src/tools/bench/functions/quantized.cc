// Quantized arrays: codes of one scale, which PyTorch has too, and of a scale for each block.
#include "hearth/ops.h"
#include "hearth/quantization.h"
#include "tools/bench/functions/functions.h"

namespace hearth::tools {

std::vector<BenchFunction> quantized_functions() {
  const QuantScheme bytes =
      QuantScheme().with_value(QuantValue::q8s).with_store(QuantStore::native());
  const QuantScheme blocks = QuantScheme().with_value(QuantValue::q4s).per_block({32});
  std::vector<BenchFunction> out;
  out.push_back({"quantization/quantize_q8",
                 [bytes](const BenchInputs& in) {
                   const QuantParams params{full({1}, 0.03, DType::f32, in.device()), Array()};
                   return [=, x = in.normal(in.matrix())] {
                     return quantize(x, bytes, params).payload();
                   };
                 },
                 true});
  out.push_back({"quantization/dequantize_q8",
                 [bytes](const BenchInputs& in) {
                   const QuantizedArray x = quantize_dynamic(in.normal(in.matrix()), bytes).eval();
                   return [x] { return dequantize(x); };
                 },
                 true});
  out.push_back({"quantization/fake_quantize_q8",
                 [bytes](const BenchInputs& in) {
                   return [bytes, x = in.normal(in.matrix())] { return fake_quantize(x, bytes); };
                 },
                 true});
  out.push_back({.name = "quantization/matmul_q4_blocks",
                 .prepare =
                     [blocks](const BenchInputs& in) {
                       const QuantizedArray w =
                           quantize_dynamic(in.normal(in.matrix()), blocks).eval();
                       return [w, x = in.normal(in.matrix())] { return to_float(matmul(x, w)); };
                     },
                 .has_peer = false});
  return out;
}

}  // namespace hearth::tools
