// Metal Performance Shaders Graph as a device uses it, opened at run time. Needs macOS 15: before
// it, memory of a graph begins where its buffer begins.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "devices/metal/mpsgraph/mps_call.h"
#include "devices/metal/mpsgraph/mps_program.h"
#include "devices/metal/objc/objc.h"
#include "runtime/commands/driver.h"

namespace hearth::metal {

// Thread-safe. Destroyed after all its functions.
class MpsLibrary {
 public:
  // `objc` and `device` outlive it. `on_request`: see runtime::LibraryTraits. Null where the system
  // lacks any of it, for the reason that `notes` gives.
  static std::unique_ptr<MpsLibrary> open(const ObjectiveC& objc, Id device, SystemVersion system,
                                          bool on_request, std::vector<std::string>& notes);
  runtime::LibraryTraits traits() const;

  // Throws Error{unsupported} for what check_program() refuses.
  std::unique_ptr<runtime::Function> function(const runtime::LibraryCall& call);

  const ObjectiveC& objc() const noexcept { return objc_; }
  // The program's graph, compiled unless it is among the last kMaxExecutables that were asked for.
  // Throws Error{unsupported} where MPSGraph makes no executable of it.
  std::shared_ptr<const MpsExecutable> executable(const MpsProgram& program,
                                                  const runtime::LibraryCall& call);

  static constexpr std::size_t kMaxExecutables = 256;

 private:
  struct Kept {
    std::shared_ptr<const MpsExecutable> executable;
    std::uint64_t used = 0;
  };

  MpsLibrary(const ObjectiveC& objc, Owned graph_device, bool on_request)
      : objc_(objc), graph_device_(std::move(graph_device)), on_request_(on_request) {}

  const ObjectiveC& objc_;
  const Owned graph_device_;
  const bool on_request_;
  std::mutex mutex_;
  std::map<std::vector<std::int64_t>, Kept> executables_;
  std::uint64_t clock_ = 0;
};

}  // namespace hearth::metal
