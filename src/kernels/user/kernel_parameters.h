// The parameters of a user's kernel, and what each of them gets: an input, a result or a constant.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codegen/msl/entries.h"
#include "hearth/custom_op.h"

namespace hearth::gpu {

// Throws Error{invalid_argument}. Callers put the kernel and the op in front.
[[noreturn]] void refuse(const std::string& what);

// A parameter that is passed: threadgroup memory and positions are none.
struct UserParameter {
  std::string name;
  std::string type;         // "float"; of a template without arguments as the text has it: "T"
  bool is_written = false;  // device T*
  bool is_value = false;    // constant T&
};

// In the order of their buffers.
std::vector<UserParameter> user_parameters(const MetalText& text, const MetalEntry& entry);
std::vector<UserParameter> user_parameters(const runtime::KernelSource& source);

struct Slot {
  enum class From : std::uint8_t { input, output, constant };
  From from = From::input;
  int number = 0;  // among the inputs that were given, the results, the launch's constants
};

// Inputs that were given and results, as a kernel is to take them.
struct OperandTypes {
  std::vector<TensorType> inputs;
  std::vector<int> numbers;  // of these among the op's inputs
  std::vector<TensorType> outputs;

  friend bool operator==(const OperandTypes&, const OperandTypes&) = default;
};

// What each parameter gets, by the names of `spec` or by order. Throws Error{invalid_argument} for
// a parameter that gets nothing, and for what no parameter takes.
std::vector<Slot> slots_of(const CustomOpSpec& spec, std::span<const UserParameter> parameters,
                           const OperandTypes& types, const KernelLaunch& launch);

// Throws Error{invalid_argument} where no call of the op could fill the parameters.
void check_parameters(const CustomOpSpec& spec, std::span<const UserParameter> parameters);

// Throws Error{dtype} where a parameter's type is not that of its operand.
void check_types(std::span<const UserParameter> parameters, std::span<const Slot> slots,
                 const OperandTypes& types);

// The bytes of a constant as the parameter's type has them. Throws Error{invalid_argument} for a
// value that the type does not hold.
std::vector<std::byte> constant_bytes(const UserParameter& parameter,
                                      const KernelConstant& constant);

}  // namespace hearth::gpu
