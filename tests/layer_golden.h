// The cases of tests/golden/layers.txt, which scripts/golden/layers.py wrote with PyTorch.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "golden_file.h"
#include "hearth/ops.h"
#include "hearth/parameter.h"

namespace hearth::testing {

// The arrays of one case, in f64, by name.
class LayerCase {
 public:
  explicit LayerCase(const std::string& name) {
    std::ifstream file = check::golden_file("layers");
    bool is_here = false;
    for (std::string text; std::getline(file, text);) {
      std::istringstream line(text);
      std::string keyword, key;
      line >> keyword >> key;
      if (keyword == "case") is_here = key == name;
      if (keyword != "array" || !is_here) continue;
      const check::WrittenArray array = check::written_values(line);
      arrays_[key] = Array::from_data(array.values, array.shape);
    }
    EXPECT_FALSE(arrays_.empty()) << "no case " << name;
  }

  const Array& operator[](const std::string& key) const {
    const auto found = arrays_.find(key);
    EXPECT_NE(found, arrays_.end()) << key;
    static const Array kNone = zeros({1}, DType::f64);
    return found != arrays_.end() ? found->second : kNone;
  }
  // The values whose names begin with `prefix`, which is left out.
  NamedArrays with(const std::string& prefix) const {
    NamedArrays out;
    for (const auto& [key, value] : arrays_) {
      if (key.starts_with(prefix)) out.push_back({key.substr(prefix.size()), value});
    }
    return out;
  }

 private:
  std::map<std::string, Array> arrays_;
};

// The largest difference, relative to the largest expected value or 1.
inline void expect_like(const Array& actual, const Array& expected, double tolerance,
                        const std::string& what) {
  ASSERT_TRUE(actual.defined()) << what;
  ASSERT_EQ(actual.shape(), expected.shape()) << what;
  const double size = std::max(1.0, max(abs(expected)).item());
  EXPECT_LE(max(abs(actual - expected)).item() / size, tolerance) << what;
}

}  // namespace hearth::testing
