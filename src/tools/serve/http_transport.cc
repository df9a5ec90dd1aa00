#include "tools/serve/http_transport.h"

#include <httplib.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "tools/serve/bounded_stream.h"
#include "tools/serve/connection_threads.h"
#include "tools/serve/free_memory.h"
#include "tools/serve/listen_error.h"
#include "tools/serve/packed_body.h"
#include "tools/serve/request_errors.h"

namespace hearth::tools::serve {
namespace {

constexpr std::size_t kMostRequests = 1000;  // of a connection
constexpr std::size_t kMostPathBytes = 256;
constexpr std::size_t kLargeExchange = 1 << 20;  // documents are many times their text's bytes
constexpr std::chrono::milliseconds kIdleSlice{10};
// Connections that wait for a thread. The library's own 5 loses those of users who come together.
constexpr int kMostArriving = 1024;

// The connection whose request this thread answers.
thread_local BoundedStream* connection_of_thread = nullptr;

// A request that is answered, counted among all that are.
class Active {
 public:
  explicit Active(std::atomic<int>& count) : count_(count) { ++count_; }
  ~Active() { --count_; }
  Active(const Active&) = delete;
  Active& operator=(const Active&) = delete;

 private:
  std::atomic<int>& count_;
};

class HttpSink final : public Sink {
 public:
  explicit HttpSink(httplib::DataSink& sink) : sink_(sink) {}
  bool write(std::string_view bytes) override {
    // Of the library's two signs of a closed connection the first is for small writes.
    return sink_.is_writable() && sink_.write(bytes.data(), bytes.size());
  }

