#include "tools/model_bench/shapes.h"

#include <algorithm>

#include "core/quoted.h"
#include "hearth/error.h"
#include "models/files/tensor_roles.h"
#include "models/language/family.h"

namespace hearth::tools {
namespace {

constexpr ModelShape kModelShapes[] = {
    {.name = "tiny",
     .architecture = "llama",
     .layers = 2,
     .dim = 256,
     .heads = 4,
     .kv_heads = 2,
     .head_dim = 64,
     .hidden = 512,
     .vocabulary = 512,
     .has_output = true},
    {.name = "gemma-270m",
     .architecture = "gemma3",
     .layers = 18,
     .dim = 640,
     .heads = 4,
     .kv_heads = 1,
     .head_dim = 256,
     .hidden = 2048,
     .vocabulary = 262144,
     .has_head_norms = true,
     .window = 512,
     .rope_base = 1e6},
    {.name = "gemma-1b",
     .architecture = "gemma3",
     .layers = 26,
     .dim = 1152,
     .heads = 4,
     .kv_heads = 1,
     .head_dim = 256,
     .hidden = 6912,
     .vocabulary = 262144,
     .has_head_norms = true,
     .window = 512,
     .rope_base = 1e6},
    {.name = "qwen-0.6b",
     .architecture = "qwen3",
     .layers = 28,
     .dim = 1024,
     .heads = 16,
     .kv_heads = 8,
     .head_dim = 128,
     .hidden = 3072,
     .vocabulary = 151936,
     .has_head_norms = true,
     .rope_base = 1e6},
    {.name = "llama-1b",  // TinyLlama's
     .architecture = "llama",
     .layers = 22,
     .dim = 2048,
     .heads = 32,
     .kv_heads = 4,
     .head_dim = 64,
     .hidden = 5632,
     .vocabulary = 32000,
     .has_output = true},
    {.name = "llama-3b",
     .architecture = "llama",
     .layers = 28,
     .dim = 3072,
     .heads = 24,
     .kv_heads = 8,
     .head_dim = 128,
     .hidden = 8192,
     .vocabulary = 128256,
     .rope_base = 500000},
    {.name = "llama-8b",
     .architecture = "llama",
     .layers = 32,
     .dim = 4096,
     .heads = 32,
     .kv_heads = 8,
     .head_dim = 128,
     .hidden = 14336,
     .vocabulary = 128256,
     .has_output = true,
     .rope_base = 500000},
    {.name = "qwen-30b-a3b",
     .architecture = "qwen3moe",
     .layers = 48,
     .dim = 2048,
     .heads = 32,
     .kv_heads = 4,
     .head_dim = 128,
     .hidden = 768,
     .vocabulary = 151936,
     .has_output = true,
     .has_head_norms = true,
     .experts = 128,
     .experts_used = 8,
     .rope_base = 1e6},
    {.name = "llama-70b",
     .architecture = "llama",
     .layers = 80,
     .dim = 8192,
     .heads = 64,
     .kv_heads = 8,
     .head_dim = 128,
     .hidden = 28672,
     .vocabulary = 128256,
     .has_output = true,
     .rope_base = 500000},
};

// Whether blocks have norms behind them, too.
bool has_post_norms(const ModelShape& shape) {
  return models::family_by_name(shape.architecture).places == models::NormPlaces::both;
}

std::uint32_t u32(std::int64_t value) { return static_cast<std::uint32_t>(value); }

}  // namespace

std::span<const ModelShape> model_shapes() { return kModelShapes; }

std::vector<std::string> model_shape_names() {
  std::vector<std::string> names;
  for (const ModelShape& shape : kModelShapes) names.emplace_back(shape.name);
  return names;
}

const ModelShape& model_shape(std::string_view name) {
  for (const ModelShape& shape : kModelShapes) {
    if (shape.name == name) return shape;
  }
  std::string names;
  for (const ModelShape& shape : kModelShapes) {
    names += (names.empty() ? "" : ", ") + std::string(shape.name);
  }
  throw Error(ErrorCode::invalid_argument, "bench-model: no such shape; got " +
                                               hearth::quoted(std::string(name)) +
                                               ", expected one of " + names);
}

GgufMetadata shape_metadata(const ModelShape& shape, std::int64_t context) {
  GgufMetadata metadata = {{"general.architecture", std::string(shape.architecture)},
                           {"general.name", std::string(shape.name)}};
  const auto set = [&](const char* key, GgufValue value) {
    metadata.set(std::string(shape.architecture) + "." + key, std::move(value));
  };
  set("block_count", u32(shape.layers));
  set("context_length", u32(context));
  set("embedding_length", u32(shape.dim));
  set("feed_forward_length", u32(shape.hidden));
  set("attention.head_count", u32(shape.heads));
  set("attention.head_count_kv", u32(shape.kv_heads));
  set("attention.key_length", u32(shape.head_dim));
  set("attention.value_length", u32(shape.head_dim));
  set("attention.layer_norm_rms_epsilon", 1e-6f);
  set("rope.dimension_count", u32(shape.head_dim));
  set("rope.freq_base", static_cast<float>(shape.rope_base));
  set("vocab_size", u32(shape.vocabulary));
  if (shape.window > 0) set("attention.sliding_window", u32(shape.window));
  if (shape.experts > 0) {
    set("expert_count", u32(shape.experts));
    set("expert_used_count", u32(shape.experts_used));
    set("expert_feed_forward_length", u32(shape.hidden));
  }
  metadata.set("tokenizer.ggml.model", std::string("none"));
  return metadata;
}

std::vector<ShapeTensor> shape_tensors(const ModelShape& shape) {
  std::vector<ShapeTensor> tensors = {
      {std::string(models::kTokenEmbedding), {shape.vocabulary, shape.dim}},
      {"output_norm.weight", {shape.dim}}};
  if (shape.has_output)
    tensors.push_back({std::string(models::kOutputWeight), {shape.vocabulary, shape.dim}});
  const std::int64_t queries = shape.heads * shape.head_dim;
  const std::int64_t keys = shape.kv_heads * shape.head_dim;
  for (std::int64_t i = 0; i < shape.layers; ++i) {
    const auto add = [&](const char* name, const Shape& its_shape) {
      tensors.push_back({"blk." + std::to_string(i) + "." + name + ".weight", its_shape});
    };
    add("attn_norm", {shape.dim});
    add("attn_q", {queries, shape.dim});
    add("attn_k", {keys, shape.dim});
    add("attn_v", {keys, shape.dim});
    add("attn_output", {shape.dim, queries});
    if (shape.has_head_norms) {
      add("attn_q_norm", {shape.head_dim});
      add("attn_k_norm", {shape.head_dim});
    }
    add("ffn_norm", {shape.dim});
    if (has_post_norms(shape)) {
      add("post_attention_norm", {shape.dim});
      add("post_ffw_norm", {shape.dim});
    }
    if (shape.experts > 0) {
      add("ffn_gate_inp", {shape.experts, shape.dim});
      add("ffn_gate_exps", {shape.experts, shape.hidden, shape.dim});
      add("ffn_up_exps", {shape.experts, shape.hidden, shape.dim});
      add("ffn_down_exps", {shape.experts, shape.dim, shape.hidden});
    } else {
      add("ffn_gate", {shape.hidden, shape.dim});
      add("ffn_up", {shape.hidden, shape.dim});
      add("ffn_down", {shape.dim, shape.hidden});
    }
  }
  return tensors;
}

}  // namespace hearth::tools
