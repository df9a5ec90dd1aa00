#include "tools/serve/request_errors.h"

#include <algorithm>

#include "core/counted.h"

namespace hearth::tools::serve {

ApiError bad_request(int status, const std::string& message) {
  return {status, message, "invalid_request_error"};
}

ApiError too_long_body(std::size_t most_bytes) {
  return bad_request(413, "the body is too long; expected at most " + counted(most_bytes, "byte"));
}

ApiError error_of_head(int status, Refusal refusal, std::size_t most_bytes) {
  switch (refusal) {
    case Refusal::unfinished:
      return bad_request(408, "the head of the request did not come in time, or broke off");
    case Refusal::stopping:
      return stopping();
    case Refusal::crowded:
      return bad_request(408, "the head came slowly, and others needed the connection");
    case Refusal::too_long:
      return bad_request(431, "the head of the request is too long; expected at most " +
                                  counted(most_bytes, "byte") + ", and " +
                                  std::to_string(kMostLineBytes) + " in a line");
    case Refusal::malformed:
    case Refusal::none:
      break;
  }
  if (status == 414) return bad_request(414, "the path of the request is too long");
  return bad_request(status, "the request is no HTTP that is understood");
}

std::optional<ApiError> refusal_of_body(const httplib::Request& request, std::size_t most_bytes) {
  const std::size_t lengths = request.get_header_value_count("Content-Length");
  const std::size_t encodings = request.get_header_value_count("Transfer-Encoding");
  if (lengths + encodings > 1) {
    return bad_request(400, "the length of the body is said more than once");
  }
  if (encodings == 1) {
    std::string encoding = request.get_header_value("Transfer-Encoding");
    std::transform(encoding.begin(), encoding.end(), encoding.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    if (encoding != "chunked") {
      return bad_request(501, "a Transfer-Encoding that is not known; expected chunked");
    }
  }
  if (lengths == 1) {
    std::string length = request.get_header_value("Content-Length");
    if (length.empty() || length.find_first_not_of("0123456789") != std::string::npos) {
      return bad_request(400, "Content-Length is no number");
    }
    length.erase(0, std::min(length.find_first_not_of('0'), length.size() - 1));
    const std::string most = std::to_string(most_bytes);
    if (length.size() > most.size() || (length.size() == most.size() && length > most)) {
      return too_long_body(most_bytes);
    }
  }
  if (request.is_multipart_form_data()) {
    return bad_request(415, "a form of several parts; expected application/json");
  }
  return std::nullopt;
}

bool has_body(const httplib::Request& request) {
  return request.has_header("Content-Length") || is_chunked(request);
}

// All other encodings are refused.
bool is_chunked(const httplib::Request& request) { return request.has_header("Transfer-Encoding"); }

ApiError error_of_body(const httplib::Request& request, int status, Refusal refusal,
                       std::size_t most_bytes) {
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
  if (status == 413) return too_long_body(most_bytes);
  if (status == 415) return bad_request(415, "a Content-Encoding that is not known");
  return bad_request(400, request.has_header("Content-Encoding")
                              ? "the body is not of the kind that its Content-Encoding says"
                              : "the body is malformed");
}

}  // namespace hearth::tools::serve
