// Factorizations of matrices by the vendor's library: kernels/decompositions/problem.h, and the
// kernels around it, kernels/decompositions/decompositions.metal. Where there is none the host has
// them (ops/decompositions/rules.h).
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/dialect_types.h"
#include "kernels/decompositions/problem.h"
#include "kernels/launch/kernel_call.h"
#include "ops/definition/defs.h"

namespace hearth::gpu {

#include "kernels/decompositions/params.h"

namespace {

// From which extent on a matrix is worth the launches: docs/adr/0008-factorizations.md has the
// times.
constexpr std::int64_t kMinOfCholesky = 32;
constexpr std::int64_t kMinOfOthers = 64;
// A library has the matrices of a batch one after the other, the host as many at once as it has
// threads: so each of them asks for as much more, up to this many.
constexpr std::int64_t kMaxAtOnce = 16;
// Of a matrix; each has some elements for every thread.
constexpr std::int64_t kMaxMatrixGroups = 64;
constexpr std::int64_t kElementsOfThread = 4;
constexpr std::int64_t kSimdgroups = kMatrixThreads / 32;

bool has_factorizations(const runtime::DeviceTraits& device) {
  return device.libraries.factorizations.opens != nullptr;
}

bool opens_factorizations(const runtime::DeviceTraits& device) {
  return device.libraries.factorizations.opens();
}
bool are_on_request(const runtime::DeviceTraits& device) {
  return device.libraries.factorizations.on_request;
}

// The matrices of an input.
struct Matrices {
  Matrices(const Signature& signature, int input) : operand(input) {
    const TensorSpec& x = signature.inputs[static_cast<std::size_t>(input)];
    const int rank = x.shape.rank();
    memory = strided_operand(x, input);
    dtype = x.dtype;
    rows = x.shape[rank - 2];
    cols = x.shape[rank - 1];
    row_stride = x.strides[rank - 2];
    col_stride = x.strides[rank - 1];
    shape = x.shape;
    strides = x.strides;
    for (int i = 0; i < 2; ++i) {
      shape.erase(shape.rank() - 1);
      strides.erase(strides.rank() - 1);
    }
    count = element_count(shape);
    merge_kernel_axes(&shape, {&strides});
  }
  std::int64_t rank() const { return std::min(rows, cols); }

  int operand;
  StridedOperand memory;
  DType dtype;
  std::int64_t rows, cols, row_stride, col_stride, count;
  Shape shape;  // of the batch
  Strides strides;
};

std::int64_t groups_of(std::int64_t elements) {
  return std::clamp(ceil_div(elements, kMatrixThreads * kElementsOfThread), std::int64_t{1},
                    kMaxMatrixGroups);
}

bool accepts_matrices(const Signature& signature) {
  const Matrices x(signature, 0);
  const TensorSpec& last = signature.inputs.back();
  constexpr std::int64_t kMaxThreadgroups = std::numeric_limits<std::int32_t>::max();
  const std::int64_t min = signature.op == &defs::cholesky_op ? kMinOfCholesky : kMinOfOthers;
  return x.count > 0 && x.rank() >= min * std::min(x.count, kMaxAtOnce) && last.shape.back() > 0 &&
         x.count <= kMaxThreadgroups / kMaxMatrixGroups &&
         std::max({x.rows, x.cols, last.shape.back()}) <= kMaxThreadgroups / kMaxMatrixGroups;
}

// The steps of one op, in the order in which they are added.
class FactorSteps {
 public:
  explicit FactorSteps(const Signature& signature)
      : library_(signature.device->libraries.factorizations),
        plan_(std::make_shared<StepPlan>()),
        x_(signature, 0),
        type_(dialect_type(x_.dtype)) {
    problem_.dtype = static_cast<std::int64_t>(x_.dtype);
    problem_.batch = x_.count;
    problem_.rows = x_.rows;
    problem_.cols = x_.cols;
    problem_.rank = x_.rank();
    problem_.batch_stride = x_.rows * x_.cols;
  }

  const Matrices& x() const { return x_; }
  FactorProblem& problem() { return problem_; }
  StepArgument workspace_for(std::int64_t elements) {
    return workspace(*plan_, x_.count * elements * size_of(x_.dtype));
  }
  StepArgument workspace_for_info() {
    info_ = workspace(*plan_, x_.count * size_of(DType::i32));
    return *info_;
  }
  StepArgument workspace_for_pivots() {
    return workspace(*plan_, x_.count * x_.rank() * size_of(DType::i64));
  }
  // A result, or where nobody wants it workspace of so many elements of each matrix.
  StepArgument result_or_workspace(const Signature& signature, int output, std::int64_t elements) {
    if (!signature.output_at(output).absent) return output_argument(signature, output);
    return workspace_for(elements);
  }

