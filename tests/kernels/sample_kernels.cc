#include "kernels/sample_kernels.h"

#include <stdexcept>

namespace hearth::gpu_test {
namespace {

using runtime::KernelSource;
using Kind = runtime::KernelParameter::Kind;

// out = gelu(a b + c), four elements a thread.
constexpr const char* kElements = R"(#include "kernels/formulas/formulas.h"
struct ElementParams { uint n; };

template <typename T>
void elements(device const T* a, device const T* b, device const float* c, device T* out,
              constant ElementParams& p, Ctx ctx) {
  uint i = ctx.gid.x;
  if (i * 4u >= p.n) return;
  vec<T, 4> va = ((device const vec<T, 4>*)a)[i];
  vec<T, 4> vb = ((device const vec<T, 4>*)b)[i];
  float4 vc = ((device const float4*)c)[i];
  vec<T, 4> result;
  for (int j = 0; j < 4; ++j) {
    result[j] = T(formula::gelu(metal::fma(float(va[j]), float(vb[j]), vc[j])));
  }
  ((device vec<T, 4>*)out)[i] = result;
}
)";

// Rows divided by their root mean square, one threadgroup a row.
constexpr const char* kRows = R"(
struct RowParams { uint columns; float epsilon; };

inline float threadgroup_sum(float v, threadgroup float* shared, Ctx ctx) {
  v = simd_sum(v);
  if (ctx.lane == 0u) shared[ctx.sg] = v;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return simd_sum(ctx.lane < ctx.nsg ? shared[ctx.lane] : 0.0f);
}

template <typename T>
void rows(device const T* x, device const T* weight, device T* y, constant RowParams& p,
          threadgroup float* shared, Ctx ctx) {
  device const T* row = x + ulong(ctx.tg.x) * p.columns;
  device T* out = y + ulong(ctx.tg.x) * p.columns;
  float sum = 0.0f;
  for (uint i = ctx.tid.x; i < p.columns; i += ctx.ntid.x) {
    float v = float(row[i]);
    sum = metal::fma(v, v, sum);
  }
  sum = threadgroup_sum(sum, shared, ctx);
  float scale = metal::rsqrt(sum / float(p.columns) + p.epsilon);
  for (uint i = ctx.tid.x; i < p.columns; i += ctx.ntid.x) {
    out[i] = T(float(row[i]) * scale * float(weight[i]));
  }
}
)";

// Every simd function on one simdgroup: 15 rows of 32 results.
constexpr const char* kSimd = R"(
template <typename T>
void simd_functions(device const T* x, device T* y, Ctx ctx) {
  T v = x[ctx.lane];
  device T* out = y + ctx.lane;
  out[0] = simd_sum(v);
  out[32] = simd_product(v);
  out[64] = simd_min(v);
  out[96] = simd_max(v);
  out[128] = simd_prefix_inclusive_sum(v);
  out[160] = simd_prefix_exclusive_sum(v);
  out[192] = simd_shuffle(v, ushort(31u - ctx.lane));
  out[224] = simd_shuffle_xor(v, ushort(5));
  out[256] = simd_shuffle_up(v, ushort(3));
  out[288] = simd_shuffle_down(v, ushort(3));
  out[320] = simd_broadcast(v, ushort(7));
  simdgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
  out[352] = simd_any(ctx.lane == 9u) ? T(1) : T(0);
  out[384] = simd_all(ctx.lane < 31u) ? T(1) : T(0);
  out[416] = T(int(simd_or(ctx.lane)));
  out[448] = T(int(simd_and(ctx.lane | 32u)));
}
)";

// Counts bytes in threadgroup memory, then adds to the counts in device memory.
constexpr const char* kAtomics = R"(
struct CountParams { uint n; };

