#include "graph/grad_record.h"

namespace hearth {

void retain(GradRecord* record) noexcept {
  record->references.fetch_add(1, std::memory_order_relaxed);
}

// Arrays saved by a record may hold further records, whose release comes back here: the thread's
// list turns that recursion into a loop.
void release(GradRecord* record) noexcept {
  if (record->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  thread_local std::vector<GradRecord*>* unwinding = nullptr;
  if (unwinding != nullptr) {
    unwinding->push_back(record);
    return;
  }
  std::vector<GradRecord*> list{record};
  unwinding = &list;
  while (!list.empty()) {
    GradRecord* dead = list.back();
    list.pop_back();
    for (GradRecord* parent : dead->parents) {
      if (parent != nullptr) release(parent);
    }
    delete dead;
  }
  unwinding = nullptr;
}

namespace {
std::atomic<std::uint64_t> next_sequence{1};
std::atomic<std::uint64_t> next_leaf{1};
thread_local bool tracking = true;
}  // namespace

std::uint64_t next_grad_sequence() noexcept {
  return next_sequence.fetch_add(1, std::memory_order_relaxed);
}

GradRecord* make_leaf(std::uint64_t id) {
  auto* record = new GradRecord;
  record->sequence = next_grad_sequence();
  record->leaf_id = id != 0 ? id : next_leaf.fetch_add(1, std::memory_order_relaxed);
  return record;
}

bool grad_enabled() noexcept { return tracking; }

inline namespace v0 {
NoGrad::NoGrad() noexcept : before_(tracking) { tracking = false; }
NoGrad::~NoGrad() { tracking = before_; }
}  // namespace v0

bool set_grad_enabled(bool enabled) noexcept {
  const bool before = tracking;
  tracking = enabled;
  return before;
}

}  // namespace hearth
