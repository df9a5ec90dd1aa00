// What a search for devices of one kind gives, and what of it is asked for later.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/commands/driver.h"

namespace hearth::gpu {

struct FoundDevices {
  std::vector<std::unique_ptr<runtime::Driver>> drivers;  // in the system's order
  std::vector<std::string> notes;  // what was tried, found, and why devices are missing
};

// The notes of the last search. Thread-safe.
class LastSearch {
 public:
  // Keeps the notes and gives the drivers on.
  std::vector<std::unique_ptr<runtime::Driver>> keep(FoundDevices found) {
    const std::lock_guard lock(mutex_);
    notes_ = std::move(found.notes);
    return std::move(found.drivers);
  }
  std::vector<std::string> notes() const {
    const std::lock_guard lock(mutex_);
    return notes_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> notes_;
};

}  // namespace hearth::gpu
