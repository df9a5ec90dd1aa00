#include "graph/record/tape.h"

#include <new>

#include "graph/hash.h"
#include "graph/outputs.h"
#include "graph/switches.h"

namespace hearth {
namespace {

// A tape is cut from kSoftLimit nodes on where a contraction or reduction meets the mask, so that
// equal code is cut at equal places, and at kHardLimit in any case.
constexpr std::size_t kSoftLimit = 4096;
constexpr std::size_t kHardLimit = 8192;
constexpr std::uint64_t kCutMask = 15;
// Of an op's further results each.
constexpr std::size_t kOutputWords = 3;
// Values that a recording looks for one after the other.
constexpr std::size_t kMaxShared = 16;

[[noreturn, gnu::noinline, gnu::cold]] void fail_too_many(const OpDef& op, std::size_t inputs,
                                                          std::size_t statics) {
  throw Error(ErrorCode::invalid_argument,
              std::string(op.name.text) + ": too many inputs or parameters; got " +
                  std::to_string(inputs) + " and " + std::to_string(statics) +
                  " words, expected at most " + std::to_string(DescriptorCounts::kMax) + " each");
}

// A node for each further result of the op of `first`, or bad_alloc and none, not even that one.
void make_nodes(Node* first, std::span<Node*> more) {
  std::size_t made = 0;
  try {
    for (; made < more.size(); ++made) more[made] = new_node(kHandle + kReference);
  } catch (const std::bad_alloc&) {
    while (made > 0) free_node(more[--made]);
    free_node(first);
    throw;
  }
}

// The word that a descriptor begins with.
std::uint64_t descriptor_hash(const OpDef& op) {
  return op.name.hash + static_cast<std::uint64_t>(op.revision) * 0x9e3779b97f4a7c15u;
}

}  // namespace

Counters& counters() noexcept {
  static auto* counters = new Counters;
  return *counters;
}

Tape::Entry& Tape::entry_of(const Node* node) noexcept {
  const std::size_t mask = table_.size() - 1;
  std::size_t at = mix(0, reinterpret_cast<std::uintptr_t>(node)) & mask;
  while (table_[at].epoch == epoch_ && table_[at].node != node) at = (at + 1) & mask;
  return table_[at];
}

void Tape::grow_table() {
  std::vector<Entry> entries(table_.size() * 2);
  table_.swap(entries);
  for (const Entry& entry : entries) {
    if (entry.epoch == epoch_) entry_of(entry.node) = entry;
  }
}

std::uint32_t Tape::external_slot(Node* node) {
  if (node == last_external_) return last_slot_;
  Entry* entry = &entry_of(node);
  if (entry->epoch != epoch_) {
    const std::size_t count = recording_.externals.size();
    if ((count + 1) * 2 > table_.size()) {
      grow_table();
      entry = &entry_of(node);
    }
    recording_.externals.push_back(node);
    node->counts.fetch_add(kReference, std::memory_order_relaxed);
    *entry = {node, static_cast<std::uint32_t>(count), epoch_};
  }
  last_slot_ = entry->slot;
  last_external_ = node;
  return last_slot_;
}

[[gnu::always_inline]] inline void Tape::set_kind(Node* node, const OpDef& op, DType dtype,
                                                  const Shape& shape) {
  node->op = &op;
  node->tape = this;
  node->device = &device_;
  node->dtype = dtype;
  node->shape = shape;
}

void Tape::append_output(std::uint32_t first, std::size_t output, Node* node) {
  Recording& rec = recording_;
  node->index = static_cast<std::uint32_t>(rec.nodes.size());
  rec.nodes.push_back(node);
  std::uint64_t* const out = rec.words.reserve(kOutputWords);
  out[0] = descriptor_hash(output_op);
  const std::uint64_t from = OperandRef::make(OperandRef::local, first).word;
  out[1] = (from << 32) | DescriptorCounts{1, 1, 0}.pack();
  out[2] = output;
  rec.words.set_end(out + kOutputWords);
}

[[gnu::always_inline]] inline void Tape::append_descriptor(Node* node,
                                                           std::span<const Array* const> inputs,
                                                           const Params& params,
                                                           DType scalar_dtype) {
  const OpDef& op = *node->op;
  const auto input_count = static_cast<std::uint32_t>(inputs.size());
  const std::span<const std::uint64_t> statics = params.statics().span();
  const std::span<const std::uint64_t> dynamics = params.dynamics().span();
  node->index = static_cast<std::uint32_t>(recording_.nodes.size());
  recording_.nodes.push_back(node);
  std::uint64_t* const out = recording_.words.reserve(2 + input_count / 2 + statics.size());
  std::uint32_t dynamic_count = 0;
  // The reference halves: position 0 is the counts, operand i is at position i + 1.
  std::uint64_t pending_half = 0;
  std::uint64_t* at = out + 1;
  out[1] = 0;
  for (std::uint32_t i = 0; i < input_count; ++i) {
    OperandRef ref = OperandRef::make(OperandRef::absent, 0);
    if (inputs[i] != nullptr && inputs[i]->defined()) {
      Node* input = node_of(*inputs[i]);
      if (is_scalar(*input)) {
        const DType to = input->weak ? scalar_dtype : input->dtype;
        ref = OperandRef::make(OperandRef::scalar, static_cast<std::uint32_t>(to));
        recording_.dynamics.push_back(to == input->dtype ? input->scalar
                                                         : scalar_word(op.name.text, *input, to));
        ++dynamic_count;
      } else if (input->state.load(std::memory_order_acquire) == NodeState::pending) {
        ref = OperandRef::make(OperandRef::local, input->index);
      } else {
        ref = OperandRef::make(OperandRef::external, external_slot(input));
      }
    }
    if ((i & 1) == 0) {
      *at++ = pending_half | (static_cast<std::uint64_t>(ref.word) << 32);
    } else {
      pending_half = ref.word;
    }
    if ((i & 1) == 1 && i + 1 == input_count) *at++ = pending_half;
  }
  if (input_count == 0) ++at;
  for (const std::uint64_t word : statics) *at++ = word;
  for (const std::uint64_t word : dynamics) recording_.dynamics.push_back(word);
  dynamic_count += static_cast<std::uint32_t>(dynamics.size());
  const DescriptorCounts counts{input_count, static_cast<std::uint32_t>(statics.size()),
                                dynamic_count};
  out[0] = descriptor_hash(op);
  out[1] = (out[1] & ~std::uint64_t{0xffffffff}) | counts.pack();
  recording_.words.set_end(at);
}

[[gnu::always_inline]] inline bool Tape::is_cut_behind(const OpDef& op) {
  window_ = (window_ << 16) | (op.name.hash >> 48);
  const std::size_t nodes = recording_.nodes.size();
  if (nodes < kSoftLimit) return false;
  const bool may_cut = op.kind == OpKind::contraction || op.kind == OpKind::reduce;
  return nodes >= kHardLimit || (may_cut && (mix(1, window_) & kCutMask) == 0);
}

Node* Tape::append(const OpDef& op, std::span<const Array* const> inputs, const Params& params,
                   const Shape& shape, DType dtype, DType scalar_dtype) {
  return append_nodes<false>(op, inputs, params, shape, dtype, scalar_dtype, {}, {});
}

Node* Tape::append_outputs(const Inference& inference, std::span<Node*> more) {
  return append_nodes<true>(inference.op, inference.inputs, inference.params, inference.shape,
                            inference.dtype, inference.scalar_dtype, inference.more_outputs, more);
}

template <bool kSeveral>
Node* Tape::append_nodes(const OpDef& op, std::span<const Array* const> inputs,
                         const Params& params, const Shape& shape, DType dtype, DType scalar_dtype,
                         [[maybe_unused]] std::span<const OutputType> types,
                         [[maybe_unused]] std::span<Node*> more) {
  const auto input_count = static_cast<std::uint32_t>(inputs.size());
  const std::span<const std::uint64_t> statics = params.statics().span();
  if (input_count > DescriptorCounts::kMax || statics.size() > DescriptorCounts::kMax) {
    fail_too_many(op, input_count, statics.size());
  }
  if (!is_float(scalar_dtype)) {
    for (const Array* input : inputs) {  // throws before anything has changed
      if (input == nullptr || !input->defined()) continue;
      const Node& operand = *node_of(*input);
      if (is_scalar(operand) && operand.weak) scalar_word(op.name.text, operand, scalar_dtype);
    }
  }
  Node* const node = new_node(kHandle + kReference);
  set_kind(node, op, dtype, shape);
  if constexpr (kSeveral) {
    make_nodes(node, more);
    for (std::size_t i = 0; i < more.size(); ++i) {
      set_kind(more[i], output_op, types[i].dtype, types[i].shape);
    }
  }
  bool is_long = false;
  {
    const TapeLock::Owner owner(lock_);
    Recording& rec = recording_;
    const std::size_t words = rec.words.size(), dynamics_end = rec.dynamics.size();
    if (rec.nodes.empty()) switches_ = switches();
    try {
      append_descriptor(node, inputs, params, scalar_dtype);
      if constexpr (kSeveral) {
        for (std::size_t i = 0; i < more.size(); ++i) append_output(node->index, i + 1, more[i]);
      }
    } catch (const std::bad_alloc&) {  // then nothing was recorded
      rec.nodes.resize(node->index);
      rec.words.set_end(rec.words.begin() + words);
      rec.dynamics.set_end(rec.dynamics.begin() + dynamics_end);
      free_node(node);
      for (Node* each : more) free_node(each);
      throw;
    }
    is_long = is_cut_behind(op);
  }
  if (is_long) {
    counters().automatic_cuts.fetch_add(1, std::memory_order_relaxed);
    submit();
  }
  return node;
}

Array Tape::shared(const SharedKey& key) noexcept {
  Array found;
  const TapeLock::Owner owner(lock_);
  for (const auto& [known, node] : recording_.shared) {
    if (known != key) continue;
    retain_handle(node);
    found = array_of(node, nullptr);
    break;
  }
  return found;
}

void Tape::share(const SharedKey& key, const Array& value) {
  const TapeLock::Owner owner(lock_);
  Node* const node = node_of(value);
  // Somebody else may have submitted the tape meanwhile.
  const bool is_here = node->tape == this && node->index < recording_.nodes.size() &&
                       recording_.nodes[node->index] == node;
  if (is_here && recording_.shared.size() < kMaxShared) recording_.shared.emplace_back(key, node);
}

Array shared_value(Device device, const SharedKey& key, FunctionRef<Array()> make) {
  Tape& tape = Tape::of(device.impl());
  Array value = tape.shared(key);
  if (value.defined()) return value;
  value = make();
  tape.share(key, value);
  return value;
}

bool Tape::is_empty() noexcept {
  const TapeLock::Owner owner(lock_);
  return recording_.nodes.empty();
}

void Tape::read(FunctionRef<void(Recording&)> f) {
  const TapeLock::Owner owner(lock_);
  f(recording_);
}

std::vector<const OpDef*> Tape::ops() {
  std::vector<const OpDef*> all;
  const TapeLock::Owner owner(lock_);
  for (const Node* node : recording_.nodes) all.push_back(node->op);
  return all;
}

}  // namespace hearth
