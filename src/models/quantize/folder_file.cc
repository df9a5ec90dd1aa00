#include "models/quantize/folder_file.h"

#include <filesystem>

#include "hearth/ops.h"
#include "hearth/quantization.h"
#include "io/gguf_types.h"
#include "io/text_file.h"
#include "models/files/model_folder.h"
#include "models/files/tensor_roles.h"
#include "models/language/family.h"
#include "models/language/folder/file_layout.h"
#include "models/loading/folder_contents.h"
#include "models/loading/load_model.h"
#include "models/quantize/tensor_types.h"
#include "models/tokenizer/end_tokens.h"
#include "models/tokenizer/file_limits.h"
#include "models/tokenizer/to_gguf.h"

namespace hearth::models {
namespace {

// Empty where there is no such file.
std::string text_of(const std::string& path, std::uint64_t most_bytes) {
  return path.empty() ? "" : io::read_text(path, most_bytes);
}

// The name of the folder, which files show.
std::string name_of(const std::string& path) {
  const std::filesystem::path whole = std::filesystem::absolute(path).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

// Formats of MLX that GGUF has not become floats of 16 bits, which hold their codes: f16 unless an
// element is beyond it.
Array as_file_holds(const Array& x) {
  if (io::gguf_type_number(x.dtype()) || !is_packed(x.dtype())) return x;
  constexpr double kLargestHalf = 65504;
  const bool is_half = x.size() == 0 || max(abs(dequantize(x))).item() <= kLargestHalf;
  return dequantize(x, is_half ? DType::f16 : DType::bf16);
}

}  // namespace

GgufContents file_of_folder(const std::string& path) {
  const ModelFolder folder = read_model_folder(path, Device::cpu());
  GgufContents contents = contents_of_folder(folder);
  // Of weights that are missing or do not fit, this throws; it computes nothing.
  make_language_model({.contents = contents, .kind = FileKind::folder, .tokenizer = {}});
  lay_out_as_file(contents);
  for (NamedArray& each : contents.arrays) {
    const bool is_small = is_float(each.array.dtype()) && !is_matrix(each.name, each.array.shape());
    each.array = is_small ? cast(each.array, DType::f32) : as_file_holds(each.array);
  }
  contents.metadata.set("general.type", "model");
  contents.metadata.set("general.name", name_of(path));
  if (folder.tokenizer.empty()) {
    contents.metadata.set("tokenizer.ggml.model", "none");
  } else {
    const Family& family = family_by_name(contents.metadata.as_text("general.architecture"));
    const TokenizerTexts texts{text_of(folder.tokenizer, kMaxTokenizerBytes),
                               text_of(folder.tokenizer_config, kMaxTokenizerBytes),
                               text_of(folder.chat_template, kMaxTemplateBytes),
                               text_of(folder.tool_template, kMaxTemplateBytes),
                               end_tokens_of_folder(path),
                               family.keeps_merges};
    add_tokenizer(contents.metadata, texts, vocabulary_of(contents.arrays), folder.tokenizer);
  }
  return contents;
}

}  // namespace hearth::models
