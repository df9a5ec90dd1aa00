#include "machines/sim/sim_library_factor.h"

#include <sstream>

namespace hearth::sim {
namespace {

using gpu::FactorProblem;

// A thread has a matrix. `info` is what LAPACK says, also where the problem leaves it open. What
// may not be looked at is left as bad as it may be.
constexpr const char* kCholesky = R"(
  info[b] = 0;
  for (long j = 0; j < kRows; ++j) {
    T square = a[j * kRows + j];
    for (long k = 0; k < j; ++k) square -= a[j * kRows + k] * a[j * kRows + k];
    if (!(square > T(0))) {
      info[b] = int(j + 1);
      break;
    }
    T root = metal::sqrt(square);
    a[j * kRows + j] = root;
    for (long i = j + 1; i < kRows; ++i) {
      T sum = a[i * kRows + j];
      for (long k = 0; k < j; ++k) sum -= a[i * kRows + k] * a[j * kRows + k];
      a[i * kRows + j] = sum / root;
    }
  }
)";

constexpr const char* kLu = R"(
  info[b] = 0;
  for (long j = 0; j < kRank; ++j) {
    long pivot = j;
    for (long i = j + 1; i < kRows; ++i) {
      if (metal::fabs(a[j * kRows + i]) > metal::fabs(a[j * kRows + pivot])) pivot = i;
    }
    pivots[b * kRank + j] = pivot + 1;
    for (long c = 0; c < kCols; ++c) {
      T other = a[c * kRows + pivot];
      a[c * kRows + pivot] = a[c * kRows + j];
      a[c * kRows + j] = other;
    }
    T divisor = a[j * kRows + j];
    if (divisor == T(0)) {
      info[b] = int(j + 1);
      continue;
    }
    for (long i = j + 1; i < kRows; ++i) a[j * kRows + i] /= divisor;
    for (long c = j + 1; c < kCols; ++c) {
      for (long i = j + 1; i < kRows; ++i) a[c * kRows + i] -= a[j * kRows + i] * a[c * kRows + j];
    }
  }
)";

constexpr const char* kQr = R"(
  info[b] = 0;
  for (long j = 0; j < kRank; ++j) {
    device T* v = a + j * kRows;
    T most = T(0), squares = T(0);
    for (long i = j; i < kRows; ++i) most = metal::max(most, metal::fabs(v[i]));
    tau[b * kRank + j] = T(0);
    if (most == T(0)) continue;
    for (long i = j; i < kRows; ++i) squares += v[i] / most * (v[i] / most);
    T head = v[j], beta = metal::sqrt(squares) * most;
    if (head > T(0)) beta = -beta;
    for (long i = j + 1; i < kRows; ++i) v[i] = v[i] / (head - beta);
    v[j] = beta;
    T scale = (beta - head) / beta;
    tau[b * kRank + j] = scale;
    for (long c = j + 1; c < kCols; ++c) {
      T sum = a[c * kRows + j];
      for (long i = j + 1; i < kRows; ++i) sum += v[i] * a[c * kRows + i];
      a[c * kRows + j] -= scale * sum;
      for (long i = j + 1; i < kRows; ++i) a[c * kRows + i] -= scale * sum * v[i];
    }
  }
)";

// As LAPACK's org2r: the last reflection first, each taking the place of its vector.
constexpr const char* kQrColumns = R"(
  info[b] = 0;
  for (long c = kRank; c < kCols; ++c) {
    for (long i = 0; i < kRows; ++i) a[c * kRows + i] = i == c ? T(1) : T(0);
  }
  for (long j = kRank - 1; j >= 0; --j) {
    device T* v = a + j * kRows;
    T scale = tau[b * kRank + j];
    for (long c = j + 1; c < kCols; ++c) {
      T sum = a[c * kRows + j];
      for (long i = j + 1; i < kRows; ++i) sum += v[i] * a[c * kRows + i];
      a[c * kRows + j] -= scale * sum;
      for (long i = j + 1; i < kRows; ++i) a[c * kRows + i] -= scale * sum * v[i];
    }
    for (long i = j + 1; i < kRows; ++i) v[i] *= -scale;
    v[j] = T(1) - scale;
    for (long i = 0; i < j; ++i) v[i] = T(0);
  }
)";

