// The instructions of a region as kernel text: what is computed for one element.
//
// The same rules as on every device. Values are computed in five classes: f32 (also for f16 and
// bf16), f64, i32 (also for narrower integers and bool), i64 (also for u32), u64; integers narrower
// than their class wrap after every instruction that may leave their range. A product used once, by
// an addition or subtraction of the same dtype, becomes an fma with it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/plan/region.h"

namespace hearth::gpu {

// The type of the dialect that values of a dtype are computed in: "float", "double", "int", "long",
// "ulong".
const char* value_type(DType dtype);
// The struct of kernels/blocks/elements.h for a dtype: "F32".
const char* dtype_struct(DType dtype);

// What combines two values of a reduction, as text: "formula::add". With `within_words`, elements of
// one vector are combined with each other. Throws Error{unsupported}.
const char* combine_formula(const OpDef& op, bool within_words);
// The value that changes nothing, as an expression of the class: -inf for max of floats, the least
// integer of the dtype for max of integers.
std::string identity_value(const OpDef& op, DType dtype);

// argmax and argmin: what is reduced is where a value lies, and it has one reduced axis.
bool finds_index(const OpDef& op);
// The dtype that values are reduced in.
DType reduced_dtype(const Region& region);

class RegionValues {
 public:
  // Throws Error{unsupported} for ops without a formula.
  explicit RegionValues(const Region& region);

  bool reads_input(int input) const { return uses_[static_cast<std::size_t>(input)] > 0; }
  bool reads_scalar(int scalar) const {
    return uses_[static_cast<std::size_t>(region_.first_scalar() + scalar)] > 0;
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
  void count_uses();
  void plan_fma();
  std::string name_of(int value) const;
  std::string converted(const std::string& x, DType from, DType to);
  void instruction(std::size_t i);
  // Declares a new temporary of the class of `dtype`.
  std::string declare(DType dtype, const std::string& expression);

  const Region& region_;
  std::vector<int> uses_;       // of each value, by live instructions and outputs
  std::vector<bool> absorbed_;  // products that are part of an fma
  std::vector<int> fused_;      // which argument is the absorbed product, or -1
  std::string body_;
  std::string text_;
  int instructions_ = 0;
  int temporaries_ = 0;
  bool has_f64_ = false;
};

}  // namespace hearth::gpu
