// What a thread keeps for itself from one call to the next.
//
// A thread calls as long as it runs: also from the destructors of its thread-local objects, from
// those of keys of pthread, and from atexit(). So nothing that a thread keeps is a thread-local
// object with a destructor, which would be used when it is gone.
#pragma once

#include <memory>
#include <utility>

namespace hearth {

// What is done when a thread ends; a thread-local object without a destructor.
struct ThreadEnd {
  void (*run)() noexcept;
  bool is_noted = false;
  ThreadEnd* next = nullptr;
};

// Has end.run() called when the calling thread ends, before what was noted earlier, and once,
// however often it is noted until then. What is noted by a thread whose objects are gone is run by
// the destructor of a key; of the thread that ends the process, never. False where the system has
// no more keys: it is not run.
bool note_thread_end(ThreadEnd& end) noexcept;

// The calling thread's T: one for each type. It goes when the thread ends, and is made again where
// the thread goes on calling.
template <class T>
class ThreadOwned {
 public:
  // Null where the thread has none.
  static T* find() noexcept { return mine_; }
  static T& get() {
    if (mine_ == nullptr) [[unlikely]]
      make();
    return *mine_;
  }

 private:
  [[gnu::noinline, gnu::cold]] static void make() {
    auto made = std::make_unique<T>();
    note_thread_end(end_);  // else it stays when the thread ends
    mine_ = made.release();
  }
  // What the destructor calls finds none, and makes another one.
  static void destroy() noexcept { delete std::exchange(mine_, nullptr); }

  static constinit inline thread_local T* mine_ = nullptr;
  static constinit inline thread_local ThreadEnd end_ = {&destroy};
};

}  // namespace hearth
