// A cuSOLVER for the fake card, and what it brings of cuBLAS: plain loops on the fake's memory. It
// is part of the fake driver library, which is found under this name as well.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

#include "devices/cuda/cusolver/cusolver_api.h"
#include "machines/cuda_fake/calls.h"

using namespace hearth::cuda::fake;  // NOLINT(google-build-using-namespace)

namespace {

using Api = CusolverApi;
using Status = Api::Status;
constexpr Status kFailure = static_cast<Status>(7);
constexpr std::size_t kWorkBytes = 512, kHostBytes = 64;

struct FakeSolver {
  Stream stream = nullptr;
};

template <class Body>
Status solver_call(const char* name, Body body, bool needs_context = true) {
  const auto run = [&] { return expect(body(), Result::invalid_value); };
  return call(name, run, needs_context) == Result::success ? Status::success : kFailure;
}
template <class Handle>
Status make_solver(const char* name, Handle* made) {
  return solver_call(name, [&] {
    *made = handle<Handle>(machine().make<FakeSolver>());
    return true;
  });
}
template <class Handle>
Status destroy_solver(const char* name, Handle which) {
  return solver_call(name, [&] { return machine().destroy(which); });
}
template <class Handle>
Status set_stream(const char* name, Handle which, Stream stream) {
  return solver_call(name, [&] {
    if (!machine().is_live(which)) return false;
    behind<FakeSolver>(which)->stream = stream;
    return true;
  });
}
template <class Handle>
Status queue(const char* name, Handle which, std::function<bool()> body) {
  return solver_call(name, [&] {
    if (!machine().is_live(which)) return false;
    FakeNode work;
    work.operation = [body = std::move(body)] {
      return body() ? Result::success : Result::illegal_address;
    };
    return machine().add_work(behind<FakeSolver>(which)->stream, std::move(work));
  });
}
// Elements on the card; null where they do not lie within one block.
template <class T>
T* on_card(const T* pointer, std::int64_t count) {
  const auto bytes = static_cast<std::size_t>(count) * sizeof(T);
  return reinterpret_cast<T*>(machine().at(reinterpret_cast<DevicePointer>(pointer), bytes));
}
// Whatever a library leaves in its buffers.
bool scribble(void* device, std::size_t bytes, std::size_t needed) {
  std::byte* const at = on_card(static_cast<std::byte*>(device), static_cast<std::int64_t>(bytes));
  if (at == nullptr || bytes < needed) return false;
  std::memset(at, 0xee, bytes);
  return true;
}

// Column by column.
template <class T>
struct Columns {
  T* data;
  std::int64_t stride;
  T& operator()(std::int64_t row, std::int64_t col) const { return data[col * stride + row]; }
};

template <class T>
int cholesky(Columns<T> a, std::int64_t n) {
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i <= j; ++i) {
      T sum = a(i, j);
      for (std::int64_t k = 0; k < i; ++k) sum -= a(k, i) * a(k, j);
      if (i == j && !(sum > 0)) return static_cast<int>(j + 1);
      a(i, j) = i == j ? std::sqrt(sum) : sum / a(i, i);
    }
  }
  return 0;
}

template <class T>
int lu(Columns<T> a, std::int64_t m, std::int64_t n, std::int64_t* pivots) {
  int info = 0;
  for (std::int64_t j = 0; j < std::min(m, n); ++j) {
    std::int64_t pivot = j;
    for (std::int64_t i = j; i < m; ++i) {
      if (std::abs(a(i, j)) > std::abs(a(pivot, j))) pivot = i;
    }
    pivots[j] = pivot + 1;
    for (std::int64_t c = 0; c < n; ++c) std::swap(a(pivot, c), a(j, c));
    if (a(j, j) == 0) {
      info = static_cast<int>(j + 1);
      continue;
    }
    for (std::int64_t i = j + 1; i < m; ++i) {
      a(i, j) /= a(j, j);
      for (std::int64_t c = j + 1; c < n; ++c) a(i, c) -= a(i, j) * a(j, c);
    }
  }
  return info;
}

