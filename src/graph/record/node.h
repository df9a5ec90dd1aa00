// A node: one value of the lazy graph.
//
// Invariants
//   1. A node holds no references to other nodes: what it was made from is in its tape's words.
//   2. counts: low half, all references (tape, arrays); high half, handles (arrays only). A node
//      whose handles are zero when its tape is submitted can never be asked for again.
//   3. pending: only its tape's submission changes it. ready: storage and layout are set and,
//      but for donation at submit, never change. Reading storage requires an acquire load of
//      `state`.
#pragma once

#include <atomic>
#include <cstdint>

#include "graph/op_def.h"
#include "graph/record/array_access.h"
#include "hearth/array.h"
#include "runtime/device/device_spec.h"
#include "runtime/memory/adopted_memory.h"

namespace hearth {

class Tape;

// A block of device memory, shared by the arrays that view it.
struct Storage {
  std::atomic<std::uint32_t> references{1};
  DeviceImpl* device = nullptr;
  Address address = nullptr;
  std::int64_t bytes = 0;
  std::int64_t early_plan = 0;  // DeviceImpl::plans() of the plan that gave it early; 0: none
  // Where the memory is none of the device's: nobody writes it.
  std::shared_ptr<const AdoptedMemory> adopted;
};
// Throws Error{out_of_memory}.
Storage* allocate_storage(DeviceImpl& device, std::int64_t bytes);
inline void retain(Storage* storage) noexcept {
  storage->references.fetch_add(1, std::memory_order_relaxed);
}
void release(Storage* storage) noexcept;

// Why a value could not be computed; thrown again by every read of it.
struct Failure {
  std::atomic<std::uint32_t> references{1};
  Error error;
  std::atomic<bool> was_thrown{false};  // somebody knows of it
};
void release(Failure* failure) noexcept;

enum class NodeState : std::uint8_t { pending, ready, failed, scalar };

// What recording touches comes first and fits one cache line.
struct alignas(64) Node {
  union {
    const OpDef* op = nullptr;
    Node* next_free;  // while nobody has it
  };
  std::atomic<std::uint64_t> counts{0};
  Tape* tape = nullptr;
  DeviceImpl* device = nullptr;  // null for scalars
  std::atomic<NodeState> state{NodeState::pending};
  DType dtype = DType::f32;
  bool weak = false;        // a scalar whose dtype gives way to that of arrays
  std::uint32_t index = 0;  // on its tape
  Storage* storage = nullptr;
  Failure* failure = nullptr;
  std::uint64_t scalar = 0;  // f64 bits of a float scalar, else the integer
  Shape shape;
  Layout layout;
};

// What recording and submission touch first of a node. Nodes may have left the caches since the
// last step of a program, so loops over many fetch them this far ahead.
inline constexpr std::size_t kPrefetchAhead = 8;
inline void prefetch(const Node* node) noexcept { __builtin_prefetch(node, 1); }

inline constexpr std::uint64_t kHandle = (std::uint64_t{1} << 32) | 1;
inline constexpr std::uint64_t kReference = 1;

// A fresh node with the given counts, from a per-thread free list.
Node* new_node(std::uint64_t counts);
void free_node(Node* node) noexcept;

inline void retain_handle(Node* node) noexcept {
  node->counts.fetch_add(kHandle, std::memory_order_relaxed);
}
inline void release(Node* node, std::uint64_t what) noexcept {
  // The holder of the last reference has no rival: a plain load suffices, without a locked one.
  if (node->counts.load(std::memory_order_acquire) == what) return free_node(node);
  const std::uint64_t before = node->counts.fetch_sub(what, std::memory_order_acq_rel);
  if ((before & 0xffffffffu) == 1) free_node(node);
}
inline bool has_handles(const Node& node) noexcept {
  return (node.counts.load(std::memory_order_acquire) >> 32) != 0;
}

inline bool is_scalar(const Node& node) noexcept {
  return node.state.load(std::memory_order_relaxed) == NodeState::scalar;
}

// Scalars with a dtype of their own: no device, no memory.
Array make_scalar(double value, DType dtype);
Array make_scalar(std::int64_t value, DType dtype);

// The value of a scalar node.
double scalar_as_double(const Node& node);
bool scalar_is_fractional(const Node& node);
// The dynamic word of a scalar node as `dtype`: f64 bits for floats, else an integer. Throws
// Error{dtype} for a fractional value beside integers.
std::uint64_t scalar_word(const char* op, const Node& node, DType dtype);

// The arrays among `inputs` agree on one dtype, which scalars take: returns it. Among scalars only,
// a dtype of their own wins over the default (f32, i64, bool). Throws Error{dtype}.
DType common_dtype(const Inference& inference, int first = 0, int last = -1);

// Takes over `storage`; the node is ready, dense row-major.
Array make_ready(DeviceImpl& device, Storage* storage, DType dtype, const Shape& shape);
// An array whose elements are those of adopted memory from `address` on, aligned to their size.
Array make_adopted(DeviceImpl& device, std::shared_ptr<const AdoptedMemory> memory,
                   const std::byte* address, DType dtype, const Shape& shape);
Array make_failed(DeviceImpl& device, DType dtype, const Shape& shape, Failure* failure);

bool is_dense(const Shape& shape, const Strides& strides) noexcept;

}  // namespace hearth
