// What sets one family of language models apart. A family is one file of src/models/families/; what
// its files say themselves (numbers, which tensors there are) is not repeated there.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "core/json.h"
#include "hearth/array.h"
#include "hearth/gguf.h"
#include "hearth/io.h"
#include "models/language/config.h"
#include "models/language/keys.h"

namespace hearth::models {

// Where a model's files come from. Folders are Hugging Face's, which are read as the GGUF file that
// they would become (folder/folder_model.h), but that rows of queries and keys stay in their order.
enum class FileKind : std::uint8_t { gguf, folder };

// What a value of config.json is; whole numbers are numbers, too, and become floats as such.
enum class ConfigType : std::uint8_t { integer, number, flag, text };

// A value of config.json, in `text_config` where there is one, and GGUF's key for it without the
// architecture.
struct KeyRule {
  std::string_view key;   // "hidden_size", "a.b" of an object in it
  std::string_view gguf;  // "embedding_length"
  ConfigType type = ConfigType::integer;
};

// A model_type of config.json.
struct FolderType {
  std::string_view name;
  // What keys are worth that the file leaves out, as transformers has it: a JSON object. What the
  // family takes for them anyhow, as nulls, zeros and mostly false, need not be in it.
  std::string_view defaults;
  std::string_view others = {};  // likewise, in place of some of `defaults`; a null: none
  // Whether it has windows (sliding_window) and caps of scores (attn_logit_softcapping and
  // final_logit_softcapping). Where not, files say nothing by these keys.
  bool has_windows = false, has_softcaps = false;
  // Likewise whether layer_types says which layers have windows; where not, all have them or none.
  bool has_layer_types = true;
  // Where another family has the name, too: the key that configurations of this one have, above 0.
  std::string_view mark = {};
};

// What a transform of a folder's tensor may ask for.
struct FolderContext {
  const GgufMetadata& metadata;
  std::string_view architecture;
  // What the folder says, with what it leaves out; null: a tensor of an adapter.
  const JsonObject* config = nullptr;

  // 1 to kMostCount. Throws Error{invalid_argument} with the key for other numbers, and where there
  // is none: nothing else has looked at what a folder says.
  std::int64_t count(std::string_view key) const;
};

// The tensors of a folder whose names begin so, up to a dot or the end; the rest, like ".weight",
// stays behind GGUF's name. {} stands for the layer, and a second one for the expert, whose tensors
// are stacked. Several rules of one name make several tensors of one.
struct TensorRule {
  std::string_view name;  // "model.layers.{}.self_attn.q_proj"
  std::string_view gguf;  // "blk.{}.attn_q"; empty: not read
  // Values that the file would hold; null: the same.
  Array (*transform)(const Array& x, const FolderContext& context) = nullptr;
  bool is_transposed = false;  // folders hold the matrix as [in, out]
};

// A key of config.json, in `text_config` where there is one, whose only value this is, where it is
// said at all: what the code takes for granted. Folders that say else are refused.
struct FixedValue {
  std::string_view key;
  std::variant<bool, double, std::string_view> value;
};

// Of which models of 80 layers values are small beside the rest, so that mixes of dtypes
// (quantize/mixes.h) give them more bits: where heads share them, or whatever heads do.
enum class FewValues : std::uint8_t { never, where_shared, always };

// What rope.scaling.yarn_log_multiplier of files, mscale_all_dim of folders, changes.
enum class YarnMultiplier : std::uint8_t {
  none,   // nothing: files have no such key
  turns,  // cosines and sines are divided by rope_magnitude() of mscale_all_dim
  // Scores are multiplied by the square of that, and cosines and sines by rope.scaling.attn_factor
  // alone. Files have a tenth of mscale_all_dim.
  scores,
};

struct Family {
  std::string_view architecture;                 // general.architecture of GGUF files
  std::span<const FolderType> model_types = {};  // of config.json

  // ---- What no file says
  NormPlaces places = NormPlaces::before;
  std::string_view feed_forward_norm = "ffn_norm";  // before the feed-forward
  bool norms_first_mixer = true;                    // LanguageConfig::norms_first_mixer
  bool has_norm_weights = true;                     // LanguageConfig::has_norm_weights
  Activation activation = Activation::silu;         // where files do not say
  bool scales_embedding = false;                    // by the square root of `dim`
  RopePairs rope = RopePairs::halves;
  // partial_rotary_factor of folders says how much of a head turns; where not, all of it does.
  bool turns_parts = false;
  YarnMultiplier yarn_multiplier = YarnMultiplier::none;
  // GGUF's rows of queries and keys are in an order that makes neighbours of halves.
  bool is_permuted = false;
  // Of all layers; delta: of those that files say, else of three of four.
  Mixer mixer = Mixer::attention;
  // Each row sees all rows of its text. Unless the file names a pooling, their mean is its vector.
  bool is_encoder = false;
  bool tiles_values = false;   // DeltaConfig::is_tiled, of GGUF files
  bool gates_heads = false;    // queries of heads bring gates
  double attention_scale = 0;  // of scores, whatever files say; 0: what they say
  bool norms_values = false;   // AttentionConfig::norms_values
  bool norms_turned = false;   // AttentionConfig::norms_turned
  // Every n-th layer sees all keys, the others a window; 1: all of them, 0: none. Files may say
  // else.
  std::int64_t window_period = 1;
  bool sees_all_first = false;  // the first of n layers sees all keys, not the n-th
  // In layers with a window: whether positions are scaled and divided as in others, and what turns
  // them where files do not say; 0: what turns the others.
  bool scales_windows = true;
  double window_base = 0;
  bool is_normalised = false;  // weights of chosen experts, where the file does not say
  RouterGate router = RouterGate::softmax;
  bool has_both = false;  // layers with experts have a feed-forward beside them
  // No key of a file says that blocks run side by side; a layer with one norm for both does.
  bool may_share_norm = false;
  // The rest, once all keys are read.
  void (*adjust)(LanguageConfig& config, const Keys& keys, FileKind kind) = nullptr;

  // ---- Folders: beside standard_keys() and standard_tensors()
  std::span<const KeyRule> keys = {};
  std::span<const TensorRule> tensors = {};
  std::span<const FixedValue> fixed = {};
  // The rest of the keys: of config.json, or of the text_config in it.
  void (*adjust_folder)(const JsonObject& config, bool is_text_config,
                        GgufMetadata& metadata) = nullptr;
  // Tensors that files have as keys: of all that rules made of the folder's.
  void (*adjust_contents)(GgufContents& contents) = nullptr;
  // Files hold the weights of the output even where they are those of the embedding.
  bool repeats_output = false;

  // ---- Files that are written
  FewValues few_values = FewValues::never;
  // Tokenizers of pairs of code points keep their merges (GGUF's kind "gemma4"); else the ranks of
  // merges are scores (its kind "llama").
  bool keeps_merges = false;
};

// All of src/models/families/x.cc, each of which defines `Family x_family()`. Found when the build
// is configured: none is listed by hand.
const std::vector<Family>& families();
// Null where there is none.
const Family* find_family(std::string_view architecture);
// Throws Error{unsupported} with all names where there is none.
const Family& family_by_name(std::string_view architecture);
// `config`, which may be empty, tells apart families that have the type both.
const Family* find_family_of_folder(std::string_view model_type, const JsonObject& config = {});

}  // namespace hearth::models
