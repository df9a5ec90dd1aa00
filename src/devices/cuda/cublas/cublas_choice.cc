// Which algorithm of cuBLASLt computes a product: remembered, or measured.
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <deque>

#include "devices/cuda/cublas/cublas_matmul.h"
#include "devices/cuda/driver/stopwatch.h"
#include "hearth/error.h"
#include "runtime/compile/source_hash.h"
#include "runtime/trace/timeline.h"
#include "runtime/tune/trials.h"

namespace hearth::cuda {
namespace {

using Api = CublasLtApi;
using Status = Api::Status;

// One that takes more than this share of the fastest's time is measured once only.
constexpr double kFarBehind = 1.2;
// A product that takes longer than this is left to the library's heuristic.
constexpr double kMaxSeconds = 5e-3;
// Of the runs that are measured as one, and of all measuring of one problem, about.
constexpr double kRunSeconds = 100e-6;
constexpr auto kMeasuring = std::chrono::milliseconds(100);
constexpr int kMaxRepetitions = 20;
constexpr int kRounds = 5;

// What products are measured on, in pinned memory.
class TrialNumbers {
 public:
  TrialNumbers(Context& context, DType dtype) : context_(context) {
    const std::vector<std::byte> numbers = runtime::trial_numbers(dtype);
    bytes_ = numbers.size();
    context.check(context.api().cuMemHostAlloc(&memory_, bytes_, 0), "cuMemHostAlloc");
    std::memcpy(memory_, numbers.data(), bytes_);
  }
  // Once nothing queued reads them any more.
  ~TrialNumbers() { context_.api().cuMemFreeHost(memory_); }
  TrialNumbers(const TrialNumbers&) = delete;
  TrialNumbers& operator=(const TrialNumbers&) = delete;

  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(memory_), bytes_};
  }

 private:
  Context& context_;
  std::size_t bytes_ = 0;
  void* memory_ = nullptr;
};

// "cublas/", then the algorithm's words, so that a name says all of it.
constexpr std::string_view kFamily = "cublas/";

std::string name_of(const Api::Algorithm& algorithm) {
  std::string name(kFamily);
  for (const std::uint64_t word : algorithm.data) {
    std::array<char, 20> text{};
    std::snprintf(text.data(), text.size(), "%" PRIx64 ".", word);
    name += text.data();
  }
  name.pop_back();
  return name;
}

// The algorithm that a name says; nothing where it is no such name.
std::optional<Api::Algorithm> algorithm_named(std::string_view name) {
  if (!name.starts_with(kFamily)) return std::nullopt;
  const char* at = name.data() + kFamily.size();
  const char* const end = name.data() + name.size();
  Api::Algorithm algorithm;
  for (std::size_t i = 0; i < algorithm.data.size(); ++i) {
    const auto [next, error] = std::from_chars(at, end, algorithm.data[i], 16);
    const bool is_last = i + 1 == algorithm.data.size();
    if (error != std::errc() || (is_last ? next != end : next == end || *next != '.')) {
      return std::nullopt;
    }
    at = is_last ? next : next + 1;
  }
  return algorithm;
}

// Memory for results that nobody reads, and for factors.
class Scratch {
 public:
  Scratch(Context& context, std::int64_t bytes) : context_(context), bytes_(bytes) {
    is_there_ =
        context.api().cuMemAlloc_v2(&address_, static_cast<std::size_t>(bytes)) == Result::success;
  }
  ~Scratch() {
    if (is_there_) context_.api().cuMemFree_v2(address_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  explicit operator bool() const noexcept { return is_there_; }
  void* address() const noexcept {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address_));
  }

  // Repeats `values`, which are pinned, all over it.
  void fill(std::span<const std::byte> values) const {
    const DriverApi& api = context_.api();
    const auto bytes = static_cast<std::size_t>(bytes_);
    std::size_t filled = std::min(values.size(), bytes);
    context_.check(api.cuMemcpyHtoDAsync_v2(address_, values.data(), filled, context_.stream()),
                   "cuMemcpyHtoDAsync");
    while (filled < bytes) {
      const std::size_t more = std::min(filled, bytes - filled);
      context_.check(api.cuMemcpyDtoDAsync_v2(address_ + filled, address_, more, context_.stream()),
                     "cuMemcpyDtoDAsync");
      filled += more;
    }
  }

