#include "graph/record/grad_record.h"

#include "core/thread_owned.h"
#include "graph/record/node.h"

namespace hearth {
namespace {

// Records are recycled by the thread that lets the last reference go, with the capacity for inputs
// that they have. Until a thread first makes one it keeps none.
constexpr std::size_t kMaxFree = 8192;

struct FreeRecords {
  std::vector<GradRecord*> list;
  FreeRecords() = default;
  FreeRecords(const FreeRecords&) = delete;
  FreeRecords& operator=(const FreeRecords&) = delete;
  ~FreeRecords() {
    for (GradRecord* record : list) delete record;
  }
};

// Nothing refers to the record any more, and it to nothing that would come back here.
void recycle(GradRecord* record) noexcept {
  FreeRecords* const free = ThreadOwned<FreeRecords>::find();
  if (free == nullptr || free->list.size() >= kMaxFree) {
    delete record;
    return;
  }
  free->list.push_back(record);
}

void drop_saved(GradRecord& record) noexcept {
  record.output = Array();
  record.more_outputs.clear();
  if (record.replay) record.replay = nullptr;
  for (GradInput& input : record.inputs) input.saved = Array();
}

// Lets go of what the record holds, its parents last.
void empty(GradRecord& record) noexcept {
  drop_saved(record);
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
  std::vector<GradRecord*>& free = ThreadOwned<FreeRecords>::get().list;
  if (!free.empty()) {
    record = free.back();
    free.pop_back();
    record->references.store(1, std::memory_order_relaxed);
    record->op = nullptr;
    record->leaf_id = 0;
    record->params.clear();
    record->device = nullptr;
    record->readers.store(0, std::memory_order_relaxed);
  } else {
    record = new GradRecord;
  }
  record->sequence = next_grad_sequence();
  return record;
}

SavedReader::SavedReader(GradRecord& record) noexcept : record_(&record) {
  std::uint32_t readers = record.readers.load(std::memory_order_relaxed);
  do {
    if ((readers & GradRecord::kUsedUp) != 0) {
      record_ = nullptr;
      return;
    }
  } while (!record.readers.compare_exchange_weak(readers, readers + 1, std::memory_order_acquire,
                                                 std::memory_order_relaxed));
}

SavedReader::~SavedReader() {
  if (record_ == nullptr) return;
  const std::uint32_t used_up = is_used_up_ ? GradRecord::kUsedUp : 0;
  std::uint32_t readers = record_->readers.load(std::memory_order_relaxed);
  while (!record_->readers.compare_exchange_weak(
      readers, (readers - 1) | used_up, std::memory_order_acq_rel, std::memory_order_relaxed)) {
  }
  if (((readers - 1) | used_up) == GradRecord::kUsedUp) drop_saved(*record_);
}

std::vector<Array> tracked_inputs(const GradRecord& record) {
  std::vector<Array> tracked;
  tracked.reserve(record.inputs.size());
  for (const GradInput& input : record.inputs) {
    Node* const node = node_of(input.saved);
    if (node == nullptr || input.parent == nullptr || grad_of(input.saved) != nullptr) {
      tracked.push_back(input.saved);
      continue;
    }
    retain_handle(node);
    retain(input.parent);
    tracked.push_back(array_of(node, input.parent));
  }
  return tracked;
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
