// Metal's compiler: from text to a library of functions.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "devices/metal/driver/compile/pipelines.h"
#include "devices/metal/objc/objc.h"

namespace hearth::metal {

// MTLLanguageVersion, the newest that a system has, as far as it is known here.
UInteger language_version(SystemVersion system);

struct CompiledText {
  Owned library;
  std::span<const std::byte> archive;  // for Pipelines::make()
};

// Thread-safe. Arithmetic is as the text has it: no fast math, whatever the system's default is.
class Compiler {
 public:
  // `device` and `pipelines` outlive it.
  Compiler(const ObjectiveC& objc, Id device, const Pipelines& pipelines, SystemVersion system);

  // What compiled kernels depend on besides text and device. Machine code does not survive an
  // update of the system, so its build is part of this.
  const std::string& version() const noexcept { return version_; }
  // Images do not outlive the process: they need no archives. Called before anything is compiled.
  void make_no_archives() noexcept { makes_archives_ = false; }

  // Whether the language has bfloat, as macOS 14 has it first.
  bool has_bfloat() const { return system_.major >= 14; }

  // Compiles `text`, of `source`, and returns it with the archive of the pipeline, sealed. Throws
  // Error{device} with the compiler's messages.
  std::vector<std::byte> compile(const runtime::KernelSource& source, const std::string& text);
  // The archive lies in `image`. Throws Error{corrupt_file} for what compile() did not return.
  CompiledText load(const std::string& kernel, std::span<const std::byte> image);

 private:
  static constexpr std::size_t kFresh = 16;

  Owned library(const std::string& kernel, const std::string& text) const;

  const ObjectiveC& objc_;
  const Id device_;
  const Pipelines& pipelines_;
  const SystemVersion system_;
  const std::string version_;
  bool makes_archives_ = true;
  std::mutex mutex_;
  // Compiled and not loaded yet, by text, the oldest first.
  std::deque<std::pair<std::string, Owned>> fresh_;
};

}  // namespace hearth::metal
