#include "ops/reduce/rules.h"

#include <string>

namespace hearth::reductions {

Shape reduced_shape(const Shape& shape, std::uint32_t axes, bool keepdim) {
  Shape out;
  for (int i = 0; i < shape.rank(); ++i) {
    if ((axes >> i & 1u) == 0) {
      out.push_back(shape[i]);
    } else if (keepdim) {
      out.push_back(1);
    }
  }
  return out;
}

void fail_empty(const Inference& inference) {
  inference.fail(ErrorCode::invalid_argument, "nothing to choose from; got shape " +
                                                  to_string(inference.input(0).shape()) +
                                                  ", expected reduced axes of at least 1");
}

void infer_reduce(Inference& inference) {
  const Shape& shape = inference.input(0).shape();
  ParamReader statics(inference.params.statics().span());
  const Dims axes = statics.list();
  const bool keepdim = statics.boolean();
  const std::uint32_t bits = axis_bits(inference.op.name.text, axes, shape.rank());
  inference.dtype = inference.scalar_dtype = operand_dtype(inference, 0, 0);
  require_accepted(inference, inference.dtype);
  inference.shape = reduced_shape(shape, bits, keepdim);
}

Array kept(const Vjp& v, const Array& x) {
  const Shape& shape = v.shape(0);
  const Shape wanted =
      reduced_shape(shape, axis_bits("sum", v.statics().list(), shape.rank()), true);
  return reshape(x, wanted);
}

const Shape& shape_of(const OpDef& op, const Array& x) {
  require_defined(op.name.text, x);
  return x.shape();
}

Array reduce(const OpDef& op, const Array& x, std::uint32_t bits, bool keepdim) {
  Dims axes;
  for (int i = 0; bits >> i != 0; ++i) {
    if ((bits >> i & 1u) != 0) axes.push_back(i);
  }
  const Array* const inputs[] = {&x};
  return record(op, inputs, Params().list(axes).boolean(keepdim));
}

Array reduce(const OpDef& op, const Array& x) {
  const Shape& shape = shape_of(op, x);
  return reduce(op, x, (1u << shape.rank()) - 1, false);
}

Array reduce(const OpDef& op, const Array& x, const Dims& axes, bool keepdim) {
  const Shape& shape = shape_of(op, x);
  return reduce(op, x, axis_bits(op.name.text, axes, shape.rank()), keepdim);
}

SampleCase reduce_sample(const Shape& shape, const Dims& axes, bool keepdim) {
  SampleCase sample;
  sample.inputs = {{.shape = shape, .lo = -1.5, .hi = 1.5, .distinct = true}};
  sample.params.list(axes).boolean(keepdim);
  return sample;
}

std::vector<SampleCase> reduce_samples() {
  return {reduce_sample({3, 4}, {0, 1}, false), reduce_sample({3, 4}, {0}, false),
          reduce_sample({3, 4}, {1}, true),     reduce_sample({2, 3, 4}, {0, 2}, false),
          reduce_sample({2, 3, 4}, {1}, true),  reduce_sample({2, 0, 4}, {2}, false),
          reduce_sample({5}, {0}, false)};
}

std::vector<SampleCase> total_samples() {
  std::vector<SampleCase> samples = reduce_samples();
  samples.push_back(reduce_sample({0, 3}, {1}, false));
  samples.push_back(reduce_sample({0, 3}, {0}, true));
  return samples;
}

}  // namespace hearth::reductions
