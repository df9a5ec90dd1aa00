// The cases of tests/golden/channels.txt, which scripts/golden/channels.py wrote with PyTorch.
#pragma once

#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>

#include "check.h"
#include "golden_file.h"

namespace hearth::check {

// Arrays of one case by their labels.
class ChannelCase {
 public:
  explicit ChannelCase(const std::string& wanted) {
    std::ifstream file = golden_file("channels");
    bool mine = false;
    for (std::string text; std::getline(file, text);) {
      std::istringstream line(text);
      std::string label;
      line >> label;
      if (label == "case") {
        std::string name;
        mine = line >> name && name == wanted;
      } else if (mine) {
        entries_[label] = written_array(line);
      }
    }
    EXPECT_FALSE(entries_.empty()) << "no case " << wanted;
  }

  // In `dtype`, or i64 where it is of integers.
  Array array(const std::string& label, DType dtype = DType::f64) const {
    const WrittenArray& entry = entries_.at(label);
    return check::array(entry.values, entry.shape, is_float(entry.dtype) ? dtype : DType::i64);
  }
  const Values& values(const std::string& label) const { return entries_.at(label).values; }
  const Shape& shape(const std::string& label) const { return entries_.at(label).shape; }

 private:
  std::map<std::string, WrittenArray> entries_;
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
