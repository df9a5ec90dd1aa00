// dropout: elements that chance takes away, in one pass.
#include <string>

#include "core/number_text.h"
#include "core/throw_as.h"
#include "hearth/ops.h"
#include "hearth/random.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace dropouts {
namespace {

constexpr ParamSpec kParams[] = {
    {.name = "seed", .type = ParamType::i64, .dynamic = true},
    {.name = "counter", .type = ParamType::i64, .dynamic = true},
    {.name = "keep", .type = ParamType::f64, .dynamic = true, .range = "[0, 1]"},
    {.name = "scale", .type = ParamType::f64, .dynamic = true, .range = "finite"}};

Params params_of(std::uint64_t seed, std::uint64_t counter, double keep) {
  Params params;
  params.dynamic_i64(static_cast<std::int64_t>(seed));
  params.dynamic_i64(static_cast<std::int64_t>(counter));
  // Where nothing is kept there is nothing to scale, and 1 / 0 would spoil the gradient.
  params.dynamic_f64(keep).dynamic_f64(keep > 0 ? 1 / keep : 0);
  return params;
}

void infer(Inference& inference) {
  require_input(inference, 0);
  require_float(inference, 0, "x");
  inference.shape = inference.input(0).shape();
  inference.dtype = inference.scalar_dtype = inference.input(0).dtype();
  const double keep = dynamic_f64(inference.params.dynamics()[2]);
  if (keep >= 0 && keep <= 1) return;
  inference.fail(ErrorCode::invalid_argument,
                 "keep out of range; got " + number_text(keep) + ", expected a number from 0 to 1");
}

Array composite(const Composite& c) {
  const Array& x = c.input(0);
  const auto words = c.params.dynamics();
  Generator source{words[0], words[1]};
  const Array kept =
      random_bernoulli(x.shape(), dynamic_f64(words[2]), DType::bool_, x.device(), &source);
  return where(kept, mul(x, dynamic_f64(words[3])), 0.0);
}

// The same elements of the gradient, by the same factor.
Grads gradient(const Vjp& v) { return grads(call(defs::dropout_op, v.record.params, {&v.grad})); }

std::vector<SampleCase> samples() {
  return {
      {{{{3, 5}}}, params_of(1, 2, 0.75)},
      {{{{2, 3, 40}}}, params_of(7, 1, 0.25)},
      {{{{3000}}}, params_of(1, 2, 0x1p-13)},
      {{{Shape{}}}, params_of(1, 3, 1)},
      {{{{4}}}, params_of(1, 3, 0)},
      {{{{0, 3}}}, params_of(1, 3, 0.5)},
      {{{{4}}}, params_of(1, 3, 1.5), kArgumentError},
  };
}

}  // namespace
}  // namespace dropouts

constinit const OpDef defs::dropout_op = {
    .name = "dropout",
    .summary = "Each element times `scale` with a probability, else 0.",
    .shapes = "x [...] -> [...]",
    .method = "",
    .params = dropouts::kParams,
    .infer = dropouts::infer,
    .vjp = dropouts::gradient,
    .composite = dropouts::composite,
    .accepts_dtype = is_float,
    .samples = dropouts::samples,
};

inline namespace v0 {

Array dropout(const Array& x, double probability, bool training, Generator* source) try {
  if (!(probability >= 0 && probability <= 1)) {
    throw Error(ErrorCode::invalid_argument, "dropout: probability out of range; got " +
                                                 number_text(probability) +
                                                 ", expected a number from 0 to 1");
  }
  if (!is_float(x.dtype())) {
    throw Error(ErrorCode::dtype, "dropout: x is not a float array; got " +
                                      std::string(name(x.dtype())) + ", expected a float dtype");
  }
  if (!training || probability == 0) return x;
  Generator& from = source != nullptr ? *source : generator();
  const Array result =
      call(defs::dropout_op, dropouts::params_of(from.seed, from.counter, 1 - probability), {&x});
  ++from.counter;
  return result;
} catch (const Error& error) {
  throw_as("dropout", error);
}

}  // namespace v0
}  // namespace hearth
