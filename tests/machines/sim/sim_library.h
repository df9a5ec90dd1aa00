// A simulator whose vendor has a library of attention: plain loops over what gpu::AttentionProblem
// says, which leave what it does not promise as bad as it may be.
#pragma once

#include "devices/sim/sim_driver.h"

namespace hearth::sim {

class LibraryDriver : public SimDriver {
 public:
  // `refuses`: it has the library, which takes no call.
  explicit LibraryDriver(bool refuses = false) : refuses_(refuses) {}
  runtime::LibraryTraits libraries() const override;
  std::unique_ptr<runtime::Function> library_function(const runtime::LibraryCall& call,
                                                      runtime::Autotuner& tuner) override;

 private:
  const bool refuses_;
};

}  // namespace hearth::sim
