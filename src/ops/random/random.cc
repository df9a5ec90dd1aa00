// Counter-based random numbers; the kernels follow include/hearth/random.h.

#include "hearth/random.h"
#include "core/number_text.h"
#include "core/throw_as.h"

#include <atomic>
#include <cmath>
#include <mutex>
#include <numeric>
#include <string>
#include <vector>

#include "core/float_limits.h"
#include "core/hashing.h"
#include "core/philox.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"
#include "runtime/memory/host_vector.h"

namespace hearth {

namespace {

constexpr ParamSpec kBits[] = {{.name = "shape", .type = ParamType::i64_list, .range = "[0, 2^60)"},
                               {"dtype", ParamType::dtype},
                               {.name = "seed", .type = ParamType::i64, .dynamic = true},
                               {.name = "counter", .type = ParamType::i64, .dynamic = true}};
constexpr ParamSpec kUniform[] = {
    {.name = "shape", .type = ParamType::i64_list, .range = "[0, 2^60)"},
    {"dtype", ParamType::dtype},
    {.name = "seed", .type = ParamType::i64, .dynamic = true},
    {.name = "counter", .type = ParamType::i64, .dynamic = true},
    {.name = "low", .type = ParamType::f64, .dynamic = true, .range = "finite"},
    {.name = "high", .type = ParamType::f64, .dynamic = true, .range = "[low, inf)"}};
constexpr ParamSpec kNormal[] = {
    {.name = "shape", .type = ParamType::i64_list, .range = "[0, 2^60)"},
    {"dtype", ParamType::dtype},
    {.name = "seed", .type = ParamType::i64, .dynamic = true},
    {.name = "counter", .type = ParamType::i64, .dynamic = true},
    {.name = "mean", .type = ParamType::f64, .dynamic = true, .range = "finite"},
    {.name = "deviation", .type = ParamType::f64, .dynamic = true, .range = "[0, inf)"}};
constexpr ParamSpec kBernoulli[] = {
    {.name = "shape", .type = ParamType::i64_list, .range = "[0, 2^60)"},
    {"dtype", ParamType::dtype},
    {.name = "seed", .type = ParamType::i64, .dynamic = true},
    {.name = "counter", .type = ParamType::i64, .dynamic = true},
    {.name = "probability", .type = ParamType::f64, .dynamic = true, .range = "[0, 1]"}};
constexpr ParamSpec kIntegers[] = {
    {.name = "shape", .type = ParamType::i64_list, .range = "[0, 2^60)"},
    {"dtype", ParamType::dtype},
    {.name = "seed", .type = ParamType::i64, .dynamic = true},
    {.name = "counter", .type = ParamType::i64, .dynamic = true},
    {.name = "low", .type = ParamType::i64, .dynamic = true},
    {.name = "high", .type = ParamType::i64, .dynamic = true, .range = "(low, 2^63)"}};

// The words after seed and counter.
constexpr int kFirstWord = 2;
constexpr int kSecondWord = 3;

double real(const Inference& inference, int i) {
  return dynamic_f64(inference.params.dynamics()[i]);
}

bool is_random_word(DType dtype) { return dtype == DType::u32 || dtype == DType::u64; }
bool any_dtype(DType) { return true; }

void infer_drawn(Inference& inference) {
  ParamReader statics(inference.params.statics().span());
  inference.shape = statics.list();
  inference.dtype = inference.scalar_dtype = statics.dtype();
  check_shape(inference.op.name.text, inference.shape);
  if (inference.op.accepts_dtype(inference.dtype)) return;
  std::string expected;
  for (int i = 0; i < kDTypeCount; ++i) {
    if (!inference.op.accepts_dtype(static_cast<DType>(i))) continue;
    if (!expected.empty()) expected += ", ";
    expected += name(static_cast<DType>(i));
  }
  inference.fail(ErrorCode::dtype, "dtype not supported; got " +
                                       std::string(name(inference.dtype)) + ", expected one of " +
                                       expected);
}

// Whether kernels can work out high - low, in f64 or else in f32.
bool has_width(DType dtype, double low, double high) {
  if (dtype == DType::f64) return std::isfinite(high - low);
  return std::isfinite(static_cast<float>(high) - static_cast<float>(low));
}

void infer_uniform(Inference& inference) {
  infer_drawn(inference);
  const double low = real(inference, kFirstWord);
  const double high = real(inference, kSecondWord);
  const auto got = [&] {
    return "; got low " + number_text(low) + " and high " + number_text(high);
  };
  if (!std::isfinite(low) || !std::isfinite(high) || low > high) {
    inference.fail(ErrorCode::invalid_argument,
                   "no range" + got() + ", expected numbers with low <= high");
  }
  const double largest = largest_finite(inference.dtype);
  if (std::abs(low) > largest || std::abs(high) > largest ||
      !has_width(inference.dtype, low, high)) {
    inference.fail(ErrorCode::invalid_argument,
                   "range does not fit " + std::string(name(inference.dtype)) + got() +
                       ", expected finite bounds that are a finite distance apart");
  }
}

void infer_normal(Inference& inference) {
  infer_drawn(inference);
  const double mean = real(inference, kFirstWord);
  const double deviation = real(inference, kSecondWord);
  if (std::isfinite(mean) && std::isfinite(deviation) && deviation >= 0) return;
  inference.fail(ErrorCode::invalid_argument, "no distribution; got mean " + number_text(mean) +
                                                  " and deviation " + number_text(deviation) +
                                                  ", expected numbers, and deviation >= 0");
}

void infer_bernoulli(Inference& inference) {
  infer_drawn(inference);
  const double probability = real(inference, kFirstWord);
  if (probability >= 0 && probability <= 1) return;
  inference.fail(ErrorCode::invalid_argument, "probability out of range; got " +
                                                  number_text(probability) +
                                                  ", expected a number from 0 to 1");
}

void infer_integers(Inference& inference) {
  infer_drawn(inference);
  const std::int64_t low = dynamic_i64(inference.params.dynamics()[kFirstWord]);
  const std::int64_t high = dynamic_i64(inference.params.dynamics()[kSecondWord]);
  if (low >= high) {
    inference.fail(ErrorCode::invalid_argument, "range is empty; got low " + number_text(low) +
                                                    " and high " + number_text(high) +
                                                    ", expected low < high");
  }
  const IntegerLimits limits = integer_limits(inference.dtype);
  if (low < limits.least || high - 1 > limits.highest) {
    inference.fail(ErrorCode::invalid_argument,
                   "range does not fit " + std::string(name(inference.dtype)) + "; got low " +
                       number_text(low) + " and high " + number_text(high) +
                       ", expected values from " + std::to_string(limits.least) + " to " +
                       std::to_string(limits.highest));
  }
}

Params drawn(const Shape& shape, DType dtype, std::uint64_t seed, std::uint64_t counter) {
  Params params;
  params.list(shape).dtype(dtype);
  params.dynamic_i64(static_cast<std::int64_t>(seed));
  params.dynamic_i64(static_cast<std::int64_t>(counter));
  return params;
}

// Draws with `params` appended by `add`; the generator moves on only if the op was recorded.
template <class Add>
Array draw(const OpDef& op, const Shape& shape, DType dtype, Device device, Generator* source,
           Add add) {
  Generator& from = source != nullptr ? *source : generator();
  Params params = drawn(shape, dtype, from.seed, from.counter);
  add(params);
  Array result = record(op, {}, params, &device);
  ++from.counter;
  return result;
}

// ---- The generator of a thread

struct Process {
  std::mutex mutex;
  std::uint64_t seed = 0;               // under the mutex
  std::atomic<std::uint64_t> epoch{0};  // grows with every seed(); written under the mutex
  std::atomic<std::uint64_t> threads{0};
};

Process& process() {
  static auto* process = new Process;
  return *process;
}

struct ThreadGenerator {
  Generator generator;
  std::uint64_t index = process().threads.fetch_add(1);
  std::uint64_t epoch = ~std::uint64_t{0};
};

ThreadGenerator& thread_generator() {
  thread_local ThreadGenerator local;
  return local;
}

std::vector<SampleCase> bits_samples() {
  return {
      {{}, drawn({5}, DType::u32, 1, 2)},
      {{}, drawn({3, 7}, DType::u64, 1, 2)},
      {{}, drawn({0}, DType::u32, 1, 2)},
      {{}, drawn({}, DType::u32, 1, 2)},
      {{}, drawn({5}, DType::f32, 1, 2), kDTypeError},
      {{}, drawn({-1}, DType::u32, 1, 2), kShapeError},
  };
}

Params with(Params params, double a, double b) { return params.dynamic_f64(a).dynamic_f64(b); }

std::vector<SampleCase> uniform_samples() {
  std::vector<SampleCase> samples;
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    samples.push_back({{}, with(drawn({3, 5}, dtype, 1, 2), -1, 2)});
  }
  samples.push_back({{}, with(drawn({3}, DType::f32, 1, 2), 2, -1), kArgumentError});
  samples.push_back({{}, with(drawn({3}, DType::f32, 1, 2), -3e38, 3e38), kArgumentError});
  samples.push_back({{}, with(drawn({3}, DType::i32, 1, 2), 0, 1), kDTypeError});
  return samples;
}

std::vector<SampleCase> normal_samples() {
  std::vector<SampleCase> samples;
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    samples.push_back({{}, with(drawn({3, 5}, dtype, 1, 2), 1, 2)});
  }
  samples.push_back({{}, with(drawn({3}, DType::f32, 1, 2), 0, -1), kArgumentError});
  return samples;
}

