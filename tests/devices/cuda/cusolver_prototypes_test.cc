// What src/devices/cuda/cusolver/cusolver_api.h declares by hand, against the headers of cuSOLVER
// and cuBLAS, where they exist: they come with packages of hundreds of megabytes, which tests do
// not install. All of it is checked when this file is compiled.
#include <gtest/gtest.h>

#if __has_include(<cusolverDn.h>) && __has_include(<cublas_v2.h>) && __has_include(<crt/host_defines.h>)

#include <cublas_v2.h>
#include <cuda.h>
#include <cusolverDn.h>

#include "devices/cuda/cusolver/cusolver_api.h"
#include "devices/cuda/prototypes.h"

namespace hearth::cuda {
namespace {

using Api = CusolverApi;

#define HEARTH_FUNCTION SAME_FUNCTION
struct CusolverFunctions : CusolverApi {
#include "devices/cuda/cusolver_functions.def"
};
#undef HEARTH_FUNCTION

EQUAL(Api::Status::success, CUSOLVER_STATUS_SUCCESS);
EQUAL(Api::Status::success, CUBLAS_STATUS_SUCCESS);
EQUAL(Api::DataType::f32, CUDA_R_32F);
EQUAL(Api::DataType::f64, CUDA_R_64F);
EQUAL(Api::Vectors::none, CUSOLVER_EIG_MODE_NOVECTOR);
EQUAL(Api::Vectors::all, CUSOLVER_EIG_MODE_VECTOR);
EQUAL(Api::Triangle::lower, CUBLAS_FILL_MODE_LOWER);
EQUAL(Api::Triangle::upper, CUBLAS_FILL_MODE_UPPER);
EQUAL(Api::Side::left, CUBLAS_SIDE_LEFT);
EQUAL(Api::Side::right, CUBLAS_SIDE_RIGHT);
EQUAL(Api::Transpose::no, CUBLAS_OP_N);
EQUAL(Api::Diagonal::any, CUBLAS_DIAG_NON_UNIT);
EQUAL(Api::Diagonal::unit, CUBLAS_DIAG_UNIT);

TEST(CusolverPrototypes, MatchTheLibrary) { EXPECT_GE(CUSOLVER_VER_MAJOR, 11); }

}  // namespace
}  // namespace hearth::cuda

#endif
