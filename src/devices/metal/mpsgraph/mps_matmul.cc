// gpu::MatmulProblem as a graph.
#include "devices/metal/mpsgraph/mps_program.h"
#include "kernels/matmul/epilogue.h"
#include "kernels/matmul/problem.h"

namespace hearth::metal {
namespace {

using gpu::MatmulProblem;

constexpr std::int64_t kMatmul = 0;  // no other program's words begin with it

MpsOperand operand_of(std::size_t parameter, const MatmulProblem::Matrix& matrix, std::int64_t rows,
                      std::int64_t columns, std::int64_t batches) {
  if (matrix.transposed != 0) {
    return mps_operand(parameter, {batches, rows, columns},
                       {matrix.batch_stride, 1, matrix.stride});
  }
  return mps_operand(parameter, {batches, rows, columns}, {matrix.batch_stride, matrix.stride, 1});
}

Id build_matmul(const MpsGraph& graph, const runtime::LibraryCall& call,
                const std::vector<Id>& inputs) {
  using Activation = gpu::MatmulEpilogue::Activation;
  const MatmulProblem p = gpu::matmul_problem(call);
  Id c = graph.matmul(inputs[0], inputs[1]);
  // Where both are the same for the whole batch, so is their product.
  if (p.batches > 1 && p.a.batch_stride == 0 && p.b.batch_stride == 0) {
    c = graph.broadcast(c, {static_cast<UInteger>(p.batches), static_cast<UInteger>(p.m),
                            static_cast<UInteger>(p.n)});
  }
  for (std::size_t i = 2; i < inputs.size(); ++i) c = graph.add(c, inputs[i]);
  switch (static_cast<Activation>(p.activation)) {
    case Activation::relu:
      return graph.relu(c);
    case Activation::gelu_tanh:
      return graph.gelu_tanh(c);
    case Activation::none:
      break;
  }
  return c;
}

}  // namespace

MpsProgram mps_matmul(const runtime::LibraryCall& call) {
  const MatmulProblem p = gpu::matmul_problem(call);
  MpsProgram program;
  program.dtype = static_cast<DType>(p.dtype);
  program.build = build_matmul;
  program.inputs = {operand_of(0, p.a, p.m, p.k, p.batches),
                    operand_of(1, p.b, p.k, p.n, p.batches)};
  std::size_t next = 2;
  if (p.has_bias != 0) program.inputs.push_back(mps_operand(next++, {1, 1, p.n}, {0, 0, 1}));
  program.result = operand_of(next, p.c, p.m, p.n, p.batches);
  if (p.has_residual != 0) {
    program.inputs.push_back(program.result);
    program.result.parameter = ++next;
  }
  // A matrix of the whole batch may be repeated for it.
  program.arrays = {{"a of the whole batch", {p.batches, p.m, p.k}},
                    {"b of the whole batch", {p.batches, p.k, p.n}},
                    {"the products", {p.batches, p.m, p.n}}};
  program.graph_words = {kMatmul, p.batches, p.activation};
  check_program(program, call);
  return program;
}

}  // namespace hearth::metal
