// The chat templates in a tokenizer_config.json.
#pragma once

#include <string>
#include <vector>

namespace hearth::models::tokens {

struct NamedTemplate {
  std::string name;  // "default", "tool_use", ...
  std::string text;
};

// `chat_template` of the text of a tokenizer_config.json, which may be empty: one with the name
// "default", or several with names of their own; nothing where the key is missing or null. `source`
// begins messages. Throws Error{corrupt_file} for templates of another type; what is no JSON has
// none.
std::vector<NamedTemplate> config_templates(const std::string& config, const std::string& source);

}  // namespace hearth::models::tokens
