// A call of a library as MPSGraph runs it: operands as they are in memory, and the graph.
#pragma once

#include <cstdint>
#include <vector>

#include "devices/metal/mpsgraph/mps_graph.h"
#include "hearth/dtype.h"
#include "runtime/commands/library_call.h"

namespace hearth::metal {

// Memory of a call as an array whose axes go from the slowest to the fastest.
struct MpsOperand {
  std::size_t parameter = 0;  // of the call
  MpsShape shape;
  // In elements; they never rise, and the last is 1. Empty: the array is packed.
  MpsShape strides;
  std::vector<std::size_t> axes;  // which axis of the call each is

  // Elements from the first to after the last.
  UInteger reach() const;
};

// Of extents and strides in elements, in the order of the call's axes. An axis of stride 0 has one
// element. Strides of which none is 1 cannot be told; they are left as they are.
MpsOperand mps_operand(std::size_t parameter, const std::vector<std::int64_t>& extents,
                       const std::vector<std::int64_t>& strides);

// An array that a graph makes between its inputs and its result, of f32.
struct MpsArray {
  const char* what;
  std::vector<std::int64_t> extents;
};

struct MpsProgram {
  DType dtype = DType::f32;  // of all operands
  std::vector<MpsOperand> inputs;
  MpsOperand result;             // packed
  std::vector<MpsArray> arrays;  // the large ones, for check_program()
  // The result of a graph, with the shape of `result`, from its inputs as f32 with the call's axes.
  Id (*build)(const MpsGraph& graph, const runtime::LibraryCall& call,
              const std::vector<Id>& inputs) = nullptr;
  // Beside the inputs, all that `build` depends on.
  std::vector<std::int64_t> graph_words;

  // Programs of the same words have the same graph.
  std::vector<std::int64_t> key() const;
  // Throws Error{unsupported}.
  MpsExecutable compile(const ObjectiveC& objc, Id graph_device,
                        const runtime::LibraryCall& call) const;
};

// Throw Error{unsupported} for what MPSGraph is not asked for: other dtypes, results with gaps,
// arrays of more than kMaxMpsBytes; of attention its gradient, a bias, bounds.
MpsProgram mps_matmul(const runtime::LibraryCall& call);
MpsProgram mps_attention(const runtime::LibraryCall& call);

// Of any array, with inputs as they are cast to f32 and all that the graph makes. MPS ends the
// process for one of more than 2^32 bytes. Half of that stays clear of the bytes that MPS adds to
// rows, and of offsets that are signed.
inline constexpr std::int64_t kMaxMpsBytes = std::int64_t{1} << 31;

// Throws Error{unsupported} where the program is not one of those above.
void check_program(const MpsProgram& program, const runtime::LibraryCall& call);

}  // namespace hearth::metal
