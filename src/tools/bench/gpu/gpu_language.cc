// Rows of a GPU about a whole language model of the shape of Llama 3 8B with random weights: tokens
// of one sequence, each made of the last one, which the host reads; and the share of a step in
// which the host works.
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hearth/ops.h"
#include "hearth/quantization/packed.h"
#include "hearth/random.h"
#include "models/language/model/sequences.h"
#include "tools/bench/gpu/gpu.h"
#include "tools/bench/gpu/random_blocks.h"

namespace hearth::tools {
namespace {

constexpr std::int64_t kLlamaDim = 4096, kLlamaHidden = 14336, kLlamaLayers = 32,
                       kLlamaVocabulary = 128256;
constexpr std::int64_t kLlamaHeads = 32, kLlamaKvHeads = 8, kLlamaHeadDim = 128;
constexpr std::int64_t kPrompt = 512, kMostRows = 2048;

models::LanguageConfig config_of_llama() {
  models::LanguageConfig config;
  config.architecture = "llama";
  config.dim = kLlamaDim;
  config.context = kMostRows;
  models::LayerConfig layer;
  layer.attention.heads = kLlamaHeads;
  layer.attention.kv_heads = kLlamaKvHeads;
  layer.attention.key_dim = layer.attention.value_dim = kLlamaHeadDim;
  layer.attention.scale = 1 / std::sqrt(static_cast<double>(kLlamaHeadDim));
  layer.attention.rope.pairs = models::RopePairs::neighbours;
  layer.attention.rope.dims = kLlamaHeadDim;
  layer.attention.rope.base = 500000;
  layer.hidden = kLlamaHidden;
  config.layers.assign(static_cast<std::size_t>(kLlamaLayers), layer);
  return config;
}

NamedArrays random_weights(DType format, Device device) {
  NamedArrays arrays;
  const auto matrix = [&](const std::string& name, std::int64_t out, std::int64_t in) {
    const Array values = is_packed(format) ? random_blocks(format, {out, in}, device)
                                           : random_normal({out, in}, 0, 0.02, format, device);
    arrays.push_back({name + ".weight", values.eval()});
  };
  const auto vector = [&](const std::string& name) {
    arrays.push_back(
        {name + ".weight", contiguous(full({kLlamaDim}, 1.0, DType::f32, device)).eval()});
  };
  matrix("token_embd", kLlamaVocabulary, kLlamaDim);
  for (std::int64_t i = 0; i < kLlamaLayers; ++i) {
    const std::string layer = "blk." + std::to_string(i) + ".";
    vector(layer + "attn_norm");
    matrix(layer + "attn_q", kLlamaHeads * kLlamaHeadDim, kLlamaDim);
    matrix(layer + "attn_k", kLlamaKvHeads * kLlamaHeadDim, kLlamaDim);
    matrix(layer + "attn_v", kLlamaKvHeads * kLlamaHeadDim, kLlamaDim);
    matrix(layer + "attn_output", kLlamaDim, kLlamaHeads * kLlamaHeadDim);
    vector(layer + "ffn_norm");
    matrix(layer + "ffn_gate", kLlamaHidden, kLlamaDim);
    matrix(layer + "ffn_up", kLlamaHidden, kLlamaDim);
    matrix(layer + "ffn_down", kLlamaDim, kLlamaHidden);
  }
  vector("output_norm");
  matrix("output", kLlamaVocabulary, kLlamaDim);
  return arrays;
}

class LlamaDecoding {
 public:
  LlamaDecoding(DType format, Device device)
      : model_(config_of_llama(),
               models::Weights(random_weights(format, device), DType::bf16, device), device),
        sequences_(
            model_,
            {.pages = models::pages_of(kMostRows), .keys = DType::bf16, .values = DType::bf16}),
        sequence_(sequences_.begin()) {
    start();
  }
  // Queues a step. A sequence that has come to its end starts anew.
  void step() {
    if (sequence_.length == kMostRows) start();
    best_ = argmax(run({next_}), 1);
    submit();
  }
  void read() { next_ = static_cast<std::int32_t>(best_.item()); }

 private:
  void start() {
    sequences_.truncate(sequence_, 0);
    std::vector<std::int32_t> prompt;
    for (std::int32_t i = 0; i < kPrompt; ++i) prompt.push_back(1 + i * 37 % 5003);
    best_ = argmax(run(prompt), 1);
    read();
  }
  Array run(const std::vector<std::int32_t>& tokens) {
    const models::SequenceRows rows{&sequence_, tokens, 1};
    return sequences_.step({&rows, 1});
  }

  models::LanguageModel model_;
  models::Sequences sequences_;
  models::Sequence sequence_;
  Array best_;
  std::int32_t next_ = 0;
};

void bench_llama(Bench& bench, DType format, double tokens) {
  const std::string row = "gpu/language/llama3_8b_" + std::string(name(format)) + "_decode";
  const std::string share = row + "_host_share";
  const bool wants_speed = bench.wants(row), wants_share = bench.wants(share);
  if (!wants_speed && !wants_share) return;
  LlamaDecoding model(format, bench.device());
  const auto step = [&] {
    model.step();
    model.read();
  };
  for (int i = 0; i < 4; ++i) step();
  if (wants_speed) {
    bench.measure({.row = row,
                   .unit = "tokens/s",
                   .scale = 1,
                   .rate = true,
                   .most = tokens,
                   .timing = "sync",
                   .recording_included = true,
                   .note = "one sequence from row 512 on, computed in bf16, keys and values too"},
                  timed("hearth", step));
  }
  if (!wants_share) return;
  std::vector<double> shares;
  for (int i = 0; i < 50; ++i) {
    const double host = seconds_of([&] { model.step(); });
    shares.push_back(100 * host / (host + seconds_of([&] { model.read(); })));
  }
  bench.report({.row = share,
                .unit = "%",
                .most = 5,
                .timing = "sync",
                .recording_included = true,
                .note = "recording and queuing, of a step whose token is read"},
               shares);
}

}  // namespace

void bench_gpu_language(Bench& bench) {
  struct Kind {
    DType format;
    double tokens;
  };
  for (const auto [format, tokens] : {Kind{DType::bf16, 240}, Kind{DType::q8_0, 400},
                                      Kind{DType::q4_k, 600}, Kind{DType::mxfp4, 600}}) {
    bench_llama(bench, format, tokens);
    bench.device().trim();
  }
}

}  // namespace hearth::tools
