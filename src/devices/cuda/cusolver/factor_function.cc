#include "devices/cuda/cusolver/factor_function.h"

#include <type_traits>

#include "hearth/dtype.h"

namespace hearth::cuda {
namespace {

using gpu::FactorProblem;
using Api = CusolverApi;

// A matrix of the batch, and what belongs to it.
template <class T>
class Factorization {
 public:
  Factorization(Cusolver& library, const FactorProblem& problem, const runtime::Command& command,
                Stream stream)
      : library_(library), p_(problem), command_(command), session_(library.session(stream)) {}

  void queue(std::int64_t i) {
    T* const a = at<T>(0, i, p_.room);
    switch (p_.kind) {
      case FactorProblem::cholesky:
        return cholesky(a, at<int>(1, i, 1));
      case FactorProblem::lu:
        return lu(a, at<std::int64_t>(1, i, p_.rank), at<int>(2, i, 1));
      case FactorProblem::qr:
        return qr(a, at<T>(1, i, p_.rank), at<int>(2, i, 1));
      case FactorProblem::qr_columns:
        return qr_columns(a, at<T>(1, i, p_.rank), at<int>(2, i, 1));
      case FactorProblem::eigh:
        return eigh(a, at<T>(1, i, p_.rows), at<int>(2, i, 1));
      case FactorProblem::svd:
        return svd(a, at<T>(1, i, p_.rank), at<T>(2, i, p_.rank * p_.cols),
                   at<T>(3, i, p_.rank * p_.rows), at<int>(4, i, 1));
      default:
        return solve_triangle(a, at<T>(1, i, p_.rows * p_.cols));
    }
  }

 private:
  static constexpr bool kIsSingle = std::is_same_v<T, float>;
  static constexpr Api::DataType kType = kIsSingle ? Api::DataType::f32 : Api::DataType::f64;

  template <class U>
  U* at(std::size_t argument, std::int64_t i, std::int64_t step) const {
    return reinterpret_cast<U*>(command_.arguments[argument].address) + i * step;
  }
  // The function of this precision.
  template <class Single, class Double>
  static auto of(Single single, Double other) {
    if constexpr (kIsSingle) {
      return single;
    } else {
      return other;
    }
  }
  T* work(int elements) {
    return static_cast<T*>(library_.device_room(static_cast<std::size_t>(elements) * sizeof(T)));
  }
  // Calls run(device buffer, its bytes, host buffer, its bytes).
  template <class Run>
  void run_generic(const char* call, Run run) {
    void* const device = library_.device_room(device_bytes_);
    void* const host = library_.host_room(host_bytes_);
    library_.check(run(device, device_bytes_, host, host_bytes_), call);
  }

  // The lower triangle of rows is the upper one of columns.
  void cholesky(T* a, int* info) {
    library_.check(session_.api.cusolverDnXpotrf_bufferSize(
                       session_.handle, session_.params, Api::Triangle::upper, p_.rows, kType, a,
                       p_.rows, kType, &device_bytes_, &host_bytes_),
                   "cusolverDnXpotrf_bufferSize");
    run_generic("cusolverDnXpotrf", [&](auto... buffers) {
      return session_.api.cusolverDnXpotrf(session_.handle, session_.params, Api::Triangle::upper,
                                           p_.rows, kType, a, p_.rows, kType, buffers..., info);
    });
  }

  void lu(T* a, std::int64_t* pivots, int* info) {
    library_.check(session_.api.cusolverDnXgetrf_bufferSize(session_.handle, session_.params,
                                                            p_.rows, p_.cols, kType, a, p_.rows,
                                                            kType, &device_bytes_, &host_bytes_),
                   "cusolverDnXgetrf_bufferSize");
    run_generic("cusolverDnXgetrf", [&](auto... buffers) {
      return session_.api.cusolverDnXgetrf(session_.handle, session_.params, p_.rows, p_.cols,
                                           kType, a, p_.rows, pivots, kType, buffers..., info);
    });
  }

  void qr(T* a, T* tau, int* info) {
    library_.check(session_.api.cusolverDnXgeqrf_bufferSize(
                       session_.handle, session_.params, p_.rows, p_.cols, kType, a, p_.rows, kType,
                       tau, kType, &device_bytes_, &host_bytes_),
                   "cusolverDnXgeqrf_bufferSize");
    run_generic("cusolverDnXgeqrf", [&](auto... buffers) {
      return session_.api.cusolverDnXgeqrf(session_.handle, session_.params, p_.rows, p_.cols,
                                           kType, a, p_.rows, kType, tau, kType, buffers..., info);
    });
  }

