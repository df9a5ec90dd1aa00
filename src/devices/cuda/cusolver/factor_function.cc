#include "devices/cuda/cusolver/factor_function.h"

#include <span>
#include <type_traits>

#include "hearth/dtype.h"

namespace hearth::cuda {
namespace {

using gpu::FactorProblem;
using Api = CusolverApi;

// What the calls for matrix i of a batch are given.
struct MatrixOperands {
  template <class U>
  U* at(std::size_t argument, std::int64_t step) const {
    return reinterpret_cast<U*>(command.arguments[argument].address) + i * step;
  }
  // The last argument of all that ask for one.
  const runtime::Argument& workspace() const { return command.arguments.back(); }

  const runtime::Command& command;
  std::int64_t i;
  std::span<std::byte> host_workspace;
};

// The functions for one precision: what they ask for, and the calls. Rows are columns to them.
template <class T>
class Factorization {
 public:
  Factorization(const Cusolver& library, const FactorProblem& problem,
                const Cusolver::Session& session)
      : library_(library), p_(problem), session_(session) {}

  // Asked without matrices: it follows from extents alone.
  FactorWorkspace workspace() const {
    const Api& api = session_.api;
    switch (p_.kind) {
      case FactorProblem::cholesky:
        return bytes_of("cusolverDnXpotrf_bufferSize", [&](auto... bytes) {
          return api.cusolverDnXpotrf_bufferSize(session_.handle, session_.params,
                                                 Api::Triangle::upper, p_.rows, kType, nullptr,
                                                 p_.rows, kType, bytes...);
        });
      case FactorProblem::lu:
        return bytes_of("cusolverDnXgetrf_bufferSize", [&](auto... bytes) {
          return api.cusolverDnXgetrf_bufferSize(session_.handle, session_.params, p_.rows, p_.cols,
                                                 kType, nullptr, p_.rows, kType, bytes...);
        });
      case FactorProblem::qr:
        return bytes_of("cusolverDnXgeqrf_bufferSize", [&](auto... bytes) {
          return api.cusolverDnXgeqrf_bufferSize(session_.handle, session_.params, p_.rows, p_.cols,
                                                 kType, nullptr, p_.rows, kType, nullptr, kType,
                                                 bytes...);
        });
      case FactorProblem::qr_columns:
        return elements_of("cusolverDnorgqr_bufferSize", [&](int* size) {
          return of(api.cusolverDnSorgqr_bufferSize, api.cusolverDnDorgqr_bufferSize)(
              session_.handle, rows(), cols(), rank(), nullptr, rows(), nullptr, size);
        });
      case FactorProblem::eigh:
        return bytes_of("cusolverDnXsyevd_bufferSize", [&](auto... bytes) {
          return api.cusolverDnXsyevd_bufferSize(session_.handle, session_.params, vectors(),
                                                 Api::Triangle::upper, p_.rows, kType, nullptr,
                                                 p_.rows, kType, nullptr, kType, bytes...);
        });
      case FactorProblem::svd:
        return elements_of("cusolverDngesvdj_bufferSize", [&](int* size) {
          return of(api.cusolverDnSgesvdj_bufferSize, api.cusolverDnDgesvdj_bufferSize)(
              session_.handle, Api::Vectors::all, kThin, cols(), rows(), nullptr, cols(), nullptr,
              nullptr, cols(), nullptr, rows(), size, session_.jacobi);
        });
      default:
        return {};
    }
  }

  void queue(const MatrixOperands& on) const {
    T* const a = on.at<T>(0, p_.batch_stride);
    switch (p_.kind) {
      case FactorProblem::cholesky:
        return cholesky(on, a, on.at<int>(1, 1));
      case FactorProblem::lu:
        return lu(on, a, on.at<std::int64_t>(1, p_.rank), on.at<int>(2, 1));
      case FactorProblem::qr:
        return qr(on, a, on.at<T>(1, p_.rank), on.at<int>(2, 1));
      case FactorProblem::qr_columns:
        return qr_columns(on, a, on.at<T>(1, p_.rank), on.at<int>(2, 1));
      case FactorProblem::eigh:
        return eigh(on, a, on.at<T>(1, p_.rows), on.at<int>(2, 1));
      case FactorProblem::svd:
        return svd(on, a, on.at<T>(1, p_.rank), on.at<T>(2, p_.rank * p_.cols),
                   on.at<T>(3, p_.rank * p_.rows), on.at<int>(4, 1));
      default:
        return solve_triangle(a, on.at<T>(1, p_.rows * p_.cols));
    }
  }

 private:
  static constexpr bool kIsSingle = std::is_same_v<T, float>;
  static constexpr Api::DataType kType = kIsSingle ? Api::DataType::f32 : Api::DataType::f64;
  static constexpr int kThin = 1;  // of gesvdj: no more vectors than the rank

  int rows() const { return static_cast<int>(p_.rows); }
  int cols() const { return static_cast<int>(p_.cols); }
  int rank() const { return static_cast<int>(p_.rank); }
  Api::Vectors vectors() const { return p_.vectors != 0 ? Api::Vectors::all : Api::Vectors::none; }

  // The function of this precision.
  template <class Single, class Double>
  static auto of(Single single, Double other) {
    if constexpr (kIsSingle) {
      return single;
    } else {
      return other;
    }
  }

