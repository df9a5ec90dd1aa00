// What is wrong with a field of an object of JSON.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "core/whole_message.h"

namespace hearth::tools {

class FieldError : public std::runtime_error {
 public:
  // what() is "param: detail".
  FieldError(std::string param, std::string detail, std::string code)
      : std::runtime_error(whole_message(param.empty() ? detail : param + ": " + detail)),
        param_(std::move(param)),
        detail_(std::move(detail)),
        code_(std::move(code)) {}

  // The field at fault, as "messages[0].role"; empty for none.
  const std::string& param() const noexcept { return param_; }
  // What is wrong with it.
  const std::string& detail() const noexcept { return detail_; }
  // A word for programs; empty for none.
  const std::string& code() const noexcept { return code_; }

 private:
  std::string param_, detail_, code_;
};

inline FieldError bad_field(const std::string& param, const std::string& detail,
                            const std::string& code = "") {
  return {param, detail, code};
}

}  // namespace hearth::tools
