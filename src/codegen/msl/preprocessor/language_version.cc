#include "codegen/msl/preprocessor/language_version.h"

#if defined(__APPLE__)
#include <sys/sysctl.h>

#include <array>
#include <cstdlib>
#endif

#include <algorithm>

namespace hearth::gpu {

int told_language_version() {
  long macos = 14;
#if defined(__APPLE__)
  std::array<char, 32> text{};
  std::size_t bytes = text.size() - 1;
  if (sysctlbyname("kern.osproductversion", text.data(), &bytes, nullptr, 0) == 0) {
    macos = std::strtol(text.data(), nullptr, 10);
  }
#endif
  return std::min(language_version(macos), 320);
}

}  // namespace hearth::gpu
