#include "tools/serve/request_errors.h"

#include "core/counted.h"
#include "tools/serve/request_head.h"

namespace hearth::tools::serve {

ApiError bad_request(int status, const std::string& message) {
  return {status, message, "invalid_request_error"};
}

ApiError too_long_body(std::size_t most_bytes) {
  return bad_request(413, "the body is too long; expected at most " + counted(most_bytes, "byte"));
}

ApiError too_long_head(std::size_t most_bytes) {
  return bad_request(431, "the head of the request is too long; expected at most " +
                              counted(most_bytes, "byte") + ", and " +
                              std::to_string(kMostLineBytes) + " in a line");
}

ApiError error_of_head(Refusal refusal) {
  if (refusal == Refusal::stopping) return stopping();
  return bad_request(408, refusal == Refusal::crowded
                              ? "the head came slowly, and others needed the connection"
                              : "the head of the request did not come in time, or broke off");
}

ApiError error_of_body(Refusal refusal, std::size_t most_bytes) {
  switch (refusal) {
    case Refusal::unfinished:
      return bad_request(408, "the body did not come in time, or broke off");
    case Refusal::stopping:
      return stopping();
    case Refusal::crowded:
      return bad_request(408, "the body came slowly, and others needed the connection");
    case Refusal::too_long:
      return too_long_body(most_bytes);
    case Refusal::malformed:
      return bad_request(400,
                         "a chunk of the body is malformed; expected its size in hexadecimal "
                         "digits, and so many bytes, each with an end of line");
    case Refusal::none:
      break;
  }
  return bad_request(400, "the body is malformed");
}

}  // namespace hearth::tools::serve
