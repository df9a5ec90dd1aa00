// BERT and its kin (MiniLM, BGE): encoders with learned positions and norms around sums.
#include "models/families/key_rules.h"

namespace hearth::models {
namespace {

constexpr std::string_view kBertDefaults =
    R"({"max_position_embeddings": 512, "hidden_size": 768, "intermediate_size": 3072,
        "num_hidden_layers": 12, "num_attention_heads": 12, "layer_norm_eps": 1e-12})";
constexpr FolderType kBertTypes[] = {{"bert", kBertDefaults}};
constexpr KeyRule kBertKeys[] = {kLayerNormEps};
constexpr FixedValue kBertFixed[] = {
    {"position_embedding_type", "absolute"},
    {"is_decoder", false},
};
constexpr TensorRule kBertTensors[] = {
    {"embeddings.word_embeddings", "token_embd"},
    {"embeddings.position_embeddings", "position_embd"},
    {"embeddings.token_type_embeddings", "token_types"},
    {"embeddings.position_ids", ""},
    {"embeddings.LayerNorm", "token_embd_norm"},
    {"encoder.layer.{}.attention.self.query", "blk.{}.attn_q"},
    {"encoder.layer.{}.attention.self.key", "blk.{}.attn_k"},
    {"encoder.layer.{}.attention.self.value", "blk.{}.attn_v"},
    {"encoder.layer.{}.attention.output.dense", "blk.{}.attn_output"},
    {"encoder.layer.{}.attention.output.LayerNorm", "blk.{}.attn_output_norm"},
    {"encoder.layer.{}.intermediate.dense", "blk.{}.ffn_up"},
    {"encoder.layer.{}.output.dense", "blk.{}.ffn_down"},
    {"encoder.layer.{}.output.LayerNorm", "blk.{}.layer_output_norm"},
    {"pooler", ""},
    {"cls", ""},
};

}  // namespace

Family bert_family() {
  return {.architecture = "bert",
          .model_types = kBertTypes,
          .places = NormPlaces::around_sum,
          .activation = Activation::gelu,
          .rope = RopePairs::none,
          .is_encoder = true,
          .keys = kBertKeys,
          .tensors = kBertTensors,
          .fixed = kBertFixed};
}

}  // namespace hearth::models
