// The entry points of a user's text, and the kernel that one of them is for an op's operands.
#pragma once

#include <string>
#include <vector>

#include "kernels/user/kernel_formals.h"

namespace hearth::gpu {

// An entry point that an op may run.
struct EntryChoice {
  std::string name;                     // as metal_kernel() takes it, without arguments to deduce
  const MetalEntry* entry = nullptr;    // of the text
  std::vector<std::string> parameters;  // of the template, whose arguments are types of operands
};

// A text as it was preprocessed and read. Immutable.
class UserText {
 public:
  // Throws what metal_kernel() does, and Error{invalid_argument} where the text has no entry point,
  // or none that is called `wanted`, unless that is empty.
  UserText(const std::string& text, const std::string& wanted);
  UserText(const UserText&) = delete;
  UserText& operator=(const UserText&) = delete;

  const std::vector<EntryChoice>& choices() const noexcept { return choices_; }
  std::vector<Formal> formals(const EntryChoice& choice) const {
    return formals_of(read_, *choice.entry);
  }
  // The kernel that a choice is for operands in these slots. Throws Error{invalid_argument} where a
  // template's argument follows from no operand, or threadgroup memory has no size.
  runtime::KernelSource kernel(const EntryChoice& choice, std::span<const Formal> formals,
                               std::span<const Slot> slots, const OperandTypes& types,
                               const KernelLaunch& launch) const;

 private:
  void add_choices(const std::string& wanted);

  const std::string source_;
  const std::string text_;
  const MetalText read_;
  std::vector<EntryChoice> choices_;
};

}  // namespace hearth::gpu
