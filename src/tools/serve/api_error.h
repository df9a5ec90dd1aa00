// Refusals as OpenAI's clients read them.
#pragma once

#include <stdexcept>
#include <string>

#include "core/json.h"
#include "core/whole_message.h"
#include "tools/serve/exchange.h"

namespace hearth::tools::serve {

// {"error": {message, type, param, code}}. `type` and `code` are words for programs; `param` is the
// field at fault, empty for none.
class ApiError : public std::runtime_error {
 public:
  ApiError(int status, const std::string& message, std::string type, std::string param = "",
           std::string code = "")
      : std::runtime_error(whole_message(message)),
        status_(status),
        type_(std::move(type)),
        param_(std::move(param)),
        code_(std::move(code)) {}

  int status() const noexcept { return status_; }
  const std::string& param() const noexcept { return param_; }
  JsonValue document() const;
  // 429 and 503 ask to come again.
  ApiResponse response() const;

 private:
  int status_;
  std::string type_, param_, code_;
};

// 503, of an answer that the server does not finish because it ends.
ApiError stopping();
// 503, of an answer that nobody waits for.
ApiError cancelled();

// The exception that is being handled. What the request did is 400, a full queue 429, memory that
// there is not 503, anything else 500.
ApiError error_of_exception();

}  // namespace hearth::tools::serve