  // ask(bytes on the card, bytes on the host)
  template <class Ask>
  FactorWorkspace bytes_of(const char* call, Ask ask) const {
    FactorWorkspace asked;
    library_.check(ask(&asked.device_bytes, &asked.host_bytes), call);
    return asked;
  }
  // ask(elements on the card)
  template <class Ask>
  FactorWorkspace elements_of(const char* call, Ask ask) const {
    int elements = 0;
    library_.check(ask(&elements), call);
    return {static_cast<std::size_t>(elements) * sizeof(T), 0};
  }
  // run(buffer on the card, its bytes, buffer on the host, its bytes)
  template <class Run>
  void run_in_bytes(const MatrixOperands& on, const char* call, Run run) const {
    library_.check(run(static_cast<void*>(on.workspace().address),
                       static_cast<std::size_t>(on.workspace().bytes),
                       static_cast<void*>(on.host_workspace.data()), on.host_workspace.size()),
                   call);
  }
  // run(buffer on the card, its elements)
  template <class Run>
  void run_in_elements(const MatrixOperands& on, const char* call, Run run) const {
    library_.check(run(reinterpret_cast<T*>(on.workspace().address),
                       static_cast<int>(on.workspace().bytes / std::int64_t{sizeof(T)})),
                   call);
  }

  // The lower triangle of rows is the upper one of columns.
  void cholesky(const MatrixOperands& on, T* a, int* info) const {
    run_in_bytes(on, "cusolverDnXpotrf", [&](auto... workspace) {
      return session_.api.cusolverDnXpotrf(session_.handle, session_.params, Api::Triangle::upper,
                                           p_.rows, kType, a, p_.rows, kType, workspace..., info);
    });
  }

  void lu(const MatrixOperands& on, T* a, std::int64_t* pivots, int* info) const {
    run_in_bytes(on, "cusolverDnXgetrf", [&](auto... workspace) {
      return session_.api.cusolverDnXgetrf(session_.handle, session_.params, p_.rows, p_.cols,
                                           kType, a, p_.rows, pivots, kType, workspace..., info);
    });
  }

  void qr(const MatrixOperands& on, T* a, T* tau, int* info) const {
    run_in_bytes(on, "cusolverDnXgeqrf", [&](auto... workspace) {
      return session_.api.cusolverDnXgeqrf(session_.handle, session_.params, p_.rows, p_.cols,
                                           kType, a, p_.rows, kType, tau, kType, workspace...,
                                           info);
    });
  }

  void qr_columns(const MatrixOperands& on, T* a, const T* tau, int* info) const {
    run_in_elements(on, "cusolverDnorgqr", [&](auto... workspace) {
      return of(session_.api.cusolverDnSorgqr, session_.api.cusolverDnDorgqr)(
          session_.handle, rows(), cols(), rank(), a, rows(), tau, workspace..., info);
    });
  }

  void eigh(const MatrixOperands& on, T* a, T* w, int* info) const {
    run_in_bytes(on, "cusolverDnXsyevd", [&](auto... workspace) {
      return session_.api.cusolverDnXsyevd(session_.handle, session_.params, vectors(),
                                           Api::Triangle::upper, p_.rows, kType, a, p_.rows, kType,
                                           w, kType, workspace..., info);
    });
  }

  // Of the transpose, which has the right vectors on the left. Asked for no vectors, cuSOLVER gave
  // no values of matrices that are not square, and took as long.
  void svd(const MatrixOperands& on, T* a, T* s, T* v, T* u, int* info) const {
    run_in_elements(on, "cusolverDngesvdj", [&](auto... workspace) {
      return of(session_.api.cusolverDnSgesvdj, session_.api.cusolverDnDgesvdj)(
          session_.handle, Api::Vectors::all, kThin, cols(), rows(), a, cols(), s, v, cols(), u,
          rows(), workspace..., info, session_.jacobi);
    });
  }

  // x^T a^T = b^T.
  void solve_triangle(const T* a, T* x) const {
    const T one = 1;
    library_.check(
        of(session_.api.cublasStrsm_v2, session_.api.cublasDtrsm_v2)(
            session_.blas, Api::Side::right,
            p_.upper != 0 ? Api::Triangle::lower : Api::Triangle::upper, Api::Transpose::no,
            p_.unit_diagonal != 0 ? Api::Diagonal::unit : Api::Diagonal::any, cols(), rows(), &one,
            a, rows(), x, cols()),
        "cublastrsm");
  }

  const Cusolver& library_;
  const FactorProblem& p_;
  const Cusolver::Session& session_;
};

// Calls use(Factorization) of the problem's precision.
template <class Use>
auto with_factorization(const Cusolver& library, const FactorProblem& problem,
                        const Cusolver::Session& session, Use use) {
  return static_cast<DType>(problem.dtype) == DType::f64
             ? use(Factorization<double>(library, problem, session))
             : use(Factorization<float>(library, problem, session));
}

}  // namespace

FactorWorkspace workspace_of(const FactorProblem& problem, Cusolver& library, Context& context) {
  const Context::Scope scope(context, Context::Use::call);
  const std::lock_guard lock(library.lock());
  return with_factorization(library, problem, library.session(),
                            [](const auto& each) { return each.workspace(); });
}

void FactorFunction::enqueue(const runtime::Command& command, Stream stream) const {
  check_arguments(command);
  const std::lock_guard lock(library_.lock());
  with_factorization(library_, problem_, library_.session(stream), [&](const auto& each) {
    for (std::int64_t i = 0; i < problem_.batch; ++i) each.queue({command, i, host_workspace_});
  });
}

}  // namespace hearth::cuda
