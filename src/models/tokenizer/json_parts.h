// The normalizer and pre_tokenizer of a tokenizer.json.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_fields.h"
#include "models/tokenizer/normalizer.h"
#include "models/tokenizer/pre_tokenizer.h"

namespace hearth::models::tokens {

// Each throws Error{unsupported} with the type of a part that it does not know, and
// Error{corrupt_file} for what does not fit. Null adds nothing.
void add_normalizer(const JsonValue* value, const std::string& name,
                    std::vector<NormalizerStep>& steps);

// `by_bytes`: set where texts are seen as bytes from there on.
void add_pre_tokenizer(const JsonValue* value, const std::string& name,
                       std::vector<PreTokenizerStep>& steps, bool& by_bytes);

// Of an object with the field "pattern", {"String": x} or {"Regex": x}.
std::shared_ptr<const Pattern> read_pattern(const JsonFields& fields);

// The bytes that a field says in base64.
std::string base64_bytes(const JsonFields& fields, std::string_view key);

// Of a text among the merges: whether it is the first line of a merges.txt, which is none.
inline bool is_merges_version(std::string_view text) { return text.starts_with("#version"); }

}  // namespace hearth::models::tokens
