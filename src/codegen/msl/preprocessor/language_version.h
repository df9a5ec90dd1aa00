// Versions of the Metal Shading Language, as __METAL_VERSION__ has them: 310 is 3.1.
#pragma once

namespace hearth::gpu {

// The newest that a macOS of this major version has, as far as it is known here.
constexpr int language_version(long macos) {
  return macos >= 26 ? 400 : macos >= 15 ? 320 : macos >= 14 ? 310 : 300;
}

// The version that texts see. On a Mac that of its system, but no more than 320: what texts do from
// 4.0 on is tensor operations, which are not supported. Elsewhere 310.
int told_language_version();

}  // namespace hearth::gpu
