// Memory for arguments that are too long to be given with a command.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "devices/metal/driver/commands/command_stream.h"
#include "devices/metal/driver/memory/buffers.h"

namespace hearth::metal {

// Used by one thread at a time, as its stream. Chunks are written again when the commands that read
// them are done; there are never more than what runs needs.
class ArgumentRing {
 public:
  struct Piece {
    std::byte* bytes;
    BufferPlace place;
  };

  // Both outlive it.
  ArgumentRing(Buffers& buffers, CommandStream& stream) : buffers_(buffers), stream_(stream) {}

  // Memory that the host writes now, for the command that is encoded next.
  Piece take(std::int64_t bytes);

 private:
  struct Chunk {
    Address memory;
    std::int64_t bytes;
    std::int64_t user;  // the last command buffer that reads it
  };

  void begin_chunk(std::int64_t bytes);

  Buffers& buffers_;
  CommandStream& stream_;
  std::deque<Chunk> chunks_;  // the last is written, the others come in the order of their users
  std::int64_t used_ = 0;     // of the last
};

}  // namespace hearth::metal