 private:
  Context& context_;
  std::int64_t bytes_;
  DevicePointer address_ = 0;
  bool is_there_ = false;
};

// A recorded stream as something to launch: without it the host's calls would be measured where
// products are small.
class Repetition {
 public:
  template <class Queue>
  Repetition(Context& context, Queue queue) : context_(context) {
    const DriverApi& api = context.api();
    const Stream stream = context.recording_stream();
    context.check(api.cuStreamBeginCapture_v2(stream, CaptureMode::relaxed),
                  "cuStreamBeginCapture");
    const bool is_queued = queue(stream);
    const Result ended = api.cuStreamEndCapture(stream, &graph_);
    if (!is_queued || ended != Result::success) return;
    if (api.cuGraphInstantiateWithFlags(&exec_, graph_, 0) != Result::success) exec_ = nullptr;
  }
  ~Repetition() {
    if (exec_ != nullptr) context_.api().cuGraphExecDestroy(exec_);
    if (graph_ != nullptr) context_.api().cuGraphDestroy(graph_);
  }
  Repetition(const Repetition&) = delete;
  Repetition& operator=(const Repetition&) = delete;
  explicit operator bool() const noexcept { return exec_ != nullptr; }
  void launch() {
    context_.check(context_.api().cuGraphLaunch(exec_, context_.stream()), "cuGraphLaunch");
  }

 private:
  Context& context_;
  Graph graph_ = nullptr;
  GraphExec exec_ = nullptr;
};

// What each repetition takes. All of a round are queued before the host waits: the card would wait
// for the host between small ones.
runtime::CandidateSeconds measure(Context& context, std::deque<Repetition>& repetitions) {
  const auto begin = std::chrono::steady_clock::now();
  for (Repetition& each : repetitions) each.launch();  // loads the kernel
  runtime::Trials trials(repetitions.size(), kFarBehind, true);
  for (int round = 0; round < kRounds; ++round) {
    Stopwatch stopwatch(context);
    stopwatch.mark();
    std::vector<std::size_t> measured;
    for (std::size_t i = 0; i < repetitions.size(); ++i) {
      if (!trials.runs_next(i)) continue;
      measured.push_back(i);
      repetitions[i].launch();
      stopwatch.mark();
    }
    context.wait();
    const std::vector<double> took = stopwatch.seconds();
    for (std::size_t i = 0; i < measured.size(); ++i) trials.add(measured[i], took[i]);
    if (std::chrono::steady_clock::now() - begin > kMeasuring) break;
  }
  return trials.middles();
}

}  // namespace

Api::Algorithm CublasMatmul::choose(const Operands& operands, const Alignment& alignment) const {
  const runtime::HostSpan span("choose product");
  set_bias(operands.bias);
  const std::string problem = text(alignment);
  // The library takes longer to say what it offers than to check what it offered before.
  if (const auto kept = tuner_.kept("matmul", problem)) {
    if (const auto known = algorithm_named(kept->chosen); known && runs(*known)) return *known;
  }
  const std::vector<Algorithm> offered = candidates(alignment);
  if (offered.size() == 1) return offered.front();
  std::vector<std::string> names;
  for (const Algorithm& each : offered) names.push_back(name_of(each));
  const auto kept =
      tuner_.times("matmul", problem, names, [&] { return seconds_of(offered, operands); });
  if (!kept) return offered.front();
  const auto chosen = std::find(names.begin(), names.end(), kept->chosen);
  return chosen == names.end() ? offered.front()
                               : offered[static_cast<std::size_t>(chosen - names.begin())];
}

