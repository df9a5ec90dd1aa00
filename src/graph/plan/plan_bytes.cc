#include "graph/plan/plan.h"

namespace hearth {
namespace {

constexpr std::size_t kOfAllocation = 16;      // what an allocation takes beside its bytes
constexpr std::size_t kPreparedBytes = 512;    // of an implementation's state, and
constexpr std::size_t kPreparedOperand = 192;  // for each operand of it

template <class T>
std::size_t held(const std::vector<T>& list) {
  return list.capacity() == 0 ? 0 : list.capacity() * sizeof(T) + kOfAllocation;
}

std::size_t held(const Signature& signature) {
  return sizeof signature + kOfAllocation + held(signature.inputs) + held(signature.more_outputs) +
         held(signature.epilogue);
}

}  // namespace

std::size_t bytes_of(const Plan& plan) {
  std::size_t bytes = sizeof plan + kOfAllocation + held(plan.key) + held(plan.steps) +
                      held(plan.operands) + held(plan.dynamic_offsets) + held(plan.storages) +
                      held(plan.escapes) + held(plan.made) + held(plan.takers) + held(plan.origins);
  for (const Step& step : plan.steps) {
    bytes += held(step.statics);
    if (step.signature != nullptr) bytes += held(*step.signature);
    if (step.state != nullptr) {
      bytes += kPreparedBytes + kPreparedOperand * static_cast<std::size_t>(step.operand_count);
    }
  }
  return bytes;
}

}  // namespace hearth
