// From a KernelSource to the text that a target's compiler reads: the prelude of the target, the
// kernel's own text, and the entry point generated from its parameters.
//
// A line `#include "kernels/x.h"` of the kernel's text is replaced by src/kernels/x.h, which is
// built into the library; each file comes once. `#include "kernels/formulas/formulas.h"` brings the
// scalar formulas, as formula::exp(x). HEARTH_HAS_F64 is 1 where there is double: not on Metal, and
// for lint only in a kernel whose source says double.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "hearth/runtime.h"

namespace hearth::gpu {

enum class Target : std::uint8_t {
  cuda,   // for NVRTC, as C++20, without any header; options: kernels/prelude/cuda.h
  host,   // for a host compiler, as C++20, without any header; options: kernels/prelude/host.h
  lint,   // for clang, as C++14, with real address spaces, to be parsed only
  metal,  // for Apple's compiler
};

// Whether its language has f64.
bool has_f64(Target target) noexcept;

// Where the text of Target::host goes from what many kernels have in common, the prelude and the
// headers, to the kernel's own. What stands before it is complete, and can be precompiled.
inline constexpr std::string_view kOwnText = "// The kernel's own text.\n";

// The whole translation unit. Depends on nothing but its arguments. Throws Error{invalid_argument}
// for a source that no entry point can be made of (names that are no identifiers, arrays of no
// elements, unknown includes), Error{unsupported} for an f64 kernel and Metal.
std::string assemble(const runtime::KernelSource& source, Target target);

// Several kernels as one translation unit for CUDA: prelude and headers come once, each kernel's
// own text is in a namespace of its own, where its functions may still overload those of the
// headers. They have different names, and texts of the dialect. Throws as assemble() does.
std::string assemble_together(std::span<const runtime::KernelSource* const> sources);

// A text of src/kernels that is built into the library, by its path there: "prelude/cuda.h". Throws
// Error{invalid_argument} for a path that is none.
std::string_view embedded_text(std::string_view path);

// Changes with any text of src/kernels, and with what assemble() makes of a source: what compiled
// kernels depend on besides it.
std::uint64_t embedded_revision();

}  // namespace hearth::gpu