std::vector<SampleCase> bernoulli_samples() {
  std::vector<SampleCase> samples;
  for (const DType dtype : {DType::bool_, DType::f32, DType::bf16, DType::i64, DType::u8}) {
    samples.push_back({{}, drawn({3, 5}, dtype, 1, 2).dynamic_f64(0.25)});
  }
  samples.push_back({{}, drawn({3000}, DType::u8, 1, 2).dynamic_f64(0x1p-13)});
  samples.push_back({{}, drawn({3}, DType::f32, 1, 2).dynamic_f64(1.5), kArgumentError});
  return samples;
}

std::vector<SampleCase> integers_samples() {
  std::vector<SampleCase> samples;
  for (const DType dtype : {DType::i64, DType::i32, DType::u8, DType::u64}) {
    samples.push_back({{}, drawn({3, 5}, dtype, 1, 2).dynamic_i64(3).dynamic_i64(90)});
  }
  samples.push_back(
      {{}, drawn({3}, DType::u8, 1, 2).dynamic_i64(-1).dynamic_i64(9), kArgumentError});
  samples.push_back(
      {{}, drawn({3}, DType::i64, 1, 2).dynamic_i64(9).dynamic_i64(9), kArgumentError});
  return samples;
}

}  // namespace

constinit const OpDef defs::random_bits_op = {
    .name = "random_bits",
    .summary = "Raw words of Philox4x32-10.",
    .shapes = "-> [shape]",
    .method = "",
    .kind = OpKind::random,
    .params = kBits,
    .min_inputs = 0,
    .max_inputs = 0,
    .infer = infer_drawn,
    .differentiable = false,
    .accepts_dtype = is_random_word,
    .samples = bits_samples,
};

