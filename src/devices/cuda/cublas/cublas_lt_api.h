// The part of cuBLASLt that Hearth uses, declared by hand like the driver's API (driver_api.h), and
// opened at run time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "devices/cuda/driver/driver_api.h"
#include "devices/cuda/driver/library.h"

namespace hearth::cuda {

struct CublasLtApi {
  using Handle = struct CublasLtTag*;
  using Description = struct MatmulDescriptionTag*;
  using Layout = struct MatrixLayoutTag*;
  using Preference = struct MatmulPreferenceTag*;

  enum class Status : unsigned { success = 0, invalid_value = 7, not_supported = 15 };
  enum class DataType : unsigned { f32 = 0, f64 = 1, f16 = 2, bf16 = 14 };
  enum class ComputeType : unsigned { f32 = 68, f64 = 70, tf32 = 77 };
  enum class LayoutAttribute : unsigned { batch_count = 5, batch_stride = 6 };
  enum class DescriptionAttribute : unsigned {
    transpose_a = 3,
    transpose_b = 4,
    epilogue = 7,
    bias = 8,
  };
  // Bits of an epilogue.
  static constexpr std::uint32_t kNoEpilogue = 1;
  static constexpr std::uint32_t kRelu = 2;
  static constexpr std::uint32_t kBias = 4;
  static constexpr std::uint32_t kGeluTanh = 32;
  enum class PreferenceAttribute : unsigned {
    most_workspace_bytes = 1,
    reductions = 3,
    alignment_a = 5,
    alignment_b = 6,
    alignment_c = 7,
    alignment_d = 8,
  };
  // Of an algorithm: what it is set to, and what it can be set to.
  enum class AlgorithmAttribute : unsigned { splits = 2, reduction = 3 };
  enum class Capability : unsigned { splits = 0, reductions = 1 };
  static constexpr std::int32_t kTransposed = 1;  // CUBLAS_OP_T
  // How sums of parts of k are added: CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE and _MASK.
  static constexpr std::uint32_t kReductionComputeType = 2;
  static constexpr std::uint32_t kReductionAny = 7;

  // Plain data that the same version of the library understands again.
  struct Algorithm {
    std::array<std::uint64_t, 8> data{};
  };
  struct Candidate {
    Algorithm algorithm;
    std::size_t workspace_bytes = 0;
    Status state = Status::success;
    float waves = 0;
    std::array<int, 4> reserved{};
  };

#define HEARTH_FUNCTION(result, name, parameters) result(*name) parameters;
#include "devices/cuda/cublas_lt_functions.def"
#undef HEARTH_FUNCTION

  void look_up(FunctionLookup& find) {
#define HEARTH_FUNCTION(result, name, parameters) find(#name, name);
#include "devices/cuda/cublas_lt_functions.def"
#undef HEARTH_FUNCTION
  }
};

// The newest of the library's versions that a driver of this version runs (13000 is 13.0); null
// where there is none, as `notes` says then.
std::shared_ptr<const CublasLtApi> open_cublas_lt(const Places& places, int driver_version,
                                                  std::vector<std::string>& notes);

}  // namespace hearth::cuda
