// Which thread records on which tape.
#include <mutex>
#include <new>
#include <thread>

#include "core/forked.h"
#include "core/thread_owned.h"
#include "graph/record/tape.h"

namespace hearth {

// A thread's tapes. Tapes are never destroyed: nodes of a thread that has ended may still name one.
// They are submitted at the thread's end and then serve another thread.
class TapeList {
 public:
  Tape& of(DeviceImpl& device) {
    for (Tape* tape : tapes_) {
      if (&tape->device() == &device) return *tape;
    }
    Idle& idle = idle_tapes();
    {
      const std::lock_guard lock(idle.mutex);
      for (std::size_t i = 0; i < idle.tapes.size(); ++i) {
        if (&idle.tapes[i]->device() != &device) continue;
        tapes_.push_back(idle.tapes[i]);
        tapes_.back()->owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
        idle.tapes.erase(idle.tapes.begin() + static_cast<std::ptrdiff_t>(i));
        return *tapes_.back();
      }
    }
    tapes_.push_back(new Tape(device));
    return *tapes_.back();
  }
  void submit_all() {
    for (Tape* tape : tapes_) tape->submit();
  }
  ~TapeList();

 private:
  struct Idle {
    std::mutex mutex;
    std::vector<Tape*> tapes;
  };
  static Idle& idle_tapes() {
    static auto* idle = new Idle;
    return *idle;
  }
  std::vector<Tape*> tapes_;
};

namespace {

// What Tape::of() found last; the tape of a list that is gone is not the thread's any more.
constinit thread_local Tape* t_last = nullptr;

TapeList& thread_tapes() { return ThreadOwned<TapeList>::get(); }

}  // namespace

TapeList::~TapeList() {
  if (is_forked()) return;
  t_last = nullptr;
  for (Tape* tape : tapes_) {
    tape->submit();
    {
      const TapeLock::Owner owner(tape->lock_);
      tape->forget_failure();
    }
    tape->owner_.store({}, std::memory_order_relaxed);
  }
  Idle& idle = idle_tapes();
  const std::lock_guard lock(idle.mutex);
  try {
    idle.tapes.insert(idle.tapes.end(), tapes_.begin(), tapes_.end());
  } catch (const std::bad_alloc&) {
    // Nobody uses these tapes again, nothing else.
  }
}

Tape& Tape::of(DeviceImpl& device) {
  if (t_last != nullptr && &t_last->device_ == &device) return *t_last;
  t_last = &thread_tapes().of(device);
  return *t_last;
}

void Tape::submit_all() {
  if (TapeList* const tapes = ThreadOwned<TapeList>::find()) tapes->submit_all();
}

}  // namespace hearth
