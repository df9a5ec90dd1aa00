// Matrix products by cuBLASLt.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "devices/cuda/cublas/cublas_lt.h"
#include "kernels/matmul/problem.h"

namespace hearth::cuda {

// One gpu::MatmulProblem. The library works column by column, so it is asked for the transposes:
// c' = b' a', which are the same bytes.
//
// Which of the library's algorithms runs is for the tuner to say, when the problem is first met:
// what its heuristic ranks first, unless another is clearly faster. That depends on how the
// operands are aligned, and is kept on disk, so that a program computes the same bits whenever it
// runs. Sums of parts of k are kept in the type of the sums.
class CublasMatmul final : public LibraryFunction {
 public:
  CublasMatmul(CublasLt& library, Context& context, const runtime::LibraryCall& call,
               runtime::Autotuner& tuner);
  ~CublasMatmul() override;
  CublasMatmul(const CublasMatmul&) = delete;
  CublasMatmul& operator=(const CublasMatmul&) = delete;

  void make_ready(const runtime::Command& command) const override { algorithm_for(command); }
  void enqueue(const runtime::Command& command, Stream stream) const override;

 private:
  using Algorithm = CublasLtApi::Algorithm;
  using Alignment = std::array<std::uint32_t, 5>;  // bytes: of a, b, c, residual and bias
  struct Operands {
    const void* a;
    const void* b;
    const void* bias;      // null where there is none
    const void* residual;  // c where there is none
    void* c;
    void* workspace;
  };
  struct Choice {
    Alignment alignment;
    Algorithm algorithm;
  };

  void describe();
  void release() noexcept;
  CublasLtApi::Layout layout(std::int64_t rows, std::int64_t columns,
                             const gpu::MatmulProblem::Matrix& matrix) const;
  CublasLtApi::Status run(const Algorithm& algorithm, const Operands& operands,
                          Stream stream) const;

  Operands operands_of(const runtime::Command& command) const;
  // Algorithms are sought for where it lies, too.
  void set_bias(const void* bias) const;
  const Algorithm& algorithm_for(const runtime::Command& command) const;
  Algorithm choose(const Operands& operands, const Alignment& alignment) const;
  // The class of the problem, for the tuner: all that the selected algorithm depends on.
  std::string text(const Alignment& alignment) const;
  // Whether the library takes it, with no more workspace than there is.
  bool runs(const Algorithm& algorithm) const;
  std::vector<Algorithm> candidates(const Alignment& alignment) const;
  // Adds what was found with k in parts, where it leaves some of the card idle.
  void add_split(std::span<const CublasLtApi::Candidate> found,
                 std::vector<Algorithm>& usable) const;
  int parts_of(
      const Algorithm& algorithm) const;  // not always a number: -1 is one of the library's
  bool set_parts(Algorithm& algorithm, int parts) const;
  bool can_split(const Algorithm& algorithm) const;
  // Of each, with random factors. Empty where there is not memory enough.
  std::optional<runtime::CandidateSeconds> seconds_of(const std::vector<Algorithm>& candidates,
                                                      const Operands& operands) const;

  CublasLt& library_;
  const runtime::LibraryCall call_;
  const gpu::MatmulProblem problem_;
  runtime::Autotuner& tuner_;
  CublasLtApi::Description description_ = nullptr;
  CublasLtApi::Layout a_ = nullptr, b_ = nullptr, c_ = nullptr;
  mutable std::vector<Choice> choices_;
};

}  // namespace hearth::cuda
