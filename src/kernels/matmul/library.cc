// matmul by the vendor's library, where the driver has one that does it: kernels/matmul/problem.h.
#include <algorithm>
#include <memory>
#include <optional>

#include "codegen/dialect_types.h"
#include "graph/switches.h"
#include "kernels/launch/occupancy.h"
#include "kernels/launch/step_plan.h"
#include "kernels/matmul/epilogue.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/problem.h"

namespace hearth::gpu {
namespace {

using Matrix = MatmulProblem::Matrix;

// Calls of one step, where the batch axes cannot be merged into one stride.
constexpr std::int64_t kMaxCalls = 64;
// A workspace takes at most 1 / kWorkspaceOfMemory of a device's memory, or what the library's
// maker recommends where that is more.
constexpr std::int64_t kWorkspaceOfMemory = 256;
// What a library notes in its workspace beside sums.
constexpr std::int64_t kMinWorkspace = std::int64_t{64} << 10;
// Parts, and elements of one: small results of long sums are cut into hundreds.
constexpr std::int64_t kMaxLibraryParts = 512;
constexpr std::int64_t kMinLibraryPart = 32;
// At most this many results for each resident thread count as few; few results get twice the
// workspace.
constexpr std::int64_t kFewResults = 16;

// Multiplications of a product that is worth a second call: some microseconds of tensor cores.
constexpr std::int64_t kLarge = std::int64_t{1} << 30;

bool is_for_tensor_cores(DType dtype) {
  return size_of(dtype) == 2 || (dtype == DType::f32 && switches().tf32);
}

bool is_large(const Signature& signature, std::int64_t large) {
  return is_for_tensor_cores(signature.output.dtype) &&
         static_cast<double>(element_count(signature.output.shape)) *
                 static_cast<double>(signature.inputs[0].shape.back()) >=
             static_cast<double>(large);
}

Matrix matrix_of(const TensorSpec& spec) {
  const int rank = spec.shape.rank();
  const std::int64_t rows = spec.shape[rank - 2], cols = spec.shape[rank - 1];
  const std::int64_t row_step = spec.strides[rank - 2], col_step = spec.strides[rank - 1];
  // The stride of an axis of one element says nothing.
  if ((cols == 1 || col_step == 1) && (rows == 1 || row_step >= cols)) {
    return {0, rows == 1 ? cols : row_step, 0};
  }
  return {1, cols == 1 ? rows : col_step, 0};
}

// The batch axes of the result. The last is the library's, the others are calls of their own: it is
// the longest one, or where results are `packed` the one that steps from matrix to matrix.
struct Batch {
  Shape shape;
  Strides a, b, c;
};

Batch batch_of(const Signature& signature, bool packed) {
  const TensorSpec& c = signature.output;
  const int rank = c.shape.rank() - 2;
  Batch batch{c.shape, batch_strides(signature.inputs[0], rank),
              batch_strides(signature.inputs[1], rank), batch_strides(c, rank)};
  batch.shape.resize(rank);
  merge_kernel_axes(&batch.shape, {&batch.a, &batch.b, &batch.c});
  if (packed) return batch;
  const int last = batch.shape.rank() - 1;
  const auto longest = std::max_element(batch.shape.begin(), batch.shape.end());
  const int at = static_cast<int>(longest - batch.shape.begin());
  std::swap(batch.shape[at], batch.shape[last]);
  for (Strides* strides : {&batch.a, &batch.b, &batch.c}) {
    std::swap((*strides)[at], (*strides)[last]);
  }
  return batch;
}

bool is_for_library(const Batch& batch) {
  const auto is_negative = [](std::int64_t stride) { return stride < 0; };
  return element_count(batch.shape) / batch.shape.back() <= kMaxCalls &&
         std::none_of(batch.a.begin(), batch.a.end(), is_negative) &&
         std::none_of(batch.b.begin(), batch.b.end(), is_negative);
}

// A part of an extent of a product.
struct Part {
  std::int64_t first = 0, count = 0;
};

// The library has only slow kernels for rows that are no whole number of packets long, be they
// aligned. Such an extent is cut: whole packets, and the few elements that are left.
using Parts = std::vector<Part>;

Parts parts_of(std::int64_t extent, std::int64_t packet, bool cuts) {
  const std::int64_t whole = extent / packet * packet;
  if (!cuts || whole == 0 || whole == extent) return {{0, extent}};
  return {{0, whole}, {whole, extent - whole}};
}

struct Cuts {
  Parts m, n, k;
};

Cuts cuts_of(const Signature& signature, const MatmulProblem& problem, std::int64_t large) {
  const std::int64_t packet = kPacketBytes / size_of(signature.output.dtype);
  bool cuts = is_large(signature, large) && signature.epilogue.empty();
  for (const Matrix* matrix : {&problem.a, &problem.b, &problem.c}) {
    cuts = cuts && (matrix->stride | matrix->batch_stride) % packet == 0;
  }
  const bool a_transposed = problem.a.transposed != 0, b_transposed = problem.b.transposed != 0;
  Cuts parts{parts_of(problem.m, packet, cuts && a_transposed), parts_of(problem.n, packet, cuts),
             parts_of(problem.k, packet, cuts && (!a_transposed || b_transposed))};
  // The rest of k first: its sum is small compared with the whole, and what it loses when it is
  // stored is small too.
  std::reverse(parts.k.begin(), parts.k.end());
  return parts;
}

// The part of a matrix that a call takes, of a batch whose matrices begin `first` elements after
// the operand's own.
StepArgument matrix_argument(int operand, DType dtype, const Matrix& matrix, const Part& rows,
                             const Part& columns, std::int64_t batches, std::int64_t first) {
  const bool transposed = matrix.transposed != 0;
  const Part& lines = transposed ? columns : rows;
  const Part& line = transposed ? rows : columns;
  const std::int64_t item = size_of(dtype);
  const std::int64_t span =
      (batches - 1) * matrix.batch_stride + (lines.count - 1) * matrix.stride + line.count;
  return {StepArgument::From::operand, operand,
          (first + lines.first * matrix.stride + line.first) * item, span * item};
}

// For the sums of parts of k that the library computes side by side: as many as all registers hold,
// or what the library's maker recommends where that is more.
std::int64_t workspace_bytes(const runtime::DeviceTraits& device, const MatmulProblem& problem) {
  const std::int64_t results = problem.batches * problem.m * problem.n;
  const DType sum = static_cast<DType>(problem.dtype) == DType::f64 ? DType::f64 : DType::f32;
  const std::int64_t parts =
      std::clamp<std::int64_t>(problem.k / kMinLibraryPart, 1, kMaxLibraryParts);
  const std::int64_t held =
      floor_power_of_two(processors(device) * device.processor_registers * size_of(DType::f32));
  std::int64_t most = (results <= kFewResults * resident_threads(device) ? 2 : 1) * held;
  if (device.memory > 0) most = std::min(most, device.memory / kWorkspaceOfMemory);
  most = std::max({most, device.libraries.matmul.workspace_bytes, kMinWorkspace});
  return std::min(parts * results * size_of(sum) + kMinWorkspace, most);
}

// Of a product that is no batch.
bool fuses_one(const Signature& signature) {
  const TensorSpec& c = signature.output;
  return switches().library_epilogues &&
         element_count(c.shape) == c.shape.back() * c.shape[c.shape.rank() - 2] &&
         fuses_matmul(signature);
}

// Whether all that a call reads and writes is within reach of 31 bits.
bool is_within_reach(const MatmulProblem& problem) {
  const auto reaches = [&](const Matrix& matrix, std::int64_t rows, std::int64_t columns) {
    if (matrix.transposed != 0) std::swap(rows, columns);
    return (problem.batches - 1) * matrix.batch_stride + (rows - 1) * matrix.stride + columns;
  };
  constexpr std::int64_t kMax = std::int64_t{1} << 31;
  return reaches(problem.a, problem.m, problem.k) < kMax &&
         reaches(problem.b, problem.k, problem.n) < kMax &&
         reaches(problem.c, problem.m, problem.n) < kMax;
}

// The product as one call, before its batches and extents are divided.
struct Product {
  Product(const Signature& signature, bool packed);

