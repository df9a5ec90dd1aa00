#include "tools/serve/bounded_stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "tools/serve/request_errors.h"

namespace hearth::tools::serve {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kSlice{100};     // how late a stop is seen
constexpr milliseconds kStopTime{100};  // what is under way to a server that stops may still come
// A wait that is no longer is not ended for others where bytes have come.
constexpr milliseconds kNewTime{500};
constexpr milliseconds kDrainTime{500};
constexpr std::size_t kSlowRate = 64;  // bytes a millisecond that keep a request from being slow
constexpr std::size_t kDrainBytes = 4 << 20;
constexpr std::string_view kInterim = "HTTP/1.1 100 Continue\r\n\r\n";

milliseconds time_until(std::chrono::steady_clock::time_point when) {
  return std::chrono::duration_cast<milliseconds>(when - std::chrono::steady_clock::now());
}

}  // namespace

bool BoundedStream::wait(bool for_reading, milliseconds time) const {
  pollfd asked{
      .fd = socket_, .events = static_cast<short>(for_reading ? POLLIN : POLLOUT), .revents = 0};
  const auto until = Clock::now() + time;
  while (true) {
    const auto left = std::max(time_until(until), milliseconds(0));
    const int count = ::poll(&asked, 1, static_cast<int>(left.count()));
    if (count >= 0) return count > 0;
    if (errno != EINTR) return false;
  }
}

Refusal BoundedStream::await_bytes(Clock::time_point until, Clock::time_point since) {
  std::optional<ConnectionThreads::PeerWait> peer;
  for (milliseconds slice{0};; slice = kSlice) {
    if (server_end_.is_stopping)
      stop_deadline_ = std::min(stop_deadline_, Clock::now() + kStopTime);
    const milliseconds left = time_until(std::min(until, stop_deadline_));
    if (left.count() <= 0) {
      return until < stop_deadline_ ? Refusal::unfinished : Refusal::stopping;
    }
    const bool is_there = wait(true, std::min(left, slice));
    if (is_there && Clock::now() < since + kNewTime) return Refusal::none;
    if (peer && peer->is_ended()) return Refusal::crowded;
    if (is_there) return Refusal::none;
    if (!peer) peer.emplace(threads_, since);
  }
}

Refusal BoundedStream::fill(Clock::time_point until, Clock::time_point since) {
  const Refusal refusal = await_bytes(until, since);
  if (refusal != Refusal::none) return refusal;
  const ssize_t got = ::recv(socket_, buffer_.data(), buffer_.size(), 0);
  if (got <= 0) return Refusal::unfinished;
  at_ = 0;
  end_ = static_cast<std::size_t>(got);
  return Refusal::none;
}

BoundedStream::Clock::time_point BoundedStream::slow_since() const {
  return begun_ + milliseconds((head_->size() + body_bytes_) / kSlowRate);
}

bool BoundedStream::begin_request() {
  const auto idle_since = Clock::now();
  if (at_ == end_ && (server_end_.is_stopping ||
                      fill(idle_since + options_.idle_time, idle_since) != Refusal::none)) {
    return false;
  }
  begun_ = Clock::now();
  deadline_ = begun_ + options_.read_time;
  head_.emplace(options_.most_head_bytes, options_.most_body_bytes);
  head_at_ = body_bytes_ = answer_bytes_ = 0;
  refusal_ = Refusal::none;
  chunks_.reset();
  is_answer_begun_ = is_interim_sent_ = false;
  return true;
}

std::optional<ApiError> BoundedStream::read_head() {
  while (!head_->is_whole()) {
    if (at_ == end_) {
      const Refusal refusal = fill(deadline_, slow_since());
      if (refusal != Refusal::none) {
        refuse(refusal);
        return error_of_head(refusal);
      }
    }
    if (auto fault = head_->take(buffer_[at_++])) {
      give_up();
      return fault;
    }
  }
  if (head_->is_chunked()) chunks_.emplace(options_.most_body_bytes);
  return std::nullopt;
}

Refusal BoundedStream::count(const char* bytes, std::size_t size) {
  body_bytes_ += size;
  // Chunks have some bytes of their own.
  if (body_bytes_ > 2 * options_.most_body_bytes + options_.most_head_bytes) {
    return Refusal::too_long;
  }
  switch (chunks_ ? chunks_->pass({bytes, size}) : ChunkFraming::Fault::none) {
    case ChunkFraming::Fault::none:
      return Refusal::none;
    case ChunkFraming::Fault::malformed:
      return Refusal::malformed;
    case ChunkFraming::Fault::too_long:
      return Refusal::too_long;
  }
  return Refusal::none;
}

ssize_t BoundedStream::refuse(Refusal refusal) {
  refusal_ = refusal;
  is_given_up_ = true;
  return -1;
}

ssize_t BoundedStream::read(char* bytes, std::size_t size) {
  if (is_given_up_) return -1;
  const std::string& head = head_->text();
  if (head_at_ < head.size()) {
    const std::size_t taken = head.copy(bytes, size, head_at_);
    head_at_ += taken;
    return static_cast<ssize_t>(taken);
  }
  std::size_t taken = 0;
  do {
    if (at_ == end_) {
      const Refusal refusal = fill(deadline_, slow_since());
      if (refusal != Refusal::none) return refuse(refusal);
    }
    taken = std::min({size, end_ - at_, chunks_ ? chunks_->run() : size});
    std::memcpy(bytes, buffer_.data() + at_, taken);
    at_ += taken;
    const Refusal refusal = count(bytes, taken);
    if (refusal != Refusal::none) return refuse(refusal);
  } while (chunks_ && chunks_->is_in_trailer());
  return static_cast<ssize_t>(taken);
}

bool BoundedStream::await_reader() const {
  const auto until = Clock::now() + options_.write_time;
  while (true) {
    const milliseconds left = time_until(std::min(until, server_end_.write_deadline.load()));
    // Who reads at once may go on behind the deadline: what is written then has an end.
    if (wait(false, std::clamp(left, milliseconds(0), kSlice))) return true;
    if (left.count() <= 0) return false;
  }
}

ssize_t BoundedStream::write(const char* bytes, std::size_t size) {
  is_answer_begun_ = true;
  answer_bytes_ += size;
  std::size_t sent = 0;
  while (sent < size) {
    if (!await_reader()) return -1;
    const ssize_t got = ::send(socket_, bytes + sent, size - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) return -1;
    if (got > 0) sent += static_cast<std::size_t>(got);
  }
  return static_cast<ssize_t>(size);
}

bool BoundedStream::is_reset() const {
  pollfd asked{.fd = socket_, .events = 0, .revents = 0};
  if (::poll(&asked, 1, 0) < 0) return errno != EINTR;
  return (asked.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
}

bool BoundedStream::is_input_ended() const {
  char byte = 0;
  const ssize_t got = ::recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

bool BoundedStream::is_open(bool takes_interim) {
  if (is_reset()) return false;
  if (!is_input_ended() || is_answer_begun_ || is_interim_sent_) return true;
  if (!takes_interim) return false;
  is_interim_sent_ = true;
  return ::send(socket_, kInterim.data(), kInterim.size(), MSG_DONTWAIT | MSG_NOSIGNAL) ==
         static_cast<ssize_t>(kInterim.size());
}

void BoundedStream::drain() {
  ::shutdown(socket_, SHUT_WR);
  if (refusal_ == Refusal::crowded) return;
  const auto until = Clock::now() + kDrainTime;
  for (std::size_t left = kDrainBytes; left > 0 && fill(until, begun_) == Refusal::none;) {
    left -= std::min(left, end_);
  }
}

}  // namespace hearth::tools::serve
