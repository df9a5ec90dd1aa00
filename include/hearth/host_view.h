// HostView: elements of an Array or of a runtime::Buffer as the host sees them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "hearth/error.h"

namespace hearth {
inline namespace v0 {

// Bytes that the host may read, and what keeps them. For Hearth itself.
struct HostBytes {
  std::shared_ptr<const void> owner;
  const std::byte* data = nullptr;
  std::int64_t bytes = 0;
  bool is_copy = false;
};

// Elements in row-major order: the memory itself where the host shares it with the device, else a
// copy. T is const where they are only read. A value that shares: copies name the same memory,
// which lives as long as one of them. May be used from any thread.
template <class T>
class HostView {
 public:
  HostView() noexcept = default;

  T* data() const noexcept { return data_; }
  std::int64_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T& operator[](std::int64_t i) const noexcept { return data_[i]; }
  T* begin() const noexcept { return data_; }
  T* end() const noexcept { return data_ + size_; }
  operator std::span<T>() const noexcept {  // NOLINT(google-explicit-constructor)
    return {data_, static_cast<std::size_t>(size_)};
  }
  // The elements were copied, since the host cannot reach them where they are.
  bool is_copy() const noexcept { return is_copy_; }

  // For Hearth itself.
  explicit HostView(HostBytes bytes) noexcept
      : owner_(std::move(bytes.owner)),
        data_(reinterpret_cast<T*>(const_cast<std::byte*>(bytes.data))),
        size_(bytes.bytes / static_cast<std::int64_t>(sizeof(T))),
        is_copy_(bytes.is_copy) {}

 private:
  std::shared_ptr<const void> owner_;
  T* data_ = nullptr;
  std::int64_t size_ = 0;
  bool is_copy_ = false;
};

// `count` elements for `op` to fill with what a device has. Throws Error{out_of_memory} where the
// host lacks memory. For Hearth itself.
template <class T>
std::vector<T> host_vector(const char* op, std::int64_t count) {
  try {
    return std::vector<T>(static_cast<std::size_t>(count));
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  throw Error(ErrorCode::out_of_memory,
              std::string(op) + ": the host is out of memory; got " + std::to_string(count) +
                  " elements of " + std::to_string(sizeof(T)) + " bytes, expected room for them");
}

}  // namespace v0
}  // namespace hearth
