// Instances of kernels of src/kernels, as prepared plans launch them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "hearth/runtime.h"
#include "kernels/launch/step_plan.h"

namespace hearth::gpu_test {

class Instances {
 public:
  // Adds the kernels of src/kernels that the plan may launch. Generated ones, which are those of
  // region_samples(), are left out, and those of f64, which Metal has not.
  void add(const gpu::KernelPlan& plan);
  // Of the instances of a function as few as have every template argument that any of them has in
  // its place: there are too many to compile all of them.
  std::vector<runtime::KernelSource> cover() const;

 private:
  struct Instance {
    runtime::KernelSource source;
    std::set<std::string> arguments;
  };

  void add(const runtime::LazyKernel& kernel);

  std::map<std::string, std::map<std::string, Instance>> by_function_;  // and by name
};

}  // namespace hearth::gpu_test
