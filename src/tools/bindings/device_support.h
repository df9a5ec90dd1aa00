// Which dtypes of an op a kind of device lacks, and why; what an implementation of a GPU needs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/implementation.h"
#include "graph/op_def.h"

namespace hearth::tools {

// A kind of device that the library is built with, whether this machine has one or not.
struct DeviceKind {
  const char* name;  // as Device::named() takes it
  bool is_gpu;
  bool has_f64;
  const char* no_f64;  // why not
};
const std::vector<DeviceKind>& device_kinds();

// Why arrays of `dtype`, which the op takes, are not computed there; empty where they are: in
// regions, as views, by an implementation that accepts a sample, or by the op's composite.
std::string lack_of(const DeviceKind& kind, const OpDef& op, DType dtype);

// What of DeviceTraits an implementation is there for: "tile_products", "simdgroup_matrix",
// "library"; empty where all GPUs have it.
std::string need_of(const Implementation& implementation);

}  // namespace hearth::tools