// I - scale v v^T, where v is 1 and what is below the diagonal of column j.
template <class T>
void reflect(Columns<T> a, std::int64_t m, std::int64_t j, std::int64_t c, T scale) {
  T sum = a(j, c);
  for (std::int64_t i = j + 1; i < m; ++i) sum += a(i, j) * a(i, c);
  a(j, c) -= scale * sum;
  for (std::int64_t i = j + 1; i < m; ++i) a(i, c) -= scale * sum * a(i, j);
}

template <class T>
void qr(Columns<T> a, std::int64_t m, std::int64_t n, T* tau) {
  for (std::int64_t j = 0; j < std::min(m, n); ++j) {
    T squares = 0;
    for (std::int64_t i = j; i < m; ++i) squares += a(i, j) * a(i, j);
    tau[j] = 0;
    if (squares == 0) continue;
    const T head = a(j, j), beta = -std::copysign(std::sqrt(squares), head);
    for (std::int64_t i = j + 1; i < m; ++i) a(i, j) /= head - beta;
    tau[j] = (beta - head) / beta;
    a(j, j) = beta;
    for (std::int64_t c = j + 1; c < n; ++c) reflect(a, m, j, c, tau[j]);
  }
}

template <class T>
void qr_columns(Columns<T> a, std::int64_t m, std::int64_t n, std::int64_t k, const T* tau) {
  for (std::int64_t c = k; c < n; ++c) {
    for (std::int64_t i = 0; i < m; ++i) a(i, c) = i == c ? 1 : 0;
  }
  for (std::int64_t j = k - 1; j >= 0; --j) {
    for (std::int64_t c = j + 1; c < n; ++c) reflect(a, m, j, c, tau[j]);
    for (std::int64_t i = 0; i < j; ++i) a(i, j) = 0;
    for (std::int64_t i = j + 1; i < m; ++i) a(i, j) *= -tau[j];
    a(j, j) = 1 - tau[j];
  }
}

// Jacobi's rotations of the columns of x, and the same of y, until those of x are orthogonal.
template <class T>
void make_orthogonal(Columns<T> x, std::int64_t m, std::int64_t n, Columns<T> y) {
  const auto dot = [&](std::int64_t p, std::int64_t q) {
    T sum = 0;
    for (std::int64_t i = 0; i < m; ++i) sum += x(i, p) * x(i, q);
    return sum;
  };
  const auto turn = [](Columns<T> a, std::int64_t rows, std::int64_t p, std::int64_t q, T c, T s) {
    for (std::int64_t i = 0; i < rows; ++i) {
      const T one = a(i, p), other = a(i, q);
      a(i, p) = c * one - s * other;
      a(i, q) = s * one + c * other;
    }
  };
  for (int sweep = 0; sweep < 40; ++sweep) {
    for (std::int64_t p = 0; p < n; ++p) {
      for (std::int64_t q = p + 1; q < n; ++q) {
        const T pq = dot(p, q);
        if (pq == 0) continue;
        const T zeta = (dot(q, q) - dot(p, p)) / (2 * pq);
        const T tangent = std::copysign(T(1), zeta) / (std::abs(zeta) + std::sqrt(1 + zeta * zeta));
        const T c = 1 / std::sqrt(1 + tangent * tangent);
        turn(x, m, p, q, c, c * tangent);
        turn(y, n, p, q, c, c * tangent);
      }
    }
  }
}

template <class T>
std::vector<T> identity(std::int64_t n) {
  std::vector<T> one(static_cast<std::size_t>(n * n));
  for (std::int64_t i = 0; i < n; ++i) one[static_cast<std::size_t>(i * n + i)] = 1;
  return one;
}

