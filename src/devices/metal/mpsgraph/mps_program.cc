#include "devices/metal/mpsgraph/mps_program.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "hearth/error.h"

namespace hearth::metal {
namespace {

constexpr auto kMaxElements = static_cast<UInteger>(kMaxMpsBytes) / sizeof(float);

// More than kMaxElements where it is more; never too large to tell.
UInteger product(const std::vector<std::int64_t>& extents) {
  UInteger count = 1;
  for (const std::int64_t extent : extents) {
    if (__builtin_mul_overflow(count, static_cast<UInteger>(extent), &count)) return ~UInteger{0};
  }
  return count;
}

[[noreturn]] void refuse(const runtime::LibraryCall& call, const std::string& what) {
  throw Error(ErrorCode::unsupported, "metal: " + call.name + ": nothing for MPSGraph: " + what);
}

}  // namespace

UInteger MpsOperand::reach() const {
  UInteger last = 0, packed = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    last += (shape[i] - 1) * (strides.empty() ? packed : strides[i]);
    packed *= shape[i];
  }
  return last + 1;
}

MpsOperand mps_operand(std::size_t parameter, const std::vector<std::int64_t>& extents,
                       const std::vector<std::int64_t>& strides) {
  const std::size_t rank = extents.size();
  const auto extent = [&](std::size_t axis) {
    return static_cast<UInteger>(strides[axis] == 0 ? 1 : extents[axis]);
  };
  MpsOperand operand{parameter, {}, {}, {}};
  operand.axes.resize(rank);
  std::iota(operand.axes.begin(), operand.axes.end(), 0);
  // Axes of one element stay where they are, the others change places among themselves.
  std::vector<std::size_t> steps;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (extent(axis) > 1) steps.push_back(axis);
  }
  std::vector<std::size_t> sorted = steps;
  std::sort(sorted.begin(), sorted.end(), [&](std::size_t a, std::size_t b) {
    return strides[a] != strides[b] ? strides[a] > strides[b] : a < b;
  });
  for (std::size_t i = 0; i < steps.size(); ++i) operand.axes[steps[i]] = sorted[i];
  // The last of them has a stride of 1, be it an axis of one element.
  if (!sorted.empty() && strides[sorted.back()] != 1 && sorted.back() == operand.axes.back()) {
    const auto one = std::find_if(operand.axes.begin(), operand.axes.end(),
                                  [&](std::size_t axis) { return extent(axis) == 1; });
    if (one != operand.axes.end()) std::rotate(one, one + 1, operand.axes.end());
  }
  bool packed = true;
  UInteger next = 1, elements = 1;
  for (std::size_t i = rank; i-- > 0;) {
    const std::size_t axis = operand.axes[i];
    if (extent(axis) > 1) {
      next = static_cast<UInteger>(strides[axis]);
      packed = packed && next == elements;
      elements *= extent(axis);
    }
    operand.shape.insert(operand.shape.begin(), extent(axis));
    operand.strides.insert(operand.strides.begin(), next);
  }
  if (packed) operand.strides.clear();
  return operand;
}

std::vector<std::int64_t> MpsProgram::key() const {
  std::vector<std::int64_t> words = graph_words;
  words.push_back(static_cast<std::int64_t>(dtype));
  const auto add = [&](const auto& numbers) {
    for (const auto number : numbers) words.push_back(static_cast<std::int64_t>(number));
  };
  for (const MpsOperand& input : inputs) {
    add(input.shape);
    add(input.axes);
  }
  return words;
}

MpsExecutable MpsProgram::compile(const ObjectiveC& objc, Id graph_device,
                                  const runtime::LibraryCall& call) const {
  MpsGraph graph(objc);
  std::vector<Id> values;
  for (const MpsOperand& input : inputs) {
    Id value = graph.input(input.shape, dtype);
    std::vector<std::size_t> axes = input.axes;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const auto at =
          static_cast<std::size_t>(std::find(axes.begin(), axes.end(), i) - axes.begin());
      if (at == i) continue;
      value = graph.transposed(value, i, at);
      std::swap(axes[i], axes[at]);
    }
    values.push_back(value);
  }
  return graph.compile(graph_device, build(graph, call, values), dtype);
}

void check_program(const MpsProgram& program, const runtime::LibraryCall& call) {
  if (mps_type(program.dtype) == 0) {
    refuse(call,
           "its dtype; got " + std::string(name(program.dtype)) + ", expected f32, f16 or bf16");
  }
  if (!program.result.strides.empty() ||
      !std::is_sorted(program.result.axes.begin(), program.result.axes.end())) {
    refuse(call, "a result with gaps; got strides, expected packed elements");
  }
  const auto check = [&](const std::string& what, UInteger elements) {
    if (elements <= kMaxElements) return;
    refuse(call, "too large an array for " + what + "; got " + std::to_string(elements) +
                     " elements as f32, expected at most " + std::to_string(kMaxElements));
  };
  for (const MpsOperand& input : program.inputs) {
    check(call.parameters[input.parameter].name, input.reach());
  }
  check(call.parameters[program.result.parameter].name, program.result.reach());
  for (const MpsArray& array : program.arrays) check(array.what, product(array.extents));
}

}  // namespace hearth::metal