std::string CublasMatmul::text(const Alignment& alignment) const {
  const gpu::MatmulProblem& of = problem_;
  std::string text = std::string(hearth::name(static_cast<DType>(of.dtype)));
  const auto add = [&text](const char* what, std::int64_t value) {
    text += std::string(" ") + what + std::to_string(value);
  };
  if (of.tf32 != 0) text += " tf32";
  add("m", of.m);
  add("n", of.n);
  add("k", of.k);
  add("b", of.batches);
  for (const gpu::MatmulProblem::Matrix* matrix : {&of.a, &of.b, &of.c}) {
    add(matrix->transposed != 0 ? "t" : "n", matrix->stride);
    add("+", matrix->batch_stride);
  }
  if (of.has_bias != 0) text += " bias";
  if (of.has_residual != 0) text += " residual";
  if (of.activation != 0) add("activation", of.activation);
  add("workspace", of.workspace_bytes);
  text += " aligned";
  for (const std::uint32_t bytes : alignment) add("", bytes);
  return text + ", " + library_.version();
}

bool CublasMatmul::runs(const Algorithm& algorithm) const {
  Api::Candidate result;
  return library_.api().cublasLtMatmulAlgoCheck(library_.handle(), description_, b_, a_, c_, c_,
                                                &algorithm, &result) == Status::success &&
         result.workspace_bytes <= static_cast<std::size_t>(problem_.workspace_bytes);
}

std::optional<runtime::CandidateSeconds> CublasMatmul::seconds_of(
    const std::vector<Algorithm>& candidates, const Operands& operands) const {
  const auto dtype = static_cast<DType>(problem_.dtype);
  const auto bytes_of = [&](std::int64_t rows, std::int64_t columns,
                            const gpu::MatmulProblem::Matrix& matrix) {
    if (matrix.transposed != 0) std::swap(rows, columns);
    return ((problem_.batches - 1) * matrix.batch_stride + (rows - 1) * matrix.stride + columns) *
           size_of(dtype);
  };
  // The commands before this one have yet to make the factors, and may still need what lies where
  // its result will be.
  const Scratch a(context(), bytes_of(problem_.m, problem_.k, problem_.a)),
      b(context(), bytes_of(problem_.k, problem_.n, problem_.b)),
      c(context(), bytes_of(problem_.m, problem_.n, problem_.c));
  if (!a || !b || !c) return std::nullopt;
  {
    const TrialNumbers numbers(context(), dtype);
    a.fill(numbers.bytes());
    b.fill(numbers.bytes());
    context().wait();
  }
  Operands measured = operands;
  measured.a = a.address();
  measured.b = b.address();
  if (problem_.has_residual == 0 || measured.residual == measured.c) {
    measured.residual = c.address();
  }
  measured.c = c.address();

  // The library may offer what it then refuses.
  runtime::CandidateSeconds result(candidates.size());
  std::size_t first = 0;
  std::optional<double> once;
  while (first < candidates.size() && !(once = seconds(candidates[first], measured))) ++first;
  if (!once) return std::nullopt;
  result[first] = once;
  if (*once > kMaxSeconds) return result;
  const int repetitions = std::clamp(static_cast<int>(kRunSeconds / *once), 1, kMaxRepetitions);
  std::deque<Repetition> trials;
  std::vector<std::size_t> tried;
  for (std::size_t i = first; i < candidates.size(); ++i) {
    trials.emplace_back(context(), [&](Stream stream) {
      for (int k = 0; k < repetitions; ++k) {
        if (run(candidates[i], measured, stream) != Status::success) return false;
      }
      return true;
    });
    if (trials.back()) {
      tried.push_back(i);
    } else {
      trials.pop_back();
    }
  }
  const runtime::CandidateSeconds took = measure(context(), trials);
  for (std::size_t i = 0; i < tried.size(); ++i) result[tried[i]] = *took[i] / repetitions;
  return result;
}

std::optional<double> CublasMatmul::seconds(const Algorithm& algorithm,
                                            const Operands& operands) const {
  Repetition repetition(context(), [&](Stream stream) {
    return run(algorithm, operands, stream) == Status::success;
  });
  if (!repetition) return std::nullopt;
  repetition.launch();  // loads the kernel
  Stopwatch stopwatch(context());
  stopwatch.mark();
  repetition.launch();
  stopwatch.mark();
  context().wait();
  return stopwatch.seconds().front();
}

}  // namespace hearth::cuda