  void qr_columns(T* a, const T* tau, int* info) {
    const Api& api = session_.api;
    const int m = static_cast<int>(p_.rows), n = static_cast<int>(p_.cols),
              k = static_cast<int>(p_.rank);
    int size = 0;
    library_.check(of(api.cusolverDnSorgqr_bufferSize, api.cusolverDnDorgqr_bufferSize)(
                       session_.handle, m, n, k, a, m, tau, &size),
                   "cusolverDnorgqr_bufferSize");
    library_.check(of(api.cusolverDnSorgqr, api.cusolverDnDorgqr)(session_.handle, m, n, k, a, m,
                                                                  tau, work(size), size, info),
                   "cusolverDnorgqr");
  }

  void eigh(T* a, T* w, int* info) {
    const auto vectors = p_.vectors != 0 ? Api::Vectors::all : Api::Vectors::none;
    library_.check(session_.api.cusolverDnXsyevd_bufferSize(
                       session_.handle, session_.params, vectors, Api::Triangle::upper, p_.rows,
                       kType, a, p_.rows, kType, w, kType, &device_bytes_, &host_bytes_),
                   "cusolverDnXsyevd_bufferSize");
    run_generic("cusolverDnXsyevd", [&](auto... buffers) {
      return session_.api.cusolverDnXsyevd(session_.handle, session_.params, vectors,
                                           Api::Triangle::upper, p_.rows, kType, a, p_.rows, kType,
                                           w, kType, buffers..., info);
    });
  }

  // Of the transpose, which has the right vectors on the left. Asked for no vectors, cuSOLVER gave
  // no values of matrices that are not square, and took as long.
  void svd(T* a, T* s, T* rights, T* lefts, int* info) {
    const Api& api = session_.api;
    constexpr auto kVectors = Api::Vectors::all;
    const int m = static_cast<int>(p_.cols), n = static_cast<int>(p_.rows);
    constexpr int kThin = 1;
    int size = 0;
    library_.check(of(api.cusolverDnSgesvdj_bufferSize, api.cusolverDnDgesvdj_bufferSize)(
                       session_.handle, kVectors, kThin, m, n, a, m, s, rights, m, lefts, n, &size,
                       session_.jacobi),
                   "cusolverDngesvdj_bufferSize");
    library_.check(of(api.cusolverDnSgesvdj, api.cusolverDnDgesvdj)(
                       session_.handle, kVectors, kThin, m, n, a, m, s, rights, m, lefts, n,
                       work(size), size, info, session_.jacobi),
                   "cusolverDngesvdj");
  }

  // Rows are columns here: x^T a^T = b^T.
  void solve_triangle(const T* a, T* x) {
    const Api& api = session_.api;
    const T one = 1;
    const int n = static_cast<int>(p_.rows), columns = static_cast<int>(p_.cols);
    library_.check(
        of(api.cublasStrsm_v2, api.cublasDtrsm_v2)(
            session_.blas, Api::Side::right,
            p_.upper != 0 ? Api::Triangle::lower : Api::Triangle::upper, Api::Transpose::no,
            p_.unit_diagonal != 0 ? Api::Diagonal::unit : Api::Diagonal::any, columns, n, &one, a,
            n, x, columns),
        "cublastrsm");
  }

  Cusolver& library_;
  const FactorProblem& p_;
  const runtime::Command& command_;
  const Cusolver::Session session_;
  std::size_t device_bytes_ = 0, host_bytes_ = 0;
};

}  // namespace

void FactorFunction::enqueue(const runtime::Command& command, Stream stream) const {
  check_arguments(command);
  const std::lock_guard lock(library_.lock());
  const auto queue_all = [&]<class T>() {
    Factorization<T> each(library_, problem_, command, stream);
    for (std::int64_t i = 0; i < problem_.batch; ++i) each.queue(i);
  };
  if (static_cast<DType>(problem_.dtype) == DType::f64) {
    queue_all.template operator()<double>();
  } else {
    queue_all.template operator()<float>();
  }
}

}  // namespace hearth::cuda