// Of m >= n: columns of length 1 in u and v, the largest value first.
template <class T>
void svd(Columns<T> a, std::int64_t m, std::int64_t n, T* s, Columns<T> u, Columns<T> v) {
  std::vector<T> turned = identity<T>(n);
  const Columns<T> y{turned.data(), n};
  make_orthogonal(a, m, n, y);
  std::vector<T> lengths(static_cast<std::size_t>(n));
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  for (std::int64_t j = 0; j < n; ++j) {
    T sum = 0;
    for (std::int64_t i = 0; i < m; ++i) sum += a(i, j) * a(i, j);
    lengths[static_cast<std::size_t>(j)] = std::sqrt(sum);
  }
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::int64_t one, std::int64_t other) {
    return lengths[static_cast<std::size_t>(one)] > lengths[static_cast<std::size_t>(other)];
  });
  for (std::int64_t j = 0; j < n; ++j) {
    const std::int64_t from = order[static_cast<std::size_t>(j)];
    s[j] = lengths[static_cast<std::size_t>(from)];
    for (std::int64_t i = 0; u.data != nullptr && i < m; ++i) u(i, j) = a(i, from) / s[j];
    for (std::int64_t i = 0; v.data != nullptr && i < n; ++i) v(i, j) = y(i, from);
  }
}

// Of the upper triangle, shifted so that all values are positive: the smallest first.
template <class T>
void eigh(Columns<T> a, std::int64_t n, T* w, bool vectors) {
  T shift = 1;
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < j; ++i) a(j, i) = a(i, j);
  }
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) shift += std::abs(a(i, j));
  }
  for (std::int64_t j = 0; j < n; ++j) a(j, j) += shift;
  std::vector<T> found(static_cast<std::size_t>(n * n));
  svd(a, n, n, w, Columns<T>{nullptr, n}, Columns<T>{found.data(), n});
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) {
      a(i, n - 1 - j) = vectors ? found[static_cast<std::size_t>(j * n + i)]
                                : std::numeric_limits<T>::quiet_NaN();
    }
  }
  std::reverse(w, w + n);
  for (std::int64_t j = 0; j < n; ++j) w[j] -= shift;
}

// X A = alpha B.
template <class T>
void solve(Columns<T> a, std::int64_t n, bool upper, bool unit, Columns<T> x, std::int64_t m,
           T alpha) {
  for (std::int64_t step = 0; step < n; ++step) {
    const std::int64_t j = upper ? step : n - 1 - step;
    for (std::int64_t i = 0; i < m; ++i) {
      T sum = alpha * x(i, j);
      for (std::int64_t k = upper ? 0 : j + 1; k < (upper ? j : n); ++k) sum -= x(i, k) * a(k, j);
      x(i, j) = unit ? sum : sum / a(j, j);
    }
  }
}

Status say_bytes(const char* name, Api::Handle library, std::size_t* device, std::size_t* host) {
  return solver_call(name, [&] {
    *device = kWorkBytes;
    *host = kHostBytes;
    return machine().is_live(library);
  });
}
Status say_work(const char* name, Api::Handle library, int* size) {
  return solver_call(name, [&] {
    *size = 32;
    return machine().is_live(library);
  });
}
// Calls body(T*) with an element's type.
template <class Body>
bool of_type(Api::DataType type, void* a, Body body) {
  if (type == Api::DataType::f64) return body(static_cast<double*>(a));
  return body(static_cast<float*>(a));
}
// A buffer of the sizes asked for, and the memory on the card.
bool has_buffers(void* device, std::size_t device_bytes, const void* host, std::size_t host_bytes) {
  return scribble(device, device_bytes, kWorkBytes) && host != nullptr && host_bytes >= kHostBytes;
}

}  // namespace