  // Copies those elements that `part` names. What is not finite is noted, or kept.
  void load(const Matrices& from, const StepArgument& to, int part, bool by_columns,
            bool keeps_all = false) {
    const std::int64_t groups = groups_of(from.rows * from.cols);
    words_ = groups * kSimdgroups;
    spoiled_ = workspace(*plan_, from.count * words_ * size_of(DType::u32));
    const LoadMatrixParams<kRuntimeRank> params{
        .rows = from.rows,
        .cols = from.cols,
        .row_stride = from.row_stride,
        .col_stride = from.col_stride,
        .batch_stride = from.operand == 0 ? problem_.batch_stride : from.rows * from.cols,
        .groups = groups,
        .x = {from.memory.base, &from.shape, &from.strides}};
    add(KernelCall("decompositions/decompositions.metal", "load_matrices",
                   {dtype_struct(from.dtype), std::to_string(part), truth(by_columns),
                    truth(keeps_all), std::to_string(from.shape.rank())})
            .read(type_, "x", from.memory.argument)
            .write(type_, "to", to)
            .write("uint", "spoiled", spoiled_)
            .constants(params),
        groups);
  }

  // Of a factorization: the arguments before its workspace.
  void call(std::vector<StepArgument> arguments, double work) {
    const runtime::LibraryCall call = factor_call(problem_);
    const std::int64_t bytes = library_.workspace != nullptr ? library_.workspace(call) : 0;
    if (problem_.kind != FactorProblem::triangular_solve)
      arguments.push_back(workspace(*plan_, bytes));
    Step step;
    step.kernel = &plan_->add_library_call(call);
    step.arguments = std::move(arguments);
    step.work = static_cast<double>(x_.count) * work;
    plan_->add_step(std::move(step));
  }

  // Dense results [rows, cols] of each matrix, NaN where it has none.
  void spoil(const StepArgument& y, std::int64_t rows, std::int64_t cols) {
    const MatrixParams params = shape_of(rows, cols, 0, 0);
    KernelCall call("decompositions/decompositions.metal",
                    info_ ? "spoil_failed_matrices" : "spoil_matrices", {dtype_struct(x_.dtype)});
    call.read_write(type_, "y", y).read("uint", "spoiled", spoiled_);
    if (info_) call.read("int", "info", *info_);
    add(call.constants(params), params.groups);
  }

  // y [rows, cols], row by row, of the library's with columns of `height` elements.
  void take(const StepArgument& from, const StepArgument& y, std::int64_t rows, std::int64_t cols,
            std::int64_t height, int part) {
    const MatrixParams params = shape_of(rows, cols, height, problem_.batch_stride);
    add(KernelCall("decompositions/decompositions.metal", "take_matrices",
                   {dtype_struct(x_.dtype), std::to_string(part)})
            .read(type_, "from", from)
            .write(type_, "y", y)
            .read("uint", "spoiled", spoiled_)
            .constants(params),
        params.groups);
  }

  void order_rows(const StepArgument& pivots, const StepArgument* rows, const StepArgument* signs) {
    MatrixParams params = shape_of(x_.rows, x_.rank(), 0, 0);
    params.groups = ceil_div(x_.rows, kMatrixThreads);
    add(KernelCall("decompositions/decompositions.metal", "order_rows",
                   {dtype_struct(x_.dtype), truth(rows != nullptr), truth(signs != nullptr)})
            .read("long", "pivots", pivots)
            .write("long", "rows", rows != nullptr ? *rows : workspace_for(1))
            .write(type_, "signs", signs != nullptr ? *signs : workspace_for(1))
            .read("uint", "spoiled", spoiled_)
            .constants(params),
        params.groups);
  }

