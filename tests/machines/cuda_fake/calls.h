// How the functions of the fake driver library are written.
#pragma once

#include <type_traits>

#include "machines/cuda_fake/machine.h"

// The names are the API's, so they can have no namespace.
#define EXPORT extern "C" __attribute__((visibility("default")))
// The fake is what the library under test believes the API to be.
#define SAME(name) \
  static_assert(std::is_same_v<decltype(&name), decltype(hearth::cuda::DriverApi::name)>)

namespace hearth::cuda::fake {

inline Machine& machine() { return Machine::instance(); }

// Each call holds the lock, and ends here if begin() says so.
template <class Body>
Result call(const char* name, Body body, bool needs_context = true) {
  const std::lock_guard lock(machine().mutex);
  const Result result = machine().begin(name, needs_context);
  return result == Result::success ? body() : result;
}

inline Result expect(bool fine, Result otherwise = Result::invalid_handle) {
  return fine ? Result::success : otherwise;
}

template <class Handle, class T>
Handle handle(T* pointer) {
  return reinterpret_cast<Handle>(pointer);
}
template <class T, class Handle>
T* behind(Handle handle) {
  return reinterpret_cast<T*>(handle);
}

}  // namespace hearth::cuda::fake
