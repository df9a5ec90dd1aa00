#include "machines/metal_double/state.h"

namespace hearth::metal::fake {

State& State::instance() {
  static auto* state = new State;
  return *state;
}

std::map<std::string, int> State::live() const {
  const std::lock_guard lock(mutex);
  std::map<std::string, int> all;
  for (const auto& [name, number] : live_) {
    if (number != 0) all.emplace(name, number);
  }
  return all;
}

void State::reset() {
  const std::lock_guard lock(mutex);
  const State fresh;
  Gpu* const kept = gpu;
  const UInteger kept_resident = resident;
  MetalDouble::operator=(fresh);
  gpu = kept;
  resident = kept_resident;
}

void State::count(const Class& type, int change) {
  const std::lock_guard lock(mutex);
  live_[type.name] += change;
}

void State::note_call(const char* selector) {
  const std::lock_guard lock(mutex);
  ++calls[selector];
}

}  // namespace hearth::metal::fake
