#include "graph/record/tape.h"

#include "graph/hash.h"
#include "graph/outputs.h"
#include "graph/switches.h"
#include "runtime/memory/held_keepers.h"

namespace hearth {
namespace {

// A tape is cut from kSoftLimit nodes on where a contraction or reduction meets the mask, so that
// equal code is cut at equal places, and at kHardLimit in any case.
constexpr std::size_t kSoftLimit = 4096;
constexpr std::size_t kHardLimit = 8192;
constexpr std::uint64_t kCutMask = 15;
// Values that a recording looks for one after the other.
constexpr std::size_t kMaxShared = 16;

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
  Entry& entry = entry_of(node);
  const bool is_new = entry.epoch != epoch_;
  if (is_new) {
    node->counts.fetch_add(kReference, std::memory_order_relaxed);
    entry = {node, static_cast<std::uint32_t>(recording_.externals.size()), epoch_};
    recording_.externals.push_back(node);
  }
  last_slot_ = entry.slot;
  if (is_new && recording_.externals.size() * 2 > table_.size()) grow_table();
  last_external_ = node;
  return last_slot_;
}

void Tape::append_output(std::uint32_t first, std::size_t output, Node* node) {
  Recording& rec = recording_;
  node->index = static_cast<std::uint32_t>(rec.nodes.size());
  rec.nodes.push_back(node);
  std::uint64_t* const out = rec.words.reserve(3);
  out[0] = descriptor_hash(output_op);
  const std::uint64_t from = OperandRef::make(OperandRef::local, first).word;
  out[1] = (from << 32) | DescriptorCounts{1, 1, 0}.pack();
  out[2] = output;
  rec.words.set_end(out + 3);
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
  const std::span<const std::uint64_t> dynamics = params.dynamics().span();
  if (input_count > DescriptorCounts::kMax || statics.size() > DescriptorCounts::kMax) {
    throw Error(ErrorCode::invalid_argument,
                std::string(op.name.text) + ": too many inputs or parameters; got " +
                    std::to_string(input_count) + " inputs, expected at most 4095");
  }
  if (!is_float(scalar_dtype)) {
    for (const Array* input : inputs) {  // throws before anything has changed
      if (input == nullptr || !input->defined()) continue;
      const Node& operand = *node_of(*input);
      if (is_scalar(operand) && operand.weak) scalar_word(op.name.text, operand, scalar_dtype);
    }
  }
  Node* node = new_node(kHandle + kReference);
  node->op = &op;
  node->tape = this;
  node->device = &device_;
  node->dtype = dtype;
  node->shape = shape;
  if constexpr (kSeveral) {
    for (std::size_t i = 0; i < more.size(); ++i) {
      more[i] = new_node(kHandle + kReference);
      more[i]->op = &output_op;
      more[i]->tape = this;
      more[i]->device = &device_;
      more[i]->dtype = types[i].dtype;
      more[i]->shape = types[i].shape;
    }
  }

  lock_.lock_as_owner();
  Recording& rec = recording_;
  if (rec.nodes.empty()) switches_ = switches();
  node->index = static_cast<std::uint32_t>(rec.nodes.size());
  rec.nodes.push_back(node);

  std::uint64_t* const out = rec.words.reserve(2 + input_count / 2 + statics.size());
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
        rec.dynamics.push_back(to == input->dtype ? input->scalar
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
  for (const std::uint64_t word : dynamics) rec.dynamics.push_back(word);
  dynamic_count += static_cast<std::uint32_t>(dynamics.size());
  const DescriptorCounts counts{input_count, static_cast<std::uint32_t>(statics.size()),
                                dynamic_count};
  out[0] = descriptor_hash(op);
  out[1] = (out[1] & ~std::uint64_t{0xffffffff}) | counts.pack();
  rec.words.set_end(at);
  if constexpr (kSeveral) {
    for (std::size_t i = 0; i < more.size(); ++i) append_output(node->index, i + 1, more[i]);
  }

  window_ = (window_ << 16) | (op.name.hash >> 48);
  if (rec.nodes.size() >= kSoftLimit) {
    const bool may_cut = op.kind == OpKind::contraction || op.kind == OpKind::reduce;
    if (rec.nodes.size() >= kHardLimit || (may_cut && (mix(1, window_) & kCutMask) == 0)) {
      counters().automatic_cuts.fetch_add(1, std::memory_order_relaxed);
      const HeldKeepers held;
      submit_locked();
      lock_.unlock_as_owner();
      return node;
    }
  }
  lock_.unlock_as_owner();
  return node;
}

Array Tape::shared(const SharedKey& key) noexcept {
  Array found;
  lock_.lock_as_owner();
  for (const auto& [known, node] : recording_.shared) {
    if (known != key) continue;
    retain_handle(node);
    found = array_of(node, nullptr);
    break;
  }
  lock_.unlock_as_owner();
  return found;
}

void Tape::share(const SharedKey& key, const Array& value) {
  lock_.lock_as_owner();
  Node* const node = node_of(value);
  // Somebody else may have submitted the tape meanwhile.
  const bool is_here = node->tape == this && node->index < recording_.nodes.size() &&
                       recording_.nodes[node->index] == node;
  if (is_here && recording_.shared.size() < kMaxShared) recording_.shared.emplace_back(key, node);
  lock_.unlock_as_owner();
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
  lock_.lock_as_owner();
  const bool empty = recording_.nodes.empty();
  lock_.unlock_as_owner();
  return empty;
}

void Tape::read(FunctionRef<void(Recording&)> f) {
  lock_.lock_as_owner();
  struct Unlocked {
    TapeLock& lock;
    ~Unlocked() { lock.unlock_as_owner(); }
  } const unlocked{lock_};
  f(recording_);
}

std::vector<const OpDef*> Tape::ops() {
  std::vector<const OpDef*> all;
  lock_.lock_as_owner();
  for (const Node* node : recording_.nodes) all.push_back(node->op);
  lock_.unlock_as_owner();
  return all;
}

}  // namespace hearth
