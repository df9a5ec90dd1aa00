// What a search for devices of one kind gives, and what of it is asked for later.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/commands/driver.h"

namespace hearth::gpu {

struct FoundDevices {
  std::vector<std::unique_ptr<runtime::Driver>> drivers;  // in the system's order
  std::vector<std::string> notes;  // what was tried, found, and why devices are missing
  std::string system;              // what times depend on besides device and compiler: "CUDA 13.0"
  // More notes, of what is looked for when it is first needed: it is now. Null: nothing.
  std::function<std::vector<std::string>()> late_notes;
};

// Notes and system of the last search. Thread-safe.
class LastSearch {
 public:
  // Keeps the notes and gives the drivers on.
  std::vector<std::unique_ptr<runtime::Driver>> keep(FoundDevices found) {
    const std::lock_guard lock(mutex_);
    notes_ = std::move(found.notes);
    system_ = std::move(found.system);
    late_notes_ = std::move(found.late_notes);
    return std::move(found.drivers);
  }
  std::vector<std::string> notes() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> all = notes_;
    if (late_notes_ != nullptr) {
      for (std::string& note : late_notes_()) all.push_back(std::move(note));
    }
    return all;
  }
  std::string system() const {
    const std::lock_guard lock(mutex_);
    return system_;
  }

 private:
  mutable std::mutex mutex_;
  std::string system_;
  std::vector<std::string> notes_;
  std::function<std::vector<std::string>()> late_notes_;
};

}  // namespace hearth::gpu
