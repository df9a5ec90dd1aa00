// Matrix multiply against OpenBLAS and oneDNN, where the system has them.
#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstring>

#include "devices/cpu/gemm/gemm.h"
#include "hearth/ops.h"
#include "tools/bench/limits.h"

namespace hearth::tools {
namespace {

template <class F>
F* find(void* library, const char* name) {
  return library == nullptr ? nullptr : reinterpret_cast<F*>(dlsym(library, name));
}

// cblas_sgemm of OpenBLAS, row-major.
class OpenBlas {
 public:
  OpenBlas() {
    void* library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    multiply_ = find<Multiply>(library, "cblas_sgemm");
    set_threads_ = find<void(int)>(library, "openblas_set_num_threads");
  }
  bool has() const { return multiply_ != nullptr && set_threads_ != nullptr; }
  void set_threads(int threads) const { set_threads_(threads); }
  void multiply(int n, const float* a, const float* b, float* c) const {
    constexpr int kRowMajor = 101;
    constexpr int kAsIs = 111;
    multiply_(kRowMajor, kAsIs, kAsIs, n, n, n, 1.0F, a, n, b, n, 0.0F, c, n);
  }

 private:
  using Multiply = void(int, int, int, int, int, int, float, const float*, int, const float*, int,
                        float, float*, int);
  Multiply* multiply_ = nullptr;
  void (*set_threads_)(int) = nullptr;
};

// The matmul primitive of oneDNN 2, through its C interface. Descriptors are plain structs of that
// library; they are only passed by address, so it suffices that they are large enough.
class OneDnn {
 public:
  enum class Type : int { bf16 = 2, f32 = 3 };
  struct Product {
    void* primitive = nullptr;
    std::array<void*, 3> memories{};  // a, b, c
  };

  OneDnn() {
    void* library = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    void* openmp = dlopen("libgomp.so.1", RTLD_NOW | RTLD_LOCAL);
    set_threads_ = find<void(int)>(openmp, "omp_set_num_threads");
    const auto create_engine = find<int(void**, int, std::size_t)>(library, "dnnl_engine_create");
    const auto create_stream = find<int(void**, void*, unsigned)>(library, "dnnl_stream_create");
    describe_ = find<Describe>(library, "dnnl_memory_desc_init_by_strides");
    describe_product_ = find<DescribeProduct>(library, "dnnl_matmul_desc_init");
    create_description_ = find<CreateDescription>(library, "dnnl_primitive_desc_create");
    destroy_description_ = find<int(void*)>(library, "dnnl_primitive_desc_destroy");
    create_primitive_ = find<int(void**, const void*)>(library, "dnnl_primitive_create");
    destroy_primitive_ = find<int(void*)>(library, "dnnl_primitive_destroy");
    create_memory_ = find<int(void**, const void*, void*, void*)>(library, "dnnl_memory_create");
    destroy_memory_ = find<int(void*)>(library, "dnnl_memory_destroy");
    execute_ = find<Execute>(library, "dnnl_primitive_execute");
    wait_ = find<int(void*)>(library, "dnnl_stream_wait");
    constexpr int kCpu = 1;
    constexpr unsigned kInOrder = 1;
    has_ = set_threads_ && create_engine && create_stream && describe_ && describe_product_ &&
           create_description_ && destroy_description_ && create_primitive_ && destroy_primitive_ &&
           create_memory_ && destroy_memory_ && execute_ && wait_ &&
           create_engine(&engine_, kCpu, 0) == 0 && create_stream(&stream_, engine_, kInOrder) == 0;
  }

  bool has() const { return has_; }
  void set_threads(int threads) const { set_threads_(threads); }

  // C = A * B, n by n, row-major. Without a primitive where the library cannot.
  Product prepare(std::int64_t n, Type type, void* a, void* b, void* c) const {
    Descriptor matrix{};
    Descriptor product{};
    const std::int64_t extents[2] = {n, n};
    const std::int64_t strides[2] = {n, 1};
    void* description = nullptr;
    Product out;
    if (describe_(&matrix, 2, extents, static_cast<int>(type), strides) != 0 ||
        describe_product_(&product, &matrix, &matrix, nullptr, &matrix) != 0 ||
        create_description_(&description, &product, nullptr, engine_, nullptr) != 0) {
      return out;
    }
    create_primitive_(&out.primitive, description);
    destroy_description_(description);
    void* const data[3] = {a, b, c};
    for (std::size_t i = 0; i < 3; ++i) create_memory_(&out.memories[i], &matrix, engine_, data[i]);
    return out;
  }
  void run(const Product& product) const {
    constexpr int kSource = 1;
    constexpr int kWeights = 33;
    constexpr int kTarget = 17;
    const Argument arguments[3] = {{kSource, product.memories[0]},
                                   {kWeights, product.memories[1]},
                                   {kTarget, product.memories[2]}};
    execute_(product.primitive, stream_, 3, arguments);
    wait_(stream_);
  }
  void release(const Product& product) const {
    if (product.primitive == nullptr) return;
    destroy_primitive_(product.primitive);
    for (void* memory : product.memories) destroy_memory_(memory);
  }

