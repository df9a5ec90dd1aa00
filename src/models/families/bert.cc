// BERT and its kin (MiniLM, BGE), and RoBERTa and its (BGE-M3, multilingual E5): encoders with
// learned positions and norms around sums.
#include <cstdint>
#include <optional>
#include <string>

#include "hearth/error.h"
#include "hearth/ops.h"
#include "hearth/quantization/packed.h"
#include "models/families/key_rules.h"
#include "models/language/folder/config_values.h"

namespace hearth::models {
namespace {

constexpr std::string_view kBertDefaults =
    R"({"max_position_embeddings": 512, "hidden_size": 768, "intermediate_size": 3072,
        "num_hidden_layers": 12, "num_attention_heads": 12, "layer_norm_eps": 1e-12})";
constexpr std::string_view kRobertaOthers = R"({"pad_token_id": 1})";
constexpr FolderType kBertTypes[] = {{"bert", kBertDefaults},
                                     {"roberta", kBertDefaults, kRobertaOthers},
                                     {"xlm-roberta", kBertDefaults, kRobertaOthers},
                                     {"camembert", kBertDefaults, kRobertaOthers}};
constexpr KeyRule kBertKeys[] = {kLayerNormEps};
constexpr FixedValue kBertFixed[] = {
    {"position_embedding_type", "absolute"},
    {"is_decoder", false},
};

// The row of a text's first position: RoBERTa counts from that behind the token of padding. Files
// do not hold the rows before it.
std::int64_t first_position(const JsonObject& config) {
  if (find_text(config, "model_type") == "bert") return 0;
  const std::optional<std::int64_t> padding = find_count(config, "pad_token_id");
  if (padding) return *padding + 1;
  throw Error(ErrorCode::invalid_argument,
              "config.json: pad_token_id is missing; got none, expected the token behind whose "
              "number positions count");
}

void count_positions(const JsonObject& config, bool, GgufMetadata& metadata) {
  const std::int64_t first = first_position(config);
  if (first == 0) return;
  const std::int64_t rows = find_integer(config, "max_position_embeddings").value_or(0);
  if (rows <= first) {
    throw Error(ErrorCode::invalid_argument,
                "config.json: max_position_embeddings leaves texts no positions; got " +
                    std::to_string(rows) + ", expected more than " + std::to_string(first));
  }
  set_count(metadata, "bert.context_length", rows - first);
}

Array rows_of_positions(const Array& x, const FolderContext& context) {
  const std::int64_t first = context.config == nullptr ? 0 : first_position(*context.config);
  if (first == 0) return x;
  const std::int64_t rows = context.count("context_length");
  if (x.rank() != 2 || x.shape(0) != first + rows) {
    throw Error(ErrorCode::shape, "model: embeddings of positions do not fit; got " +
                                      to_string(x.shape()) + ", expected " +
                                      std::to_string(first + rows) + " rows");
  }
  return narrow(is_packed(x.dtype()) ? dequantize(x) : x, 0, first, rows);
}

constexpr TensorRule kBertTensors[] = {
    {"embeddings.word_embeddings", "token_embd"},
    {"embeddings.position_embeddings.weight", "position_embd.weight", rows_of_positions},
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
    {"lm_head", ""},
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
          .fixed = kBertFixed,
          .adjust_folder = count_positions};
}

}  // namespace hearth::models
