// What the API is asked and what it answers, without a word of how it travels: tests ask it in
// their own process, `hearth serve` over HTTP (http_transport.h).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hearth::tools::serve {

// Where an answer goes that is written while it is made. One thread.
class Sink {
 public:
  virtual ~Sink() = default;
  // False where nobody reads any more.
  virtual bool write(std::string_view bytes) = 0;
};

struct ApiRequest {
  std::string method;  // in capitals
  std::string path;    // without the query
  std::string body;
  std::string authorization;    // the header's value, empty without one
  std::string origin;           // the same
  std::string asked_headers{};  // of a preflight request: those that the page would send
  // Whether the one who asked still waits; called by the thread that answers. Unset: always.
  std::function<bool()> is_open;
  // Whether no more comes from who asked, who then may have gone, or may not: what is written next
  // tells. Called as is_open. Unset: never.
  std::function<bool()> may_be_gone = {};

  bool still_waits() const { return !is_open || is_open(); }
};

struct ApiResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  // Set: what writes the body, piece by piece, instead of `body`. Called once, by the thread that
  // asked. Throws only where there is no memory to say what went wrong: the body has no end then.
  std::function<void(Sink&)> stream = {};
};

}  // namespace hearth::tools::serve
