// The refusal of a text because too many wait already, told apart from all else that memory lacks.
#pragma once

#include <cstdint>
#include <string>

#include "hearth/error.h"

namespace hearth::models {

// Error{out_of_memory}, of Scheduler::submit() alone. Once a text has ended there is room again.
class FullQueue : public Error {
 public:
  // `count`: texts that would wait.
  FullQueue(std::int64_t count, std::int64_t most)
      : Error(ErrorCode::out_of_memory, "generate: too many texts wait; got " +
                                            std::to_string(count) + ", expected at most " +
                                            std::to_string(most)) {}
};

}  // namespace hearth::models
