// The record of a differentiable op, which backward() walks.
//
// A record is made when an op with a tracked input is recorded. It owns the values that the op's
// rule saves and references to the records of its inputs; only arrays and later records own a
// record. Release is iterative: chains may be long.
//
// Several threads may walk over one record at once. What it saves changes once: it goes when a walk
// has used it up and no other one reads it any more (SavedReader). Nothing else changes.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "graph/op_def.h"
#include "graph/record/array_access.h"

namespace hearth {

// What a record knows of one of its op's inputs.
struct GradInput {
  GradRecord* parent = nullptr;  // owned; null where untracked
  Array saved;                   // undefined where the rule does not read it
  Shape shape;
  DType dtype = DType::f32;
  bool is_given = false;
};

// Made by new_grad_record().
struct GradRecord {
  std::atomic<std::uint32_t> references{1};
  std::uint64_t sequence = 0;  // grows with every record of the process; backward goes downwards
  const OpDef* op = nullptr;   // null for a leaf
  std::uint64_t leaf_id = 0;   // stable id of a leaf
  Params params;
  std::vector<GradInput> inputs;
  Array output;  // with Saves::output; holds the node only, not this record
  // The outputs after the first, of an op that has them: undefined where Saves does not name them.
  std::vector<Array> more_outputs;
  DeviceImpl* device = nullptr;
  // Where set, computes the op's output again from tracked_inputs(): its gradient is that
  // computation's.
  std::function<Array(std::span<const Array> inputs)> replay;
  // How many walks read what is saved: values of inputs, outputs, replay; and kUsedUp.
  std::atomic<std::uint32_t> readers{0};
  static constexpr std::uint32_t kUsedUp = std::uint32_t{1} << 31;
};

// An empty record with one reference and the next sequence number, from a list of the thread's own.
GradRecord* new_grad_record();
// Ends a record without references.
void free_grad_record(GradRecord* record) noexcept;
inline void retain(GradRecord* record) noexcept {
  record->references.fetch_add(1, std::memory_order_relaxed);
}
inline void release(GradRecord* record) noexcept {
  if (record->references.load(std::memory_order_acquire) == 1 ||
      record->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    free_grad_record(record);
  }
}

// While one lives, what the record saves stays.
class SavedReader {
 public:
  explicit SavedReader(GradRecord& record) noexcept;
  ~SavedReader();
  SavedReader(const SavedReader&) = delete;
  SavedReader& operator=(const SavedReader&) = delete;

  // False where a walk has used up what was saved.
  explicit operator bool() const noexcept { return record_ != nullptr; }
  // From now on nobody else may read what is saved, which goes with its last reader.
  void use_up() noexcept { is_used_up_ = true; }

 private:
  GradRecord* record_;
  bool is_used_up_ = false;
};

// What is saved of the inputs, with the records that they have in `parent`: only gradients of
// gradients and computing again need those. Called while a SavedReader lives.
std::vector<Array> tracked_inputs(const GradRecord& record);

// A leaf record with a fresh id, or with `id` where a parameter keeps its identity.
GradRecord* make_leaf(std::uint64_t id = 0);

std::uint64_t next_grad_sequence() noexcept;

// Whether ops recorded on this thread are tracked. set_grad_enabled() returns what it was.
bool grad_enabled() noexcept;
bool set_grad_enabled(bool enabled) noexcept;

}  // namespace hearth
