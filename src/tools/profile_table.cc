#include "tools/profile_table.h"

#include <algorithm>
#include <cstdio>

namespace hearth::tools {

std::string kernel_table(const std::vector<runtime::KernelTime>& kernels) {
  if (kernels.empty()) return "no kernels ran\n";
  double total = 0;
  std::size_t width = 6;
  for (const runtime::KernelTime& kernel : kernels) {
    total += kernel.seconds;
    width = std::max(width, kernel.name.size());
  }
  const auto cell = [&](const std::string& text) {
    return text + std::string(width - text.size(), ' ');
  };
  std::string out = cell("kernel") + "   launches       total us      us each    share\n";
  char line[96];
  for (const runtime::KernelTime& kernel : kernels) {
    std::snprintf(line, sizeof line, " %10lld %14.1f %12.2f %7.1f%%\n",
                  static_cast<long long>(kernel.launches), kernel.seconds * 1e6,
                  kernel.seconds * 1e6 / static_cast<double>(kernel.launches),
                  total > 0 ? 100 * kernel.seconds / total : 0.0);
    out += cell(kernel.name) + line;
  }
  std::snprintf(line, sizeof line, "%.1f us of kernels, each timed alone\n", total * 1e6);
  return out + line;
}

}  // namespace hearth::tools