  // `length` elements of the vectors' results are `step` apart; null where nobody wants them.
  struct Vectors {
    StepArgument from;
    const StepArgument* y;
    std::int64_t length, step, vector_step;
  };
  void take_vectors(std::int64_t count, const Vectors& first, const Vectors& other) {
    const VectorParams params{.count = count,
                              .length = first.length,
                              .other_length = other.length,
                              .step = first.step,
                              .vector_step = first.vector_step,
                              .other_step = other.step,
                              .other_vector_step = other.vector_step,
                              .groups = ceil_div(count, kSimdgroups),
                              .words = words_};
    add(KernelCall("decompositions/decompositions.metal", "take_vectors",
                   {dtype_struct(x_.dtype), truth(first.y != nullptr), truth(other.y != nullptr)})
            .read(type_, "from", first.from)
            .read(type_, "from_other", other.from)
            .write(type_, "y", first.y != nullptr ? *first.y : workspace_for(1))
            .write(type_, "y_other", other.y != nullptr ? *other.y : workspace_for(1))
            .read("uint", "spoiled", spoiled_)
            .read("int", "info", info_.value())
            .constants(params),
        params.groups);
  }

  Prepared prepared() { return prepared_steps(std::move(plan_)); }

 private:
  MatrixParams shape_of(std::int64_t rows, std::int64_t cols, std::int64_t height,
                        std::int64_t batch_stride) const {
    return {.rows = rows,
            .cols = cols,
            .height = height,
            .batch_stride = batch_stride,
            .groups = groups_of(rows * cols),
            .words = words_};
  }
  void add(KernelCall& call, std::int64_t groups) {
    plan_->add_step(call.step(*plan_, {static_cast<std::uint32_t>(x_.count * groups)},
                              {kMatrixThreads}, kMatrixThreads));
  }

