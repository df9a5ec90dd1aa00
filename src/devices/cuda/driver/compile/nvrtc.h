// CUDA's run-time compiler, opened at run time like the driver: from text to machine code.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "devices/cuda/driver/library.h"

namespace hearth::cuda {

// The compiler's functions, by its own names; see driver_api.h.
struct NvrtcApi {
  using Program = struct ProgramTag*;
  enum class Result : unsigned { success = 0, compilation = 6 };

#define HEARTH_FUNCTION(result, name, parameters) result(*name) parameters;
#include "devices/cuda/nvrtc_functions.def"
#undef HEARTH_FUNCTION
};

// Thread-safe; several threads may compile at once.
class Nvrtc {
 public:
  // Looks for the compiler that fits a driver of this version (13000 is 13.0): code of a newer
  // major version may not load, so those are taken only where nothing else is found. Null where
  // there is none, for the reason that `notes` gives then.
  static std::shared_ptr<const Nvrtc> open(const Places& places, int driver_version,
                                           std::vector<std::string>& notes);

  // "nvrtc 13.0" and the options: what compiled code depends on besides text and card.
  const std::string& version() const noexcept { return version_; }
  // 12010 is 12.1.
  int release() const noexcept { return release_; }
  // Oldest card that is compiled for; a compute capability of 9.0 is 90.
  int oldest() const noexcept { return architectures_.front(); }

  // Machine code (CUBIN) for this compute capability, or, where the compiler is older than the
  // card, text (PTX, with the zero at its end) that the driver translates. `text` includes no
  // header. Throws Error{device} with the compiler's messages.
  std::vector<std::byte> compile(const std::string& text, const std::string& name,
                                 int capability) const;

 private:
  Nvrtc(const NvrtcApi& api, std::string version, int release, std::vector<int> architectures,
        std::vector<const char*> options)
      : api_(api),
        version_(std::move(version)),
        release_(release),
        architectures_(std::move(architectures)),
        options_(std::move(options)) {}

  NvrtcApi api_;
  std::string version_;
  int release_;
  std::vector<int> architectures_;  // ascending, not empty
  std::vector<const char*> options_;
};

}  // namespace hearth::cuda
