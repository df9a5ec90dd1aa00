#include "tools/bench/limits.h"

#include <dlfcn.h>

#include <atomic>
#include <cmath>

#include "core/counted.h"
#include "runtime/device/worker_pool.h"
#include "runtime/memory/system_memory.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define HEARTH_LOOPS_X86 1
#else
#define HEARTH_LOOPS_X86 0
#endif

namespace hearth::tools {
namespace {

#define HEARTH_LOOPS_WIDTH 1
#include "tools/bench/loops.h"
#undef HEARTH_LOOPS_WIDTH

#if HEARTH_LOOPS_X86
#define HEARTH_LOOPS_WIDTH 8
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#include "tools/bench/loops.h"
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#undef HEARTH_LOOPS_WIDTH

#define HEARTH_LOOPS_WIDTH 16
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f")
#endif
#include "tools/bench/loops.h"
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#undef HEARTH_LOOPS_WIDTH
#endif

enum class Level : std::uint8_t { plain, avx2, avx512 };

Level level() {
#if HEARTH_LOOPS_X86
  static const Level found = __builtin_cpu_supports("avx512f") ? Level::avx512
                             : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
                                 ? Level::avx2
                                 : Level::plain;
  return found;
#else
  return Level::plain;
#endif
}

// The vector variant of a function in libmvec for this processor, or null.
void* find_vector_math(const std::string& function) {
  if (level() == Level::plain) return nullptr;
  static void* const library = dlopen("libmvec.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  const char* prefix = level() == Level::avx512 ? "_ZGVeN16v_" : "_ZGVdN8v_";
  return dlsym(library, (prefix + function).c_str());
}

// Each thread streams through large chunks of its own.
template <class Body>
void in_pieces(std::int64_t count, Body body) {
  constexpr std::int64_t kPiece = std::int64_t{1} << 18;
  if (WorkerPool::global().threads() == 1) return body(0, count);
  WorkerPool::global().parallel_for_range(count, kPiece, body);
}

// What the optimiser may not remove.
std::atomic<float> sink{0};

#if HEARTH_LOOPS_X86
#define HEARTH_LOOPS_CALL(call) \
  switch (level()) {            \
    case Level::avx512:         \
      avx512::call;             \
      break;                    \
    case Level::avx2:           \
      avx2::call;               \
      break;                    \
    case Level::plain:          \
      plain::call;              \
      break;                    \
  }
#else
#define HEARTH_LOOPS_CALL(call) plain::call
#endif

template <bool kStream>
void run_transcendental(float* out, const float* a, const float* b, std::int64_t count) {
#if HEARTH_LOOPS_X86
  void* const exponential = find_vector_math("expf");
  void* const hyperbolic = find_vector_math("tanhf");
  if (exponential != nullptr && hyperbolic != nullptr) {
    if (level() == Level::avx512) {
      avx512::transcendental<kStream>(out, a, b, count,
                                      reinterpret_cast<avx512::Function>(exponential),
                                      reinterpret_cast<avx512::Function>(hyperbolic));
    } else {
      avx2::transcendental<kStream>(out, a, b, count, reinterpret_cast<avx2::Function>(exponential),
                                    reinterpret_cast<avx2::Function>(hyperbolic));
    }
    return;
  }
#endif
  plain::transcendental<kStream>(
      out, a, b, count, [](float x) { return std::exp(x); }, [](float x) { return std::tanh(x); });
}

}  // namespace

Floats::Floats(std::int64_t count, double low, double high)
    : data_(reinterpret_cast<float*>(map_pages(count * 4 + 64))), size_(count) {
  if (data_ == nullptr) {
    throw Error(ErrorCode::out_of_memory,
                "bench: out of memory; got a request of " + counted(count * 4, "byte"));
  }
  static std::atomic<std::uint32_t> seed{1};  // no two alike
  std::uint32_t state = seed.fetch_add(0x9e3779b9u);
  const double scale = (high - low) / 4294967296.0;
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    data_[i] = static_cast<float>(low + state * scale);
  }
}

Floats::~Floats() { unmap_pages(reinterpret_cast<std::byte*>(data_), size_ * 4 + 64); }

Array to_array(const Floats& values, const Shape& shape) {
  return Array::from_data(
      std::span<const float>(values.data(), static_cast<std::size_t>(values.size())), shape,
      Device::cpu());
}

std::string loops_name() {
  switch (level()) {
    case Level::avx512:
      return "AVX-512";
    case Level::avx2:
      return "AVX2";
    case Level::plain:
      break;
  }
  return "plain C++";
}

void read_memory(const Floats& a, Reading reading) {
  in_pieces(a.size(), [&](std::int64_t begin, std::int64_t end) {
    float total = 0;
    if (reading == Reading::four_streams) {
      HEARTH_LOOPS_CALL(read_streams(a.data() + begin, end - begin, total));
    } else {
      HEARTH_LOOPS_CALL(read_forward(a.data() + begin, end - begin, total));
    }
    sink.store(total, std::memory_order_relaxed);
  });
}

std::vector<Contestant> both_readings(const Floats& a) {
  return {timed("read", [&a] { read_memory(a, Reading::forward); }),
          timed("read, four streams", [&a] { read_memory(a, Reading::four_streams); })};
}

void copy_memory(Floats& out, const Floats& a, Store store) {
  in_pieces(a.size(), [&](std::int64_t begin, std::int64_t end) {
    if (store == Store::streaming) {
      HEARTH_LOOPS_CALL(copy<true>(out.data() + begin, a.data() + begin, end - begin));
    } else {
      HEARTH_LOOPS_CALL(copy<false>(out.data() + begin, a.data() + begin, end - begin));
    }
  });
}

void add_memory(Floats& out, const Floats& a, const Floats& b, Store store) {
  in_pieces(a.size(), [&](std::int64_t begin, std::int64_t end) {
    float* to = out.data() + begin;
    const float* x = a.data() + begin;
    const float* y = b.data() + begin;
    if (store == Store::streaming) {
      HEARTH_LOOPS_CALL(triad<true>(to, x, y, end - begin));
    } else {
      HEARTH_LOOPS_CALL(triad<false>(to, x, y, end - begin));
    }
  });
}

void polynomial_loop(Floats& out, const Floats& a, const Floats& b, const Floats& c,
                     const Floats& d, Store store) {
  in_pieces(a.size(), [&](std::int64_t begin, std::int64_t end) {
    float* to = out.data() + begin;
    const float* w = a.data() + begin;
    const float* x = b.data() + begin;
    const float* y = c.data() + begin;
    const float* z = d.data() + begin;
    if (store == Store::streaming) {
      HEARTH_LOOPS_CALL(polynomial<true>(to, w, x, y, z, end - begin));
    } else {
      HEARTH_LOOPS_CALL(polynomial<false>(to, w, x, y, z, end - begin));
    }
  });
}

void transcendental_loop(Floats& out, const Floats& a, const Floats& b, Store store) {
  in_pieces(a.size(), [&](std::int64_t begin, std::int64_t end) {
    if (store == Store::streaming) {
      run_transcendental<true>(out.data() + begin, a.data() + begin, b.data() + begin, end - begin);
    } else {
      run_transcendental<false>(out.data() + begin, a.data() + begin, b.data() + begin,
                                end - begin);
    }
  });
}

bool has_vector_math(const std::string& function) { return find_vector_math(function) != nullptr; }

void vector_math(const std::string& function, Floats& out, const Floats& a) {
#if HEARTH_LOOPS_X86
  void* const found = find_vector_math(function);
  if (found == nullptr) return;
  if (level() == Level::avx512) {
    avx512::map(out.data(), a.data(), a.size(), reinterpret_cast<avx512::Function>(found));
  } else {
    avx2::map(out.data(), a.data(), a.size(), reinterpret_cast<avx2::Function>(found));
  }
#else
  static_cast<void>(function);
  static_cast<void>(out);
  static_cast<void>(a);
#endif
}

std::vector<Contestant> both_stores(const std::string& name, std::function<void(Store)> loop) {
  return {timed(name, [loop] { loop(Store::ordinary); }),
          timed(name + ", streaming stores", [loop] { loop(Store::streaming); })};
}

}  // namespace hearth::tools
