#include <string_view>

#include "hearth/hearth.h"

#ifdef PACKAGE_VERSION
static_assert(std::string_view(PACKAGE_VERSION) == HEARTH_VERSION);
#endif
static_assert(HEARTH_VERSION_NUMBER >= 100);

int main() {
  const auto x = hearth::Array::from_data(std::vector<float>{1, 2, 4}, {3});
  return hearth::sum(x + 1.0).item() == 10.0 ? 0 : 1;
}