inline void histogram(device const uchar* x, device atomic_uint* counts,
                      device atomic_int* extremes, device atomic_float* total, constant CountParams& p,
                      threadgroup atomic_uint* local, Ctx ctx) {
  for (uint i = ctx.tid.x; i < 256u; i += ctx.ntid.x) {
    atomic_store_explicit(local + i, 0u, memory_order_relaxed);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint i = ctx.gid.x; i < p.n; i += ctx.ntid.x * ctx.ntg.x) {
    atomic_fetch_add_explicit(local + x[i], 1u, memory_order_relaxed);
    atomic_fetch_min_explicit(extremes, int(x[i]), memory_order_relaxed);
    atomic_fetch_max_explicit(extremes + 1, int(x[i]), memory_order_relaxed);
    atomic_fetch_or_explicit(extremes + 2, int(x[i]), memory_order_relaxed);
    atomic_fetch_and_explicit(extremes + 3, int(x[i]), memory_order_relaxed);
    atomic_fetch_add_explicit(total, float(x[i]), memory_order_relaxed);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint i = ctx.tid.x; i < 256u; i += ctx.ntid.x) {
    uint count = atomic_load_explicit(local + i, memory_order_relaxed);
    uint expected = atomic_load_explicit(counts + i, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(counts + i, &expected, expected + count,
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
  }
  if (ctx.gid.x == 0u) atomic_exchange_explicit(extremes + 4, 77, memory_order_relaxed);
}
)";

// The functions of namespace metal, vectors and bit casts.
constexpr const char* kFunctions = R"(
struct FunctionParams { uint n; int shift; ulong wide; };

inline float angles(float v) { return metal::sin(v) + metal::cos(v) + metal::tan(v); }

inline void functions(device const float* x, device const uint* words, device float* y,
                      device uint* bits, constant FunctionParams& p, Ctx ctx) {
  uint i = ctx.gid.x;
  if (i >= p.n) return;
  float v = x[i];
  float sum = metal::exp(v) + metal::exp2(v) + metal::log(v) + metal::log2(v) + metal::log10(v);
  sum += metal::asin(v) + metal::acos(v) + metal::atan(v) + metal::sinh(v) + metal::cosh(v);
  sum += metal::tanh(v) + metal::sqrt(v);
  sum += metal::floor(v) + metal::ceil(v) + metal::trunc(v) + metal::rint(v) + metal::round(v);
  sum += metal::fabs(v) + metal::abs(v) + metal::sign(v) + metal::rsqrt(v);
  sum += metal::pow(v, 2.5f) + metal::fmod(v, 0.3f) + metal::atan2(v, 2.0f);
  sum += metal::copysign(v, -1.0f) + metal::fmin(v, 1.0f) + metal::fmax(v, 0.5f);
  sum += metal::min(v, FLT_MAX) + metal::max(v, -INFINITY) + metal::clamp(v, 0.0f, 1.0f);
  sum += metal::select(v, NAN, metal::isnan(v) || metal::isinf(v) || !metal::isfinite(v));
  float4 a = float4(v, sum, 1.0f, 2.0f);
  float4 b = metal::fma(a, float4(2.0f), metal::max(a, -a)) * 0.5f + metal::exp(a);
  b.x += a.w;
  b[1] -= a.z;
  half4 h = half4(b);
  float2 low = float2(float(h.x), float(h.y));
  y[i] = metal::dot(b, float4(h)) + metal::dot(low, low) + (metal::signbit(v) ? 1.0f : 0.0f);
  uint w = words[i];
  uint2 pair = uint2(w, metal::mulhi(w, 0xcd9e8d57u)) ^ uint2(as_type<uint>(v));
  int narrow = metal::clamp(metal::abs(int(w)), INT_MIN + 1, metal::numeric_limits<int>::max());
  long wide = metal::max(long(p.wide), metal::min(long(w) << p.shift, 5l));
  bits[i] = pair.x + pair.y + metal::clz(w) + metal::popcount(w) + uint(narrow) + uint(wide) +
            uint(metal::clz(p.wide)) + as_type<ushort>(h.x) + uint(uchar(as_type<char>(uchar(w))));
}
)";

