#include "devices/cuda/driver/staging_ring.h"

#include <algorithm>
#include <cstring>

#include "core/integer_math.h"

namespace hearth::cuda {

StagingRing::~StagingRing() {
  if (memory_ == nullptr || !context_.drain()) return;
  try {
    const Context::Scope scope(context_, Context::Use::call);
    for (const Chunk& chunk : chunks_) context_.api().cuEventDestroy_v2(chunk.done);
    context_.api().cuMemFreeHost(memory_);
  } catch (const std::exception&) {
    // The driver's library is gone, and its memory with it.
  }
}

void StagingRing::allocate() {
  if (memory_ != nullptr) return;
  const DriverApi& api = context_.api();
  for (Chunk& chunk : chunks_) {
    if (chunk.done != nullptr) continue;  // an earlier try ran out of memory
    context_.check(api.cuEventCreate(&chunk.done, kEventDisableTiming), "cuEventCreate");
  }
  void* memory = nullptr;
  const auto bytes = static_cast<std::size_t>(kChunk) * chunks_.size();
  context_.check(api.cuMemHostAlloc(&memory, bytes, 0), "cuMemHostAlloc");
  memory_ = static_cast<std::byte*>(memory);
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    chunks_[i].memory = memory_ + static_cast<std::int64_t>(i) * kChunk;
  }
}

void StagingRing::record(Chunk& chunk) {
  context_.check(context_.api().cuEventRecord(chunk.done, context_.stream()), "cuEventRecord");
  chunk.is_pending = true;
}

void StagingRing::wait(Chunk& chunk) {
  if (!chunk.is_pending) return;
  context_.check(context_.api().cuEventSynchronize(chunk.done), "cuEventSynchronize");
  chunk.is_pending = false;
}

StagingRing::Chunk& StagingRing::next() {
  if (used_ > 0) record(chunks_[current_]);
  current_ = (current_ + 1) % chunks_.size();
  wait(chunks_[current_]);
  used_ = 0;
  return chunks_[current_];
}

void StagingRing::upload(DevicePointer target, const std::byte* source, std::int64_t bytes) {
  allocate();
  for (std::int64_t at = 0; at < bytes;) {
    if (used_ >= kChunk) next();
    const std::int64_t part = std::min(bytes - at, kChunk - used_);
    std::byte* staged = chunks_[current_].memory + used_;
    std::memcpy(staged, source + at, static_cast<std::size_t>(part));
    // The part counts as used even if its copy is refused.
    used_ += round_up(part, kAlign);
    context_.check(
        context_.api().cuMemcpyHtoDAsync_v2(target + static_cast<DevicePointer>(at), staged,
                                            static_cast<std::size_t>(part), context_.stream()),
        "cuMemcpyHtoDAsync");
    at += part;
  }
}

void StagingRing::download(std::byte* target, DevicePointer source, std::int64_t bytes) {
  allocate();
  Chunk* before = nullptr;
  std::int64_t before_at = 0;
  std::int64_t before_part = 0;
  const auto take = [&] {
    if (before == nullptr) return;
    wait(*before);
    std::memcpy(target + before_at, before->memory, static_cast<std::size_t>(before_part));
  };
  for (std::int64_t at = 0; at < bytes;) {
    Chunk& chunk = next();
    const std::int64_t part = std::min(bytes - at, kChunk);
    context_.check(
        context_.api().cuMemcpyDtoHAsync_v2(chunk.memory, source + static_cast<DevicePointer>(at),
                                            static_cast<std::size_t>(part), context_.stream()),
        "cuMemcpyDtoHAsync");
    record(chunk);
    take();
    before = &chunk;
    before_at = at;
    before_part = part;
    at += part;
  }
  take();
}

}  // namespace hearth::cuda
