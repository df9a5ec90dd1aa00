// The tape: what one thread has recorded for one device and not yet submitted.
//
// A recorded node is a descriptor, a few 64-bit words: the op's hash, counts and operand
// references, static parameters. Shapes and dtypes follow from the descriptors and the external
// inputs, so they are not stored. The words are hashed when the tape is submitted.
//
// Invariants
//   1. Every operand of a node is earlier on the same tape, a ready external, a scalar, or absent.
//   2. The tape holds one reference to each node and to each external.
//   3. The nodes of an op's further results lie right after its own (graph/outputs.h).
//   4. Tapes never wait on each other: a foreign pending operand is submitted before the lock of
//      this tape is taken.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "core/function_ref.h"
#include "graph/plan/failed_values.h"
#include "graph/record/node.h"
#include "graph/record/tape_lock.h"
#include "graph/switches.h"

namespace hearth {

// What an operand reference names; two tag bits and a payload.
struct OperandRef {
  enum Tag : std::uint32_t { local = 0, external = 1, scalar = 2, absent = 3 };
  std::uint32_t word;

  static OperandRef make(Tag tag, std::uint32_t payload) { return {(tag << 30) | payload}; }
  Tag tag() const { return static_cast<Tag>(word >> 30); }
  std::uint32_t payload() const { return word & 0x3fffffffu; }  // index, slot or DType
};

// The counts in the second word of a descriptor. Its upper half is the first operand reference; the
// others follow two a word, then the static parameters.
struct DescriptorCounts {
  std::uint32_t inputs;
  std::uint32_t statics;
  std::uint32_t dynamics;  // words in the dynamic block: scalar operands first, then parameters

  std::size_t words() const { return 2 + inputs / 2 + statics; }  // of the whole descriptor

  static constexpr std::uint32_t kMax = 0xfff;
  std::uint32_t pack() const { return inputs | (statics << 12) | (dynamics << 24); }
  static DescriptorCounts unpack(std::uint32_t word) {
    return {word & kMax, (word >> 12) & kMax, word >> 24};
  }
};

inline DescriptorCounts counts_of(const std::uint64_t* words) noexcept {
  return DescriptorCounts::unpack(static_cast<std::uint32_t>(words[1]));
}

// Operand i of the node whose descriptor begins at `words`.
inline OperandRef operand_ref(const std::uint64_t* words, std::uint32_t i) noexcept {
  const std::uint64_t pair = words[1 + (i + 1) / 2];
  return {static_cast<std::uint32_t>((i + 1) % 2 == 1 ? pair >> 32 : pair)};
}

// A growing array of words whose space is asked for before it is filled.
class WordStream {
 public:
  std::uint64_t* data() noexcept { return words_.data(); }
  const std::uint64_t* data() const noexcept { return words_.data(); }
  std::size_t size() const noexcept { return size_; }
  const std::uint64_t* begin() const noexcept { return words_.data(); }
  const std::uint64_t* end() const noexcept { return words_.data() + size_; }
  std::span<const std::uint64_t> span() const noexcept { return {words_.data(), size_}; }
  std::uint64_t operator[](std::size_t i) const noexcept { return words_[i]; }
  // Room for `count` more; set_end() then says how far it was used.
  std::uint64_t* reserve(std::size_t count) {
    if (size_ + count > words_.size()) words_.resize(2 * words_.size() + count);
    return words_.data() + size_;
  }
  void set_end(const std::uint64_t* end) noexcept {
    size_ = static_cast<std::size_t>(end - words_.data());
  }
  void push_back(std::uint64_t word) {
    *reserve(1) = word;
    ++size_;
  }
  void clear() noexcept { size_ = 0; }

 private:
  std::vector<std::uint64_t> words_ = std::vector<std::uint64_t>(256);
  std::size_t size_ = 0;
};

// Everything a plan is built from and run with.
struct Recording {
  std::vector<Node*> nodes;
  WordStream words;
  WordStream dynamics;
  std::vector<Node*> externals;  // all that the nodes read, and maybe more
  // What several ops share, by key; nodes of this recording.
  std::vector<std::pair<SharedKey, Node*>> shared;