std::vector<KernelSource> make_kernels() {
  std::vector<KernelSource> kernels;
  for (const std::string type : {"float", "half", "bfloat"}) {
    kernels.push_back({.name = "elements_" + type,
                       .text = kElements,
                       .function = "elements<" + type + ">",
                       .parameters = {{Kind::read, type, "a"},
                                      {Kind::read, type, "b"},
                                      {Kind::read, "float", "c"},
                                      {Kind::write, type, "out"},
                                      {Kind::constant, "ElementParams", "p"}},
                       .max_threads = 256});
    kernels.push_back({.name = "rows_" + type,
                       .text = kRows,
                       .function = "rows<" + type + ">",
                       .parameters = {{Kind::read, type, "x"},
                                      {Kind::read, type, "weight"},
                                      {Kind::write, type, "y"},
                                      {Kind::constant, "RowParams", "p"},
                                      {Kind::threadgroup, "float", "shared", 32}}});
  }
  for (const std::string type : {"float", "int", "long", "half"}) {
    kernels.push_back({.name = "simd_" + type,
                       .text = kSimd,
                       .function = "simd_functions<" + type + ">",
                       .parameters = {{Kind::read, type, "x"}, {Kind::write, type, "y"}},
                       .max_threads = 32});
  }
  kernels.push_back({.name = "histogram",
                     .text = kAtomics,
                     .function = "histogram",
                     .parameters = {{Kind::read, "uchar", "x"},
                                    {Kind::read_write, "atomic_uint", "counts"},
                                    {Kind::read_write, "atomic_int", "extremes"},
                                    {Kind::read_write, "atomic_float", "total"},
                                    {Kind::constant, "CountParams", "p"},
                                    {Kind::threadgroup, "atomic_uint", "local", 256}}});
  kernels.push_back({.name = "functions",
                     .text = kFunctions,
                     .function = "functions",
                     .parameters = {{Kind::read, "float", "x"},
                                    {Kind::read, "uint", "words"},
                                    {Kind::write, "float", "y"},
                                    {Kind::write, "uint", "bits"},
                                    {Kind::constant, "FunctionParams", "p"}},
                     .max_threads = 128});
  return kernels;
}

}  // namespace

const std::vector<KernelSource>& sample_kernels() {
  static const std::vector<KernelSource> kernels = make_kernels();
  return kernels;
}

const KernelSource& sample_kernel(const std::string& name) {
  for (const KernelSource& kernel : sample_kernels()) {
    if (kernel.name == name) return kernel;
  }
  throw std::out_of_range(name);
}

KernelSource formula_kernel(const std::string& name, const std::vector<std::string>& ops,
                            int arguments, const std::string& type, const std::string& out) {
  constexpr const char* kNames[] = {"a", "b", "c"};
  KernelSource kernel{.name = name, .text = "", .function = name, .parameters = {}};
  std::string parameters;
  std::string values;
  for (int i = 0; i < arguments; ++i) {
    kernel.parameters.push_back({Kind::read, type, kNames[i]});
    parameters += "device const " + type + "* " + kNames[i] + ", ";
    values += std::string(i > 0 ? ", " : "") + kNames[i] + "[j]";
  }
  kernel.parameters.push_back({Kind::write, out, "y"});
  kernel.parameters.push_back({Kind::constant, "FormulaParams", "p"});
  std::string text =
      "#include \"kernels/formulas/formulas.h\"\nstruct FormulaParams { uint n; uint op; };\n";
  text += "inline void " + name + "(" + parameters + "device " + out +
          "* y, constant FormulaParams& p, Ctx ctx) {\n  if (ctx.gid.x != 0u) return;\n"
          "  switch (p.op) {\n";
  for (std::size_t i = 0; i < ops.size(); ++i) {
    text += "    case " + std::to_string(i) +
            "u:\n      for (uint j = 0u; j < p.n; ++j) y[j] = " + out + "(formula::" + ops[i] +
            "(" + values + "));\n      break;\n";
  }
  kernel.text = text + "  }\n}\n";
  return kernel;
}

}  // namespace hearth::gpu_test
