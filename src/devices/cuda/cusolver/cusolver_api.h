// The part of cuSOLVER that Hearth uses, and of cuBLAS, which cuSOLVER is made of and brings along.
// Declared by hand and looked up at run time like the driver's, see driver_api.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
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

  void look_up(FunctionLookup& find) {
#define HEARTH_FUNCTION(result, name, parameters) find(#name, name);
#include "devices/cuda/cusolver_functions.def"
#undef HEARTH_FUNCTION
  }
};

// Null where there is none of a version that the driver runs, for the reason that `notes` gives
// then. `driver_version` is what cuDriverGetVersion says.
std::shared_ptr<const CusolverApi> open_cusolver(const Places& places, int driver_version,
                                                 std::vector<std::string>& notes);

// Opens it when it is first asked for: that takes longer than all that most programs do with a
// matrix. Thread-safe.
class CusolverOpener {
 public:
  CusolverOpener(Places places, int driver_version)
      : places_(std::move(places)), driver_version_(driver_version) {}

  // As open_cusolver() gives it.
  const CusolverApi* api();
  // What came of it.
  const std::vector<std::string>& notes();

 private:
  const Places places_;
  const int driver_version_;
  std::once_flag opened_;
  std::shared_ptr<const CusolverApi> api_;
  std::vector<std::string> notes_;
};

}  // namespace hearth::cuda
