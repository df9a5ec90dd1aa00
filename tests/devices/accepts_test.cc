// Whether an op has an implementation is asked when it is recorded and again when its plan is made:
// strides, which only the plan knows, must change neither that nor what accepts says.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "graph/selector.h"
#include "hearth/device.h"
#include "hearth/ops.h"
#include "ops/definition/defs.h"
#include "ops/definition/sample_signature.h"

namespace hearth {
namespace {

// The same with inputs whose rows begin `gap` elements after the end of the one before, whose
// elements lie `step` apart, or whose axes lie the other way round.
Signature with_rows(Signature signature, std::int64_t gap, std::int64_t step) {
  for (TensorSpec& input : signature.inputs) {
    std::int64_t next = step;
    for (int axis = input.shape.rank() - 1; axis >= 0; --axis) {
      input.strides[axis] = next;
      next = next * input.shape[axis] + gap;
    }
  }
  return signature;
}

Signature transposed(Signature signature) {
  for (TensorSpec& input : signature.inputs) {
    std::int64_t next = 1;
    for (int axis = 0; axis < input.shape.rank(); ++axis) {
      input.strides[axis] = next;
      next *= input.shape[axis];
    }
  }
  return signature;
}

TEST(Accepts, NeverDependsOnStrides) {
  int compared = 0;
  for (const Device& device : Device::all()) {
    const Selector& selector = device.impl().selector();
    for (const OpDef* op : all_ops()) {
      if (!selector.has(op) || op->samples == nullptr) continue;
      for (const SampleCase& sample : op->samples()) {
        if (sample.error != SampleCase::kValid) continue;
        for (const DType dtype : {DType::f32, DType::bf16, DType::f64, DType::i32, DType::bool_}) {
          if (op->accepts_dtype != nullptr && !op->accepts_dtype(dtype)) continue;
          Signature dense = sample_signature(*op, sample, dtype);
          dense.device = &selector.traits();
          for (const Signature& other : {with_rows(dense, 1, 1), with_rows(dense, 0, 2),
                                         with_rows(dense, 3, -1), transposed(dense)}) {
            const auto what = [&](const char* name_of) {
              return std::string(op->name.text) + " by " + name_of + ", " +
                     std::string(name(dtype)) + " on " + device.name() + ", output " +
                     to_string(dense.output.shape);
            };
            ASSERT_EQ(selector.find(other) != nullptr, selector.find(dense) != nullptr)
                << what("any");
            for (const Implementation* each : selector.implementations(op)) {
              if (each->accepts == nullptr) continue;
              ASSERT_EQ(each->accepts(other), each->accepts(dense)) << what(each->name);
              ++compared;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(compared, 1000);
}

}  // namespace
}  // namespace hearth
