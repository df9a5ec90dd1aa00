#include "kernels/sort/search.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "codegen/dialect_types.h"

namespace hearth::gpu {

Prepared prepare_search(const Signature& signature) {
  auto plan = std::make_shared<StepPlan>();
  const TensorSpec& sorted = signature.inputs[0];
  const TensorSpec& values = signature.inputs[1];
  const std::int64_t count = element_count(values.shape);
  if (count == 0) return prepared_steps(std::move(plan));
  const int last = values.shape.rank() - 1;
  Shape shape = values.shape;
  Strides value_strides = values.strides, row_strides = sorted.strides;
  row_strides[last] = 0;
  merge_kernel_axes(&shape, {&row_strides, &value_strides});
  const StridedOperand row = strided_operand(sorted, 0), value = strided_operand(values, 1);
  const std::string memory = unsigned_type(size_of(values.dtype));
  const std::string index = dialect_type(signature.output.dtype);
  const bool right = ParamReader(signature.statics).boolean();
  plan->add_step(
      KernelCall("sort/search.metal", "searchsorted",
                 {memory, index, index_type(std::max(count, sorted.shape[last])), truth(right),
                  std::to_string(shape.rank())})
          .read(memory, "sorted", row.argument)
          .read(memory, "values", value.argument)
          .write(index, "places", output_argument(signature))
          .constants(SearchParams<kRuntimeRank>{.order = key_order(values.dtype, false),
                                                .count = count,
                                                .length = sorted.shape[last],
                                                .step = sorted.strides[last],
                                                .sorted = {row.base, &shape, &row_strides},
                                                .values = {value.base, &shape, &value_strides}})
          .step(*plan, groups_for(ceil_div(count, kSearchesAtOnce)), {kThreads}, kThreads));
  return prepared_steps(std::move(plan));
}

}  // namespace hearth::gpu
