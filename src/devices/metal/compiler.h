// Metal's compiler: from text to a library of functions.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "devices/metal/objc.h"

namespace hearth::metal {

// MTLLanguageVersion, the newest that a system has, as far as it is known here.
UInteger language_version(SystemVersion system);

// Thread-safe. Arithmetic is as the text has it: no fast math, whatever the system's default is.
class Compiler {
 public:
  // `device` outlives it.
  Compiler(const ObjectiveC& objc, Id device, SystemVersion system)
      : objc_(objc), device_(device), system_(system) {}

  // What compiled kernels depend on besides text and device.
  std::string version() const;

  // Compiles, and returns the text with a seal: systems keep what they compiled by themselves. Throws
  // Error{device} with the compiler's messages.
  std::vector<std::byte> compile(const std::string& kernel, const std::string& text);
  // Throws Error{corrupt_file} for what compile() did not return.
  Owned load(const std::string& kernel, std::span<const std::byte> image);

 private:
  static constexpr std::size_t kFresh = 16;

  Owned library(const std::string& kernel, const std::string& text) const;

  const ObjectiveC& objc_;
  const Id device_;
  const SystemVersion system_;
  std::mutex mutex_;
  // Compiled and not loaded yet, by text, the oldest first.
  std::deque<std::pair<std::string, Owned>> fresh_;
};

}  // namespace hearth::metal
