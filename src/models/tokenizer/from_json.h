// Tokenizers of Hugging Face: the file tokenizer.json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/json.h"
#include "models/tokenizer/tokenizer.h"

namespace hearth::models {

// Models BPE, Unigram and WordPiece, with the normalizers, pre-tokenizers, post-processors and
// decoders that models use. `config` is the text of tokenizer_config.json, which says what the
// special tokens are, and has tokens that the file lacks; it may be empty. `ends` are tokens that
// end a text beside those that these texts name (end_tokens.h). Ids without a token, up to `rows`
// of a model that has more of them, are unused tokens. `source` begins messages. Throws
// Error{corrupt_file} for what is no such file, with the field or token, and Error{unsupported}
// with the part that is not known.
Tokenizer tokenizer_from_json(const std::string& json, const std::string& source,
                              const std::string& config = "",
                              std::span<const std::int64_t> ends = {}, std::size_t rows = 0);

// The same of a tokenizer.json that is parsed, by parse_json_object().
Tokenizer tokenizer_from_document(const JsonValue& document, const std::string& source,
                                  const std::string& config, std::span<const std::int64_t> ends,
                                  std::size_t rows);

}  // namespace hearth::models
