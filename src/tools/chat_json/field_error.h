// What is wrong with a field of an object of JSON.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "core/whole_message.h"

namespace hearth::tools {

class FieldError : public std::runtime_error {
 public:
  FieldError(const std::string& message, std::string param, std::string code)
      : std::runtime_error(message), param_(std::move(param)), code_(std::move(code)) {}

  // The field at fault, as "messages[0].role"; empty for none.
  const std::string& param() const noexcept { return param_; }
  // A word for programs; empty for none.
  const std::string& code() const noexcept { return code_; }

 private:
  std::string param_, code_;
};

// "param: message".
inline FieldError bad_field(const std::string& param, const std::string& message,
                            const std::string& code = "") {
  return {whole_message(param.empty() ? message : param + ": " + message), param, code};
}

}  // namespace hearth::tools
