// Which algorithm of cuBLASLt computes a product: remembered, or measured.
#include <algorithm>
#include <array>
#include <charconv>
#include <cinttypes>
#include <cstdio>

#include "devices/cuda/cublas/cublas_matmul.h"
#include "devices/cuda/driver/trial_runs.h"
#include "hearth/error.h"
#include "runtime/compile/source_hash.h"
#include "runtime/trace/timeline.h"

namespace hearth::cuda {
namespace {

using Api = CublasLtApi;
using Status = Api::Status;

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
  const TrialOperands own(
      context(), dtype,
      {bytes_of(problem_.m, problem_.k, problem_.a), bytes_of(problem_.k, problem_.n, problem_.b),
       bytes_of(problem_.m, problem_.n, problem_.c)});
  if (!own) return std::nullopt;
  Operands measured = operands;
  measured.a = own.a.address();
  measured.b = own.b.address();
  if (problem_.has_residual == 0 || measured.residual == measured.c) {
    measured.residual = own.c.address();
  }
  measured.c = own.c.address();
  return time_candidates(context(), candidates.size(), [&](std::size_t i, Stream stream) {
    return run(candidates[i], measured, stream) == Status::success;
  });
}

}  // namespace hearth::cuda
