// The part of cuSOLVER that Hearth uses, and of cuBLAS, which cuSOLVER is made of and brings along.
// Declared by hand and looked up at run time like the driver's, see driver_api.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "devices/cuda/driver/driver_api.h"
#include "devices/cuda/driver/library.h"

namespace hearth::cuda {

struct CusolverApi {
  using Handle = struct CusolverHandleTag*;
  using Params = struct CusolverParamsTag*;
  using JacobiInfo = struct CusolverJacobiTag*;
  using BlasHandle = struct CublasHandleTag*;
  enum class Status : unsigned { success = 0 };
  enum class DataType : unsigned { f32 = 0, f64 = 1 };
  enum class Vectors : unsigned { none = 0, all = 1 };
  enum class Triangle : unsigned { lower = 0, upper = 1 };
  enum class Side : unsigned { left = 0, right = 1 };
  enum class Transpose : unsigned { no = 0 };
  enum class Diagonal : unsigned { any = 0, unit = 1 };

#define HEARTH_FUNCTION(result, name, parameters) result(*name) parameters;
#include "devices/cuda/cusolver_functions.def"
#undef HEARTH_FUNCTION
};

// Null where there is none of a version that the driver runs, for the reason that `notes` gives
// then. `driver_version` is what cuDriverGetVersion says.
std::shared_ptr<const CusolverApi> open_cusolver(const Places& places, int driver_version,
                                                 std::vector<std::string>& notes);

}  // namespace hearth::cuda
