// Tokens that end answers, as the configurations of a folder name them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hearth::models {

// The eos_token_id, a number or an array, of generation_config.json, then of config.json, also of
// the text_config in it; each once. Texts may be empty, `source` begins messages. Throws
// Error{corrupt_file} for what is no JSON object and for values of another type.
std::vector<std::int64_t> end_tokens_of(const std::string& generation_config,
                                        const std::string& config, const std::string& source);

// Of the files of a folder, none of which need be there. Throws Error{io}, too.
std::vector<std::int64_t> end_tokens_of_folder(const std::string& folder);

}  // namespace hearth::models
