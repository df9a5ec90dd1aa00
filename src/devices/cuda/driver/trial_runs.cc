#include "devices/cuda/driver/trial_runs.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <optional>
#include <vector>

#include "devices/cuda/driver/stopwatch.h"
#include "runtime/tune/trials.h"

namespace hearth::cuda {
namespace {

// One that takes more than this share of the fastest's time is measured once only.
constexpr double kFarBehind = 1.2;
// Where a call takes longer than this, each candidate runs once only.
constexpr double kMaxSeconds = 5e-3;
// Of the runs that are measured as one, and of all measuring of one problem, about.
constexpr double kRunSeconds = 100e-6;
constexpr auto kMeasuring = std::chrono::milliseconds(100);
constexpr int kMaxRepetitions = 20;
constexpr int kRounds = 5;

// What calls are measured on, in pinned memory.
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

// A recorded stream as something to launch: without it the host's calls would be measured where
// problems are small.
class Repetition {
 public:
  Repetition(Context& context, FunctionRef<bool(Stream)> queue) : context_(context) {
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

// Of one run; none where the library refuses it.
std::optional<double> seconds_once(Context& context, FunctionRef<bool(Stream)> queue) {
  Repetition repetition(context, queue);
  if (!repetition) return std::nullopt;
  repetition.launch();  // loads the kernel
  Stopwatch stopwatch(context);
  stopwatch.mark();
  repetition.launch();
  stopwatch.mark();
  context.wait();
  return stopwatch.seconds().front();
}

}  // namespace

TrialMemory::TrialMemory(Context& context, std::int64_t bytes) : context_(context), bytes_(bytes) {
  is_there_ =
      context.api().cuMemAlloc_v2(&address_, static_cast<std::size_t>(bytes)) == Result::success;
}

TrialMemory::~TrialMemory() {
  if (is_there_) context_.api().cuMemFree_v2(address_);
}

void TrialMemory::fill(std::span<const std::byte> values) const {
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

TrialOperands::TrialOperands(Context& context, DType dtype,
                             const std::array<std::int64_t, 3>& bytes)
    : a(context, bytes[0]), b(context, bytes[1]), c(context, bytes[2]) {
  if (!*this) return;
  const TrialNumbers numbers(context, dtype);
  for (const TrialMemory* each : {&a, &b}) each->fill(numbers.bytes());
  context.wait();
}

std::optional<runtime::CandidateSeconds> time_candidates(
    Context& context, std::size_t candidates, FunctionRef<bool(std::size_t, Stream)> queue) {
  runtime::CandidateSeconds result(candidates);
  std::size_t first = 0;
  std::optional<double> once;
  for (; first < candidates; ++first) {
    once = seconds_once(context, [&](Stream stream) { return queue(first, stream); });
    if (once) break;
  }
  if (!once) return std::nullopt;
  result[first] = once;
  if (*once > kMaxSeconds) {
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t i = first + 1; i < candidates; ++i) {
      if (std::chrono::steady_clock::now() - begin > kMeasuring) break;
      result[i] = seconds_once(context, [&](Stream stream) { return queue(i, stream); });
    }
    return result;
  }
  const int repetitions = std::clamp(static_cast<int>(kRunSeconds / *once), 1, kMaxRepetitions);
  std::deque<Repetition> trials;
  std::vector<std::size_t> tried;
  for (std::size_t i = first; i < candidates; ++i) {
    trials.emplace_back(context, [&](Stream stream) {
      for (int k = 0; k < repetitions; ++k) {
        if (!queue(i, stream)) return false;
      }
      return true;
    });
    if (trials.back()) {
      tried.push_back(i);
    } else {
      trials.pop_back();
    }
  }
  const runtime::CandidateSeconds took = measure(context, trials);
  for (std::size_t i = 0; i < tried.size(); ++i) result[tried[i]] = *took[i] / repetitions;
  return result;
}

}  // namespace hearth::cuda