  Batch batch;
  MatmulEpilogue epilogue;
  MatmulProblem problem;
};

Product::Product(const Signature& signature, bool packed)
    : batch(batch_of(signature, packed)),
      epilogue(matmul_epilogue(signature).value_or(MatmulEpilogue{})) {
  const TensorSpec& a = signature.inputs[0];
  const TensorSpec& b = signature.inputs[1];
  const TensorSpec& c = signature.output;
  problem.dtype = static_cast<std::int64_t>(c.dtype);
  problem.tf32 = c.dtype == DType::f32 && switches().tf32 ? 1 : 0;
  problem.m = c.shape[c.shape.rank() - 2];
  problem.n = c.shape.back();
  problem.k = a.shape.back();
  problem.batches = batch.shape.back();
  problem.a = matrix_of(a);
  problem.b = matrix_of(b);
  problem.c = matrix_of(c);
  problem.a.batch_stride = batch.a.back();
  problem.b.batch_stride = batch.b.back();
  problem.c.batch_stride = batch.c.back();
  problem.has_bias = epilogue.bias >= 0 ? 1 : 0;
  problem.has_residual = epilogue.residual >= 0 ? 1 : 0;
  problem.activation = static_cast<std::int64_t>(epilogue.activation);
  problem.workspace_bytes = packed ? 0 : workspace_bytes(*signature.device, problem);
}

// `packed`: for a library whose results are.
std::shared_ptr<StepPlan> call_steps(const Signature& signature, std::int64_t large, bool packed) {
  const Product product(signature, packed);
  const Batch& batch = product.batch;
  const MatmulProblem& problem = product.problem;
  const MatmulEpilogue& epilogue = product.epilogue;
  const TensorSpec& a = signature.inputs[0];
  const TensorSpec& b = signature.inputs[1];
  const TensorSpec& c = signature.output;
  auto plan = std::make_shared<StepPlan>();
  const std::int64_t workspace = plan->add_workspace(problem.workspace_bytes);
  const std::int64_t calls = element_count(batch.shape) / problem.batches;
  const auto output = static_cast<int>(signature.inputs.size());
  // One call for each batch that is none of the library's, with the same part of all extents.
  const auto add_part = [&](const Part& m, const Part& n, const Part& k) {
    MatmulProblem part = problem;
    part.m = m.count;
    part.n = n.count;
    part.k = k.count;
    const bool adds = k.count < problem.k && k.first == 0;
    if (adds) part.has_residual = 1;
    const runtime::LazyKernel& kernel = plan->add_library_call(matmul_call(part));
    for (std::int64_t call = 0; call < calls; ++call) {
      std::int64_t first[3] = {0, 0, 0};
      std::int64_t rest = call;
      for (int axis = batch.shape.rank() - 2; axis >= 0; --axis) {
        const std::int64_t at = rest % batch.shape[axis];
        rest /= batch.shape[axis];
        first[0] += at * batch.a[axis];
        first[1] += at * batch.b[axis];
        first[2] += at * batch.c[axis];
      }
      Step step;
      step.kernel = &kernel;
      step.work = product_work(part.batches, part.m, part.n, part.k);
      step.arguments = {matrix_argument(0, a.dtype, problem.a, m, k, problem.batches, first[0]),
                        matrix_argument(1, b.dtype, problem.b, k, n, problem.batches, first[1])};
      for (const int input : {epilogue.bias, epilogue.residual}) {
        if (input < 0) continue;
        step.arguments.push_back(
            strided_operand(signature.inputs[static_cast<std::size_t>(input)], input).argument);
      }
      const StepArgument result =
          matrix_argument(output, c.dtype, problem.c, m, n, problem.batches, first[2]);
      if (adds) step.arguments.push_back(result);
      step.arguments.push_back(result);
      step.arguments.push_back(
          {StepArgument::From::workspace, 0, workspace, problem.workspace_bytes});
      plan->add_step(std::move(step));
    }
  };
  const Cuts parts = packed ? Cuts{{{0, problem.m}}, {{0, problem.n}}, {{0, problem.k}}}
                            : cuts_of(signature, problem, large);
  for (const Part& m : parts.m) {
    for (const Part& n : parts.n) {
      for (const Part& k : parts.k) add_part(m, n, k);
    }
  }
  return plan;
}

}  // namespace

bool accepts_library(const Signature& signature) {
  const TensorSpec& c = signature.output;
  const Shape& a = signature.inputs[0].shape;
  return is_float(c.dtype) && element_count(c.shape) > 0 && a.back() > 0;
}

bool fits_library(const Signature& signature) { return is_for_library(batch_of(signature, false)); }

// What the library's own epilogues take: rows of whole packets.
bool fuses_library(const Signature& signature) {
  const TensorSpec& c = signature.output;
  if (c.dtype == DType::f64 || c.shape.back() * size_of(c.dtype) % kPacketBytes != 0 ||
      !fuses_one(signature)) {
    return false;
  }
  // How exact the library's gelu is nobody says; 16 bits do not see more.
  return size_of(c.dtype) == 2 ||
         matmul_epilogue(signature)->activation != MatmulEpilogue::Activation::gelu_tanh;
}

bool library_wants_padding(const Signature& signature) { return is_large(signature, kLarge); }

Prepared prepare_library(const Signature& signature, std::int64_t large) {
  return prepared_steps(call_steps(signature, large, false));
}

Prepared prepare_library(const Signature& signature) { return prepare_library(signature, kLarge); }

// It has no f64; its gelu is the formula that its call gives it.
bool fits_packed_library(const Signature& signature) {
  const TensorSpec& c = signature.output;
  const auto is_dense = [&](int input) {
    const TensorSpec& spec = signature.inputs[static_cast<std::size_t>(input)];
    return has_dense_matrices(spec.shape, spec.strides);
  };
  if (c.dtype == DType::f64 || !is_dense(0) || !is_dense(1) ||
      c.strides != contiguous_strides(c.shape)) {
    return false;
  }
  const Product product(signature, true);
  return is_for_library(product.batch) && is_within_reach(product.problem);
}

bool fuses_packed_library(const Signature& signature) { return fuses_one(signature); }

Prepared prepare_packed_library(const Signature& signature) {
  const auto plan = call_steps(signature, 0, true);
  plan->set_fallback(tile_steps(signature));  // where the library refuses the call
  return prepared_steps(plan);
}

}  // namespace hearth::gpu
