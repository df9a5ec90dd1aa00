// Server-sent events of an answer.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "core/json.h"
#include "tools/serve/exchange.h"

namespace hearth::tools::serve {

// Where a connection is closed all return false, from then on.
class EventStream {
 public:
  EventStream(Sink& sink, std::chrono::milliseconds ping) : sink_(sink), ping_(ping) {}

  bool send(const JsonValue& document) { return write("data: " + json_text(document) + "\n\n"); }
  bool send(std::string_view event, const JsonValue& document) {
    return write("event: " + std::string(event) + "\ndata: " + json_text(document) + "\n\n");
  }
  bool send_done() { return write("data: [DONE]\n\n"); }
  // A comment where nothing was sent for a while, so that what stands between does not give up;
  // also the first time that the reader may be gone, since that tells whether it is.
  bool keep_alive(bool may_be_gone) {
    const bool asks = may_be_gone && !has_asked_;
    has_asked_ = may_be_gone;
    const bool is_quiet = std::chrono::steady_clock::now() - last_ >= ping_;
    return asks || is_quiet ? write(": ping\n\n") : is_open_;
  }

 private:
  bool write(std::string_view bytes) {
    last_ = std::chrono::steady_clock::now();
    if (is_open_) is_open_ = sink_.write(bytes);
    return is_open_;
  }

  Sink& sink_;
  std::chrono::milliseconds ping_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  bool is_open_ = true, has_asked_ = false;
};

}  // namespace hearth::tools::serve
