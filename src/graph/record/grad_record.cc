#include "graph/record/grad_record.h"

#include "graph/record/node.h"

namespace hearth {
namespace {

// Records are recycled by the thread that lets the last reference go, with the capacity for inputs
// that they have. Until a thread first makes one, and after its thread-local objects are gone, it
// keeps none.
constexpr std::size_t kMaxFree = 8192;

constinit thread_local std::vector<GradRecord*>* t_free = nullptr;

void keep_records() {
  struct Owner {
    std::vector<GradRecord*> list;
    Owner() { t_free = &list; }
    ~Owner() {
      t_free = nullptr;
      for (GradRecord* record : list) delete record;
    }
  };
  thread_local Owner owner;
}

// Nothing refers to the record any more, and it to nothing that would come back here.
void recycle(GradRecord* record) noexcept {
  if (t_free == nullptr || t_free->size() >= kMaxFree) {
    delete record;
    return;
  }
  t_free->push_back(record);
}

// Lets go of what the record holds, its parents last.
void empty(GradRecord& record) noexcept {
  record.output = Array();
  record.more_outputs.clear();
  if (record.replay) record.replay = nullptr;
  for (GradInput& input : record.inputs) input.saved = Array();
  for (GradInput& input : record.inputs) {
    if (input.parent != nullptr) release(input.parent);
  }
  record.inputs.clear();
}

std::atomic<std::uint64_t> next_sequence{1};
std::atomic<std::uint64_t> next_leaf{1};
thread_local bool tracking = true;

}  // namespace

GradRecord* new_grad_record() {
  GradRecord* record = nullptr;
  if (t_free != nullptr && !t_free->empty()) {
    record = t_free->back();
    t_free->pop_back();
    record->references.store(1, std::memory_order_relaxed);
    record->op = nullptr;
    record->leaf_id = 0;
    record->params.clear();
    record->device = nullptr;
    record->released = false;
  } else {
    keep_records();
    record = new GradRecord;
  }
  record->sequence = next_grad_sequence();
  return record;
}

void track_saved(GradRecord& record) noexcept {
  for (GradInput& input : record.inputs) {
    Node* const node = node_of(input.saved);
    if (node == nullptr || input.parent == nullptr || grad_of(input.saved) != nullptr) continue;
    retain_handle(node);
    retain(input.parent);
    input.saved = array_of(node, input.parent);
  }
}

// Arrays saved by a record may hold further records, whose release comes back here: the thread's
// list turns that recursion into a loop.
void free_grad_record(GradRecord* record) noexcept {
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
    empty(*dead);
    recycle(dead);
  }
  unwinding = nullptr;
}

std::uint64_t next_grad_sequence() noexcept {
  return next_sequence.fetch_add(1, std::memory_order_relaxed);
}

GradRecord* make_leaf(std::uint64_t id) {
  GradRecord* const record = new_grad_record();
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