// One-sided Jacobi rotations of the rows of a + shift, which is positive definite: these become its
// eigenvalues times its vectors.
constexpr const char* kEigh = R"(
  info[b] = 0;
  T shift = T(0);
  for (long i = 0; i < kRows; ++i) {
    for (long j = 0; j < i; ++j) a[j * kRows + i] = a[i * kRows + j];
  }
  for (long i = 0; i < kRows; ++i) {
    T sum = T(0);
    for (long j = 0; j < kRows; ++j) sum += metal::fabs(a[i * kRows + j]);
    shift = metal::max(shift, sum);
  }
  if (shift == T(0)) shift = T(1);
  shift *= T(1.25f);
  for (long i = 0; i < kRows; ++i) a[i * kRows + i] += shift;
  make_orthogonal(a, kRows, kRows, kRows, 1, a, 0);
  for (long i = 0; i < kRows; ++i) {
    T length = length_of(a + i * kRows, kRows, 1);
    w[b * kRows + i] = length - shift;
    for (long j = 0; j < kRows; ++j) a[i * kRows + j] = a[i * kRows + j] / length;
  }
  for (long i = 0; i < kRows; ++i) {
    long least = i;
    for (long j = i + 1; j < kRows; ++j) least = w[b * kRows + j] < w[b * kRows + least] ? j : least;
    swap_elements(w + b * kRows + i, w + b * kRows + least, 1);
    swap_elements(a + i * kRows, a + least * kRows, kRows);
  }
  for (long i = 0; kVectors == 0 && i < kRows * kRows; ++i) a[i] = T(NAN);
)";

// The same of the shorter side's lines.
constexpr const char* kSvd = R"(
  info[b] = 0;
  const bool tall = kRows >= kCols;
  const long length = tall ? kRows : kCols, line = tall ? 1 : kCols, step = tall ? kCols : 1;
  device T* shorts = (tall ? v : u) + b * kRank * kRank;
  device T* longs = (tall ? u : v) + b * kRank * length;
  for (long i = 0; i < kRank * kRank; ++i) {
    shorts[i] = i / kRank == i % kRank ? T(1) : T(0);
  }
  make_orthogonal(a, kRank, length, line, step, shorts, kRank);
  T most = T(0);
  for (long i = 0; i < kRank; ++i) {
    T size = length_of(a + i * line, length, step);
    s[b * kRank + i] = size;
    most = metal::max(most, size);
    for (long j = 0; j < length; ++j) longs[i * length + j] = a[i * line + j * step];
  }
  for (long i = 0; i < kRank; ++i) {
    long largest = i;
    for (long j = i + 1; j < kRank; ++j) {
      largest = s[b * kRank + j] > s[b * kRank + largest] ? j : largest;
    }
    swap_elements(s + b * kRank + i, s + b * kRank + largest, 1);
    swap_elements(shorts + i * kRank, shorts + largest * kRank, kRank);
    swap_elements(longs + i * length, longs + largest * length, length);
    if (s[b * kRank + i] > T(0)) {
      for (long j = 0; j < length; ++j) longs[i * length + j] /= s[b * kRank + i];
    } else {
      for (long j = 0; j < length; ++j) longs[i * length + j] = i == j ? T(1) : T(0);
    }
  }
)";

constexpr const char* kTriangle = R"(
  for (long step = 0; step < kRows; ++step) {
    long i = kUpper != 0 ? kRows - 1 - step : step;
    for (long c = 0; c < kCols; ++c) {
      T sum = x[(b * kRows + i) * kCols + c];
      long first = kUpper != 0 ? i + 1 : 0, last = kUpper != 0 ? long(kRows) : i;
      for (long k = first; k < last; ++k) sum -= a[i * kRows + k] * x[(b * kRows + k) * kCols + c];
      x[(b * kRows + i) * kCols + c] = kUnit != 0 ? sum : sum / a[i * kRows + i];
    }
  }
)";

