// Which formulas of kernels/formulas/scalar_ops.h exist for which types, as kernels that run them.
#pragma once

#include <string>
#include <vector>

#include "kernels/sample_kernels.h"
#include "ops/definition/defs.h"

namespace hearth::gpu_test {

inline bool takes(const OpDef& op, DType dtype) {
  return op.accepts_dtype == nullptr || op.accepts_dtype(dtype);
}
inline const std::vector<std::string>& real_unary() {
  static const std::vector<std::string> ops = [] {
    std::vector<std::string> names;
#define UNARY(name) \
  if (takes(defs::name##_op, DType::f32)) names.emplace_back(#name);
#include "ops/op_list.def"
    return names;
  }();
  return ops;
}
// Those of ops that take integers, and four that leave integers as they are or clip them.
inline const std::vector<std::string>& integer_unary() {
  static const std::vector<std::string> ops = [] {
    std::vector<std::string> names;
#define UNARY(name) \
  if (takes(defs::name##_op, DType::i32)) names.emplace_back(#name);
#include "ops/op_list.def"
    names.insert(names.end(), {"floor", "ceil", "round", "relu"});
    return names;
  }();
  return ops;
}
inline const std::vector<std::string>& real_binary() {
  static const std::vector<std::string> ops = [] {
    std::vector<std::string> names;
#define BINARY(name) \
  if (takes(defs::name##_op, DType::f32)) names.emplace_back(#name);
#include "ops/op_list.def"
    return names;
  }();
  return ops;
}
inline const std::vector<std::string>& integer_binary() {
  static const std::vector<std::string> ops = [] {
    std::vector<std::string> names;
#define BINARY(name) \
  if (takes(defs::name##_op, DType::i32)) names.emplace_back(#name);
#include "ops/op_list.def"
    return names;
  }();
  return ops;
}
inline const std::vector<std::string>& comparisons() {
  static const std::vector<std::string> ops = {
#define COMPARISON(name) #name,
#include "ops/op_list.def"
  };
  return ops;
}

struct FormulaType {
  const char* name;
  bool real;
};
inline constexpr FormulaType kFormulaTypes[] = {{"float", true}, {"double", true},
                                                {"int", false},  {"uint", false},
                                                {"long", false}, {"ulong", false}};

inline runtime::KernelSource unary_kernel(FormulaType type) {
  return formula_kernel(std::string("unary_") + type.name,
                        type.real ? real_unary() : integer_unary(), 1, type.name, type.name);
}
inline runtime::KernelSource binary_kernel(FormulaType type) {
  return formula_kernel(std::string("binary_") + type.name,
                        type.real ? real_binary() : integer_binary(), 2, type.name, type.name);
}
inline runtime::KernelSource comparison_kernel(FormulaType type) {
  return formula_kernel(std::string("comparison_") + type.name, comparisons(), 2, type.name,
                        "uchar");
}
inline runtime::KernelSource clamp_kernel(FormulaType type) {
  return formula_kernel(std::string("clamp_") + type.name, {"clamp"}, 3, type.name, type.name);
}
inline runtime::KernelSource lerp_kernel(FormulaType type) {
  return formula_kernel(std::string("lerp_") + type.name, {"lerp"}, 3, type.name, type.name);
}

}  // namespace hearth::gpu_test
