#include "devices/cuda/cublas/cublas_matmul.h"

#include <algorithm>

#include "hearth/error.h"
#include "kernels/matmul/epilogue.h"

namespace hearth::cuda {
namespace {

using Api = CublasLtApi;
using Status = Api::Status;

// No algorithm asks for more.
constexpr std::uintptr_t kMaxAlignment = 16;

Api::DataType data_type(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return Api::DataType::f64;
    case DType::f16:
      return Api::DataType::f16;
    case DType::bf16:
      return Api::DataType::bf16;
    default:
      return Api::DataType::f32;
  }
}

// Of every row of every matrix that lies from `pointer` on.
std::uint32_t alignment_of(const void* pointer, const gpu::MatmulProblem::Matrix& matrix,
                           DType dtype) {
  const auto steps =
      static_cast<std::uintptr_t>((matrix.stride | matrix.batch_stride) * size_of(dtype));
  const auto bits = reinterpret_cast<std::uintptr_t>(pointer) | steps | kMaxAlignment;
  return static_cast<std::uint32_t>(bits & (~bits + 1));
}

}  // namespace

CublasMatmul::CublasMatmul(CublasLt& library, Context& context, const runtime::LibraryCall& call,
                           runtime::Autotuner& tuner)
    : LibraryFunction(context, call),
      library_(library),
      call_(call),
      problem_(gpu::matmul_problem(call)),
      tuner_(tuner) {
  try {
    describe();
  } catch (...) {
    release();
    throw;
  }
}

CublasMatmul::~CublasMatmul() { release(); }

void CublasMatmul::release() noexcept {
  const Api& api = library_.api();
  for (const Api::Layout each : {a_, b_, c_}) {
    if (each != nullptr) api.cublasLtMatrixLayoutDestroy(each);
  }
  if (description_ != nullptr) api.cublasLtMatmulDescDestroy(description_);
}

void CublasMatmul::describe() {
  const Api& api = library_.api();
  const auto dtype = static_cast<DType>(problem_.dtype);
  const bool is_f64 = dtype == DType::f64;
  library_.check(api.cublasLtMatmulDescCreate(&description_,
                                              is_f64               ? Api::ComputeType::f64
                                              : problem_.tf32 != 0 ? Api::ComputeType::tf32
                                                                   : Api::ComputeType::f32,
                                              is_f64 ? Api::DataType::f64 : Api::DataType::f32),
                 "cublasLtMatmulDescCreate");
  const auto transpose = [&](Api::DescriptionAttribute which, const auto& matrix) {
    if (matrix.transposed == 0) return;
    library_.check(api.cublasLtMatmulDescSetAttribute(description_, which, &Api::kTransposed,
                                                      sizeof Api::kTransposed),
                   "cublasLtMatmulDescSetAttribute");
  };
  transpose(Api::DescriptionAttribute::transpose_a, problem_.b);
  transpose(Api::DescriptionAttribute::transpose_b, problem_.a);
  using Activation = gpu::MatmulEpilogue::Activation;
  const auto activation = static_cast<Activation>(problem_.activation);
  const std::uint32_t bits = (problem_.has_bias != 0 ? Api::kBias : 0) |
                             (activation == Activation::relu        ? Api::kRelu
                              : activation == Activation::gelu_tanh ? Api::kGeluTanh
                                                                    : 0);
  if (bits != 0) {
    library_.check(api.cublasLtMatmulDescSetAttribute(
                       description_, Api::DescriptionAttribute::epilogue, &bits, sizeof bits),
                   "cublasLtMatmulDescSetAttribute");
  }
  a_ = layout(problem_.m, problem_.k, problem_.a);
  b_ = layout(problem_.k, problem_.n, problem_.b);
  c_ = layout(problem_.m, problem_.n, problem_.c);
}