constinit const OpDef defs::random_uniform_op = {
    .name = "random_uniform",
    .summary = "Uniform numbers in [low, high).",
    .shapes = "-> [shape]",
    .method = "",
    .kind = OpKind::random,
    .params = kUniform,
    .min_inputs = 0,
    .max_inputs = 0,
    .infer = infer_uniform,
    .differentiable = false,
    .accepts_dtype = is_float,
    .samples = uniform_samples,
};

constinit const OpDef defs::random_normal_op = {
    .name = "random_normal",
    .summary = "Normally distributed numbers.",
    .shapes = "-> [shape]",
    .method = "",
    .kind = OpKind::random,
    .params = kNormal,
    .min_inputs = 0,
    .max_inputs = 0,
    .infer = infer_normal,
    .differentiable = false,
    .accepts_dtype = is_float,
    .samples = normal_samples,
};

constinit const OpDef defs::random_bernoulli_op = {
    .name = "random_bernoulli",
    .revision = 2,
    .summary = "1 with a probability, else 0.",
    .shapes = "-> [shape]",
    .method = "",
    .kind = OpKind::random,
    .params = kBernoulli,
    .min_inputs = 0,
    .max_inputs = 0,
    .infer = infer_bernoulli,
    .differentiable = false,
    .accepts_dtype = any_dtype,
    .samples = bernoulli_samples,
};

