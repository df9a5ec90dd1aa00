// The head of a request, read as RFC 9112 has it and not otherwise: the library passes over what it
// does not understand. Whoever passes requests on may read that in another way, and find another
// end of the request.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/serve/api_error.h"

namespace hearth::tools::serve {

// Of a head behind its first line, which the library bounds by itself.
inline constexpr std::size_t kMostLineBytes = 8192;

class RequestHead {
 public:
  RequestHead(std::size_t most_bytes, std::size_t most_body_bytes)
      : most_bytes_(most_bytes), most_body_bytes_(most_body_bytes) {}

  // The byte that comes next; what is wrong with the head so far, after which it takes no more.
  std::optional<ApiError> take(char byte);
  // The empty line behind it has come, too.
  bool is_whole() const noexcept { return is_whole_; }
  // Of all that was taken.
  std::size_t size() const noexcept { return bytes_; }

  // For the library: what it has to know, and a target that is a path without a query. Of a whole
  // head.
  const std::string& text() const noexcept { return text_; }
  // As it was written, without spaces around it; empty where there is none. Any case of letters.
  std::string_view value(std::string_view name) const;
  bool is_chunked() const { return !value("Transfer-Encoding").empty(); }
  bool has_body() const { return is_chunked() || !value("Content-Length").empty(); }
  // gzip and deflate, both of which say by themselves what they are.
  bool is_packed() const noexcept { return is_packed_; }

 private:
  std::optional<ApiError> take_line();
  std::optional<ApiError> take_first_line();
  std::optional<ApiError> take_field();
  // Of the whole: whom it asks, what says where the body ends, and what it is.
  std::optional<ApiError> check();
  std::optional<ApiError> check_length() const;
  std::size_t count(std::string_view name) const;
  // Whether the word is one of those between commas in fields of this name.
  bool is_listed(std::string_view name, std::string_view word) const;

  std::size_t most_bytes_, most_body_bytes_;
  std::size_t bytes_ = 0;
  std::string line_, text_;
  std::vector<std::pair<std::string, std::string>> fields_;
  bool is_version_1_0_ = false, is_packed_ = false, is_whole_ = false;
};

}  // namespace hearth::tools::serve