EXPORT Status cusolverGetVersion(int* version) {
  return solver_call(
      "cusolverGetVersion",
      [&] {
        *version = 12000;
        return true;
      },
      false);
}
EXPORT Status cusolverDnCreate(Api::Handle* made) { return make_solver("cusolverDnCreate", made); }
EXPORT Status cusolverDnDestroy(Api::Handle which) {
  return destroy_solver("cusolverDnDestroy", which);
}
EXPORT Status cusolverDnSetStream(Api::Handle which, Stream stream) {
  return set_stream("cusolverDnSetStream", which, stream);
}
EXPORT Status cusolverDnCreateParams(Api::Params* made) {
  return make_solver("cusolverDnCreateParams", made);
}
EXPORT Status cusolverDnDestroyParams(Api::Params which) {
  return destroy_solver("cusolverDnDestroyParams", which);
}
EXPORT Status cusolverDnCreateGesvdjInfo(Api::JacobiInfo* made) {
  return make_solver("cusolverDnCreateGesvdjInfo", made);
}
EXPORT Status cusolverDnDestroyGesvdjInfo(Api::JacobiInfo which) {
  return destroy_solver("cusolverDnDestroyGesvdjInfo", which);
}
EXPORT Status cublasCreate_v2(Api::BlasHandle* made) {
  return make_solver("cublasCreate_v2", made);
}
EXPORT Status cublasDestroy_v2(Api::BlasHandle which) {
  return destroy_solver("cublasDestroy_v2", which);
}
EXPORT Status cublasSetStream_v2(Api::BlasHandle which, Stream stream) {
  return set_stream("cublasSetStream_v2", which, stream);
}

EXPORT Status cusolverDnXpotrf_bufferSize(Api::Handle library, Api::Params, Api::Triangle,
                                          std::int64_t, Api::DataType, const void*, std::int64_t,
                                          Api::DataType, std::size_t* device, std::size_t* host) {
  return say_bytes("cusolverDnXpotrf_bufferSize", library, device, host);
}
EXPORT Status cusolverDnXpotrf(Api::Handle library, Api::Params params, Api::Triangle triangle,
                               std::int64_t n, Api::DataType type, void* a, std::int64_t stride,
                               Api::DataType compute, void* device, std::size_t device_bytes,
                               void* host, std::size_t host_bytes, int* info) {
  return queue("cusolverDnXpotrf", library, [=] {
    if (triangle != Api::Triangle::upper || compute != type || !machine().is_live(params) ||
        !has_buffers(device, device_bytes, host, host_bytes)) {
      return false;
    }
    return of_type(type, a, [&]<class T>(T* matrix) {
      T* const at = on_card(matrix, stride * n);
      int* const said = on_card(info, 1);
      if (at == nullptr || said == nullptr) return false;
      *said = cholesky(Columns<T>{at, stride}, n);
      return true;
    });
  });
}
EXPORT Status cusolverDnXgetrf_bufferSize(Api::Handle library, Api::Params, std::int64_t,
                                          std::int64_t, Api::DataType, const void*, std::int64_t,
                                          Api::DataType, std::size_t* device, std::size_t* host) {
  return say_bytes("cusolverDnXgetrf_bufferSize", library, device, host);
}
EXPORT Status cusolverDnXgetrf(Api::Handle library, Api::Params, std::int64_t m, std::int64_t n,
                               Api::DataType type, void* a, std::int64_t stride,
                               std::int64_t* pivots, Api::DataType, void* device,
                               std::size_t device_bytes, void* host, std::size_t host_bytes,
                               int* info) {
  return queue("cusolverDnXgetrf", library, [=] {
    if (!has_buffers(device, device_bytes, host, host_bytes)) return false;
    return of_type(type, a, [&]<class T>(T* matrix) {
      T* const at = on_card(matrix, stride * n);
      std::int64_t* const exchanges = on_card(pivots, std::min(m, n));
      int* const said = on_card(info, 1);
      if (at == nullptr || exchanges == nullptr || said == nullptr) return false;
      *said = lu(Columns<T>{at, stride}, m, n, exchanges);
      return true;
    });
  });
}
EXPORT Status cusolverDnXgeqrf_bufferSize(Api::Handle library, Api::Params, std::int64_t,
                                          std::int64_t, Api::DataType, const void*, std::int64_t,
                                          Api::DataType, const void*, Api::DataType,
                                          std::size_t* device, std::size_t* host) {
  return say_bytes("cusolverDnXgeqrf_bufferSize", library, device, host);
}
EXPORT Status cusolverDnXgeqrf(Api::Handle library, Api::Params, std::int64_t m, std::int64_t n,
                               Api::DataType type, void* a, std::int64_t stride, Api::DataType,
                               void* tau, Api::DataType, void* device, std::size_t device_bytes,
                               void* host, std::size_t host_bytes, int* info) {
  return queue("cusolverDnXgeqrf", library, [=] {
    if (!has_buffers(device, device_bytes, host, host_bytes)) return false;
    return of_type(type, a, [&]<class T>(T* matrix) {
      T* const at = on_card(matrix, stride * n);
      T* const scales = on_card(static_cast<T*>(tau), std::min(m, n));
      int* const said = on_card(info, 1);
      if (at == nullptr || scales == nullptr || said == nullptr) return false;
      qr(Columns<T>{at, stride}, m, n, scales);
      *said = 0;
      return true;
    });
  });
}
EXPORT Status cusolverDnXsyevd_bufferSize(Api::Handle library, Api::Params, Api::Vectors,
                                          Api::Triangle, std::int64_t, Api::DataType, const void*,
                                          std::int64_t, Api::DataType, const void*, Api::DataType,
                                          std::size_t* device, std::size_t* host) {
  return say_bytes("cusolverDnXsyevd_bufferSize", library, device, host);
}
EXPORT Status cusolverDnXsyevd(Api::Handle library, Api::Params, Api::Vectors vectors,
                               Api::Triangle triangle, std::int64_t n, Api::DataType type, void* a,
                               std::int64_t stride, Api::DataType, void* w, Api::DataType,
                               void* device, std::size_t device_bytes, void* host,
                               std::size_t host_bytes, int* info) {
  return queue("cusolverDnXsyevd", library, [=] {
    if (triangle != Api::Triangle::upper || !has_buffers(device, device_bytes, host, host_bytes)) {
      return false;
    }
    return of_type(type, a, [&]<class T>(T* matrix) {
      T* const at = on_card(matrix, stride * n);
      T* const values = on_card(static_cast<T*>(w), n);
      int* const said = on_card(info, 1);
      if (at == nullptr || values == nullptr || said == nullptr) return false;
      eigh(Columns<T>{at, stride}, n, values, vectors == Api::Vectors::all);
      *said = 0;
      return true;
    });
  });
}

