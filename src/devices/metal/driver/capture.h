// A capture of consecutive GPU work, written to a file for Xcode: once in a process.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "devices/metal/objc/objc.h"

namespace hearth::metal {

// Shared by the devices of a process; whichever is first has it. Thread-safe.
class Capture {
 public:
  // Null, and a note, where the process may not capture or no `file` is named.
  static std::shared_ptr<Capture> open(std::shared_ptr<const ObjectiveC> objc,
                                       const std::string& file, std::vector<std::string>& notes);

  // True for the first caller, who then starts.
  bool take() { return !is_taken_.exchange(true); }
  // Of all queues of the device, command buffers that are begun and committed until stop(). Throws
  // Error{device} with what Metal says, for example where the file exists.
  void start(Id device);
  void stop() noexcept;

 private:
  Capture(std::shared_ptr<const ObjectiveC> objc, Id manager, std::string file)
      : objc_(std::move(objc)), manager_(manager), file_(std::move(file)) {}

  const std::shared_ptr<const ObjectiveC> objc_;
  const Id manager_;  // there is one as long as the process
  const std::string file_;
  std::atomic<bool> is_taken_{false};
};

}  // namespace hearth::metal
