// The API over sockets: what bounds a peer, and how a server ends.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "error_text.h"
#include "tools/scripted_model.h"
#include "tools/serve/api.h"
#include "tools/serve/connections.h"
#include "tools/serve/http_transport.h"
#include "tools/serve/listen_error.h"
#include "tools/tool_folder.h"

namespace hearth::tools::serve {
namespace {

using check::contains;
using hearth::testing::ScriptedModel;
using std::chrono::milliseconds;

#ifdef HEARTH_HAS_HTTP

class Peer {
 public:
  explicit Peer(int port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ~Peer() { close(); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  void close() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }
  // Sends no more, and still reads.
  void end_input() { ::shutdown(socket_, SHUT_WR); }
  // False where the connection is closed.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  // Empty at the end.
  std::string read_some() {
    char buffer[4096];
    const ssize_t got = ::recv(socket_, buffer, sizeof buffer, 0);
    return {buffer, static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
  }
  // Up to the text, or to the end.
  std::string read_to(std::string_view text) {
    std::string all;
    while (all.find(text) == std::string::npos) {
      const std::string some = read_some();
      if (some.empty()) break;
      all += some;
    }
    return all;
  }
  std::string read_all() { return read_to(std::string_view("\0never", 6)); }

 private:
  int socket_;
};

class ServeHttp : public ::testing::Test {
 protected:
  void begin(HttpOptions options = {}) {
    options.port = 0;
    api_ = std::make_unique<Api>(ApiOptions{});
    api_->set_model(model_);
    transport_ = std::make_unique<HttpTransport>(
        options, [this](const ApiRequest& request) { return api_->answer(request); });
    port_ = transport_->start();
  }
  static std::string post(const std::string& path, const std::string& body) {
    return "POST " + path +
           " HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
           body;
  }
  static std::string stream_request() {
    return post("/v1/chat/completions",
                R"({"messages": [{"role": "user", "content": "hi"}], "stream": true})");
  }
  // Of a body that is not there yet.
  static constexpr const char* kUnfinishedHead =
      "POST /tokenize HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\nexpect: 100-Continue\r\n";
  // The server waits for the body then.
  static void begin_body(Peer& peer) {
    ASSERT_TRUE(peer.send(std::string(kUnfinishedHead) + "\r\n"));
    EXPECT_TRUE(contains(peer.read_to("\r\n\r\n"), "100 Continue"));
    ASSERT_TRUE(peer.send("{"));
  }
  bool was_cancelled(std::int64_t count) const {
    for (int i = 0; i < 1000 && model_->cancelled < count; ++i) {
      std::this_thread::sleep_for(milliseconds(10));
    }
    return model_->cancelled == count;
  }

  std::shared_ptr<ScriptedModel> model_ = std::make_shared<ScriptedModel>();
  std::unique_ptr<Api> api_;
  std::unique_ptr<HttpTransport> transport_;
  int port_ = 0;
};

TEST(ListenAdvice, IsOfTheReason) {
  EXPECT_TRUE(contains(listen_advice(EADDRINUSE), "another --port"));
  EXPECT_TRUE(contains(listen_advice(EACCES), "--port from 1024 on"));
  EXPECT_TRUE(contains(listen_advice(EADDRNOTAVAIL), "another --host"));
}

TEST_F(ServeHttp, AConnectionServesManyRequests) {
  begin();
  Peer peer(port_);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(peer.send(post("/tokenize", R"({"content": "a"})")));
    EXPECT_TRUE(contains(peer.read_to("]}"), "{\"tokens\":[102]}"));
  }
  ASSERT_TRUE(peer.send("GET /health?x=y HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
  EXPECT_TRUE(contains(peer.read_all(), "{\"status\":\"ok\"}"));
}

TEST_F(ServeHttp, EventsComeInChunks) {
  begin();
  Peer peer(port_);
  ASSERT_TRUE(peer.send(stream_request()));
  const std::string all = peer.read_to("\r\n0\r\n\r\n");
  EXPECT_TRUE(contains(all, "Content-Type: text/event-stream\r\n"));
  EXPECT_TRUE(contains(all, "Transfer-Encoding: chunked\r\n"));
  EXPECT_TRUE(contains(all, "data: [DONE]\n\n")) << all;
  // The connection goes on.
  ASSERT_TRUE(peer.send("GET /health HTTP/1.1\r\nHost: a\r\n\r\n"));
  EXPECT_TRUE(contains(peer.read_to("}"), "\"ok\""));
}

// As many streams as may run and wait, and what is answered at once beside them.
TEST_F(ServeHttp, StreamsThatWaitLeaveThreads) {
  constexpr std::int64_t kTexts = 540;
  model_->says = [](const auto&) { return std::string(900, 'x'); };
  model_->pause = milliseconds(200);
  allow_connections(2 * connections_for(kTexts));  // both ends are here
  begin({.threads = connections_for(kTexts)});
  std::vector<std::unique_ptr<Peer>> peers;
  for (std::int64_t i = 0; i < kTexts; ++i) {
    peers.push_back(std::make_unique<Peer>(port_));
    ASSERT_TRUE(peers.back()->send(stream_request()));
  }
  for (const auto& peer : peers) {
    ASSERT_TRUE(contains(peer->read_to("data:"), "200 OK"));
  }
  Peer other(port_);
  ASSERT_TRUE(other.send("GET /health HTTP/1.1\r\nHost: a\r\n\r\n"));
  EXPECT_TRUE(contains(other.read_to("}"), "\"ok\""));
  peers.clear();
  EXPECT_TRUE(was_cancelled(kTexts));
}

TEST(ServeConnections, AreNoMoreThanTheSystemHas) {
  const std::string error =
      check::error_of(ErrorCode::invalid_argument, [] { allow_connections(std::size_t{1} << 40); });
  EXPECT_TRUE(contains(error, "too many texts that run or wait")) << error;
  EXPECT_TRUE(contains(error, "ulimit -n")) << error;
}

TEST_F(ServeHttp, AClosedConnectionCancels) {
  model_->says = [](const auto&) { return std::string(100'000, 'x'); };
  model_->pause = milliseconds(2);
  begin();
  Peer peer(port_);
  ASSERT_TRUE(peer.send(stream_request()));
  EXPECT_TRUE(contains(peer.read_to("\"content\":\"x"), "200 OK"));
  peer.close();
  EXPECT_TRUE(was_cancelled(1));
  // Also while nothing is written.
  Peer waiting(port_);
  ASSERT_TRUE(waiting.send(post("/v1/completions", R"({"prompt": "a", "max_tokens": 900})")));
  std::this_thread::sleep_for(milliseconds(50));
  waiting.close();
  EXPECT_TRUE(was_cancelled(2));
}

TEST_F(ServeHttp, HeadsWithoutEndAreGivenUp) {
  begin();
  const std::string long_text(200 << 10, 'a');
  std::string lines;
  while (lines.size() < long_text.size()) lines += "A: b\r\n";
  for (const std::string& head :
       {"GET /" + long_text, "GET / HTTP/1.1\r\nHost: a\r\nA: " + long_text,
        "GET / HTTP/1.1\r\nHost: a\r\nA: " + long_text.substr(0, 9000) + "\r\n\r\n",
        "GET / HTTP/1.1\r\n" + lines}) {
    Peer peer(port_);
    peer.send(head);
    const std::string answer = peer.read_all();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 431 ")) << answer;
    EXPECT_TRUE(contains(answer, "expected at most 65536 bytes, and 8192 in a line")) << answer;
  }
  Peer path(port_);
  path.send("GET /" + long_text.substr(0, 9000) + " HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(path.read_all().starts_with("HTTP/1.1 414 "));
  Peer next(port_);
  next.send("GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(contains(next.read_all(), "200 OK"));
}

TEST_F(ServeHttp, SlowBytesAreGivenUp) {
  begin({.read_time = milliseconds(200)});
  for (const std::string start :
       {"G", "POST /tokenize HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n{"}) {
    Peer peer(port_);
    const auto begun = std::chrono::steady_clock::now();
    bool is_open = peer.send(start);
    while (is_open && std::chrono::steady_clock::now() - begun < std::chrono::seconds(20)) {
      std::this_thread::sleep_for(milliseconds(30));
      is_open = peer.send("x");
    }
    EXPECT_FALSE(is_open) << start;
  }
}

TEST_F(ServeHttp, HeadsThatBreakOffAreToldSo) {
  begin({.read_time = milliseconds(300)});
  for (const char* head : {"G", "GET /health HTTP/1.1", "GET /health HTTP/1.1\r\nHost: a\r\nAcc"}) {
    for (const bool ends : {false, true}) {
      Peer peer(port_);
      ASSERT_TRUE(peer.send(head));
      if (ends) peer.end_input();
      const std::string answer = peer.read_all();
      EXPECT_TRUE(answer.starts_with("HTTP/1.1 408 ")) << answer;
      EXPECT_TRUE(contains(answer, "Connection: close\r\n")) << answer;
      EXPECT_TRUE(contains(answer, "the head of the request did not come in time")) << answer;
    }
  }
  // Who sends nothing is told nothing.
  Peer silent(port_);
  silent.end_input();
  EXPECT_EQ(silent.read_all(), "");
}

TEST_F(ServeHttp, SlowPeersMakeRoomForOthers) {
  constexpr std::size_t kThreads = 4;
  begin({.threads = kThreads,
         .read_time = std::chrono::minutes(10),
         .idle_time = std::chrono::minutes(10)});
  std::vector<std::unique_ptr<Peer>> slow;
  const auto ask = [&] {
    Peer peer(port_);
    ASSERT_TRUE(peer.send("GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
    EXPECT_TRUE(contains(peer.read_all(), "\"ok\""));
  };
  for (const char* start :
       {"", "POST /tokenize HTTP/1.1\r\n", kUnfinishedHead,
        "POST /tokenize HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n{"}) {
    for (std::size_t i = 0; i < 3 * kThreads; ++i) {
      slow.push_back(std::make_unique<Peer>(port_));
      ASSERT_TRUE(slow.back()->send(start));
    }
    for (int i = 0; i < 3; ++i) ask();
  }
  // A kept connection makes room, too.
  for (std::size_t i = 0; i < kThreads; ++i) {
    slow.push_back(std::make_unique<Peer>(port_));
    ASSERT_TRUE(slow.back()->send("GET /health HTTP/1.1\r\nHost: a\r\n\r\n"));
    EXPECT_TRUE(contains(slow.back()->read_to("}"), "\"ok\""));
  }
  ask();
}

TEST_F(ServeHttp, TheSlowestMakesRoom) {
  begin(
      {.threads = 2, .read_time = std::chrono::minutes(10), .idle_time = std::chrono::minutes(10)});
  Peer fast(port_), slow(port_);
  begin_body(fast);
  ASSERT_TRUE(fast.send(std::string(999'990, ' ')));  // as much as in 15 seconds
  begin_body(slow);
  std::this_thread::sleep_for(milliseconds(200));  // until both are waited for
  Peer next(port_);
  ASSERT_TRUE(next.send("GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
  EXPECT_TRUE(contains(next.read_all(), "\"ok\""));
  const std::string answer = slow.read_all();
  EXPECT_TRUE(contains(answer, " 408 ")) << answer;
  EXPECT_TRUE(contains(answer, "the body came slowly")) << answer;
  ASSERT_TRUE(fast.send("         "));
  EXPECT_TRUE(contains(fast.read_to("}}"), " 400 "));  // all came, and is no JSON
}

// Where answers take all threads, one that ends does not stay for the next request of its peer.
TEST_F(ServeHttp, AnswersThatEndMakeRoom) {
  model_->pause = milliseconds(100);
  begin({.threads = 1, .idle_time = std::chrono::minutes(10)});
  Peer peer(port_), next(port_);
  ASSERT_TRUE(peer.send(stream_request()));
  EXPECT_TRUE(contains(peer.read_to("data:"), "200 OK"));
  ASSERT_TRUE(next.send("GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
  EXPECT_TRUE(contains(next.read_all(), "\"ok\""));
  EXPECT_TRUE(contains(peer.read_all(), "data: [DONE]"));
}

TEST_F(ServeHttp, BodiesThatAreTooLong) {
  begin({.most_body_bytes = 1000});
  for (const std::string& request :
       {post("/tokenize", std::string(2000, 'x')),
        "POST /tokenize HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n" +
            std::string(2000, 'x') + "\r\n0\r\n\r\n"}) {
    Peer peer(port_);
    ASSERT_TRUE(peer.send(request));
    const std::string answer = peer.read_all();
    EXPECT_TRUE(contains(answer, " 413 ")) << answer;
    EXPECT_TRUE(contains(answer, "\"type\":\"invalid_request_error\"")) << answer;
  }
  Peer peer(port_);
  ASSERT_TRUE(peer.send("no HTTP at all\r\n\r\n"));
  EXPECT_TRUE(contains(peer.read_all(), " 400 "));
}

// What the server answers to a request, up to the end of the connection: read_all() comes back long
// before an idle connection would be closed.
class ServeHttpRefusals : public ServeHttp {
 protected:
  std::string answer_of(const std::string& request) {
    if (transport_ == nullptr) {
      begin({.most_body_bytes = 1000,
             .read_time = std::chrono::minutes(10),
             .idle_time = std::chrono::minutes(10)});
    }
    Peer peer(port_);
    peer.send(request);
    return peer.read_all();
  }
  // It ends the connection, and says so.
  void expect_refused(const std::string& request, int status) {
    const std::string answer = answer_of(request);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 " + std::to_string(status) + " "))
        << request.substr(0, 200) << answer;
    EXPECT_TRUE(contains(answer, "Connection: close\r\n")) << answer;
    EXPECT_FALSE(contains(answer, "Keep-Alive")) << answer;
    EXPECT_FALSE(contains(answer, "EXCEPTION")) << answer;
    EXPECT_TRUE(contains(answer, "\"message\":")) << answer;
  }
};

TEST_F(ServeHttpRefusals, LengthsThatAreTooMuchAreRefusedBeforeTheBody) {
  for (const char* length : {"1001", "20000000", "100000000000000000000000", "0000000002000"}) {
    for (const char* more : {"", "Expect: 100-continue\r\n"}) {
      expect_refused("POST /tokenize HTTP/1.1\r\nHost: a\r\nContent-Length: " +
                         std::string(length) + "\r\n" + more + "\r\n{",
                     413);
    }
  }
}

TEST_F(ServeHttpRefusals, BodiesWithoutOneEnd) {
  const std::string post_line = "POST /tokenize HTTP/1.1\r\nHost: a\r\n";
  for (const char* lines :
       {"Content-Length: -5\r\n", "Content-Length: 5x\r\n", "Content-Length: +5\r\n",
        "Content-Length: 5, 5\r\n", "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"}) {
    expect_refused(post_line + lines + "\r\n0\r\n\r\n", 400);
  }
  expect_refused(post_line + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501);
  expect_refused(
      "GET /health HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcde",
      400);
}

// Each would have its body taken for the next request, or its end found elsewhere by a proxy.
TEST_F(ServeHttpRefusals, HeadsOfSeveralMeanings) {
  const std::string post_line = "POST /tokenize HTTP/1.1\r\nHost: a\r\n";
  const auto text = [](const char* lines, std::size_t size) { return std::string(lines, size); };
  for (const std::string& lines :
       {std::string("Content-Length : 5\r\n"),
        std::string("Content-Length\t: 5\r\n"),
        std::string("Content-Length:\r\n"),
        std::string("Content-Length: \r\n"),
        std::string("Content-Length: %35\r\n"),
        std::string("Content-Length: 0x5\r\n"),
        std::string("Content-Length: 5 5\r\n"),
        std::string("Content-Length: 5\r\n 5\r\n"),
        std::string("Transfer-Encoding:\r\n"),
        std::string("Transfer-Encoding : chunked\r\n"),
        std::string("Transfer-Encoding:\r\n chunked\r\n"),
        std::string("Transfer-Encoding: chunked\r\nContent-Length:\r\n"),
        std::string("Content-Length: 5\n"),
        std::string("Content-Length: 5\r"),
        std::string("A: b\rContent-Length: 5\r\n"),
        std::string("A: b\nContent-Length: 5\r\n"),
        text("A: \0b\r\n", 7),
        text("Content-Length\0: 5\r\n", 20),
        std::string("A: b\r\n  c\r\n"),
        std::string("A: b\r\n\tc\r\n"),
        std::string(" A: b\r\n"),
        std::string("A\r\n"),
        std::string(": b\r\n"),
        std::string("A b: c\r\n"),
        std::string("A: b\x01\r\n"),
        std::string("A: b\x7f\r\n"),
        std::string("Host: b\r\n"),
        std::string("Authorization: Bearer a\r\nAuthorization: Bearer b\r\n")}) {
    expect_refused(post_line + lines + "\r\nGET /health HTTP/1.1\r\nHost: a\r\n\r\n", 400);
  }
  expect_refused(post_line + "Transfer-Encoding: %63hunked\r\n\r\n0\r\n\r\n", 501);
  expect_refused("POST /tokenize HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400);
  for (const char* line :
       {"GET  /health HTTP/1.1", " GET /health HTTP/1.1", "GET /health  HTTP/1.1",
        "GET /health HTTP/1.1 ", "GET\t/health HTTP/1.1", "GET /a b HTTP/1.1", "GET /\x01 HTTP/1.1",
        "GET health HTTP/1.1", "GET * HTTP/1.1", "G@T /health HTTP/1.1", "CONNECT a:80 HTTP/1.1"}) {
    expect_refused(line + std::string("\r\nHost: a\r\n\r\n"), 400);
  }
  EXPECT_TRUE(contains(answer_of(post_line + "Content-Length : 5\r\n\r\n"),
                       "other bytes before its colon; got \\\"Content-Length : 5"));
}

// Whom a request asks is said once, and since HTTP/1.1 always.
TEST_F(ServeHttpRefusals, HostsAreThereOnce) {
  const auto ask = [](const std::string& version, const std::string& lines) {
    return "GET /health HTTP/" + version + "\r\n" + lines + "Connection: close\r\n\r\n";
  };
  expect_refused(ask("1.1", ""), 400);
  EXPECT_TRUE(contains(answer_of(ask("1.1", "")), "Host is missing; expected it in HTTP/1.1"));
  expect_refused("GET http://a/health HTTP/1.1\r\n\r\n", 400);
  for (const char* version : {"1.0", "1.1"}) {
    expect_refused(ask(version, "Host: a\r\nhost: a\r\n"), 400);
    for (const char* host : {"Host: a\r\n", "HOST:\r\n"}) {
      EXPECT_TRUE(answer_of(ask(version, host)).starts_with("HTTP/1.1 200 ")) << version << host;
    }
  }
  EXPECT_TRUE(answer_of(ask("1.0", "")).starts_with("HTTP/1.1 200 "));
}

TEST_F(ServeHttpRefusals, QueriesArePassedOver) {
  for (const char* query : {"?", "?a=b", "?a=b?c=d", "???", "?%zz#x"}) {
    const std::string answer = answer_of("GET /health" + std::string(query) +
                                         " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << query << answer;
  }
}

TEST_F(ServeHttp, ConnectionsEndHoweverThatIsSpelt) {
  begin({.read_time = std::chrono::minutes(10), .idle_time = std::chrono::minutes(10)});
  for (const char* field : {"Connection: Close", "connection: CLOSE", "Connection: TE, close",
                            "Connection: TE\r\nConnection: close , x"}) {
    Peer peer(port_);
    ASSERT_TRUE(peer.send("GET /health HTTP/1.1\r\nHost: a\r\n" + std::string(field) + "\r\n\r\n"));
    EXPECT_TRUE(contains(peer.read_all(), "Connection: close\r\n")) << field;
  }
  Peer old(port_);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(old.send("GET /health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
    EXPECT_TRUE(contains(old.read_to("}"), "\"ok\""));
  }
}

// An end of line behind a body is no request.
TEST_F(ServeHttp, AnEmptyLineBeforeARequest) {
  begin();
  Peer peer(port_);
  ASSERT_TRUE(peer.send(post("/tokenize", R"({"content": "a"})") + "\r\n" +
                        "GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
  EXPECT_TRUE(contains(peer.read_all(), "\"ok\""));
}

// The values of headers are what they look like.
TEST_F(ServeHttp, ValuesAreNotDecoded) {
  begin();
  api_ = std::make_unique<Api>(ApiOptions{.keys = {"a%41"}, .origins = {}});
  api_->set_model(model_);
  for (const auto& [key, status] : {std::pair("a%41", " 200 "), std::pair("aA", " 401 ")}) {
    Peer peer(port_);
    ASSERT_TRUE(peer.send(
        "GET /v1/models HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer " +
        std::string(key) + "\r\n\r\n"));
    EXPECT_TRUE(contains(peer.read_all(), status)) << key;
  }
}

TEST_F(ServeHttpRefusals, ChunksThatAreNone) {
  const std::string head =
      "POST /tokenize HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const char* body :
       {"zz\r\n{}", "\r\n", "-2\r\n{}\r\n0\r\n\r\n", "0x2\r\n{}\r\n0\r\n\r\n",
        " 2\r\n{}\r\n0\r\n\r\n", "2\n{}\r\n0\r\n\r\n", "2\r{}\r\n0\r\n\r\n", "2\r\n{}0\r\n\r\n",
        "2 \r\n{}\r\n0\r\n\r\n", "2 0\r\n{}\r\n0\r\n\r\n", "2\t0;a\r\n{}\r\n0\r\n\r\n",
        "2 a=b\r\n{}\r\n0\r\n\r\n", "2;a\n{}\r\n0\r\n\r\n", "2\r\n{}}\r\n0\r\n\r\n"}) {
    expect_refused(head + body, 400);
  }
  EXPECT_TRUE(contains(answer_of(head + "zz\r\n"), "a chunk of the body is malformed"));
  // Before the bytes come.
  for (const char* size : {"ffffffffffffffff", "7fffffffffffffff", "10000000000000000", "3e9"}) {
    expect_refused(head + size + "\r\n", 413);
  }
  expect_refused(head + "3e8\r\n" + std::string(1000, ' ') + "\r\n1\r\n", 413);
}

TEST_F(ServeHttpRefusals, BodiesThatAreNotWhatTheirEncodingSays) {
  for (const char* encoding : {"gzip", "deflate"}) {
    const std::string head =
        "POST /tokenize HTTP/1.1\r\nHost: a\r\nContent-Encoding: " + std::string(encoding) +
        "\r\nContent-Length: 20\r\n\r\n";
    expect_refused(head + "these are not packed", 400);
    EXPECT_TRUE(contains(answer_of(head + "these are not packed"), "Content-Encoding says"));
  }
}

// {"content": "a"}
const std::string kGzip(
    "\037\213\010\000\000\000\000\000\002\003\253\126\112\316\317\053\111\315\053\121"
    "\262\122\120\112\124\252\005\000\021\303\275\142\020\000\000\000",
    36);
const std::string kZlib(
    "\170\234\253\126\112\316\317\053\111\315\053\121\262\122\120\112\124\252\005\000"
    "\057\265\005\067",
    24);

std::string packed_request(const std::string& encoding, const std::string& body) {
  return "POST /tokenize HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Encoding: " +
         encoding + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

TEST_F(ServeHttpRefusals, PackedBodiesAreWhole) {
  for (const std::string& body : {kGzip, kZlib}) {
    for (const char* encoding : {"gzip", "deflate", "GZIP"}) {  // the first bytes say which it is
      EXPECT_TRUE(contains(answer_of(packed_request(encoding, body)), "{\"tokens\":[102]}"));
    }
    for (std::size_t cut = 1; cut <= body.size(); ++cut) {
      expect_refused(packed_request("gzip", body.substr(0, body.size() - cut)), 400);
    }
    for (std::size_t byte = body.size() - 4; byte < body.size(); ++byte) {
      std::string wrong = body;
      wrong[byte] ^= 1;
      expect_refused(packed_request("gzip", wrong), 400);
    }
    expect_refused(packed_request("gzip", body + body), 400);
    EXPECT_TRUE(contains(answer_of(packed_request("identity", body)), "no JSON"));
    for (const char* encoding :
         {"br", "foobr", "zstd", "gzip, gzip", "gzip\r\nContent-Encoding: br"}) {
      expect_refused(packed_request(encoding, body), 415);
    }
  }
}

// What the library would answer by 416.
TEST_F(ServeHttp, RangesArePassedOver) {
  begin();
  for (const char* range : {"bytes=0-1", "bytes=99-1", "lines=x"}) {
    Peer peer(port_);
    ASSERT_TRUE(peer.send("GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\nRange: " +
                          std::string(range) + "\r\n\r\n"));
    const std::string answer = peer.read_all();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << answer;
    EXPECT_TRUE(answer.ends_with("{\"status\":\"ok\"}")) << answer;
  }
}

TEST_F(ServeHttpRefusals, TargetsMayNameTheServer) {
  for (const char* target :
       {"http://a/v1/models", "HTTP://a:80/v1/models?x=y", "https://[::1]/models"}) {
    const std::string answer = answer_of("GET " + std::string(target) +
                                         " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << answer;
    EXPECT_TRUE(contains(answer, "\"id\":\"scripted\"")) << answer;
  }
  EXPECT_TRUE(contains(answer_of("GET http://a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
                       "<html"));
  for (const char* target :
       {"http://", "http:///health", "ftp://a/health", "a:80", "://a/health"}) {
    expect_refused("GET " + std::string(target) + " HTTP/1.1\r\nHost: a\r\n\r\n", 400);
  }
}

TEST_F(ServeHttpRefusals, TrailersArePassedOver) {
  const std::string chunks =
      "POST /tokenize HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      "10\r\n{\"content\": \"a\"}\r\n0\r\n";
  begin({.most_body_bytes = 1000,
         .read_time = std::chrono::minutes(10),
         .idle_time = std::chrono::minutes(10)});
  Peer peer(port_);
  for (const char* trailers : {"", "A: b\r\n", "A: b\r\nContent-Length: 5\r\n"}) {
    ASSERT_TRUE(peer.send(chunks + trailers + "\r\n"));  // and the connection goes on
    EXPECT_TRUE(contains(peer.read_to("]}"), "{\"tokens\":[102]}"));
  }
  for (const char* trailers : {"A: b\n\r\n", "A: b\rc\r\n\r\n", "\n", "\rA"}) {
    expect_refused(chunks + trailers, 400);
  }
  expect_refused(chunks + "A: " + std::string(200 << 10, 'b'), 413);
}

TEST_F(ServeHttp, ChunksMayBeExtended) {
  begin();
  Peer peer(port_);
  for (int i = 0; i < 2; ++i) {  // and the connection goes on
    ASSERT_TRUE(
        peer.send("POST /tokenize HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                  "00A;name=\"value\"\r\n{\"content\"\r\n6 \t;b\r\n: \"a\"}\r\n0\r\n\r\n"));
    EXPECT_TRUE(contains(peer.read_to("]}"), "{\"tokens\":[102]}"));
  }
}

TEST_F(ServeHttpRefusals, FormsOfSeveralParts) {
  expect_refused(
      "POST /tokenize HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=x\r\n"
      "Content-Length: 3\r\n\r\n--x",
      415);
}

TEST_F(ServeHttpRefusals, WhatIsNoHttp) {
  for (const char* line : {"no HTTP at all", "GET / HTTP/9.9", "PRI * HTTP/2.0", "GET /"}) {
    expect_refused(line + std::string("\r\nHost: a\r\n\r\n"), 400);
  }
  expect_refused("GET /" + std::string(70 << 10, 'a'), 431);
}

TEST_F(ServeHttpRefusals, APostWithoutABodyIsAnEmptyOne) {
  begin({.read_time = std::chrono::minutes(10), .idle_time = std::chrono::minutes(10)});
  Peer peer(port_);
  for (int i = 0; i < 2; ++i) {  // and the connection goes on
    ASSERT_TRUE(peer.send("POST /v1/tokenize HTTP/1.1\r\nHost: a\r\n\r\n"));
    const std::string answer = peer.read_to("}}");
    EXPECT_TRUE(contains(answer, " 400 ")) << answer;
    EXPECT_TRUE(contains(answer, "Keep-Alive")) << answer;
  }
}

TEST_F(ServeHttp, WhoOnlyEndsWhatItSendsGetsAnAnswer) {
  model_->pause = milliseconds(100);  // the end is seen before the answer
  begin();
  for (const std::string& request :
       {post("/v1/completions", R"({"prompt": "a"})"), stream_request()}) {
    Peer peer(port_);
    ASSERT_TRUE(peer.send(request));
    peer.end_input();
    const std::string answer = peer.read_all();
    EXPECT_TRUE(contains(answer, "HTTP/1.1 200 OK")) << answer;
    EXPECT_TRUE(contains(answer, "!\"")) << answer;
  }
  EXPECT_EQ(model_->cancelled, 0);
  // Who cannot be asked counts as gone.
  Peer old(port_);
  const std::string body = R"({"prompt": "a"})";
  ASSERT_TRUE(old.send("POST /v1/completions HTTP/1.0\r\nContent-Length: " +
                       std::to_string(body.size()) + "\r\n\r\n" + body));
  old.end_input();
  EXPECT_TRUE(contains(old.read_all(), " 503 "));
  EXPECT_TRUE(was_cancelled(1));
}

TEST_F(ServeHttp, EndsWithinTheTimeOfItsAnswers) {
  model_->says = [](const auto&) { return std::string(100'000, 'x'); };
  model_->pause = milliseconds(2);
  begin();
  Peer peer(port_), idle(port_);
  ASSERT_TRUE(peer.send(stream_request()));
  EXPECT_TRUE(contains(peer.read_to("\"content\":\"x"), "200 OK"));
  transport_->stop();
  EXPECT_FALSE(transport_->wait_until_idle(milliseconds(100)));
  EXPECT_EQ(model_->cancelled, 0);
  api_->stop();
  EXPECT_TRUE(transport_->wait_until_idle(std::chrono::seconds(20)));
  EXPECT_TRUE(contains(peer.read_all(), "the server is stopping"));
  EXPECT_TRUE(was_cancelled(1));
  transport_.reset();
  EXPECT_EQ(idle.read_all(), "");
}

// Neither those that read nothing are waited for, nor those that read now and then.
TEST(ServeHttpEnd, DoesNotWaitForSlowReaders) {
  auto transport = std::make_unique<HttpTransport>(
      HttpOptions{.port = 0, .write_time = std::chrono::minutes(10), .end_time = milliseconds(200)},
      [](const ApiRequest&) { return ApiResponse{.body = std::string(64 << 20, 'x')}; });
  const int port = transport->start();
  Peer silent(port), slow(port);
  for (Peer* peer : {&silent, &slow}) {
    ASSERT_TRUE(peer->send("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
    EXPECT_TRUE(contains(peer->read_to("\r\n\r\n"), "200 OK"));
  }
  std::size_t slowly_read = 0;
  std::thread reader([&] {
    for (std::size_t more = 1; more > 0; slowly_read += more) {
      std::this_thread::sleep_for(milliseconds(1));
      more = slow.read_some().size();
    }
  });
  transport->stop();
  EXPECT_FALSE(transport->wait_until_idle(milliseconds(100)));
  transport.reset();
  reader.join();
  EXPECT_LT(slowly_read, std::size_t{64} << 20);
}

// Those whose requests are still coming are not waited for.
TEST_F(ServeHttp, EndsBesideUnfinishedRequests) {
  begin({.read_time = std::chrono::minutes(10), .idle_time = std::chrono::minutes(10)});
  Peer head(port_), silent(port_), trickling(port_);
  ASSERT_TRUE(head.send(kUnfinishedHead));
  for (Peer* peer : {&silent, &trickling}) begin_body(*peer);
  std::thread trickle([&] {
    while (trickling.send(" ")) std::this_thread::sleep_for(milliseconds(5));
  });
  transport_->stop();
  EXPECT_TRUE(transport_->wait_until_idle(std::chrono::seconds(20)));
  const std::string of_head = head.read_all();
  EXPECT_TRUE(of_head.starts_with("HTTP/1.1 503 ")) << of_head;
  const std::string answer = silent.read_all();
  EXPECT_TRUE(contains(answer, " 503 ")) << answer;
  EXPECT_TRUE(contains(answer, "the server is stopping")) << answer;
  trickle.join();
}

// As where memory ends: before an answer, in the midst of it, and where even that cannot be said.
TEST(ServeHttpThrows, EndWhatThrowsAndNothingElse) {
  HttpTransport transport({.port = 0}, [](const ApiRequest& request) -> ApiResponse {
    if (request.path == "/answer") throw std::bad_alloc();
    if (request.path == "/unknown") throw 1;
    ApiResponse response;
    if (request.path == "/stream") {
      response.stream = [](Sink& sink) {
        sink.write("some");
        throw std::bad_alloc();
      };
    }
    return response;
  });
  const int port = transport.start();
  const auto answer_of = [&](const std::string& path) {
    Peer peer(port);
    EXPECT_TRUE(peer.send("POST " + path + " HTTP/1.1\r\nHost: a\r\n\r\n"));
    return peer.read_all();
  };
  Peer kept(port);
  for (int i = 0; i < 3; ++i) {
    for (const char* path : {"/answer", "/unknown"}) {
      const std::string answer = answer_of(path);
      EXPECT_TRUE(answer.starts_with("HTTP/1.1 500 ")) << answer;
      EXPECT_TRUE(contains(answer, "the request could not be answered")) << answer;
      EXPECT_TRUE(contains(answer, "Connection: close\r\n")) << answer;
    }
    const std::string cut = answer_of("/stream");
    EXPECT_TRUE(cut.ends_with("\r\nsome\r\n")) << cut;  // and no last chunk
    ASSERT_TRUE(kept.send("GET /health HTTP/1.1\r\nHost: a\r\n\r\n"));
    EXPECT_TRUE(contains(kept.read_to("\r\n\r\n"), "200 OK"));
  }
  EXPECT_TRUE(transport.wait_until_idle(std::chrono::seconds(20)));
}

TEST_F(ServeHttp, AnAddressThatIsTaken) {
  begin();
  HttpTransport other({.port = port_}, [](const ApiRequest&) { return ApiResponse{}; });
  check::error_of(ErrorCode::io, [&] { other.start(); });
  HttpTransport nowhere({.host = "no.such.host.invalid"},
                        [](const ApiRequest&) { return ApiResponse{}; });
  check::error_of(ErrorCode::io, [&] { nowhere.start(); });
}

#else

TEST(ServeHttp, IsRefusedWithoutTheLibrary) {
  EXPECT_TRUE(contains(check::error_of(ErrorCode::unsupported, [] { HttpTransport({}, nullptr); }),
                       "cpp-httplib"));
}

#endif

using ServeCommand = ToolFolder;

TEST_F(ServeCommand, RefusesWhatItCannotServe) {
#ifdef HEARTH_TOOL
  expect_refused(run({"serve", "--model", path("none.gguf"), "--port", "0"}));
  expect_refused(run({"serve", "--model", path("none.gguf"), "--port", "65536"}));
  for (const char* none : {"\n\n", " \t\n  \n", "\xef\xbb\xbf\r\n"}) {
    std::ofstream(path("keys")) << none;
    const auto result =
        run({"serve", "--model", path("none.gguf"), "--api-key-file", path("keys")});
    expect_refused(result);
    EXPECT_TRUE(contains(result.err, "the file of keys is empty")) << result.err;
  }
#endif
}

}  // namespace
}  // namespace hearth::tools::serve
