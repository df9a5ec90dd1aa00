// Runs regions on the CPU's region kernel without a graph around them.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "devices/cpu/regions/tile_kernel.h"
#include "graph/op_def.h"
#include "graph/plan/region.h"
#include "hearth/shape.h"
#include "ops/definition/defs.h"

namespace hearth::region_test {

// The ops that regions are made of.
#define HEARTH_TEST_OP(name) inline constexpr const OpDef& name##_def = defs::name##_op;
#define UNARY(name) HEARTH_TEST_OP(name)
#define BINARY(name) HEARTH_TEST_OP(name)
#define COMPARISON(name) HEARTH_TEST_OP(name)
#define LOGICAL(name) HEARTH_TEST_OP(name)
#define TERNARY(name) HEARTH_TEST_OP(name)
#define PREDICATE(name) HEARTH_TEST_OP(name)
#define REDUCTION(name) HEARTH_TEST_OP(name)
#include "ops/op_list.def"
HEARTH_TEST_OP(cast)
#undef HEARTH_TEST_OP

// Memory with a guard after it that no kernel may change.
class Guarded {
 public:
  static constexpr std::size_t kGuard = 192;
  explicit Guarded(std::int64_t bytes)
      : bytes_(static_cast<std::size_t>(bytes)), storage_(bytes_ + kGuard + 64, std::byte{0xa5}) {
    begin_ = storage_.data();
    begin_ += (64 - reinterpret_cast<std::uintptr_t>(begin_) % 64) % 64;
  }
  std::byte* data() { return begin_; }
  bool intact() const {
    const std::byte* end = storage_.data() + storage_.size();
    for (const std::byte* p = begin_ + bytes_; p != end; ++p) {
      if (*p != std::byte{0xa5}) return false;
    }
    return true;
  }

 private:
  std::size_t bytes_;
  std::vector<std::byte> storage_;
  std::byte* begin_;
};

// Operands: inputs, outputs, then the reduction's result.
inline void run_region(const Region& region, const std::vector<std::byte*>& operands,
                       const std::vector<std::uint64_t>& dynamics = {}) {
  const RegionImplementation kernel = cpu::cpu_regions();
  const Prepared prepared = kernel.prepare(lower(region));
  Guarded workspace(prepared.workspace_bytes);
  Launch launch{};
  launch.state = prepared.state.get();
  launch.operands = operands.data();
  launch.operand_count = static_cast<int>(operands.size());
  launch.workspace = workspace.data();
  launch.dynamics = dynamics.data();
  launch.dynamic_count = static_cast<int>(dynamics.size());
  kernel.launch(launch);
  if (!workspace.intact()) throw Error(ErrorCode::internal, "workspace overrun");
}

// A region of one op over dense inputs of one dtype.
inline Region one_op(const OpDef& op, std::int64_t n, DType dtype, int arity, DType result) {
  Region region;
  region.shape = {n};
  RegionInstruction instruction{&op, result, {-1, -1, -1, -1}};
  for (int i = 0; i < arity; ++i) {
    region.inputs.push_back({dtype, {1}});
    instruction.args[i] = static_cast<std::int16_t>(i);
  }
  region.instructions.push_back(instruction);
  region.outputs.push_back({result, arity, {1}});
  return region;
}

template <class T>
std::vector<T> apply(const OpDef& op, std::vector<std::vector<T>> inputs) {
  const auto n = static_cast<std::int64_t>(inputs[0].size());
  std::vector<T> out(inputs[0].size());
  const Region region =
      one_op(op, n, dtype_of_v<T>, static_cast<int>(inputs.size()), dtype_of_v<T>);
  std::vector<std::byte*> operands;
  for (auto& input : inputs) operands.push_back(reinterpret_cast<std::byte*>(input.data()));
  operands.push_back(reinterpret_cast<std::byte*>(out.data()));
  run_region(region, operands);
  return out;
}

}  // namespace hearth::region_test
