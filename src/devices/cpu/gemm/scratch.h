// Memory that a thread keeps between matrix multiplies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "hearth/error.h"

namespace hearth::cpu {

// An aligned block that only grows; fresh pages cost more than the packing that fills them.
class GemmScratch {
 public:
  static constexpr std::size_t kAlign = 64;

  GemmScratch() = default;
  ~GemmScratch() { release(); }
  GemmScratch(const GemmScratch&) = delete;
  GemmScratch& operator=(const GemmScratch&) = delete;

  // Never null. What the block held is lost when it grows.
  template <class T>
  T* take(std::int64_t elements) {
    const auto bytes = static_cast<std::size_t>(elements) * sizeof(T);
    if (bytes > bytes_ || data_ == nullptr) grow(bytes);
    return static_cast<T*>(data_);
  }

  // Gives a block above `bytes` back.
  void trim(std::size_t bytes) noexcept {
    if (bytes_ > bytes) release();
  }

 private:
  void grow(std::size_t bytes) {
    release();
    bytes += bytes / 4 + kAlign;
    data_ = ::operator new(bytes, std::align_val_t{kAlign}, std::nothrow);
    if (data_ == nullptr)
      throw Error(ErrorCode::out_of_memory, "matmul: no memory to pack operands");
    bytes_ = bytes;
  }
  void release() noexcept {
    ::operator delete(data_, std::align_val_t{kAlign});
    data_ = nullptr;
    bytes_ = 0;
  }

  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace hearth::cpu