// `lines` of a, `line` apart, whose elements are `step` apart, turn until they are orthogonal, and
// with them those of `others`, which are dense.
constexpr const char* kCommon = R"(
inline T length_of(device const T* x, long count, long step) {
  T most = T(0), sum = T(0);
  for (long i = 0; i < count; ++i) most = metal::max(most, metal::fabs(x[i * step]));
  if (most == T(0)) return most;
  for (long i = 0; i < count; ++i) sum += x[i * step] / most * (x[i * step] / most);
  return metal::sqrt(sum) * most;
}
inline void swap_elements(device T* x, device T* y, long count) {
  for (long i = 0; i < count; ++i) {
    T other = x[i];
    x[i] = y[i];
    y[i] = other;
  }
}
inline void rotate(device T* x, device T* y, long count, long step, T c, T s) {
  for (long i = 0; i < count; ++i) {
    T one = x[i * step], other = y[i * step];
    x[i * step] = c * one - s * other;
    y[i * step] = s * one + c * other;
  }
}
inline void make_orthogonal(device T* a, long lines, long count, long line, long step,
                            device T* others, long other_count) {
  for (int sweep = 0; sweep < 40; ++sweep) {
    bool turned = false;
    for (long p = 0; p < lines; ++p) {
      for (long q = p + 1; q < lines; ++q) {
        T pp = T(0), qq = T(0), pq = T(0);
        for (long i = 0; i < count; ++i) {
          T x = a[p * line + i * step], y = a[q * line + i * step];
          pp += x * x;
          qq += y * y;
          pq += x * y;
        }
        if (!(metal::fabs(pq) > EPSILON * metal::sqrt(pp) * metal::sqrt(qq))) continue;
        turned = true;
        T zeta = (qq - pp) / (T(2) * pq);
        T tangent = T(1) / (metal::fabs(zeta) + metal::sqrt(T(1) + zeta * zeta));
        if (zeta < T(0)) tangent = -tangent;
        T c = T(1) / metal::sqrt(T(1) + tangent * tangent), s = c * tangent;
        rotate(a + p * line, a + q * line, count, step, c, s);
        rotate(others + p * other_count, others + q * other_count, other_count, 1, c, s);
      }
    }
    if (!turned) break;
  }
}
)";

}  // namespace

std::string library_factor_text(const runtime::LibraryCall& call) {
  constexpr const char* kBodies[] = {kCholesky, kLu, kQr, kQrColumns, kEigh, kSvd, kTriangle};
  const FactorProblem p = gpu::factor_problem(call);
  const std::string type = call.parameters[0].type;
  std::ostringstream text;
  text << "typedef " << type << " T;\n#define EPSILON T("
       << (type == "double" ? "4.0e-16" : "2.0e-7f") << ")\n"
       << "enum : long { kBatch = " << p.batch << ", kRows = " << p.rows << ", kCols = " << p.cols
       << ", kRank = " << p.rank << ", kBatchStride = " << p.batch_stride
       << ", kVectors = " << p.vectors << ", kUpper = " << p.upper
       << ", kUnit = " << p.unit_diagonal << " };\n"
       << kCommon << "inline void library_factor(";
  for (const runtime::KernelParameter& parameter : call.parameters) {
    const bool reads = parameter.kind == runtime::KernelParameter::Kind::read;
    const bool is_a = parameter.name == "a";
    text << (reads ? "device const " : "device ") << parameter.type << "* "
         << (is_a ? "matrices" : parameter.name) << ", ";
  }
  const bool reads_a = call.parameters[0].kind == runtime::KernelParameter::Kind::read;
  text << "Ctx ctx) {\n";
  if (p.kind != FactorProblem::triangular_solve) {
    text << "for (uint i = ctx.tid.x; i < " << kFactorWorkspaceBytes
         << "u; i += 32u) workspace[i] = uchar(255);\n";
  }
  text << "for (long b = long(ctx.tid.x); b < kBatch; b += 32) {\n"
       << (reads_a ? "device const T* a" : "device T* a") << " = matrices + b * kBatchStride;\n"
       << kBodies[p.kind] << "}\n}\n";
  return text.str();
}

}  // namespace hearth::sim
