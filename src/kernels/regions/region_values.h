// The instructions of a region as kernel text: what is computed for one element.
//
// What is computed is the same on every device: graph/lower/lowered_region.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/combine.h"
#include "graph/lower/lowered_region.h"

namespace hearth::gpu {

// What combines two values of a reduction, as text: "formula::add". With `within_words`, elements
// of one vector are combined with each other. Throws Error{unsupported} for what does not reduce.
const char* combine_formula(const RegionReduction& reduction, bool within_words);
// The value that changes nothing, as an expression of the class of `dtype`: -inf for max of floats,
// the least integer of the dtype for max of integers.
std::string identity_value(Combine combine, DType dtype);

class RegionValues {
 public:
  // Throws Error{unsupported} for ops without a formula.
  explicit RegionValues(const LoweredRegion& lowered);

  bool reads_input(int input) const { return lowered_.uses[static_cast<std::size_t>(input)] > 0; }
  bool reads_scalar(int scalar) const {
    return lowered_.uses[static_cast<std::size_t>(region_.first_scalar() + scalar)] > 0;
  }
  int instructions() const { return instructions_; }
  bool has_f64() const { return has_f64_; }

  // "struct Values", with a member y<i> for each output and `reduced` for the reduction, and
  // region_compute(v0, v1..., o), which takes the inputs that are read, by value, and scalars as
  // members s<i> of `o`.
  const std::string& text() const { return text_; }
  // The statement that sets s<i> of `o` from the dynamic block, given the word's expression.
  std::string scalar_value(int scalar, const std::string& word) const;

 private:
  std::string name_of(int value) const;
  std::string converted(const std::string& x, DType from, DType to);
  void instruction(std::size_t i);
  // Declares a new temporary of the class of `dtype`.
  std::string declare(DType dtype, const std::string& expression);

  const LoweredRegion& lowered_;
  const Region& region_;
  std::string body_;
  std::string text_;
  int instructions_ = 0;
  int temporaries_ = 0;
  bool has_f64_ = false;
};

}  // namespace hearth::gpu