constinit const OpDef defs::random_integers_op = {
    .name = "random_integers",
    .summary = "Uniform integers in [low, high).",
    .shapes = "-> [shape]",
    .method = "",
    .kind = OpKind::random,
    .params = kIntegers,
    .min_inputs = 0,
    .max_inputs = 0,
    .infer = infer_integers,
    .differentiable = false,
    .accepts_dtype = is_int,
    .samples = integers_samples,
};

inline namespace v0 {

Generator& generator() {
  ThreadGenerator& local = thread_generator();
  Process& shared = process();
  if (local.epoch != shared.epoch.load(std::memory_order_acquire)) {
    const std::lock_guard lock(shared.mutex);
    local.generator = {splitmix64(shared.seed + kSplitMix64Step * local.index), 0};
    local.epoch = shared.epoch.load(std::memory_order_relaxed);
  }
  return local.generator;
}

void seed(std::uint64_t value) {
  ThreadGenerator& local = thread_generator();
  Process& shared = process();
  const std::lock_guard lock(shared.mutex);
  shared.seed = value;
  local.epoch = shared.epoch.load(std::memory_order_relaxed) + 1;
  shared.epoch.store(local.epoch, std::memory_order_release);
  local.generator = {value, 0};
}

Array random_uniform(const Shape& shape, double low, double high, DType dtype, Device device,
                     Generator* source) {
  return draw(defs::random_uniform_op, shape, dtype, device, source,
              [&](Params& params) { params.dynamic_f64(low).dynamic_f64(high); });
}

Array random_normal(const Shape& shape, double mean, double deviation, DType dtype, Device device,
                    Generator* source) {
  return draw(defs::random_normal_op, shape, dtype, device, source,
              [&](Params& params) { params.dynamic_f64(mean).dynamic_f64(deviation); });
}

Array random_bernoulli(const Shape& shape, double probability, DType dtype, Device device,
                       Generator* source) {
  return draw(defs::random_bernoulli_op, shape, dtype, device, source,
              [&](Params& params) { params.dynamic_f64(probability); });
}

Array random_integers(const Shape& shape, std::int64_t low, std::int64_t high, DType dtype,
                      Device device, Generator* source) {
  return draw(defs::random_integers_op, shape, dtype, device, source,
              [&](Params& params) { params.dynamic_i64(low).dynamic_i64(high); });
}

Array random_bits(const Shape& shape, DType dtype, Device device, Generator* source) {
  return draw(defs::random_bits_op, shape, dtype, device, source, [](Params&) {});
}

Array random_permutation(std::int64_t count, DType dtype, Device device, Generator* source) {
  if (count < 0) {
    throw Error(ErrorCode::invalid_argument, "random_permutation: negative count; got " +
                                                 std::to_string(count) + ", expected at least 0");
  }
  if (dtype != DType::i64 && dtype != DType::i32) {
    throw Error(ErrorCode::dtype, "random_permutation: dtype not supported; got " +
                                      std::string(name(dtype)) + ", expected one of i64, i32");
  }
  const std::int64_t highest = integer_limits(dtype).highest;
  if (count - 1 > highest) {
    throw Error(ErrorCode::dtype, "random_permutation: count does not fit i32; got " +
                                      std::to_string(count) + ", expected values up to " +
                                      std::to_string(highest));
  }
  Generator& from = source != nullptr ? *source : generator();
  const auto permuted = [&]<class T>(T zero) {
    std::vector<T> order = host_vector<T>("random_permutation", count, device);
    std::iota(order.begin(), order.end(), zero);
    philox_shuffle(from.seed, from.counter, order.data(), static_cast<std::uint64_t>(count));
    return Array::from_data(order, {count}, device);
  };
  Array result = dtype == DType::i64 ? permuted(std::int64_t{}) : permuted(std::int32_t{});
  ++from.counter;
  return result;
}

}  // namespace v0
}  // namespace hearth
