// What the Metal double is besides its objects.
#pragma once

#include <mutex>

#include "machines/metal_double/metal_double.h"
#include "machines/metal_double/objc/object.h"

namespace hearth::metal::fake {

class State final : public MetalDouble {
 public:
  static State& instance();

  std::map<std::string, int> live() const override;
  void reset() override;

  void count(const Class& type, int change);
  void note_call(const char* selector);

  mutable std::recursive_mutex mutex;

 private:
  std::map<std::string, int> live_;
};

inline State& state() { return State::instance(); }

// Each file of classes gives them their methods.
void define_foundation();
void define_devices();
void define_libraries();
void define_commands();
void define_capture();
void define_mps_arrays();
void define_mps_graphs();

}  // namespace hearth::metal::fake
