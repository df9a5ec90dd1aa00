// The API over HTTP: sockets, threads, and what bounds those who call.
//
// A program may be built without what this needs; then making one throws Error{unsupported}.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "tools/serve/exchange.h"

namespace hearth::tools::serve {

struct HttpOptions {
  std::string host = "127.0.0.1";
  int port = 8080;  // 0: one that is free
  // Connections that are served at once. Others wait for a thread, and end those that wait for
  // their peers longest.
  std::size_t threads = 40;
  std::size_t most_head_bytes = 64 << 10;
  std::size_t most_body_bytes = 8 << 20;
  std::chrono::milliseconds read_time{20'000};   // for all of a request
  std::chrono::milliseconds write_time{10'000};  // that a reader may make a write wait
  std::chrono::milliseconds idle_time{6'000};    // that a connection is kept between requests
  std::chrono::milliseconds end_time{1'000};     // that all readers have when the server ends
};

class HttpTransport {
 public:
  // `answer` is called by many threads at once; where it throws, the answer is 500 and ends the
  // connection, and where there is no memory for that either the connection ends without a word.
  // Throws Error{unsupported}.
  HttpTransport(HttpOptions options, std::function<ApiResponse(const ApiRequest&)> answer);
  // Waits for requests that are being answered, but no longer than the options' end_time for those
  // who read the answers.
  ~HttpTransport();
  HttpTransport(const HttpTransport&) = delete;
  HttpTransport& operator=(const HttpTransport&) = delete;

  // Begins to listen, and returns the port. Throws Error{io} where the address is taken or unknown.
  int start();
  // Accepts no more, and closes connections between requests and those whose request is not there
  // a moment later.
  void stop();
  // Whether no request is being answered, after at most this time.
  bool wait_until_idle(std::chrono::milliseconds time);

 private:
  class Server;
  std::unique_ptr<Server> server_;
};

}  // namespace hearth::tools::serve
