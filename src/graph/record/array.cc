#include "hearth/array.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "core/number_text.h"
#include "core/packed/decode.h"
#include "graph/record/element.h"
#include "graph/record/grad_record.h"
#include "graph/record/node.h"
#include "graph/record/packed.h"
#include "graph/record/tape.h"

namespace hearth {
namespace {

Node& node_of(const Array& array, const char* op) {
  if (node_of(array) == nullptr) {
    throw Error(ErrorCode::invalid_argument,
                std::string(op) + ": no value; got an undefined Array, expected a defined one");
  }
  return *node_of(array);
}

void settle(Node& node) {
  if (node.state.load(std::memory_order_acquire) == NodeState::pending) node.tape->submit(node);
  if (node.state.load(std::memory_order_acquire) == NodeState::failed) {
    node.failure->was_thrown.store(true, std::memory_order_relaxed);
    throw Error(node.failure->error);
  }
}

template <class To, class From>
bool holds(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value == From(0) || value == From(1);
  } else if constexpr (std::is_floating_point_v<To>) {
    return true;  // rounded
  } else if constexpr (std::is_floating_point_v<From>) {
    // 2^digits, which is the first value beyond To, is exact in every float dtype.
    const From end = std::ldexp(From(1), std::numeric_limits<To>::digits);
    const From low = std::is_signed_v<To> ? -end : From(0);
    return value >= low && value < end && std::trunc(value) == value;
  } else {
    return std::in_range<To>(value);
  }
}

// Exact, but for floats, which are rounded.
template <class To, class From>
To converted(From value) {
  if (!holds<To>(value)) {
    throw Error(ErrorCode::dtype, "item: value does not fit; got " + number_text(value) +
                                      ", expected a value of " +
                                      std::string(hearth::name(dtype_of_v<To>)));
  }
  return static_cast<To>(value);
}

// Copies the elements of a strided host view to row-major order.
void gather(std::byte* target, const std::byte* source, const Shape& shape, const Strides& strides,
            std::int64_t item, int axis) {
  if (axis == shape.rank()) {
    std::memcpy(target, source, static_cast<std::size_t>(item));
    return;
  }
  std::int64_t inner = item;
  for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  for (std::int64_t i = 0; i < shape[axis]; ++i) {
    gather(target + i * inner, source + i * strides[axis] * item, shape, strides, item, axis + 1);
  }
}

void read_elements(const Node& node, std::byte* target) {
  const std::int64_t bytes = bytes_of(node.dtype, element_count(node.shape));
  if (bytes == 0) return;
  DeviceImpl& device = *node.device;
  const Address address = node.storage->address + first_byte(node.dtype, node.layout);
  if (is_dense(node.shape, node.layout.strides)) {
    const std::int64_t plan = node.storage->early_plan;
    if (plan != 0 && device.read_early(plan, target, address, bytes)) return;
    device.copy_to_host(target, address, bytes);
    return;
  }
  const bool packed = is_packed(node.dtype);
  const Bytes view = packed ? bytes_of_blocks(node.dtype, node.shape, node.layout.strides)
                            : Bytes{node.shape, node.layout.strides};
  const std::int64_t item = packed ? 1 : size_of(node.dtype);
  // The span of memory that the view touches.
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (int i = 0; i < view.shape.rank(); ++i) {
    const std::int64_t reach = (view.shape[i] - 1) * view.strides[i];
    (reach < 0 ? low : high) += reach;
  }
  if (device.shares_memory()) {
    device.synchronize();
    gather(target, address, view.shape, view.strides, item, 0);
    return;
  }
  const std::int64_t span = (high - low + 1) * item;
  std::vector<std::byte> window = host_vector<std::byte>("read", span);
  device.copy_to_host(window.data(), address + low * item, span);
  gather(target, window.data() - low * item, view.shape, view.strides, item, 0);
}

}  // namespace