 private:
  httplib::DataSink& sink_;
};

void set_response(ApiResponse given, httplib::Response& response) {
  response.status = given.status;
  for (const auto& [name, value] : given.headers) response.set_header(name, value);
  if (!given.stream) {
    if (!given.content_type.empty()) response.set_content(given.body, given.content_type);
    return;
  }
  response.set_header("Cache-Control", "no-cache");
  response.set_header("X-Accel-Buffering", "no");  // proxies pass events on as they come
  response.set_chunked_content_provider(
      given.content_type, [stream = std::move(given.stream)](std::size_t, httplib::DataSink& data) {
        HttpSink sink(data);
        stream(sink);
        if (!data.is_writable()) return false;
        data.done();
        return true;
      });
}

ApiRequest request_of(const httplib::Request& request) {
  const RequestHead& head = connection_of_thread->head();
  return {.method = request.method,
          .path = request.path,
          .body = {},
          .authorization = std::string(head.value("Authorization")),
          .origin = std::string(head.value("Origin")),
          .asked_headers = std::string(head.value("Access-Control-Request-Headers")),
          .is_open = [stream = connection_of_thread,
                      is_new = request.version == "HTTP/1.1"] { return stream->is_open(is_new); },
          .may_be_gone = [stream = connection_of_thread] { return stream->is_input_ended(); }};
}

}  // namespace

class HttpTransport::Server final : public httplib::Server {
 public:
  Server(HttpOptions options, std::function<ApiResponse(const ApiRequest&)> answer)
      : options_(std::move(options)), answer_(std::move(answer)) {
    set_payload_max_length(options_.most_body_bytes);
    // What answers promise; a second less than is kept, so that no request meets the end.
    set_keep_alive_max_count(kMostRequests);
    set_keep_alive_timeout(
        std::max(std::chrono::duration_cast<std::chrono::seconds>(options_.idle_time).count() - 1,
                 decltype(std::chrono::seconds().count()){1}));
    // One that is taken is refused, which the library's own options would share.
    set_socket_options([this](socket_t socket) {
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
      listening_ = socket;
    });
    new_task_queue = [this] { return threads_ = new ConnectionThreads(options_.threads); };
    // All is answered here but what has a body, which is read first.
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      if (connection_of_thread->head().has_body()) {
        if (request.method == "POST" && request.path.size() <= kMostPathBytes) {
          return HandlerResponse::Unhandled;
        }
        connection_of_thread->give_up();
      }
      set_response(answer_(request_of(request)), response);
      return HandlerResponse::Handled;
    });
    Post(".*", [this](const httplib::Request& request, httplib::Response& response,
                      const httplib::ContentReader& reader) { post(request, response, reader); });
    // What the library refuses by itself: the rest of a head. Where the next request begins is
    // unknown then.
    set_error_handler([](const httplib::Request&, httplib::Response& response) {
      if (!response.body.empty() || response.content_provider_) return;
      connection_of_thread->give_up();
      set_response(bad_request(response.status, response.status == 414
                                                    ? "the path of the request is too long"
                                                    : "the request is no HTTP that is understood")
                       .response(),
                   response);
    });
    // The library tells what was thrown in a header.
    set_exception_handler([](const httplib::Request&, httplib::Response& response,
                             const std::exception_ptr&) {
      connection_of_thread->give_up();
      response.headers.clear();
      set_response(ApiError(500, "the request could not be answered", "server_error").response(),
                   response);
    });
    // The library promises to go on with the connection.
    set_post_routing_handler([](const httplib::Request&, httplib::Response& response) {
      if (!connection_of_thread->is_given_up()) return;
      response.headers.erase("Keep-Alive");
      response.headers.erase("Connection");
      response.set_header("Connection", "close");
    });
  }

  ~Server() override {
    stop_all();
    end_.write_deadline = ServerEnd::Clock::now() + options_.end_time;
    if (thread_.joinable()) thread_.join();
  }

  int start() {
    const int port = options_.port;
    const bool is_bound = port == 0 ? (port_ = bind_to_any_port(options_.host)) > 0
                                    : bind_to_port(options_.host, port);
    // It listens already; asked again, the system takes the new length of the queue.
    if (!is_bound || ::listen(listening_, kMostArriving) != 0) {
      throw listen_error(options_.host, port);
    }
    if (port != 0) port_ = port;
    thread_ = std::thread([this] {
      listen_after_bind();
      has_ended_ = true;
    });
    while (!is_running() && !has_ended_) std::this_thread::sleep_for(kIdleSlice);
    return port_;
  }

  void stop_all() {
    if (end_.is_stopping.exchange(true)) return;
    if (thread_.joinable() && !has_ended_) httplib::Server::stop();
  }

  bool wait_until_idle(std::chrono::milliseconds time) {
    const auto until = std::chrono::steady_clock::now() + time;
    while (active_ > 0) {
      if (std::chrono::steady_clock::now() >= until) return false;
      std::this_thread::sleep_for(kIdleSlice);
    }
    return true;
  }

 private:
  // In place of the library's loop over the requests of a connection.
  bool process_and_close_socket(socket_t socket) override {
    const int yes = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    try {
      serve_connection(socket);
    } catch (...) {
      // No memory is left to say so by. Other connections go on.
    }
    connection_of_thread = nullptr;
    ::shutdown(socket, SHUT_RDWR);
    ::close(socket);
    return true;
  }

  void serve_connection(socket_t socket) {
    const auto stream = std::make_unique<BoundedStream>(socket, options_, *threads_, end_);
    connection_of_thread = stream.get();
    for (std::size_t left = kMostRequests; left > 0 && stream->begin_request(); --left) {
      const bool is_kept = serve_request(*stream, left == 1);
      if (stream->bytes_passed() >= kLargeExchange) give_memory_back();
      if (stream->is_given_up()) stream->drain();
      if (!is_kept || stream->is_given_up()) break;
    }
  }

  // Whether the connection may go on.
  bool serve_request(BoundedStream& stream, bool is_last) {
    const Active active(active_);
    if (const auto fault = stream.read_head()) {
      refuse(stream, *fault);
      return true;
    }
    bool is_closed = false;
    return process_request(stream, is_last || end_.is_stopping, is_closed, nullptr) && !is_closed;
  }

  void post(const httplib::Request& request, httplib::Response& response,
            const httplib::ContentReader& reader) {
    ApiRequest asked = request_of(request);
    bool is_too_long = false;
    const bool is_read = reader([&](const char* bytes, std::size_t size) {
      is_too_long = asked.body.size() + size > options_.most_body_bytes;
      if (!is_too_long) asked.body.append(bytes, size);
      return !is_too_long;
    });
    const bool is_packed = connection_of_thread->head().is_packed();
    if (is_read && is_packed) {
      auto unpacked = unpack_body(asked.body, options_.most_body_bytes);
      const std::optional<ApiError> fault =
          !unpacked
              ? bad_request(400, "the body is not, or not all, of what its Content-Encoding says")
          : unpacked->is_too_long ? too_long_body(options_.most_body_bytes)
                                  : std::optional<ApiError>();
      if (fault) {
        connection_of_thread->give_up();
        return set_response(fault->response(), response);
      }
      asked.body = std::move(unpacked->bytes);
    }
    if (is_read) return set_response(answer_(asked), response);
    connection_of_thread->give_up();
    response.headers.clear();
    set_response(
        (is_too_long ? too_long_body(options_.most_body_bytes)
                     : error_of_body(connection_of_thread->refusal(), options_.most_body_bytes))
            .response(),
        response);
  }

  // Answers a head that the library does not get to see.
  static void refuse(BoundedStream& stream, const ApiError& error) {
    const ApiResponse refused = error.response();
    std::string answer = "HTTP/1.1 " + std::to_string(refused.status) + " \r\n";
    for (const auto& [name, value] : refused.headers) answer += name + ": " + value + "\r\n";
    answer += "Connection: close\r\nContent-Type: " + refused.content_type +
              "\r\nContent-Length: " + std::to_string(refused.body.size()) + "\r\n\r\n" +
              refused.body;
    stream.write(answer.data(), answer.size());
  }

  HttpOptions options_;
  std::function<ApiResponse(const ApiRequest&)> answer_;
  ServerEnd end_;
  std::atomic<bool> has_ended_ = false;
  std::atomic<int> active_ = 0;
  std::thread thread_;
  ConnectionThreads* threads_ = nullptr;  // the library's, and there while a connection is served
  int port_ = 0;
  socket_t listening_ = -1;  // the last that was tried, which is the one that was bound
};

HttpTransport::HttpTransport(HttpOptions options,
                             std::function<ApiResponse(const ApiRequest&)> answer)
    : server_(std::make_unique<Server>(std::move(options), std::move(answer))) {}
HttpTransport::~HttpTransport() = default;
int HttpTransport::start() { return server_->start(); }
void HttpTransport::stop() { server_->stop_all(); }
bool HttpTransport::wait_until_idle(std::chrono::milliseconds time) {
  return server_->wait_until_idle(time);
}

}  // namespace hearth::tools::serve
