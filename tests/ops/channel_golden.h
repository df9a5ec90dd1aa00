// The cases of tests/golden/channels.txt, which scripts/golden/channels.py wrote with PyTorch.
#pragma once

#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>

#include "check.h"

namespace hearth::check {

// Arrays of one case by their labels.
class ChannelCase {
 public:
  explicit ChannelCase(const std::string& wanted) {
    const char* source = std::getenv("HEARTH_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
    std::ifstream file(std::string(source != nullptr ? source : ".") +
                       "/tests/golden/channels.txt");
    bool mine = false;
    for (std::string text; std::getline(file, text);) {
      std::istringstream line(text);
      std::string label, dtype, shape, colon;
      line >> label >> dtype >> shape >> colon;
      if (label == "case") {
        mine = dtype == wanted;
      } else if (mine) {
        Entry& entry = entries_[label];
        entry.whole = dtype == "i64";
        if (shape != "-") {
          std::istringstream extents(shape);
          for (std::string extent; std::getline(extents, extent, 'x');)
            entry.shape.push_back(std::stoll(extent));
        }
        for (std::string word; line >> word;) {
          entry.values.push_back(std::strtod(word.c_str(), nullptr));
        }
      }
    }
    EXPECT_FALSE(entries_.empty()) << "no case " << wanted;
  }

  // In `dtype`, or i64 where it is of integers.
  Array array(const std::string& label, DType dtype = DType::f64) const {
    const Entry& entry = entries_.at(label);
    return check::array(entry.values, entry.shape, entry.whole ? DType::i64 : dtype);
  }
  const Values& values(const std::string& label) const { return entries_.at(label).values; }
  const Shape& shape(const std::string& label) const { return entries_.at(label).shape; }

 private:
  struct Entry {
    bool whole = false;
    Shape shape;
    Values values;
  };
  std::map<std::string, Entry> entries_;
};

// Compares f(inputs) with the case's output, and its gradients with the case's, in f64 and f32.
inline void expect_as_torch(const std::string& name, const std::vector<std::string>& labels,
                            const Many& f, double exact = 1e-11, double rough = 3e-5) {
  const ChannelCase golden(name);
  for (const DType dtype : {DType::f64, DType::f32}) {
    const double tolerance = dtype == DType::f64 ? exact : rough;
    std::vector<Array> leaves;
    for (const std::string& label : labels) {
      const Array input = golden.array(label, dtype);
      leaves.push_back(is_float(input.dtype()) ? input.require_grad() : input);
    }
    const Array output = f(leaves);
    EXPECT_EQ(output.shape(), golden.shape("output")) << name;
    EXPECT_EQ(output.dtype(), dtype) << name;
    expect_close(output, golden.values("output"), tolerance, name);
    const Gradients gradients = backward(sum(mul(output, golden.array("upstream", dtype))));
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (!is_float(leaves[i].dtype())) continue;
      const Array got = gradients.get(leaves[i]);
      ASSERT_TRUE(got.defined()) << name << " " << labels[i];
      expect_close(got, golden.values("grad_" + labels[i]), tolerance, name + " of " + labels[i]);
    }
  }
}

}  // namespace hearth::check
