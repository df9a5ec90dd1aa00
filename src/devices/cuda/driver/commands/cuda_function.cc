#include "devices/cuda/driver/commands/cuda_function.h"

#include "hearth/error.h"

namespace hearth::cuda {

void CudaFunction::check_arguments(const runtime::Command& command) const {
  if (source() != nullptr && source()->members > 0) {
    // The table, and as many arguments for each member.
    if (command.arguments.size() % argument_count_ == 1 % argument_count_) return;
  } else if (command.arguments.size() == argument_count_) {
    return;
  }
  throw Error(ErrorCode::internal, "cuda: arguments of kernel " + name() + " do not fit; got " +
                                       std::to_string(command.arguments.size()) + ", expected " +
                                       std::to_string(argument_count_));
}

bool CudaFunction::check_update(Result result, const char* call) const {
  if (result == Result::graph_exec_update_failure || result == Result::invalid_value) return false;
  context_.check(result, call);
  return true;
}

}  // namespace hearth::cuda
