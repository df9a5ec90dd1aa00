// Functions to gradient functions, and recomputation.
#include <memory>
#include <string>
#include <unordered_set>

#include "autodiff/walk.h"
#include "hearth/ops.h"
#include "hearth/random.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"

namespace hearth {
namespace {

// A stand-in for `x` with a record of its own, at which a walk can stop. It passes on what
// gradients of gradients depend on: a tracked x stays its parent.
Array stand_in(const Array& x) {
  if (grad_of(x) != nullptr) return call(defs::reshape_op, Params().list(x.shape()), {&x});
  return x.require_grad();
}

// Whether `result` depends on tracked arrays beyond the records from `floor` on.
bool depends_on_older(const Array& result, std::uint64_t floor) {
  std::vector<GradRecord*> open{grad_of(result)};
  std::unordered_set<GradRecord*> seen{grad_of(result)};
  while (!open.empty()) {
    const GradRecord* record = open.back();
    open.pop_back();
    if (record->sequence < floor || record->replay) return true;
    for (const GradInput& input : record->inputs) {
      GradRecord* const parent = input.parent;
      if (parent != nullptr && seen.insert(parent).second) open.push_back(parent);
    }
  }
  return false;
}

// Throws unless `grad` can be the gradient of `value`.
void check_gradient(const Array& value, const Array& grad) {
  const auto text = [](const Array& x) {
    return x.defined() ? std::string(name(x.dtype())) + " " + to_string(x.shape())
                       : "an undefined array";
  };
  if (!value.defined()) {
    throw Error(ErrorCode::invalid_argument, "vjp: no result; got an undefined array");
  }
  if (!is_float(value.dtype())) {
    throw Error(ErrorCode::dtype,
                "vjp: the result is not a float; got " + text(value) + ", expected a float dtype");
  }
  if (grad.defined() && grad.dtype() == value.dtype() && grad.shape() == value.shape()) return;
  const bool is_of_dtype = grad.defined() && grad.dtype() == value.dtype();
  const ErrorCode code = is_of_dtype      ? ErrorCode::shape
                         : grad.defined() ? ErrorCode::dtype
                                          : ErrorCode::invalid_argument;
  throw Error(code,
              "vjp: no gradient of the result; got " + text(grad) + ", expected " + text(value));
}

// Of a loss; of any result where it is given the gradient of that.
std::pair<Array, std::vector<Array>> differentiate(const FunctionOfMany& f,
                                                   std::span<const Array> at,
                                                   const Array* grad = nullptr) {
  const bool outer = grad_enabled();
  std::vector<Array> arguments;
  arguments.reserve(at.size());
  Array value;
  const std::uint64_t floor = next_grad_sequence();
  {
    const GradMode tracked(true);
    for (const Array& x : at) arguments.push_back(stand_in(x));
    value = f(arguments);
  }
  if (grad == nullptr) {
    check_loss("grad", value);
  } else {
    check_gradient(value, *grad);
  }
  std::vector<Array> gradients(at.size());
  bool create_graph = false;
  if (grad_of(value) != nullptr) {
    create_graph = outer && depends_on_older(value, floor);
    Walk walk({.retain = false, .create_graph = create_graph, .floor = floor});
    for (const Array& argument : arguments) walk.collect_at(grad_of(argument));
    Gradients others;
    walk.run(value, grad == nullptr ? ones_like(value) : *grad, others);
    for (std::size_t i = 0; i < at.size(); ++i) {
      gradients[i] = walk.collected(grad_of(arguments[i]));
    }
  }
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (!gradients[i].defined()) gradients[i] = zeros_like(at[i]);
  }
  return {create_graph ? value : value.detach(), std::move(gradients)};
}

FunctionOfMany of_one(Function f) {
  return [f = std::move(f)](std::span<const Array> x) { return f(x[0]); };
}

// The checkpoint of a function as an op: it is never recorded on a tape, only walked back over.
constinit const OpDef kCheckpointOp = {
    .name = "checkpoint",
    .summary = "A function whose inner values are computed again for its gradient.",
    .max_inputs = -1,
};

}  // namespace

inline namespace v0 {

std::function<std::pair<Array, std::vector<Array>>(std::span<const Array>)> value_and_grad(
    FunctionOfMany f) {
  return [f = std::move(f)](std::span<const Array> x) { return differentiate(f, x); };
}

std::function<std::vector<Array>(std::span<const Array>)> grad(FunctionOfMany f) {
  return [f = std::move(f)](std::span<const Array> x) { return differentiate(f, x).second; };
}

std::function<std::pair<Array, Array>(const Array&)> value_and_grad(Function f) {
  return [many = of_one(std::move(f))](const Array& x) {
    auto [value, gradients] = differentiate(many, {&x, 1});
    return std::pair<Array, Array>(std::move(value), std::move(gradients[0]));
  };
}

Function grad(Function f) {
  return [many = of_one(std::move(f))](const Array& x) {
    return differentiate(many, {&x, 1}).second[0];
  };
}

std::vector<Array> vjp(const FunctionOfMany& f, std::span<const Array> x, const Array& grad) {
  return differentiate(f, x, &grad).second;
}

Array vjp(const Function& f, const Array& x, const Array& grad) {
  return differentiate(of_one(f), {&x, 1}, &grad).second[0];
}

FunctionOfMany checkpoint(FunctionOfMany f) {
  auto shared = std::make_shared<const FunctionOfMany>(std::move(f));
  return [shared](std::span<const Array> inputs) {
    if (!grad_enabled()) return (*shared)(inputs);
    const Generator before = generator();
    Array value;
    {
      const NoGrad untracked;
      value = (*shared)(inputs);
    }
    if (!value.defined() || !is_float(value.dtype())) return value;
    struct Release {
      void operator()(GradRecord* held) const noexcept { hearth::release(held); }
    };
    std::unique_ptr<GradRecord, Release> record(new_grad_record());
    record->op = &kCheckpointOp;
    for (const Array& input : inputs) {
      GradInput& kept = record->inputs.emplace_back();
      kept.saved = input;
      if (grad_of(input) != nullptr) retain(grad_of(input));
      kept.parent = grad_of(input);
      if (!input.defined()) continue;
      kept.is_given = true;
      kept.shape = input.shape();
      kept.dtype = input.dtype();
    }
    record->device = node_of(value)->device;
    record->replay = [shared, before](std::span<const Array> saved) {
      struct Restore {
        Generator state = generator();
        ~Restore() { generator() = state; }
      } const restore;
      generator() = before;
      return (*shared)(saved);
    };
    retain_handle(node_of(value));
    return array_of(node_of(value), record.release());
  };
}

}  // namespace v0
}  // namespace hearth
