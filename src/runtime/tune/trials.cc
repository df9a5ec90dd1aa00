#include "runtime/tune/trials.h"

#include <algorithm>
#include <random>
#include <span>

namespace hearth {
inline namespace v0 {
namespace runtime {
namespace {

// A prime, so that rows of a matrix differ.
constexpr std::size_t kNumbers = 8191;

template <class T>
std::vector<std::byte> numbers_of() {
  std::mt19937 bits(1);
  std::normal_distribution<float> normal;
  std::vector<T> values(kNumbers);
  for (T& value : values) value = T(normal(bits));
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

bool Trials::runs_next(std::size_t candidate) const {
  const std::vector<double>& took = seconds_[candidate];
  return took.empty() || (warm_ && candidate == 0) ||
         *std::min_element(took.begin(), took.end()) <= far_behind_ * fastest_;
}

void Trials::add(std::size_t candidate, double seconds) {
  seconds_[candidate].push_back(seconds);
  fastest_ = std::min(fastest_, seconds);
}

CandidateSeconds Trials::middles() const {
  CandidateSeconds all;
  for (std::vector<double> took : seconds_) {
    // In its first run a kernel meets its memory for the first time.
    if (!warm_ && took.size() > 1) took.erase(took.begin());
    std::sort(took.begin(), took.end());
    all.push_back(took.empty() ? std::nullopt : std::optional(took[took.size() / 2]));
  }
  return all;
}

std::vector<std::byte> trial_numbers(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return numbers_of<double>();
    case DType::f32:
      return numbers_of<float>();
    case DType::f16:
      return numbers_of<float16>();
    case DType::bf16:
      return numbers_of<bfloat16>();
    default:
      return {};
  }
}

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