  const runtime::LibraryTraits::Factorizations& library_;
  std::shared_ptr<StepPlan> plan_;
  Matrices x_;
  std::string type_;
  FactorProblem problem_;
  StepArgument spoiled_;
  std::optional<StepArgument> info_;  // of the library's call, where that may fail
  std::int64_t words_ = 0;
};

double cube(std::int64_t a, std::int64_t b, std::int64_t c) {
  return static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c);
}

Prepared prepare_cholesky(const Signature& signature) {
  FactorSteps steps(signature);
  const StepArgument y = output_argument(signature);
  const std::int64_t n = steps.x().rows;
  steps.load(steps.x(), y, kLowerTriangle, false);
  steps.problem().kind = FactorProblem::cholesky;
  steps.call({y, steps.workspace_for_info()}, cube(n, n, n) / 6);
  steps.spoil(y, n, n);
  return steps.prepared();
}

Prepared prepare_triangular_solve(const Signature& signature) {
  FactorSteps steps(signature);
  ParamReader statics(signature.statics);
  const bool upper = statics.boolean(), unit = statics.boolean();
  const StepArgument y = output_argument(signature);
  const Matrices b(signature, 1);
  const std::int64_t n = steps.x().rows;
  const StepArgument a = steps.workspace_for(n * n);
  steps.load(b, y, kWholeMatrix, false, true);
  steps.load(
      steps.x(), a,
      upper ? (unit ? kAboveDiagonal : kUpperTriangle) : (unit ? kBelowDiagonal : kLowerTriangle),
      false);
  steps.problem().kind = FactorProblem::triangular_solve;
  steps.problem().cols = b.cols;
  steps.problem().upper = upper ? 1 : 0;
  steps.problem().unit_diagonal = unit ? 1 : 0;
  steps.call({a, y}, cube(n, n, b.cols) / 2);
  steps.spoil(y, n, b.cols);
  return steps.prepared();
}

Prepared prepare_lu(const Signature& signature) {
  FactorSteps steps(signature);
  const std::int64_t m = steps.x().rows, n = steps.x().cols, rank = steps.x().rank();
  const StepArgument a = steps.workspace_for(m * n);
  const StepArgument pivots = steps.workspace_for_pivots();
  steps.load(steps.x(), a, kWholeMatrix, true);
  steps.problem().kind = FactorProblem::lu;
  steps.call({a, pivots, steps.workspace_for_info()}, cube(m, n, rank) / 3);
  steps.take(a, output_argument(signature), m, n, m, kWholeMatrix);
  const bool has_rows = !signature.output_at(1).absent, has_signs = !signature.output_at(2).absent;
  if (has_rows || has_signs) {
    const StepArgument rows = has_rows ? output_argument(signature, 1) : pivots;
    const StepArgument signs = has_signs ? output_argument(signature, 2) : a;
    steps.order_rows(pivots, has_rows ? &rows : nullptr, has_signs ? &signs : nullptr);
  }
  return steps.prepared();
}

Prepared prepare_qr(const Signature& signature) {
  FactorSteps steps(signature);
  const std::int64_t m = steps.x().rows, n = steps.x().cols, rank = steps.x().rank();
  const std::int64_t columns = signature.output.shape.back();
  steps.problem().batch_stride = m * std::max(n, columns);
  const StepArgument a = steps.workspace_for(steps.problem().batch_stride);
  const StepArgument tau = steps.workspace_for(rank);
  const StepArgument info = steps.workspace_for_info();
  steps.load(steps.x(), a, kWholeMatrix, true);
  steps.problem().kind = FactorProblem::qr;
  steps.call({a, tau, info}, cube(m, n, rank));
  if (!signature.output_at(1).absent) {
    steps.take(a, output_argument(signature, 1), columns, n, m, kUpperTriangle);
  }
  if (!signature.output.absent) {
    steps.problem().kind = FactorProblem::qr_columns;
    steps.problem().cols = columns;
    steps.call({a, tau, info}, cube(m, columns, rank));
    steps.take(a, output_argument(signature), m, columns, m, kWholeMatrix);
  }
  return steps.prepared();
}

Prepared prepare_eigh(const Signature& signature) {
  FactorSteps steps(signature);
  const std::int64_t n = steps.x().rows;
  const bool vectors = !signature.output_at(1).absent;
  const StepArgument a = steps.workspace_for(n * n);
  const StepArgument w = steps.result_or_workspace(signature, 0, n);
  steps.load(steps.x(), a, kLowerTriangle, false);
  steps.problem().kind = FactorProblem::eigh;
  steps.problem().vectors = vectors ? 1 : 0;
  steps.call({a, w, steps.workspace_for_info()}, cube(n, n, n) * (vectors ? 4 : 2));
  if (!signature.output.absent) steps.spoil(w, 1, n);
  if (vectors) {
    const StepArgument v = output_argument(signature, 1);
    steps.take_vectors(n, {a, &v, n, n, 1}, {a, nullptr, n, n, 1});
  }
  return steps.prepared();
}

Prepared prepare_svd(const Signature& signature) {
  FactorSteps steps(signature);
  const std::int64_t m = steps.x().rows, n = steps.x().cols, rank = steps.x().rank();
  const bool has_u = !signature.output.absent, has_vh = !signature.output_at(2).absent;
  const StepArgument a = steps.workspace_for(m * n);
  const StepArgument s = steps.result_or_workspace(signature, 1, rank);
  const StepArgument v = steps.workspace_for(rank * n);
  const StepArgument u = steps.workspace_for(rank * m);
  steps.load(steps.x(), a, kWholeMatrix, false);
  steps.problem().kind = FactorProblem::svd;
  steps.call({a, s, v, u, steps.workspace_for_info()}, cube(m, n, rank) * 10);
  if (!signature.output_at(1).absent) steps.spoil(s, 1, rank);
  if (has_u || has_vh) {
    const StepArgument result_u = has_u ? output_argument(signature) : u;
    const StepArgument result_vh = has_vh ? output_argument(signature, 2) : v;
    const FactorSteps::Vectors left = {u, has_u ? &result_u : nullptr, m, rank, 1};
    const FactorSteps::Vectors right = {v, has_vh ? &result_vh : nullptr, n, 1, n};
    steps.take_vectors(rank, m < n ? left : right, m < n ? right : left);
  }
  return steps.prepared();
}

constexpr Implementation library(const OpDef& op, Prepared (*prepare)(const Signature&),
                                 std::uint32_t may_omit = 0) {
  return {.name = "library",
          .op = &op,
          .needs = has_factorizations,
          .on_request = are_on_request,
          .accepts = accepts_matrices,
          .opens = opens_factorizations,
          .prepare = prepare,
          .launch = launch_steps,
          .may_omit = may_omit};
}

constexpr Implementation kDecompositionsFamily[] = {
    library(defs::cholesky_op, prepare_cholesky),
    library(defs::triangular_solve_op, prepare_triangular_solve),
    library(defs::lu_factor_op, prepare_lu, 0b110),
    library(defs::qr_op, prepare_qr, 0b11),
    library(defs::eigh_op, prepare_eigh, 0b11),
    library(defs::svd_op, prepare_svd, 0b111),
};

}  // namespace

Family decompositions_family() { return kDecompositionsFamily; }

}  // namespace hearth::gpu