  void clear() {
    shared.clear();
    nodes.clear();
    words.clear();
    dynamics.clear();
    externals.clear();
  }
};

class Tape {
 public:
  // The calling thread's tape of `device`.
  static Tape& of(DeviceImpl& device);
  // Submits this thread's tapes of all devices.
  static void submit_all();

  // Appends a node and returns it with one handle and the tape's reference. Scalar operands take
  // `scalar_dtype`. Cuts the tape when it has grown long.
  Node* append(const OpDef& op, std::span<const Array* const> inputs, const Params& params,
               const Shape& shape, DType dtype, DType scalar_dtype);
  // The same for an op of several results: the nodes of those after the first go into `more`.
  Node* append_outputs(const Inference& inference, std::span<Node*> more);

  // A value of what is recorded now that was shared under `key`; undefined where there is none.
  Array shared(const SharedKey& key) noexcept;
  void share(const SharedKey& key, const Array& value);

  // Runs all that is recorded. Never throws: what fails marks its nodes failed.
  void submit() noexcept;
  // Runs `node`, pending here unless somebody has submitted it since: all that is recorded where
  // this thread recorded it, else what lies in front of it.
  void submit(const Node& node) noexcept;
  // Throws the first error since the last call, where no read of a value that has failed with it
  // threw it meanwhile.
  void throw_failure();
  bool is_empty() noexcept;
  // Calls `f` with what is recorded now, which stays. Of the thread that records.
  void read(FunctionRef<void(Recording&)> f);
  // The ops of what is recorded now, in order.
  std::vector<const OpDef*> ops();

  DeviceImpl& device() noexcept { return device_; }

 private:
  friend class TapeList;
  explicit Tape(DeviceImpl& device) : device_(device) {}

  template <bool kSeveral>
  Node* append_nodes(const OpDef& op, std::span<const Array* const> inputs, const Params& params,
                     const Shape& shape, DType dtype, DType scalar_dtype,
                     std::span<const OutputType> types, std::span<Node*> more);
  void set_kind(Node* node, const OpDef& op, DType dtype, const Shape& shape);
  void append_descriptor(Node* node, std::span<const Array* const> inputs, const Params& params,
                         DType scalar_dtype);
  void append_output(std::uint32_t first, std::size_t output, Node* node);
  // Whether the tape has grown long, and is submitted behind the op.
  bool is_cut_behind(const OpDef& op);
  std::uint32_t external_slot(Node* node);
  void submit_locked() noexcept;
  void submit_front_locked(const Node& node) noexcept;
  template <class F>
  void visit(F&& f) noexcept;
  void forget_failure() noexcept;
  void grow_table();

  DeviceImpl& device_;
  TapeLock lock_;
  std::atomic<std::thread::id> owner_{std::this_thread::get_id()};
  Recording recording_;
  Switches switches_;           // of the thread that records, when it began to
  Failure* failure_ = nullptr;  // for throw_failure(), with a reference
  std::uint64_t window_ = 0;    // the last four ops, 16 bits each
  // Open addressing from external node to slot; entries of older recordings are recognised by
  // epoch.
  struct Entry {
    Node* node = nullptr;
    std::uint32_t slot = 0;
    std::uint32_t epoch = 0;
  };
  // That of `node`, or a free one for it.
  Entry& entry_of(const Node* node) noexcept;
  std::vector<Entry> table_ = std::vector<Entry>(64);
  std::uint32_t epoch_ = 1;
  Node* last_external_ = nullptr;
  std::uint32_t last_slot_ = 0;
};

// Looks up or builds the plan of `recording` and runs it; makes every escaping node ready but those
// that it adds to `failed`. Where what fails is found out before the first launch, the others are
// planned again without it, so that memory it would have taken is theirs.
void execute(DeviceImpl& device, Recording& recording, FailedValues& failed) noexcept;

struct Plan;
// The plan that execute() would run, found or built; null where nothing is wanted. `recording` is
// as before. Throws what execute() would make of its nodes' failures.
std::shared_ptr<const Plan> plan_of(DeviceImpl& device, Recording& recording);

// Process-wide counters behind statistics().
struct Counters {
  std::atomic<std::int64_t> recorded{0}, submissions{0}, plan_hits{0}, plan_misses{0},
      dispatches{0}, fused{0}, copies{0}, donations{0}, automatic_cuts{0}, syncs{0};
};
Counters& counters() noexcept;

}  // namespace hearth