 private:
  struct alignas(16) Descriptor {
    std::byte room[16384];
  };
  struct Argument {
    int which;
    void* memory;
  };
  using Describe = int(void*, int, const std::int64_t*, int, const std::int64_t*);
  using DescribeProduct = int(void*, const void*, const void*, const void*, const void*);
  using CreateDescription = int(void**, const void*, const void*, void*, const void*);
  using Execute = int(void*, void*, int, const Argument*);

  bool has_ = false;
  void* engine_ = nullptr;
  void* stream_ = nullptr;
  void (*set_threads_)(int) = nullptr;
  Describe* describe_ = nullptr;
  DescribeProduct* describe_product_ = nullptr;
  CreateDescription* create_description_ = nullptr;
  int (*destroy_description_)(void*) = nullptr;
  int (*create_primitive_)(void**, const void*) = nullptr;
  int (*destroy_primitive_)(void*) = nullptr;
  int (*create_memory_)(void**, const void*, void*, void*) = nullptr;
  int (*destroy_memory_)(void*) = nullptr;
  Execute* execute_ = nullptr;
  int (*wait_)(void*) = nullptr;
};

// Teams of other libraries spin for a while after a call and would slow down who comes next.
constexpr double kQuietSeconds = 0.01;

struct Libraries {
  OpenBlas blas;
  OneDnn dnn;
  std::string missing() const {
    std::string out;
    if (!blas.has()) out = "no libopenblas.so.0 here";
    if (!dnn.has()) out += std::string(out.empty() ? "" : ", ") + "no libdnnl.so.2 here";
    return out;
  }
};

// Ours against the libraries, on the same data.
void contest(Bench& bench, RowSpec spec, const Libraries& libraries, std::int64_t n, DType dtype,
             Floats& a, Floats& b, Floats& c, const std::function<void()>& ours) {
  std::vector<Contestant> references;
  OneDnn::Product product;
  spec.note = libraries.missing();
  if (libraries.blas.has() && dtype == DType::f32) {
    references.push_back(timed("OpenBLAS", [&libraries, &a, &b, &c, n] {
      libraries.blas.multiply(static_cast<int>(n), a.data(), b.data(), c.data());
    }));
    libraries.blas.set_threads(spec.threads);
  }
  if (libraries.dnn.has()) {
    libraries.dnn.set_threads(spec.threads);
    const auto type = dtype == DType::f32 ? OneDnn::Type::f32 : OneDnn::Type::bf16;
    product = libraries.dnn.prepare(n, type, a.data(), b.data(), c.data());
    if (product.primitive != nullptr) {
      references.push_back(timed("oneDNN", [&libraries, product] { libraries.dnn.run(product); }));
    } else {
      spec.note += "oneDNN has no such product on this processor";
    }
  }
  if (spec.threads > 1) spec.pause = kQuietSeconds;
  bench.measure(spec, timed("hearth", ours), references);
  libraries.dnn.release(product);
}

void to_bf16(Floats& values) {
  auto* halves = reinterpret_cast<bfloat16*>(values.data());
  for (std::int64_t i = 0; i < values.size(); ++i) halves[i] = bfloat16(values.data()[i]);
}

}  // namespace

void bench_matmul(Bench& bench) {
  const Libraries libraries;
  for (const std::int64_t n : {4, 8, 16, 32}) {
    const RowSpec spec{
        .row = "matmul/kernel_f32_" + std::to_string(n), .unit = "us", .scale = 1e6, .ratio = 1.2};
    if (!bench.wants(spec.row)) continue;
    const WithThreads with(1);
    Floats a(n * n, -1, 1);
    Floats b(n * n, -1, 1);
    Floats c(n * n, 0, 1);
    cpu::GemmArgs args;
    args.m = args.n = args.k = n;
    args.a = a.data();
    args.b = b.data();
    args.c = c.data();
    args.a_row_stride = args.b_row_stride = args.c_row_stride = n;
    args.threads = 1;
    contest(bench, spec, libraries, n, DType::f32, a, b, c, [&] { cpu::gemm(args); });
  }
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (std::int64_t n = dtype == DType::f32 ? 64 : 256; n <= 2048; n *= 2) {
      for (int threads = 1; threads <= bench.threads(); threads += bench.threads() - 1) {
        const RowSpec spec{.row = "matmul/" + std::string(name(dtype)) + "_" + std::to_string(n) +
                                  "_" + std::to_string(threads) + "t",
                           .unit = "GFLOP/s",
                           .scale = 2e-9 * static_cast<double>(n) * static_cast<double>(n) *
                                    static_cast<double>(n),
                           .rate = true,
                           .ratio = dtype == DType::f32 ? 0.95 : 0.9,
                           .threads = threads,
                           .recording_included = true};
        if (bench.wants(spec.row)) {
          const WithThreads with(threads);
          Floats a(n * n, -1, 1);
          Floats b(n * n, -1, 1);
          Floats c(n * n, 0, 1);
          const Array x = cast(to_array(a, {n, n}), dtype);
          const Array y = cast(to_array(b, {n, n}), dtype);
          x.eval();
          y.eval();
          if (dtype == DType::bf16) {
            to_bf16(a);
            to_bf16(b);
          }
          contest(bench, spec, libraries, n, dtype, a, b, c, [&] { matmul(x, y).eval(); });
        }
        if (bench.threads() == 1) break;
      }
    }
  }
}

}  // namespace hearth::tools
