#include "tools/serve/token_fields.h"

#include "tools/chat_json/fields.h"

namespace hearth::tools::serve {

FieldError no_token(const std::string& param, const std::string& got,
                    const models::Tokenizer& tokenizer) {
  return bad_field(param, "is no token of the model; got " + got + ", expected 0 to " +
                              std::to_string(tokenizer.size() - 1));
}

std::int32_t token_of(const JsonValue& value, const std::string& param,
                      const models::Tokenizer& tokenizer) {
  const auto token = whole_number(value);
  if (!token || *token < 0 || *token >= static_cast<std::int64_t>(tokenizer.size())) {
    throw no_token(param, shown(value), tokenizer);
  }
  return static_cast<std::int32_t>(*token);
}

}  // namespace hearth::tools::serve
