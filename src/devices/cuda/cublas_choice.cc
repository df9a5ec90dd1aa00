// Which algorithm of cuBLASLt computes a product: remembered, or measured.
#include <algorithm>
#include <chrono>
#include <cstring>

#include "devices/cuda/cublas_matmul.h"
#include "devices/cuda/stopwatch.h"
#include "hearth/error.h"
#include "runtime/source_hash.h"

namespace hearth::cuda {
namespace {

using Api = CublasLtApi;
using Status = Api::Status;

constexpr int kCandidates = 8;
// Another algorithm than the library's first choice has to take less than this share of its time.
constexpr double kClearly = 0.98;
// A product that takes longer than this is left to the library's own choice.
constexpr double kLongestSeconds = 5e-3;
// Of the runs that are measured as one, and of all measuring of one problem, about.
constexpr double kRunSeconds = 100e-6;
constexpr auto kMeasuring = std::chrono::milliseconds(50);
constexpr int kMostRepetitions = 20;

// Memory for results that nobody reads.
class Scratch {
 public:
  Scratch(Context& context, std::int64_t bytes) : context_(context) {
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

 private:
  Context& context_;
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

class Preference {
 public:
  explicit Preference(CublasLt& library) : library_(library) {
    library_.check(library_.api().cublasLtMatmulPreferenceCreate(&preference_),
                   "cublasLtMatmulPreferenceCreate");
  }
  ~Preference() { library_.api().cublasLtMatmulPreferenceDestroy(preference_); }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;

  template <class T>
  void set(Api::PreferenceAttribute attribute, const T& value) {
    library_.check(library_.api().cublasLtMatmulPreferenceSetAttribute(preference_, attribute,
                                                                       &value, sizeof value),
                   "cublasLtMatmulPreferenceSetAttribute");
  }
  Api::Preference handle() const noexcept { return preference_; }

 private:
  CublasLt& library_;
  Api::Preference preference_ = nullptr;
};

}  // namespace

Api::Algorithm CublasMatmul::choose(const Operands& operands, const Alignment& alignment) const {
  std::string library = library_.version();
  for (const std::uint32_t bytes : alignment) library += " " + std::to_string(bytes);
  const runtime::SourceHash hash = runtime::hash_call(call_, library);
  if (const auto known = kept(hash)) return *known;
  set_bias(operands.bias);
  const std::vector<Algorithm> offered = candidates(alignment);
  if (offered.size() == 1) return offered.front();
  const auto best = fastest(offered, operands);
  if (!best) return offered.front();
  cache_.keep(hash, std::as_bytes(std::span(best->data)));
  return *best;
}

std::optional<Api::Algorithm> CublasMatmul::kept(const runtime::SourceHash& hash) const {
  const auto image = cache_.find(hash);
  Algorithm algorithm;
  if (!image || image->size() != sizeof algorithm.data) return std::nullopt;
  std::memcpy(algorithm.data.data(), image->data(), image->size());
  Api::Candidate result;
  if (library_.api().cublasLtMatmulAlgoCheck(library_.handle(), description_, b_, a_, c_, c_,
                                             &algorithm, &result) != Status::success ||
      result.workspace_bytes > static_cast<std::size_t>(problem_.workspace_bytes)) {
    return std::nullopt;
  }
  return algorithm;
}

std::vector<Api::Algorithm> CublasMatmul::candidates(const Alignment& alignment) const {
  using Attribute = Api::PreferenceAttribute;
  Preference preference(library_);
  preference.set(Attribute::most_workspace_bytes,
                 static_cast<std::size_t>(problem_.workspace_bytes));
  // Otherwise sums may be rounded to the result's type on the way.
  const bool is_narrow = size_of(static_cast<DType>(problem_.dtype)) < size_of(DType::f32);
  preference.set(Attribute::reductions,
                 is_narrow ? Api::kReductionComputeType : Api::kReductionAny);
  preference.set(Attribute::alignment_a, alignment[1]);
  preference.set(Attribute::alignment_b, alignment[0]);
  preference.set(Attribute::alignment_c, alignment[3]);
  preference.set(Attribute::alignment_d, alignment[2]);
  std::array<Api::Candidate, kCandidates> found;
  int count = 0;
  library_.check(library_.api().cublasLtMatmulAlgoGetHeuristic(library_.handle(), description_, b_,
                                                               a_, c_, c_, preference.handle(),
                                                               kCandidates, found.data(), &count),
                 "cublasLtMatmulAlgoGetHeuristic");
  std::vector<Algorithm> usable;
  for (int i = 0; i < count; ++i) {
    const Api::Candidate& each = found[static_cast<std::size_t>(i)];
    if (each.state == Status::success) usable.push_back(each.algorithm);
  }
  if (usable.empty()) library_.check(Status::not_supported, "cublasLtMatmulAlgoGetHeuristic");
  return usable;
}

std::optional<Api::Algorithm> CublasMatmul::fastest(const std::vector<Algorithm>& candidates,
                                                    const Operands& operands) const {
  // The commands before this one may still need what lies where its result will be.
  const std::int64_t elements =
      (problem_.batches - 1) * problem_.c.batch_stride + problem_.m * problem_.n;
  const Scratch scratch(context(), elements * size_of(static_cast<DType>(problem_.dtype)));
  if (!scratch) return std::nullopt;
  Operands measured = operands;
  measured.c = scratch.address();
  if (problem_.has_residual == 0) measured.residual = measured.c;
  const auto begin = std::chrono::steady_clock::now();
  // The library may offer what it then refuses.
  auto first = candidates.begin();
  std::optional<double> best;
  while (first != candidates.end() && !(best = seconds(*first, measured, 1))) ++first;
  if (!best || *best > kLongestSeconds) {
    return best ? std::optional(*first) : std::nullopt;
  }
  const int repetitions = std::clamp(static_cast<int>(kRunSeconds / *best), 1, kMostRepetitions);
  best = seconds(*first, measured, repetitions);
  if (!best) return std::nullopt;
  double limit = *best * kClearly;
  Algorithm chosen = *first;
  for (auto each = first + 1; each != candidates.end(); ++each) {
    if (std::chrono::steady_clock::now() - begin > kMeasuring) break;
    const auto took = seconds(*each, measured, repetitions);
    if (!took || *took >= limit) continue;
    limit = *took;
    chosen = *each;
  }
  return chosen;
}

std::optional<double> CublasMatmul::seconds(const Algorithm& algorithm, const Operands& operands,
                                            int repetitions) const {
  Repetition repetition(context(), [&](Stream stream) {
    for (int i = 0; i < repetitions; ++i) {
      if (run(algorithm, operands, stream) != Status::success) return false;
    }
    return true;
  });
  if (!repetition) return std::nullopt;
  repetition.launch();  // loads the kernel
  Stopwatch stopwatch(context());
  stopwatch.mark();
  for (int round = 0; round < 2; ++round) {
    repetition.launch();
    stopwatch.mark();
  }
  context().wait();
  const std::vector<double> took = stopwatch.seconds();
  return std::min(took[0], took[1]) / repetitions;
}

}  // namespace hearth::cuda
