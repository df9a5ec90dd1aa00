// Tokens that requests name by their numbers.
#pragma once

#include <cstdint>
#include <string>

#include "core/json.h"
#include "models/tokenizer/tokenizer.h"
#include "tools/chat_json/field_error.h"

namespace hearth::tools::serve {

FieldError no_token(const std::string& param, const std::string& got,
                    const models::Tokenizer& tokenizer);

// The token whose number the value in the field `param` is. Throws FieldError.
std::int32_t token_of(const JsonValue& value, const std::string& param,
                      const models::Tokenizer& tokenizer);

}  // namespace hearth::tools::serve
