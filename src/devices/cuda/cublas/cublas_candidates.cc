// Which algorithms of cuBLASLt are measured for a product.
#include <algorithm>

#include "devices/cuda/cublas/cublas_matmul.h"

namespace hearth::cuda {
namespace {

using Api = CublasLtApi;
using Status = Api::Status;

constexpr int kCandidates = 8;
// Where no algorithm of the library splits k, one that fills less than kIdle of the card is also
// tried with k split, until it fills the card about kMaxFillings times, in parts of
// kMinPartLength elements at least.
constexpr float kIdle = 0.8F;
constexpr std::array kParts{2, 4, 8, 16, 32};
constexpr float kMaxFillings = 4;
constexpr std::int64_t kMinPartLength = 64;

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
  add_split({found.data(), static_cast<std::size_t>(count)}, usable);
  return usable;
}

void CublasMatmul::add_split(std::span<const Api::Candidate> found,
                             std::vector<Algorithm>& usable) const {
  const auto is_split = [&](const Algorithm& algorithm) { return parts_of(algorithm) != 1; };
  if (std::any_of(usable.begin(), usable.end(), is_split)) return;
  for (const Api::Candidate& each : found) {
    if (each.state != Status::success || each.waves <= 0 || each.waves > kIdle ||
        !can_split(each.algorithm)) {
      continue;
    }
    for (const int parts : kParts) {
      if (static_cast<float>(parts) * each.waves > kMaxFillings ||
          problem_.k < parts * kMinPartLength) {
        break;
      }
      Algorithm algorithm = each.algorithm;
      if (set_parts(algorithm, parts) && runs(algorithm)) usable.push_back(algorithm);
    }
  }
}

int CublasMatmul::parts_of(const Algorithm& algorithm) const {
  std::int32_t parts = 1;
  std::size_t written = 0;
  const Status status = library_.api().cublasLtMatmulAlgoConfigGetAttribute(
      &algorithm, Api::AlgorithmAttribute::splits, &parts, sizeof parts, &written);
  return status == Status::success ? parts : 1;
}

bool CublasMatmul::set_parts(Algorithm& algorithm, int parts) const {
  const auto set = [&](Api::AlgorithmAttribute attribute, const auto& value) {
    return library_.api().cublasLtMatmulAlgoConfigSetAttribute(&algorithm, attribute, &value,
                                                               sizeof value) == Status::success;
  };
  return set(Api::AlgorithmAttribute::splits, std::int32_t{parts}) &&
         set(Api::AlgorithmAttribute::reduction, Api::kReductionComputeType);
}

bool CublasMatmul::can_split(const Algorithm& algorithm) const {
  const auto get = [&](Api::Capability capability) {
    std::uint32_t value = 0;
    std::size_t written = 0;
    const Status status = library_.api().cublasLtMatmulAlgoCapGetAttribute(
        &algorithm, capability, &value, sizeof value, &written);
    return status == Status::success ? value : 0;
  };
  return get(Api::Capability::splits) != 0 &&
         (get(Api::Capability::reductions) & Api::kReductionComputeType) != 0;
}

}  // namespace hearth::cuda
