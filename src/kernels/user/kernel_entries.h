// The entry points of a user's text, and the kernel that one of them is for an op's operands.
#pragma once

#include <string>
#include <vector>

#include "kernels/user/kernel_parameters.h"

namespace hearth::gpu {

// An entry point that an op may run.
struct EntryPoint {
  std::string name;                     // as metal_kernel() takes it, without arguments to deduce
  const MetalEntry* entry = nullptr;    // of the text
  std::vector<std::string> parameters;  // of the template, whose arguments are types of operands
};

// A text as it was preprocessed and read. Immutable.
class ParsedSource {
 public:
  // Throws what metal_kernel() does, and Error{invalid_argument} where the text has no entry point,
  // or none that is called `wanted`, unless that is empty.
  ParsedSource(const std::string& text, const std::string& wanted);
  ParsedSource(const ParsedSource&) = delete;
  ParsedSource& operator=(const ParsedSource&) = delete;

  const std::vector<EntryPoint>& entry_points() const noexcept { return entry_points_; }
  std::vector<UserParameter> parameters(const EntryPoint& entry_point) const {
    return user_parameters(read_, *entry_point.entry);
  }
  // The kernel that an entry point is for operands in these slots. Throws Error{invalid_argument}
  // where a template's argument follows from no operand, or threadgroup memory has no size.
  runtime::KernelSource kernel(const EntryPoint& entry_point,
                               std::span<const UserParameter> parameters,
                               std::span<const Slot> slots, const OperandTypes& types,
                               const KernelLaunch& launch) const;

 private:
  void add_entry_points(const std::string& wanted);

  const std::string source_;
  const std::string text_;
  const MetalText read_;
  std::vector<EntryPoint> entry_points_;
};

}  // namespace hearth::gpu
