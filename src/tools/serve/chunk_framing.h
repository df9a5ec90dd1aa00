// Where the chunks of a body begin and end, for what is looser elsewhere: whoever passes a request
// on must not find another end of it.
#pragma once

#include <cstddef>
#include <string_view>

namespace hearth::tools::serve {

class ChunkFraming {
 public:
  enum class Fault { none, malformed, too_long };

  // Of at most so many bytes without their framing.
  explicit ChunkFraming(std::size_t most_bytes) : left_for_all_(most_bytes) {}

  // What is wrong with the body up to the end of these bytes, which come next: no more than
  // run(). Too long is one whose sizes say so, before the bytes come.
  Fault pass(std::string_view bytes);
  // How many of the next bytes are alike: those of a chunk that are left, or one that is none.
  std::size_t run() const noexcept { return state_ == State::data ? left_ : 1; }
  // Whether the byte that passed last is of a trailer, a field behind the last chunk.
  bool is_in_trailer() const noexcept { return is_in_trailer_; }

 private:
  enum class State {
    size,
    blanks,  // behind the size, before an extension
    extension,
    end_of_line,
    data,
    end_of_data,
    end_of_data_line,
    trailer_start,
    trailer,
    end_of_trailer,
    end_of_body,
    done
  };

  Fault pass_byte(char byte);

  State state_ = State::size;
  std::size_t left_for_all_;
  std::size_t left_ = 0;  // of the chunk
  bool has_digits_ = false, is_in_trailer_ = false;
};

}  // namespace hearth::tools::serve