inline namespace v0 {

Array::Array(const Array& other) noexcept : node_(other.node_), grad_(other.grad_) {
  if (node_ != nullptr) retain_handle(node_);
  if (grad_ != nullptr) retain(grad_);
}

Array& Array::operator=(const Array& other) noexcept { return *this = Array(other); }

Array& Array::operator=(Array&& other) noexcept {
  std::swap(node_, other.node_);
  std::swap(grad_, other.grad_);
  // What was here goes now, so that `x = f(x)` leaves one handle.
  if (this != &other) {
    Array old(other.node_, other.grad_);
    other.node_ = nullptr;
    other.grad_ = nullptr;
  }
  return *this;
}

void Array::let_go() noexcept {
  if (node_ != nullptr) release(node_, kHandle);
  if (grad_ != nullptr) release(grad_);
}

Array Array::from_bytes(std::span<const std::byte> data, DType dtype, const Shape& shape,
                        Device device) {
  check_shape("from_data", shape);
  require_whole_blocks("from_data", dtype, shape);
  const std::int64_t bytes = bytes_of(dtype, element_count(shape));
  if (static_cast<std::int64_t>(data.size()) != bytes) {
    throw Error(ErrorCode::shape, "from_data: data does not fill the shape; got " +
                                      std::to_string(data.size()) + " bytes, expected " +
                                      std::to_string(bytes) + " for " +
                                      std::string(hearth::name(dtype)) + " " + to_string(shape));
  }
  Storage* storage = allocate_storage(device.impl(), bytes);
  if (bytes > 0) {
    try {
      device.impl().copy_to_device(storage->address, data.data(), bytes);
    } catch (...) {
      release(storage);
      throw;
    }
  }
  return make_ready(device.impl(), storage, dtype, shape);
}

const Shape& Array::shape() const { return node_of(*this, "shape").shape; }

std::int64_t Array::shape(int axis) const {
  const Shape& all = shape();
  return all[normalize_axis("shape", axis, all.rank())];
}

DType Array::dtype() const { return node_of(*this, "dtype").dtype; }

Device Array::device() const {
  DeviceImpl* device = node_of(*this, "device").device;
  return device == nullptr ? Device() : Device(device);
}

bool Array::is_scalar() const noexcept { return node_ != nullptr && hearth::is_scalar(*node_); }

const Array& Array::eval() const {
  Node& node = node_of(*this, "eval");
  settle(node);
  if (node.device != nullptr) node.device->synchronize();
  return *this;
}

bool Array::is_evaluated() const noexcept {
  if (node_ == nullptr) return false;
  const NodeState state = node_->state.load(std::memory_order_acquire);
  return state == NodeState::ready || state == NodeState::scalar;
}

void Array::read(void* target, std::int64_t bytes, DType dtype) const {
  read_as("read", target, bytes, dtype);
}

void Array::read_as(const char* function, void* target, std::int64_t bytes, DType dtype) const {
  Node& node = node_of(*this, function);
  const std::int64_t needed = bytes_of(node.dtype, element_count(node.shape));
  if (dtype != node.dtype) {
    throw Error(ErrorCode::dtype, std::string(function) + ": wrong element type; got " +
                                      std::string(hearth::name(dtype)) + ", expected " +
                                      std::string(hearth::name(node.dtype)) +
                                      ", the array's dtype");
  }
  if (bytes != needed) {
    throw Error(ErrorCode::invalid_argument, std::string(function) + ": wrong size; got " +
                                                 std::to_string(bytes) + " bytes, expected " +
                                                 std::to_string(needed));
  }
  if (hearth::is_scalar(node)) {
    const double value = scalar_as_double(node);
    switch (node.dtype) {
      case DType::f64:
        std::memcpy(target, &value, 8);
        return;
      case DType::f32: {
        const auto narrow = static_cast<float>(value);
        std::memcpy(target, &narrow, 4);
        return;
      }
      case DType::f16: {
        const float16 narrow(static_cast<float>(value));
        std::memcpy(target, &narrow, 2);
        return;
      }
      case DType::bf16: {
        const bfloat16 narrow(static_cast<float>(value));
        std::memcpy(target, &narrow, 2);
        return;
      }
      default:
        std::memcpy(target, &node.scalar, static_cast<std::size_t>(needed));
        return;
    }
  }
  settle(node);
  read_elements(node, static_cast<std::byte*>(target));
}

HostBytes Array::host_bytes(DType dtype) const {
  Node& node = node_of(*this, "host_view");
  const std::int64_t bytes = bytes_of(node.dtype, element_count(node.shape));
  if (dtype == node.dtype && !hearth::is_scalar(node)) {
    settle(node);
    if (node.device->shares_memory() && is_dense(node.shape, node.layout.strides)) {
      node.device->synchronize();
      // A handle: memory that it names is neither given back nor taken over by a result.
      return {std::make_shared<const Array>(detach()),
              node.storage->address + first_byte(node.dtype, node.layout), bytes, false};
    }
  }
  const auto copy =
      std::make_shared<std::vector<std::byte>>(host_vector<std::byte>("host_view", bytes));
  read(copy->data(), bytes, dtype);
  return {copy, copy->data(), bytes, true};
}

template <class T>
T Array::item() const {
  if (size() != 1) {
    throw Error(ErrorCode::shape, "item: more or less than one element; got " + to_string(shape()) +
                                      ", expected size 1");
  }
  std::byte bytes[8];
  read(bytes, size_of(dtype()), dtype());
  return with_element(bytes, dtype(), []<class From>(From value) { return converted<T>(value); });
}

template double Array::item<double>() const;
template float Array::item<float>() const;
template std::int64_t Array::item<std::int64_t>() const;
template std::int32_t Array::item<std::int32_t>() const;
template std::int16_t Array::item<std::int16_t>() const;
template std::int8_t Array::item<std::int8_t>() const;
template std::uint64_t Array::item<std::uint64_t>() const;
template std::uint32_t Array::item<std::uint32_t>() const;
template std::uint16_t Array::item<std::uint16_t>() const;
template std::uint8_t Array::item<std::uint8_t>() const;
template bool Array::item<bool>() const;

std::vector<double> Array::to_doubles() const {
  if (is_packed(dtype())) {
    const HostBytes blocks = host_bytes(dtype());
    std::vector<float> values = host_vector<float>("to_doubles", size());
    decode(dtype(), blocks.data, size(), values.data());
    return {values.begin(), values.end()};
  }
  const std::int64_t item = size_of(dtype());
  const HostBytes bytes = host_bytes(dtype());
  std::vector<double> out = host_vector<double>("to_doubles", size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = with_element(bytes.data + static_cast<std::int64_t>(i) * item, dtype(),
                          [](auto value) { return static_cast<double>(value); });
  }
  return out;
}

template <>
std::vector<bool> Array::to_vector<bool>() const {
  std::vector<std::uint8_t> bytes = host_vector<std::uint8_t>("to_vector", size());
  read_as("to_vector", bytes.data(), static_cast<std::int64_t>(bytes.size()), DType::bool_);
  std::vector<bool> out = host_vector<bool>("to_vector", size());
  std::copy(bytes.begin(), bytes.end(), out.begin());
  return out;
}

Array Array::require_grad() const {
  const Node& node = node_of(*this, "require_grad");
  if (!is_float(node.dtype)) {
    throw Error(ErrorCode::dtype, "require_grad: not differentiable; got " +
                                      std::string(hearth::name(node.dtype)) +
                                      ", expected a float dtype");
  }
  retain_handle(node_);
  return Array(node_, make_leaf());
}

Array Array::detach() const {
  node_of(*this, "detach");
  retain_handle(node_);
  return Array(node_, nullptr);
}

void eval(std::span<const Array> arrays) {
  for (const Array& array : arrays) settle(node_of(array, "eval"));
  for (const Array& array : arrays) {
    if (node_of(array)->device != nullptr) node_of(array)->device->synchronize();
  }
}

void submit() { Tape::submit_all(); }

}  // namespace v0
}  // namespace hearth
