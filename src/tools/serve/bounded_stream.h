// A connection that bounds what its peer can make us read, and how long that takes: the library
// itself reads lines of any length, and waits anew for each byte. It gets heads that were read
// before, and chunks without what it does not know of them.
#pragma once

#include <httplib.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "tools/serve/chunk_framing.h"
#include "tools/serve/connection_threads.h"
#include "tools/serve/http_transport.h"
#include "tools/serve/refusal.h"
#include "tools/serve/request_head.h"

namespace hearth::tools::serve {

// How far a server has ended, which all its connections see.
struct ServerEnd {
  using Clock = std::chrono::steady_clock;

  std::atomic<bool> is_stopping = false;
  // Whoever does not read at once from then on is given up.
  std::atomic<Clock::time_point> write_deadline = Clock::time_point::max();
};

// Of one thread, which owns the socket elsewhere.
class BoundedStream final : public httplib::Stream {
 public:
  BoundedStream(int socket, const HttpOptions& options, ConnectionThreads& threads,
                const ServerEnd& server_end)
      : socket_(socket), options_(options), threads_(threads), server_end_(server_end) {}

  // Waits for the first byte of a request; false where none comes, the server stops, or the thread
  // is needed for another connection. From then on the request may take the options' bytes and
  // time.
  bool begin_request();
  // Reads the head of the request, which the library gets next; what is wrong with it, and the
  // connection is given up.
  std::optional<ApiError> read_head();
  const RequestHead& head() const { return *head_; }
  // The connection cannot go on behind this request: its body was not read, or was too much.
  void give_up() noexcept { is_given_up_ = true; }
  bool is_given_up() const noexcept { return is_given_up_; }
  // Whether the peer still reads what is written. One that only ended what it sends may: before an
  // answer it is sent an interim one, which its system refuses where nobody reads; with an answer
  // under way its next bytes do that. `takes_interim`: HTTP/1.1, whose peers pass over those.
  bool is_open(bool takes_interim);
  // The peer sends no more.
  bool is_input_ended() const;
  // To the request that was begun last.
  bool is_answer_begun() const noexcept { return is_answer_begun_; }
  // Why the last read of a body was refused.
  Refusal refusal() const noexcept { return refusal_; }
  // Of the body of that request and of its answer.
  std::size_t bytes_passed() const noexcept { return body_bytes_ + answer_bytes_; }
  // Reads and forgets what a peer still sends, for a moment, so that it gets to read the answer.
  void drain();

  bool is_readable() const override {
    return head_at_ < head_->text().size() || at_ < end_ || wait(true, {});
  }
  bool is_writable() const override { return !is_reset(); }
  // Negative where there is nothing, or no more is allowed; refusal() says why.
  ssize_t read(char* bytes, std::size_t size) override;
  ssize_t write(const char* bytes, std::size_t size) override;
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return socket_; }

 private:
  using Clock = std::chrono::steady_clock;

  bool wait(bool for_reading, std::chrono::milliseconds time) const;
  // Whether the peer takes bytes within the options' time, and at once when the server ends.
  bool await_reader() const;
  // Why no bytes are there by `until`, soon after the server stops, or before another connection
  // needs the thread of this, which waits for its peer `since` then.
  Refusal await_bytes(Clock::time_point until, Clock::time_point since);
  Refusal fill(Clock::time_point until, Clock::time_point since);
  // Since when it waits for its request: one that sends much counts as one that came later.
  Clock::time_point slow_since() const;
  // Nobody reads any more, as far as the system was told.
  bool is_reset() const;
  // Reads no more of this request; what read() returns then.
  ssize_t refuse(Refusal refusal);
  // Counts what the library gets of a body; what is wrong with it.
  Refusal count(const char* bytes, std::size_t size);

  int socket_;
  const HttpOptions& options_;
  ConnectionThreads& threads_;
  const ServerEnd& server_end_;
  std::array<char, 16 << 10> buffer_;
  std::size_t at_ = 0, end_ = 0;
  Clock::time_point begun_, deadline_;
  Clock::time_point stop_deadline_ = Clock::time_point::max();  // once the server stops
  std::optional<RequestHead> head_;  // of the request that was begun last
  std::size_t head_at_ = 0;          // what the library has of it
  std::size_t body_bytes_ = 0, answer_bytes_ = 0;
  bool is_given_up_ = false;
  std::optional<ChunkFraming> chunks_;
  Refusal refusal_ = Refusal::none;
  bool is_answer_begun_ = false, is_interim_sent_ = false;
};

}  // namespace hearth::tools::serve
