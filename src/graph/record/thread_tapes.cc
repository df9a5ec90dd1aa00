// Which thread records on which tape.
#include <mutex>
#include <system_error>
#include <thread>

#include "core/forked.h"
#include "graph/record/tape.h"
#include "graph/switches.h"

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
  ~TapeList() {
    if (is_forked()) return;
    // On another thread: this one's kernels may keep scratch that is gone by now.
    for (Tape* tape : tapes_) {
      if (tape->is_empty()) continue;
      try {
        const Switches mine = switches();
        std::thread([tape, mine] {
          switches() = mine;
          tape->submit();
        }).join();
      } catch (const std::system_error&) {
        // No thread to be had: what is recorded runs when somebody reads it.
      }
    }
    Idle& idle = idle_tapes();
    for (Tape* tape : tapes_) {
      tape->lock_.lock_as_owner();
      tape->forget_failure();
      tape->lock_.unlock_as_owner();
      tape->owner_.store({}, std::memory_order_relaxed);
    }
    const std::lock_guard lock(idle.mutex);
    idle.tapes.insert(idle.tapes.end(), tapes_.begin(), tapes_.end());
  }

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
TapeList& thread_tapes() {
  thread_local TapeList tapes;
  return tapes;
}
}  // namespace

Tape& Tape::of(DeviceImpl& device) {
  thread_local Tape* last = nullptr;
  if (last != nullptr && &last->device_ == &device) return *last;
  last = &thread_tapes().of(device);
  return *last;
}

void Tape::submit_all() { thread_tapes().submit_all(); }

}  // namespace hearth
