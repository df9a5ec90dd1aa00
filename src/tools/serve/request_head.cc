#include "tools/serve/request_head.h"

#include <algorithm>

#include "core/quoted.h"
#include "core/trimmed.h"
#include "tools/serve/packed_body.h"
#include "tools/serve/request_errors.h"

namespace hearth::tools::serve {
namespace {

constexpr std::size_t kMostShown = 40;
// All else is read here: the library decodes values as those of forms before it looks at them, does
// ranges and packs by itself.
constexpr const char* kReadByLibrary[] = {"Content-Length", "Transfer-Encoding"};
constexpr std::string_view kWaits = "100-continue";  // for the server's word before the body

char small_letter(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return small_letter(x) == small_letter(y); });
}

// Of names and methods.
bool is_token_byte(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_byte);
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::string_view without_blanks(std::string_view text) { return trimmed(text, " \t"); }

ApiError bad_head(const std::string& what, std::string_view got, const std::string& expected) {
  return bad_request(400, "the head of the request: " + what + "; got " + quoted(got, kMostShown) +
                              ", expected " + expected);
}

// The path of a target that names the server, too, as those of proxies do; empty where it names
// none.
std::string path_of(std::string_view target) {
  const std::size_t scheme = target.find("://");
  const std::string_view word = target.substr(0, scheme);
  if (scheme == std::string_view::npos ||
      !(is_same_word(word, "http") || is_same_word(word, "https")))
    return {};
  target.remove_prefix(scheme + 3);
  const std::size_t path = std::min(target.find_first_of("/?#"), target.size());
  if (path == 0) return {};
  target.remove_prefix(path);
  return (target.starts_with('/') ? "" : "/") + std::string(target);
}

}  // namespace

std::optional<ApiError> RequestHead::take(char byte) {
  line_ += byte;
  if (++bytes_ > most_bytes_ || (!text_.empty() && line_.size() > kMostLineBytes)) {
    return too_long_head(most_bytes_);
  }
  const bool is_behind_cr = line_.size() > 1 && line_[line_.size() - 2] == '\r';
  if (byte == '\0' || is_behind_cr != (byte == '\n')) {
    return bad_head(byte == '\0' ? "a NUL byte" : "a line that ends otherwise", line_,
                    "lines that end in \\x0d\\x0a, of no such bytes");
  }
  return byte == '\n' ? take_line() : std::nullopt;
}

std::optional<ApiError> RequestHead::take_line() {
  line_.resize(line_.size() - 2);
  // One may stand behind the body of the request before.
  if (bytes_ == 2 && line_.empty()) return std::nullopt;
  std::optional<ApiError> fault;
  if (text_.empty()) {
    fault = take_first_line();
  } else if (!line_.empty()) {
    fault = take_field();
  } else {
    // By the one spelling that the library knows.
    if (is_same_word(value("Expect"), kWaits)) text_ += "Expect: " + std::string(kWaits) + "\r\n";
    if (is_listed("Connection", "close")) {
      text_ += "Connection: close\r\n";
    } else if (is_version_1_0_ && is_listed("Connection", "keep-alive")) {
      text_ += "Connection: Keep-Alive\r\n";
    }
    text_ += "\r\n";
    is_whole_ = true;
    fault = check();
  }
  line_.clear();
  return fault;
}

std::optional<ApiError> RequestHead::take_first_line() {
  const std::size_t first = line_.find(' ');
  const std::size_t last = line_.rfind(' ');
  const std::string method = line_.substr(0, first);
  if (first == last || !is_token(method) || std::any_of(line_.begin(), line_.end(), is_control) ||
      line_.find(' ', first + 1) != last) {
    return bad_head("a first line that is no HTTP that is understood", line_, "GET /path HTTP/1.1");
  }
  std::string target = line_.substr(first + 1, last - first - 1);
  const std::string version = line_.substr(last + 1);
  is_version_1_0_ = version == "HTTP/1.0";
  if (!is_version_1_0_ && version != "HTTP/1.1") {
    return bad_head("another version than is understood", version, "HTTP/1.1 or HTTP/1.0");
  }
  if (!target.starts_with('/') && !(target == "*" && method == "OPTIONS")) {
    std::string path = path_of(target);
    if (path.empty()) {
      return bad_head("a target that is none", target, "a path, or http://, a server and a path");
    }
    target = std::move(path);
  }
  // No endpoint has a query, and some of the library's are none.
  target.resize(std::min(target.find_first_of("?#"), target.size()));
  text_ = method + " " + target + " " + version + "\r\n";
  return std::nullopt;
}