namespace {

template <class T>
Status make_columns(const char* name, Api::Handle library, int m, int n, int k, T* a, int stride,
                    const T* tau, T* work, int work_size, int* info) {
  return queue(name, library, [=] {
    T* const at = on_card(a, std::int64_t{stride} * n);
    T* const scales = on_card(tau, k);
    int* const said = on_card(info, 1);
    if (at == nullptr || scales == nullptr || said == nullptr ||
        !scribble(work, static_cast<std::size_t>(work_size) * sizeof(T), 32 * sizeof(T))) {
      return false;
    }
    qr_columns(Columns<T>{at, stride}, m, n, k, scales);
    *said = 0;
    return true;
  });
}

template <class T>
Status decompose(const char* name, Api::Handle library, Api::Vectors vectors, int thin, int m,
                 int n, T* a, int stride, T* s, T* u, int u_stride, T* v, int v_stride, T* work,
                 int work_size, int* info) {
  return queue(name, library, [=] {
    const bool all = vectors == Api::Vectors::all;
    const int k = std::min(m, n);
    T* const at = on_card(a, std::int64_t{stride} * n);
    T* const values = on_card(s, k);
    T* const lefts = all ? on_card(u, std::int64_t{u_stride} * k) : nullptr;
    T* const rights = all ? on_card(v, std::int64_t{v_stride} * k) : nullptr;
    int* const said = on_card(info, 1);
    if (thin != 1 || at == nullptr || values == nullptr || said == nullptr ||
        (all && (lefts == nullptr || rights == nullptr)) ||
        !scribble(work, static_cast<std::size_t>(work_size) * sizeof(T), 32 * sizeof(T))) {
      return false;
    }
    *said = 0;
    const Columns<T> matrix{at, stride}, left{lefts, u_stride}, right{rights, v_stride};
    if (m >= n) {
      svd(matrix, m, n, values, left, right);
      return true;
    }
    std::vector<T> turned(static_cast<std::size_t>(m) * static_cast<std::size_t>(n));
    const Columns<T> other{turned.data(), n};
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < n; ++j) other(j, i) = matrix(i, j);
    }
    svd(other, n, m, values, right, left);
    return true;
  });
}

