// Array: a handle to a value of the lazy graph, of any rank and dtype.
//
// Ops on arrays record what is to be computed; eval(), reading data and printing compute it. An
// Array never changes its value. Copies are cheap and share. Everything here may be called from any
// thread; one Array object must not be assigned in one thread while another uses it.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hearth/device.h"
#include "hearth/dtype.h"
#include "hearth/host_view.h"
#include "hearth/shape.h"

namespace hearth {

struct Node;
struct GradRecord;
struct ArrayAccess;

inline namespace v0 {

class [[nodiscard("an op changes nothing in place: keep its result")]] HEARTH_API Array {
 public:
  // No value: only assignment, defined() and destruction are allowed.
  Array() noexcept = default;
  // A scalar of rank 0 without a dtype of its own: in an op it takes the dtype of the arrays beside
  // it, or is an Error where that cannot hold it. Changing its value never rebuilds a plan.
  Array(double value);                                       // NOLINT(google-explicit-constructor)
  Array(std::int64_t value);                                 // NOLINT(google-explicit-constructor)
  Array(bool value);                                         // NOLINT(google-explicit-constructor)
  Array(float value) : Array(static_cast<double>(value)) {}  // NOLINT
  Array(int value) : Array(static_cast<std::int64_t>(value)) {}  // NOLINT

  Array(const Array& other) noexcept;
  Array(Array&& other) noexcept : node_(other.node_), grad_(other.grad_) {
    other.node_ = nullptr;
    other.grad_ = nullptr;
  }
  Array& operator=(const Array& other) noexcept;
  Array& operator=(Array&& other) noexcept;
  ~Array() {
    if (node_ != nullptr || grad_ != nullptr) let_go();
  }

  // Copies `data` (row-major, element_count(shape) values) to the device.
  template <class T>
  static Array from_data(std::span<const T> data, const Shape& shape, Device device = Device()) {
    return from_bytes({reinterpret_cast<const std::byte*>(data.data()), data.size_bytes()},
                      dtype_of_v<T>, shape, device);
  }
  template <class T>
  static Array from_data(const std::vector<T>& data, const Shape& shape, Device device = Device()) {
    return from_data(std::span<const T>(data), shape, device);
  }
  // The same of little-endian bytes, bools of 0 or 1. Throws Error{shape} when sizes do not fit.
  static Array from_bytes(std::span<const std::byte> data, DType dtype, const Shape& shape,
                          Device device = Device());

  bool defined() const noexcept { return node_ != nullptr; }
  const Shape& shape() const;
  std::int64_t shape(int axis) const;  // negative axes count from the end
  int rank() const { return shape().rank(); }
  std::int64_t size() const { return element_count(shape()); }
  DType dtype() const;
  Device device() const;            // of a scalar: the default device
  bool is_scalar() const noexcept;  // a scalar without a device, made from a number
  // Equal for handles to one value, as copies and tied parameters are; null where undefined.
  const void* identity() const noexcept { return node_; }

  // Submits everything recorded so far by this array's thread and waits until this value exists.
  // Throws the Error that this value, or one that it is made of, has failed with; see submit().
  const Array& eval() const;
  // True once the value is in memory.
  bool is_evaluated() const noexcept;

  // Evaluates and copies the elements in row-major order. T must store the array's dtype, or the
  // call throws Error{dtype}; Error{out_of_memory} where the host lacks memory for the copy.
  template <class T>
  std::vector<T> to_vector() const {
    std::vector<T> out = host_vector<T>("to_vector", size());
    read_as("to_vector", out.data(), static_cast<std::int64_t>(out.size() * sizeof(T)),
            dtype_of_v<T>);
    return out;
  }
  // Evaluates and gives the elements to read, without a copy where the array is dense and the host
  // shares the device's memory. While the view lives, nothing is computed in this array's memory. T
  // must store the array's dtype, or the call throws Error{dtype}.
  template <class T>
  HostView<const T> host_view() const {
    return HostView<const T>(host_bytes(dtype_of_v<T>));
  }
  // The only element of an array of size 1, converted: rounded for a float T, exact for an integer
  // (std::int8_t to std::uint64_t) or bool. Throws Error{shape} for other sizes, Error{dtype} for a
  // value that an integer T cannot hold. Every handle that lives at the call is a value to keep,
  // and temporaries live until its end: in `sum(exp(x)).item()` exp(x) is written to memory, in
  // `Array s = sum(exp(x)); s.item();` it is not.
  template <class T = double>
  T item() const;
  // Copies the elements in row-major order to `target`, which holds exactly `bytes` bytes.
  void read(void* target, std::int64_t bytes, DType dtype) const;
  // What host_view() is made of.
  HostBytes host_bytes(DType dtype) const;
  // Elements converted to f64, whatever the dtype.
  std::vector<double> to_doubles() const;

  // Marks a leaf whose gradient is wanted. The array keeps its value; the result has a stable id.
  Array require_grad() const;
  bool is_require_grad() const noexcept { return grad_ != nullptr; }
  // The same value, cut off from differentiation.
  Array detach() const;
  // Takes the value of `value`, but stays the leaf that it is: id and flag are kept. This is how a
  // parameter is updated; `w.assign(w.detach() - step)` reuses w's memory where nothing else holds
  // it.
  void assign(Array value) noexcept { std::swap(node_, value.node_); }

 private:
  friend struct hearth::ArrayAccess;
  Array(Node* node, GradRecord* grad) noexcept : node_(node), grad_(grad) {}
  void let_go() noexcept;
  // read() as a part of `function`, which errors name.
  void read_as(const char* function, void* target, std::int64_t bytes, DType dtype) const;

  Node* node_ = nullptr;
  GradRecord* grad_ = nullptr;
};

template <>
HEARTH_API std::vector<bool> Array::to_vector<bool>() const;

// Dtype and shape, then the elements as nested rows: `Array f32 [3] [1, 2.5, nan]`. Of more than
// 1000 elements three are shown at each end of an axis (print.h), and only those read. Evaluates.
HEARTH_API std::ostream& operator<<(std::ostream& out, const Array& array);

// Evaluates several arrays with one wait.
HEARTH_API void eval(std::span<const Array> arrays);

// Elements of an array, row-major, in memory of the host.
struct HostElements {
  std::span<const std::byte> bytes;
  DType dtype = DType::f32;
  Shape shape;
};

// Arrays of elements in whole pages of the host's memory, such as a mapped file; one for each, in
// order. Where the device reads the host's memory (CPU, Metal) an array is that memory: `keeper`
// keeps it, and nobody may change it while the array lives. What begins at no multiple of its
// element's size is copied, and so is everything for other devices. Bools are 0 or 1. Throws
// Error{shape} when sizes do not fit.
HEARTH_API std::vector<Array> host_arrays(std::span<const HostElements> elements,
                                          const std::shared_ptr<const void>& keeper,
                                          Device device = Device());

// Starts everything that this thread has recorded, on all devices, and waits for nothing.
//
// What fails, here or in eval(), fails alone: an op that throws or that a device has no kernel for,
// and values that find no memory (of what is recorded the largest, as many as it takes), and what
// is made of those. Everything else on the tape is computed, updates in place too. Memory
// is acquired before anything runs, so running out of it changes no value. A value that has failed
// throws its Error whenever it is read, and passes it on to what is recorded from it: it is not
// tried again. Record it anew when there is memory. Where the device itself fails, all that was
// recorded with it fails; on a device that runs later the next wait throws that once, and what it
// touched has no certain value.
HEARTH_API void submit();

// While one lives, ops recorded on this thread are not tracked for differentiation.
class HEARTH_API NoGrad {
 public:
  [[nodiscard]] NoGrad() noexcept;
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool before_;
};

}  // namespace v0
}  // namespace hearth
