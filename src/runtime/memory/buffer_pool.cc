// BufferPool: blocks of a device, lent to buffers and kept for the next ones.
#include <algorithm>
#include <bit>
#include <map>
#include <mutex>
#include <string>

#include "core/integer_math.h"
#include "hearth/buffer_pool.h"
#include "runtime/commands/driver.h"
#include "runtime/memory/buffer_storage.h"

namespace hearth {
inline namespace v0 {
namespace runtime {
namespace {

constexpr std::int64_t kLeastBlock = 256;
constexpr std::int64_t kBlockGrain = std::int64_t{1} << 16;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 60;  // more than any device has

void require_count(const char* what, std::int64_t got) {
  if (got >= 0) return;
  throw Error(ErrorCode::invalid_argument, std::string("BufferPool: ") + what +
                                               " out of range; got " + std::to_string(got) +
                                               ", expected 0 or more");
}

}  // namespace

struct BufferPool::State final : BlockLender {
  State(Device owner, const BufferPoolOptions& wanted) : device(owner), options(wanted) {}
  ~State() override { drop_kept(); }

  std::int64_t block_bytes(std::int64_t bytes) const {
    const std::int64_t least = std::max(bytes, kLeastBlock);
    if (least > options.largest_rounded) return round_up(least, kBlockGrain);
    return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(least)));
  }

  void take_back(Address address, std::int64_t bytes) noexcept override {
    const std::lock_guard lock(mutex);
    --count.buffers;
    count.in_use -= bytes;
    try {
      kept.emplace(bytes, address);
      count.kept += bytes;
    } catch (...) {
      device.impl().free(address, bytes);
    }
  }

  // A block for `bytes`, as one in use, and how long it is.
  std::pair<Address, std::int64_t> lend(std::int64_t bytes) {
    const std::lock_guard lock(mutex);
    const std::int64_t size = block_bytes(bytes);
    const auto found = kept.lower_bound(size);
    std::pair<Address, std::int64_t> block;
    if (found != kept.end() && found->first / 2 <= size) {
      block = {found->second, found->first};
      count.kept -= found->first;
      kept.erase(found);
      ++count.reused;
    } else {
      block = {fresh(size), size};
      ++count.fresh;
    }
    ++count.buffers;
    count.in_use += block.second;
    count.peak = std::max(count.peak, count.in_use);
    return block;
  }

  // Whether `blocks` more of `size` bytes are within the limit, what is kept dropped or not.
  bool fits(std::int64_t blocks, std::int64_t size, bool drops) const {
    const std::int64_t limit = options.limit_bytes, there = count.in_use + (drops ? 0 : count.kept);
    return limit == 0 || blocks <= std::max<std::int64_t>(limit - there, 0) / size;
  }

  // Called with the mutex.
  Address fresh(std::int64_t size) {
    if (!fits(1, size, false)) drop_kept();
    if (!fits(1, size, true)) {
      throw Error(ErrorCode::out_of_memory,
                  "BufferPool: over its limit; got " + std::to_string(size) + " bytes beside " +
                      std::to_string(count.in_use) + " in use by " + std::to_string(count.buffers) +
                      " buffers, expected at most " + std::to_string(options.limit_bytes) +
                      " in all");
    }
    try {
      return device.impl().allocate(size);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::out_of_memory || kept.empty()) throw;
    }
    drop_kept();
    return device.impl().allocate(size);
  }

  // Called with the mutex.
  void keep_fresh(std::int64_t size) {
    const Address block = device.impl().allocate(size);
    try {
      kept.emplace(size, block);
    } catch (...) {
      device.impl().free(block, size);
      throw;
    }
    count.kept += size;
  }

  void drop_kept() noexcept {
    for (const auto& [bytes, address] : kept) device.impl().free(address, bytes);
    kept.clear();
    count.kept = 0;
  }

  const Device device;
  const BufferPoolOptions options;
  mutable std::mutex mutex;                   // of what follows
  std::multimap<std::int64_t, Address> kept;  // by their bytes
  BufferPoolStatistics count;
};

BufferPool::BufferPool(Device device, const BufferPoolOptions& options) {
  properties(device);  // throws where it runs no kernels
  require_count("limit_bytes", options.limit_bytes);
  require_count("largest_rounded", options.largest_rounded);
  state_ = std::make_shared<State>(device, options);
}

Buffer BufferPool::make(DType dtype, const Shape& shape) {
  check_shape("BufferPool::make", shape);
  Buffer made;
  made.dtype_ = dtype;
  made.shape_ = shape;
  const auto [address, bytes] = state_->lend(made.bytes());
  try {
    made.storage_ = std::make_shared<Buffer::Storage>(state_->device, address, bytes, state_);
  } catch (...) {
    state_->take_back(address, bytes);
    throw;
  }
  return made;
}

Buffer BufferPool::zeros(DType dtype, const Shape& shape) {
  Buffer made = make(dtype, shape);
  const std::lock_guard lock(state_->device.impl().queue_mutex());
  state_->device.impl().driver()->fill(made.address(), 0, made.bytes());
  return made;
}

void BufferPool::reserve(std::int64_t buffers, std::int64_t bytes) {
  require_count("buffers", buffers);
  require_count("bytes", bytes);
  if (bytes > kMostBytes) {
    throw Error(ErrorCode::out_of_memory, "BufferPool: too large; got " + std::to_string(bytes) +
                                              " bytes, expected what the device has");
  }
  const std::lock_guard lock(state_->mutex);
  const std::int64_t size = state_->block_bytes(bytes);
  std::int64_t there = std::count_if(
      state_->kept.begin(), state_->kept.end(),
      [size](const auto& block) { return block.first >= size && block.first / 2 <= size; });
  if (!state_->fits(buffers - there, size, false)) {
    state_->drop_kept();
    there = 0;
    if (!state_->fits(buffers, size, true)) {
      throw Error(ErrorCode::out_of_memory,
                  "BufferPool: over its limit; got " + std::to_string(buffers) + " blocks of " +
                      std::to_string(size) + " bytes to reserve beside " +
                      std::to_string(state_->count.in_use) + " in use, expected at most " +
                      std::to_string(state_->options.limit_bytes) + " in all");
    }
  }
  try {
    for (; there < buffers; ++there) state_->keep_fresh(size);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory) throw;
    state_->drop_kept();
    for (there = 0; there < buffers; ++there) state_->keep_fresh(size);
  }
}

void BufferPool::trim() {
  const std::lock_guard lock(state_->mutex);
  state_->drop_kept();
}

Device BufferPool::device() const noexcept { return state_->device; }

BufferPoolStatistics BufferPool::statistics() const {
  const std::lock_guard lock(state_->mutex);
  return state_->count;
}

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