template <class T>
Status solve_triangle(const char* name, Api::BlasHandle library, Api::Side side,
                      Api::Triangle triangle, Api::Transpose transpose, Api::Diagonal diagonal,
                      int m, int n, const T* alpha, const T* a, int a_stride, T* b, int b_stride) {
  return queue(name, library, [=, scale = *alpha] {
    T* const at = on_card(a, std::int64_t{a_stride} * n);
    T* const x = on_card(b, std::int64_t{b_stride} * n);
    if (side != Api::Side::right || transpose != Api::Transpose::no || at == nullptr ||
        x == nullptr) {
      return false;
    }
    solve(Columns<T>{at, a_stride}, n, triangle == Api::Triangle::upper,
          diagonal == Api::Diagonal::unit, Columns<T>{x, b_stride}, m, scale);
    return true;
  });
}

}  // namespace

#define BOTH(letter, T)                                                                            \
  EXPORT Status cusolverDn##letter##orgqr_bufferSize(Api::Handle library, int, int, int, const T*, \
                                                     int, const T*, int* size) {                   \
    return say_work("cusolverDn" #letter "orgqr_bufferSize", library, size);                       \
  }                                                                                                \
  EXPORT Status cusolverDn##letter##orgqr(Api::Handle library, int m, int n, int k, T* a,          \
                                          int stride, const T* tau, T* work, int size,             \
                                          int* info) {                                             \
    return make_columns("cusolverDn" #letter "orgqr", library, m, n, k, a, stride, tau, work,      \
                        size, info);                                                               \
  }                                                                                                \
  EXPORT Status cusolverDn##letter##gesvdj_bufferSize(Api::Handle library, Api::Vectors, int, int, \
                                                      int, const T*, int, const T*, const T*, int, \
                                                      const T*, int, int* size, Api::JacobiInfo) { \
    return say_work("cusolverDn" #letter "gesvdj_bufferSize", library, size);                      \
  }                                                                                                \
  EXPORT Status cusolverDn##letter##gesvdj(                                                        \
      Api::Handle library, Api::Vectors vectors, int thin, int m, int n, T* a, int stride, T* s,   \
      T* u, int u_stride, T* v, int v_stride, T* work, int size, int* info, Api::JacobiInfo) {     \
    return decompose("cusolverDn" #letter "gesvdj", library, vectors, thin, m, n, a, stride, s, u, \
                     u_stride, v, v_stride, work, size, info);                                     \
  }                                                                                                \
  EXPORT Status cublas##letter##trsm_v2(Api::BlasHandle library, Api::Side side,                   \
                                        Api::Triangle triangle, Api::Transpose transpose,          \
                                        Api::Diagonal diagonal, int m, int n, const T* alpha,      \
                                        const T* a, int a_stride, T* b, int b_stride) {            \
    return solve_triangle("cublas" #letter "trsm_v2", library, side, triangle, transpose,          \
                          diagonal, m, n, alpha, a, a_stride, b, b_stride);                        \
  }
BOTH(S, float)
BOTH(D, double)

// In a struct, where the types of a row have the names that the API gives them.
#define HEARTH_FUNCTION(result, name, parameters) \
  static_assert(std::is_same_v<decltype(&::name), result(*) parameters>, #name);
struct SolverFunctions : Api {
#include "devices/cuda/cusolver_functions.def"
};
#undef HEARTH_FUNCTION
