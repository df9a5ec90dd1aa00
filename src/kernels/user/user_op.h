// A user's op as the graph knows it: an OpDef that carries its spec, and its kernel, if it has one.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/implementation.h"
#include "graph/op_def.h"
#include "kernels/user/kernel_entries.h"

namespace hearth::gpu {

// A kernel that was chosen for operands, and how it is launched for them.
struct BoundKernel {
  runtime::KernelSource source;
  runtime::Size3 groups, threads;
  struct Argument {
    enum class From : std::uint8_t { input, output, constant };
    From from = From::input;
    int number = 0;           // among all inputs of the op, or its results
    std::int64_t offset = 0;  // of a constant's bytes in `constants`
    std::int64_t bytes = 0;
  };
  std::vector<Argument> arguments;  // of the source's parameters that are no threadgroup memory
  std::vector<std::int64_t> constants;
};

// The kernels of an op. Thread-safe.
class UserKernel {
 public:
  // Throws Error{invalid_argument} for a text that cannot be read, and for parameters that no call
  // of the op could fill.
  explicit UserKernel(const CustomOpSpec& spec);
  bool is_defined() const noexcept { return text_ != nullptr || !spec_.kernels.empty(); }

  // The kernel for these operands. Throws one Error that says of every kernel why it does not fit.
  std::shared_ptr<const BoundKernel> bind(const OperandTypes& types) {
    return known(types)->kernel;
  }
  // bind(), and the device compiles what it gives, unless it has before. Throws Error{device} with
  // the compiler's messages.
  void compile(const OperandTypes& types, DeviceImpl& device);

 private:
  struct Known {
    std::shared_ptr<const BoundKernel> kernel;
    std::set<const DeviceImpl*> devices;  // that have compiled it
  };
  struct Hash {
    std::size_t operator()(const OperandTypes& types) const noexcept;
  };
  static constexpr std::size_t kMaxKnown = 1024;

  KernelLaunch launch_for(const OperandTypes& types) const;
  std::shared_ptr<const BoundKernel> choose(const OperandTypes& types) const;
  std::shared_ptr<Known> known(const OperandTypes& types);

  const CustomOpSpec& spec_;
  std::unique_ptr<const ParsedSource> text_;
  std::mutex mutex_;
  std::unordered_map<OperandTypes, std::shared_ptr<Known>, Hash> known_;
};

struct UserOp : OpDef {
  // Name and summary are those of the spec.
  UserOp(OpDef definition, CustomOpSpec given)
      : OpDef(std::move(definition)), spec(std::move(given)), kernels(spec) {
    name = OpName(spec.name.c_str(), OpName::Runtime{});
    summary = spec.summary.c_str();
  }

  const CustomOpSpec spec;
  mutable UserKernel kernels;
  Implementation host, device;  // those of OpDef, where the op has them
};

inline const UserOp& user(const OpDef& op) { return static_cast<const UserOp&>(op); }

// Implementation::prepare of a user's kernel.
Prepared prepare_user_kernel(const Signature& signature);

}  // namespace hearth::gpu