std::optional<ApiError> RequestHead::take_field() {
  const std::size_t colon = line_.find(':');
  const std::string_view name = std::string_view(line_).substr(0, colon);
  if (is_blank(line_.front())) {
    return bad_head("a line that begins with a space, as none may go on in a next", line_,
                    "Name: value");
  }
  if (colon == std::string::npos || !is_token(name)) {
    return bad_head("a line without a name, or with other bytes before its colon", line_,
                    "Name: value");
  }
  const std::string_view value = without_blanks(std::string_view(line_).substr(colon + 1));
  if (std::any_of(value.begin(), value.end(), [](char c) { return is_control(c) && c != '\t'; })) {
    return bad_head("a control character in " + std::string(name), value, "characters that show");
  }
  fields_.emplace_back(name, value);
  for (const char* read : kReadByLibrary) {
    if (is_same_word(name, read)) text_ += std::string(name) + ": " + std::string(value) + "\r\n";
  }
  return std::nullopt;
}

std::string_view RequestHead::value(std::string_view name) const {
  for (const auto& [other, value] : fields_) {
    if (is_same_word(name, other)) return value;
  }
  return {};
}

bool RequestHead::is_listed(std::string_view name, std::string_view word) const {
  for (const auto& [other, value] : fields_) {
    if (!is_same_word(name, other)) continue;
    for (std::string_view rest = value; !rest.empty();) {
      const std::size_t end = std::min(rest.find(','), rest.size());
      if (is_same_word(without_blanks(rest.substr(0, end)), word)) return true;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return false;
}

std::size_t RequestHead::count(std::string_view name) const {
  return static_cast<std::size_t>(
      std::count_if(fields_.begin(), fields_.end(),
                    [&](const auto& field) { return is_same_word(name, field.first); }));
}

std::optional<ApiError> RequestHead::check() {
  for (const char* name : {"Host", "Authorization"}) {
    if (count(name) > 1) {
      return bad_request(400, "the head of the request: " + std::string(name) +
                                  " is there more than once; expected one");
    }
  }
  if (!is_version_1_0_ && count("Host") == 0) {
    return bad_request(400, "the head of the request: Host is missing; expected it in HTTP/1.1");
  }
  if (auto fault = check_length()) return fault;
  if (!has_body()) return std::nullopt;
  constexpr std::string_view kForm = "multipart/form-data";
  if (is_same_word(value("Content-Type").substr(0, kForm.size()), kForm)) {
    return bad_request(415, "a form of several parts; expected application/json");
  }
  const std::string_view encoding = value("Content-Encoding");
  is_packed_ = is_same_word(encoding, "gzip") || is_same_word(encoding, "deflate");
  if (is_packed_ ? can_unpack() && count("Content-Encoding") == 1
                 : encoding.empty() || is_same_word(encoding, "identity")) {
    return std::nullopt;
  }
  return bad_request(415, "a Content-Encoding that is not known; got " +
                              quoted(encoding, kMostShown) + ", expected " +
                              (can_unpack() ? "gzip, deflate or none" : "none"));
}

std::optional<ApiError> RequestHead::check_length() const {
  const std::size_t lengths = count("Content-Length");
  const std::size_t encodings = count("Transfer-Encoding");
  if (lengths + encodings > 1) {
    return bad_request(400,
                       "the length of the body is said more than once; expected one "
                       "Content-Length, or Transfer-Encoding: chunked");
  }
  const std::string_view encoding = value("Transfer-Encoding");
  if (encodings == 1) {
    if (encoding.empty()) return bad_head("Transfer-Encoding without a value", "", "chunked");
    if (is_version_1_0_) {
      return bad_head("Transfer-Encoding in HTTP/1.0", encoding, "Content-Length there");
    }
    if (is_same_word(encoding, "chunked")) return std::nullopt;
    return bad_request(501, "a Transfer-Encoding that is not known; got " +
                                quoted(encoding, kMostShown) + ", expected chunked");
  }
  if (lengths == 0) return std::nullopt;
  std::string_view length = value("Content-Length");
  if (length.empty() || length.find_first_not_of("0123456789") != std::string_view::npos) {
    return bad_head("Content-Length is no number", length, "digits");
  }
  length.remove_prefix(std::min(length.find_first_not_of('0'), length.size() - 1));
  const std::string most = std::to_string(most_body_bytes_);
  if (length.size() > most.size() || (length.size() == most.size() && length > most)) {
    return too_long_body(most_body_bytes_);
  }
  return std::nullopt;
}

}  // namespace hearth::tools::serve
