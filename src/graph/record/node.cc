#include "graph/record/node.h"
#include "core/forked.h"
#include "core/number_text.h"
#include "core/thread_owned.h"

#include <mutex>
#include <new>
#include <vector>

namespace hearth {
namespace {

// Nodes are recycled through a list per thread; a thread that frees more than it makes hands
// batches to the shared list, so producer and consumer threads stay level.
constexpr std::size_t kBatch = 256;
constexpr std::size_t kSlabNodes = 128;

struct SharedNodes {
  std::mutex mutex;
  std::vector<Node*> free;
};
SharedNodes& shared_nodes() {
  static auto* shared = new SharedNodes;
  return *shared;
}

// A thread's own list. Until the thread first needs the shared one it keeps nothing.
struct LocalNodes {
  Node* first = nullptr;
  std::size_t count = 0;
  std::size_t most = 0;
};
constinit thread_local LocalNodes t_nodes;

void push(LocalNodes& local, Node* node) noexcept {
  node->next_free = local.first;
  local.first = node;
  ++local.count;
}

Node* pop(LocalNodes& local) noexcept {
  Node* node = local.first;
  local.first = node->next_free;
  --local.count;
  return node;
}

void give_back(std::size_t keep) {
  SharedNodes& shared = shared_nodes();
  const std::lock_guard lock(shared.mutex);
  while (t_nodes.count > keep) shared.free.push_back(pop(t_nodes));
}

void stop_keeping() noexcept {
  t_nodes.most = 0;
  if (!is_forked()) give_back(0);
}
constinit thread_local ThreadEnd t_end = {&stop_keeping};

// From the first use of the shared list on, the thread keeps nodes until it ends.
void start_keeping() noexcept {
  if (t_nodes.most == 0 && note_thread_end(t_end)) t_nodes.most = 32 * kBatch;
}

void refill() {
  start_keeping();
  SharedNodes& shared = shared_nodes();
  {
    const std::lock_guard lock(shared.mutex);
    for (std::size_t i = 0; i < kBatch && !shared.free.empty(); ++i) {
      push(t_nodes, shared.free.back());
      shared.free.pop_back();
    }
  }
  if (t_nodes.first != nullptr) return;
  auto* slab =
      static_cast<std::byte*>(::operator new(sizeof(Node) * kSlabNodes, std::align_val_t{64}));
  for (std::size_t i = kSlabNodes; i > 0; --i) {
    push(t_nodes, new (slab + sizeof(Node) * (i - 1)) Node);
  }
}

}  // namespace

Storage* allocate_storage(DeviceImpl& device, std::int64_t bytes) {
  if (bytes < 1) bytes = 1;
  auto* storage = new Storage;
  try {
    storage->address = device.allocate(bytes);
  } catch (...) {
    delete storage;
    throw;
  }
  storage->device = &device;
  storage->bytes = bytes;
  return storage;
}

void release(Storage* storage) noexcept {
  if (storage->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (storage->adopted == nullptr) storage->device->free(storage->address, storage->bytes);
  delete storage;
}

void release(Failure* failure) noexcept {
  if (failure->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete failure;
}

Node* new_node(std::uint64_t counts) {
  if (t_nodes.first == nullptr) refill();
  Node* node = pop(t_nodes);
  if (t_nodes.most == 0) give_back(0);
  // The next one's turn comes after about as long as memory takes.
  prefetch(t_nodes.first);
  if (t_nodes.first != nullptr) __builtin_prefetch(&t_nodes.first->shape, 1);
  node->op = nullptr;
  node->counts.store(counts, std::memory_order_relaxed);
  node->state.store(NodeState::pending, std::memory_order_relaxed);
  node->weak = false;
  return node;
}

void free_node(Node* node) noexcept {
  if (node->storage != nullptr) {
    release(node->storage);
    node->storage = nullptr;
  }
  if (node->failure != nullptr) {
    release(node->failure);
    node->failure = nullptr;
  }
  push(t_nodes, node);
  if (t_nodes.count <= t_nodes.most) return;
  start_keeping();
  give_back(t_nodes.most / 2);
}

namespace {

// One that no tape has.
Node* new_loose_node(DeviceImpl* device, DType dtype, const Shape& shape) {
  Node* node = new_node(kHandle);
  node->op = nullptr;
  node->tape = nullptr;
  node->device = device;
  node->dtype = dtype;
  node->shape = shape;
  return node;
}

Array scalar_array(std::uint64_t word, DType dtype, bool weak) {
  Node* node = new_loose_node(nullptr, dtype, Shape());
  node->weak = weak;
  node->scalar = word;
  node->state.store(NodeState::scalar, std::memory_order_release);
  return array_of(node, nullptr);
}

}  // namespace

Array make_scalar(double value, DType dtype) {
  Node source;
  source.dtype = DType::f64;
  source.scalar = std::bit_cast<std::uint64_t>(value);
  return scalar_array(scalar_word("scalar", source, dtype), dtype, false);
}

Array make_scalar(std::int64_t value, DType dtype) {
  Node source;
  source.dtype = DType::i64;
  source.scalar = static_cast<std::uint64_t>(value);
  return scalar_array(scalar_word("scalar", source, dtype), dtype, false);
}

inline namespace v0 {
Array::Array(double value)
    : Array(scalar_array(std::bit_cast<std::uint64_t>(value), DType::f32, true)) {}
Array::Array(std::int64_t value)
    : Array(scalar_array(static_cast<std::uint64_t>(value), DType::i64, true)) {}
Array::Array(bool value) : Array(scalar_array(value ? 1 : 0, DType::bool_, true)) {}
}  // namespace v0

double scalar_as_double(const Node& node) {
  if (is_float(node.dtype)) return std::bit_cast<double>(node.scalar);
  if (node.dtype == DType::u64) return static_cast<double>(node.scalar);
  return static_cast<double>(static_cast<std::int64_t>(node.scalar));
}

bool scalar_is_fractional(const Node& node) {
  if (!is_float(node.dtype)) return false;
  const double value = std::bit_cast<double>(node.scalar);
  return !(value >= -9223372036854775808.0 && value < 18446744073709551616.0) ||
         value != static_cast<double>(value < 0
                                          ? static_cast<double>(static_cast<std::int64_t>(value))
                                          : static_cast<double>(static_cast<std::uint64_t>(value)));
}

std::uint64_t scalar_word(const char* op, const Node& node, DType dtype) {
  if (is_float(dtype)) return std::bit_cast<std::uint64_t>(scalar_as_double(node));
  if (is_bool(dtype)) return scalar_as_double(node) != 0 ? 1 : 0;
  if (!is_float(node.dtype)) return node.scalar;
  const double value = std::bit_cast<double>(node.scalar);
  if (scalar_is_fractional(node)) {
    throw Error(ErrorCode::dtype, std::string(op) + ": fractional scalar beside integers; got " +
                                      number_text(value) + ", expected an integer for " +
                                      std::string(name(dtype)));
  }
  return value < 0 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(value))
                   : static_cast<std::uint64_t>(value);
}

DType common_dtype(const Inference& inference, int first, int last) {
  if (last < 0) last = static_cast<int>(inference.inputs.size()) - 1;
  const Node* chosen = nullptr;   // an array or a scalar with its own dtype
  const Node* weakest = nullptr;  // the widest weak scalar: float over int over bool
  for (int i = first; i <= last; ++i) {
    if (!inference.has(i)) continue;
    const Node& node = *node_of(inference.input(i));
    if (node.weak) {
      if (weakest == nullptr || node.dtype < weakest->dtype) weakest = &node;
    } else if (chosen == nullptr) {
      chosen = &node;
    } else if (chosen->dtype != node.dtype) {
      inference.fail(ErrorCode::dtype,
                     "inputs differ in dtype; got " + std::string(name(chosen->dtype)) + " and " +
                         std::string(name(node.dtype)) + ", expected one dtype: cast one of them");
    }
  }
  if (chosen != nullptr) return chosen->dtype;
  if (weakest != nullptr) return weakest->dtype;
  return DType::f32;
}

void Inference::fail(ErrorCode code, const std::string& text) const {
  throw Error(code, std::string(op.name.text) + ": " + text);
}

Array make_ready(DeviceImpl& device, Storage* storage, DType dtype, const Shape& shape) {
  Node* node = new_loose_node(&device, dtype, shape);
  node->storage = storage;
  node->layout.offset = 0;
  node->layout.strides = contiguous_strides(shape);
  node->state.store(NodeState::ready, std::memory_order_release);
  return array_of(node, nullptr);
}

Array make_adopted(DeviceImpl& device, std::shared_ptr<const AdoptedMemory> memory,
                   const std::byte* address, DType dtype, const Shape& shape) {
  auto* storage = new Storage;
  storage->device = &device;
  storage->address = const_cast<std::byte*>(address);
  storage->bytes = std::max<std::int64_t>(1, bytes_of(dtype, element_count(shape)));
  storage->adopted = std::move(memory);
  return make_ready(device, storage, dtype, shape);
}

Array make_failed(DeviceImpl& device, DType dtype, const Shape& shape, Failure* failure) {
  Node* node = new_loose_node(&device, dtype, shape);
  failure->references.fetch_add(1, std::memory_order_relaxed);
  node->failure = failure;
  node->state.store(NodeState::failed, std::memory_order_release);
  return array_of(node, nullptr);
}

bool is_dense(const Shape& shape, const Strides& strides) noexcept {
  std::int64_t expected = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if (shape[i] == 0) return true;
    if (shape[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

}  // namespace hearth
