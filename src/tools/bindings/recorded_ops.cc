#include "tools/bindings/recorded_ops.h"

#include <algorithm>

#include "graph/record/tape.h"
#include "hearth/grad.h"
#include "hearth/ops.h"
#include "ops/definition/defs.h"

namespace hearth::tools {
namespace {

// Evaluated, so that they record nothing. Where the sample leaves it open they are of a dtype that
// the op takes.
std::vector<Array> arrays_of(const OpDef& op, const SampleCase& sample) {
  DType dtype = DType::f32;
  for (int i = 0; op.accepts_dtype != nullptr && !op.accepts_dtype(dtype) && i < kDTypeCount; ++i) {
    dtype = static_cast<DType>(i);
  }
  std::vector<Array> arrays;
  for (const SampleInput& input : sample.inputs) {
    const DType own = input.dtype < 0 ? dtype : static_cast<DType>(input.dtype);
    arrays.push_back(contiguous(zeros(input.shape, own, Device::cpu())));
    arrays.back().eval();
  }
  return arrays;
}

std::vector<const Array*> pointers_to(const std::vector<Array>& arrays) {
  std::vector<const Array*> pointers;
  for (const Array& array : arrays) pointers.push_back(&array);
  return pointers;
}

std::optional<SampleCase> first_sample(const OpDef& op) {
  if (op.samples == nullptr) return std::nullopt;
  for (const SampleCase& sample : op.samples()) {
    if (sample.error == SampleCase::kValid) return sample;
  }
  return std::nullopt;
}

// The sum of the squares of what has slopes, so that gradients of linear ops depend on their inputs
// too; undefined where nothing has.
Array curved_sum(const std::vector<Array>& arrays) {
  Array total;
  for (const Array& array : arrays) {
    if (!array.defined() || !is_float(array.dtype())) continue;
    const Array own = sum(square(cast(array, DType::f32)));
    total = total.defined() ? add(total, own) : own;
  }
  return total;
}

}  // namespace

std::optional<std::vector<std::string>> recorded_ops(FunctionRef<std::vector<Array>()> record) {
  Tape& tape = Tape::of(Device::cpu().impl());
  tape.submit();
  const std::int64_t before = statistics().submissions;
  const std::vector<Array> kept = record();
  if (statistics().submissions != before) return std::nullopt;
  std::vector<std::string> names;
  for (const OpDef* op : tape.ops()) {
    // Views of single elements and the further results of an op are no ops of the table.
    if (find_op(op->name.text) != op) continue;
    names.emplace_back(op->name.text);
  }
  // Compilers differ in the order in which they evaluate arguments.
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::optional<std::vector<std::string>> composite_ops(const OpDef& op) {
  const std::optional<SampleCase> sample = first_sample(op);
  if (!has_composite(op) || !sample) return std::vector<std::string>();
  const std::vector<Array> arrays = arrays_of(op, *sample);
  const std::vector<const Array*> inputs = pointers_to(arrays);
  const Composite arguments{inputs, sample->params, Device::cpu()};
  return recorded_ops([&]() -> std::vector<Array> {
    if (op.composite != nullptr) return {op.composite(arguments)};
    return op.composite_outputs(arguments);
  });
}

int gradients_of(const OpDef& op) {
  const std::optional<SampleCase> sample = first_sample(op);
  if (!op.differentiable || (op.vjp == nullptr && !has_composite(op)) || !sample) return 0;
  std::vector<Array> leaves = arrays_of(op, *sample);
  for (Array& leaf : leaves) {
    if (is_float(leaf.dtype())) leaf = leaf.require_grad();
  }
  const Array loss = curved_sum(record_outputs(op, pointers_to(leaves), sample->params));
  if (!loss.defined()) return 0;
  const Gradients first = backward(loss, {.create_graph = true});
  std::vector<Array> gradients;
  for (const Array& leaf : leaves) {
    if (is_float(leaf.dtype())) gradients.push_back(first.get(leaf));
  }
  try {
    const Array again = curved_sum(gradients);
    // A gradient that is constant has one of 0.
    if (again.defined() && again.is_require_grad()) (void)backward(again);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    return 1;
  }
  return 2;
}

}  // namespace hearth::tools
