#include "core/thread_owned.h"

#include <pthread.h>

#include <optional>

namespace hearth {
namespace {

constinit thread_local ThreadEnd* t_first = nullptr;
constinit thread_local bool t_is_past = false;  // the thread's objects of C++ are gone

void run_all() noexcept {
  while (t_first != nullptr) {  // what is run may note more
    ThreadEnd& end = *std::exchange(t_first, t_first->next);
    end.is_noted = false;
    end.run();
  }
}

struct Trigger {
  ~Trigger() {
    t_is_past = true;
    run_all();
  }
};

// Destructors of keys run after those of C++, and again where one of them sets a key.
const std::optional<pthread_key_t>& late_key() noexcept {
  static const std::optional<pthread_key_t> key = []() -> std::optional<pthread_key_t> {
    pthread_key_t made;
    if (pthread_key_create(&made, [](void*) { run_all(); }) != 0) return std::nullopt;
    return made;
  }();
  return key;
}

}  // namespace

bool note_thread_end(ThreadEnd& end) noexcept {
  if (end.is_noted) return true;
  if (t_is_past) {
    const std::optional<pthread_key_t>& key = late_key();
    if (!key || pthread_setspecific(*key, &t_first) != 0) return false;
  } else {
    thread_local Trigger trigger;
  }
  end.next = std::exchange(t_first, &end);
  end.is_noted = true;
  return true;
}

}  // namespace hearth
