#include "hearth/hearth.h"

int main() {
  const auto x = hearth::Array::from_data(std::vector<float>{1, 2, 4}, {3});
  return hearth::sum(x + 1.0).item() == 10.0 ? 0 : 1;
}