Api::Layout CublasMatmul::layout(std::int64_t rows, std::int64_t columns,
                                 const gpu::MatmulProblem::Matrix& matrix) const {
  const Api& api = library_.api();
  if (matrix.transposed == 0) std::swap(rows, columns);
  Api::Layout made = nullptr;
  library_.check(
      api.cublasLtMatrixLayoutCreate(&made, data_type(static_cast<DType>(problem_.dtype)),
                                     static_cast<std::uint64_t>(rows),
                                     static_cast<std::uint64_t>(columns), matrix.stride),
      "cublasLtMatrixLayoutCreate");
  if (problem_.batches == 1) return made;
  const auto count = static_cast<std::int32_t>(problem_.batches);
  const auto set = [&](Api::LayoutAttribute which, const auto& value) {
    const Status status = api.cublasLtMatrixLayoutSetAttribute(made, which, &value, sizeof value);
    if (status == Status::success) return;
    api.cublasLtMatrixLayoutDestroy(made);
    library_.check(status, "cublasLtMatrixLayoutSetAttribute");
  };
  set(Api::LayoutAttribute::batch_count, count);
  set(Api::LayoutAttribute::batch_stride, matrix.batch_stride);
  return made;
}

Status CublasMatmul::run(const Algorithm& algorithm, const Operands& operands,
                         Stream stream) const {
  static constexpr float kOne = 1, kZero = 0;
  static constexpr double kOne64 = 1, kZero64 = 0;
  const bool is_f64 = static_cast<DType>(problem_.dtype) == DType::f64;
  const void* const one = is_f64 ? static_cast<const void*>(&kOne64) : &kOne;
  const void* const zero = is_f64 ? static_cast<const void*>(&kZero64) : &kZero;
  set_bias(operands.bias);
  return library_.api().cublasLtMatmul(
      library_.handle(), description_, one, operands.b, b_, operands.a, a_,
      problem_.has_residual != 0 ? one : zero, operands.residual, c_, operands.c, c_, &algorithm,
      operands.workspace, static_cast<std::size_t>(problem_.workspace_bytes), stream);
}

CublasMatmul::Operands CublasMatmul::operands_of(const runtime::Command& command) const {
  auto next = command.arguments.begin();
  Operands operands{};
  operands.a = (next++)->address;
  operands.b = (next++)->address;
  if (problem_.has_bias != 0) operands.bias = (next++)->address;
  if (problem_.has_residual != 0) operands.residual = (next++)->address;
  operands.c = (next++)->address;
  operands.workspace = next->address;
  if (problem_.has_residual == 0) operands.residual = operands.c;
  return operands;
}

void CublasMatmul::set_bias(const void* bias) const {
  if (problem_.has_bias == 0) return;
  library_.check(
      library_.api().cublasLtMatmulDescSetAttribute(description_, Api::DescriptionAttribute::bias,
                                                    static_cast<const void*>(&bias), sizeof bias),
      "cublasLtMatmulDescSetAttribute");
}

void CublasMatmul::enqueue(const runtime::Command& command, Stream stream) const {
  const Algorithm& algorithm = algorithm_for(command);
  library_.check(run(algorithm, operands_of(command), stream), "cublasLtMatmul");
}

const Api::Algorithm& CublasMatmul::algorithm_for(const runtime::Command& command) const {
  check_arguments(command);
  const Operands operands = operands_of(command);
  const auto dtype = static_cast<DType>(problem_.dtype);
  const Alignment alignment{
      alignment_of(operands.a, problem_.a, dtype), alignment_of(operands.b, problem_.b, dtype),
      alignment_of(operands.c, problem_.c, dtype),
      alignment_of(operands.residual, problem_.c, dtype), alignment_of(operands.bias, {}, dtype)};
  for (const Choice& choice : choices_) {
    if (choice.alignment == alignment) return choice.algorithm;
  }
  return choices_.emplace_back(Choice{alignment, choose(operands, alignment)}).algorithm;
}

}  // namespace hearth::cuda
