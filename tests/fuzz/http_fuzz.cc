// Sends arbitrary bytes to the server of `hearth serve` as requests of one connection; the first
// byte says behind how many of them the sender waits a moment. Whatever comes is answered by whole
// responses or by nothing, and what the API is asked is within the limits of the transport.

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include "core/json.h"
#include "tools/serve/http_transport.h"

namespace {

using hearth::tools::serve::ApiRequest;
using hearth::tools::serve::ApiResponse;
using hearth::tools::serve::HttpOptions;
using hearth::tools::serve::HttpTransport;
using hearth::tools::serve::Sink;

constexpr std::size_t kMaxInput = 1 << 14;
constexpr std::size_t kMostHead = 1 << 11, kMostBody = 1 << 11;

void require(bool holds) {
  if (!holds) std::abort();
}

// Tells what was asked: in one piece, or, of paths that end with "s", in several.
ApiResponse answer(const ApiRequest& request) {
  require(request.body.size() <= kMostBody && request.path.size() <= kMostHead);
  require(request.authorization.size() <= kMostHead && request.origin.size() <= kMostHead);
  if (request.is_open) request.is_open();
  const hearth::JsonObject told = {{"method", request.method},
                                   {"path", request.path},
                                   {"bytes", static_cast<std::int64_t>(request.body.size())}};
  ApiResponse response{.body = hearth::json_text(told)};
  if (request.path.ends_with('s')) {
    response.stream = [text = std::move(response.body)](Sink& sink) {
      for (std::size_t at = 0; at < text.size(); at += 9) {
        if (!sink.write(std::string_view(text).substr(at, 9))) return;
      }
    };
  }
  return response;
}

int port() {
  static const int known = [] {
    HttpOptions options;
    options.port = 0;
    options.threads = 1;
    options.most_head_bytes = kMostHead;
    options.most_body_bytes = kMostBody;
    static auto* transport = new HttpTransport(options, answer);
    return transport->start();
  }();
  return known;
}

void send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;  // the server may have closed
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::string answers_to(std::string_view bytes, std::size_t first) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  require(socket >= 0);
  const int yes = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  const timeval patience{.tv_sec = 30, .tv_usec = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // Ports of connections that ended a moment ago are not free yet.
  while (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    require(errno == EADDRNOTAVAIL || errno == EINTR);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  send_all(socket, bytes.substr(0, first));
  if (first < bytes.size()) {
    std::this_thread::yield();
    send_all(socket, bytes.substr(first));
  }
  ::shutdown(socket, SHUT_WR);
  std::string all;
  char buffer[4096];
  ssize_t got = 0;
  while ((got = ::recv(socket, buffer, sizeof buffer, 0)) > 0) {
    all.append(buffer, static_cast<std::size_t>(got));
  }
  // A connection that was reset has ended, too; one that says nothing for so long hangs.
  require(got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK));
  ::close(socket);
  return all;
}

// The value of a header of a response's head; empty where there is none.
std::string_view header(std::string_view head, std::string_view name) {
  const std::string line = "\r\n" + std::string(name) + ": ";
  const std::size_t at = head.find(line);
  if (at == std::string_view::npos) return {};
  head.remove_prefix(at + line.size());
  return head.substr(0, head.find("\r\n"));
}

// Cuts a response with its body off.
void take_response(std::string_view& all) {
  const std::size_t end = all.find("\r\n\r\n");
  require(end != std::string_view::npos);
  const std::string_view head = all.substr(0, end + 2);
  all.remove_prefix(end + 4);
  require(head.starts_with("HTTP/1.1 ") && head.size() > 12);
  const int status = std::atoi(std::string(head.substr(9, 3)).c_str());
  require(status == 100 || status == 200 || (status >= 400 && status < 600));
  if (status == 100) return;
  if (all.empty() || all.starts_with("HTTP/1.1 ")) return;  // of HEAD
  std::string body;
  if (header(head, "Transfer-Encoding") == "chunked") {
    while (true) {
      const std::size_t line = all.find("\r\n");
      require(line != std::string_view::npos && line > 0);
      const std::size_t size = std::strtoul(std::string(all.substr(0, line)).c_str(), nullptr, 16);
      require(all.size() >= line + size + 4);
      body += all.substr(line + 2, size);
      require(all.substr(line + 2 + size, 2) == "\r\n");
      all.remove_prefix(line + size + 4);
      if (size == 0) break;
    }
  } else {
    const std::size_t size =
        std::strtoul(std::string(header(head, "Content-Length")).c_str(), nullptr, 10);
    require(size <= all.size());
    body = all.substr(0, size);
    all.remove_prefix(size);
  }
  // What is refused before its head is whole may come packed, as its sender asked.
  if (!header(head, "Content-Encoding").empty()) return;
  require(hearth::parse_json(body).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > kMaxInput) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string all = answers_to(bytes, std::min<std::size_t>(data[0], bytes.size()));
  std::string_view left = all;
  while (!left.empty()) take_response(left);
  return 0;
}
