#include "devices/metal/driver/commands/argument_ring.h"

#include <algorithm>

#include "core/integer_math.h"

namespace hearth::metal {
namespace {

constexpr std::int64_t kChunk = std::int64_t{256} << 10;  // constants of hundreds of launches
constexpr std::int64_t kAlign = 256;                      // of constants in buffers, on every GPU

}  // namespace

ArgumentRing::Piece ArgumentRing::take(std::int64_t bytes) {
  const std::int64_t whole = round_up(bytes, kAlign);
  if (chunks_.empty() || whole > chunks_.back().bytes - used_) begin_chunk(whole);
  Chunk& chunk = chunks_.back();
  const Address at = chunk.memory + used_;
  used_ += whole;
  chunk.user = stream_.number();
  return {static_cast<std::byte*>(at), buffers_.find(at, bytes)};
}

void ArgumentRing::begin_chunk(std::int64_t bytes) {
  used_ = 0;
  if (!chunks_.empty() && chunks_.front().user < stream_.done()) {
    const Chunk oldest = chunks_.front();
    chunks_.pop_front();
    if (bytes <= oldest.bytes) return chunks_.push_back(oldest);
    buffers_.free(oldest.memory);
  }
  const std::int64_t size = std::max(bytes, kChunk);
  chunks_.push_back({buffers_.allocate(size), size, stream_.number()});
}

}  // namespace hearth::metal
