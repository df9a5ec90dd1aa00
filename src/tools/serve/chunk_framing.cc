#include "tools/serve/chunk_framing.h"

namespace hearth::tools::serve {
namespace {

constexpr std::size_t kNoDigit = 16;

std::size_t hexadecimal_digit(char byte) {
  if (byte >= '0' && byte <= '9') return static_cast<std::size_t>(byte - '0');
  if (byte >= 'a' && byte <= 'f') return static_cast<std::size_t>(byte - 'a') + 10;
  if (byte >= 'A' && byte <= 'F') return static_cast<std::size_t>(byte - 'A') + 10;
  return kNoDigit;
}

}  // namespace

ChunkFraming::Fault ChunkFraming::pass(std::string_view bytes) {
  if (state_ != State::data) return bytes.empty() ? Fault::none : pass_byte(bytes.front());
  left_ -= bytes.size();
  if (left_ == 0) state_ = State::end_of_data;
  return Fault::none;
}

ChunkFraming::Fault ChunkFraming::pass_byte(char byte) {
  const auto expect = [&](char expected, State next) {
    state_ = next;
    return byte == expected ? Fault::none : Fault::malformed;
  };
  switch (state_) {
    case State::size:
      if (const std::size_t digit = hexadecimal_digit(byte); digit != kNoDigit) {
        has_digits_ = true;
        left_ = 16 * left_ + digit;
        return left_ > left_for_all_ ? Fault::too_long : Fault::none;
      }
      if (!has_digits_) return Fault::malformed;
      if (byte == '\r') {
        state_ = State::end_of_line;
        return Fault::none;
      }
      [[fallthrough]];
    case State::blanks:
      state_ = byte == ';' ? State::extension : State::blanks;
      return byte == ';' || byte == ' ' || byte == '\t' ? Fault::none : Fault::malformed;
    case State::extension:
      if (byte == '\n') return Fault::malformed;
      if (byte == '\r') state_ = State::end_of_line;
      return Fault::none;
    case State::end_of_line:
      left_for_all_ -= left_;
      return expect('\n', left_ > 0 ? State::data : State::trailer_start);
    case State::end_of_data:
      return expect('\r', State::end_of_data_line);
    case State::end_of_data_line:
      has_digits_ = false;
      return expect('\n', State::size);
    case State::trailer_start:
      is_in_trailer_ = byte != '\r';
      if (!is_in_trailer_) return expect('\r', State::end_of_body);
      state_ = State::trailer;
      [[fallthrough]];
    case State::trailer:
      if (byte == '\n' || byte == '\0') return Fault::malformed;
      if (byte == '\r') state_ = State::end_of_trailer;
      return Fault::none;
    case State::end_of_trailer:
      return expect('\n', State::trailer_start);
    case State::end_of_body:
      return expect('\n', State::done);
    case State::data:
    case State::done:
      break;
  }
  return Fault::none;
}

}  // namespace hearth::tools::serve
