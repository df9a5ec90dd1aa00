#include "devices/metal/mpsgraph/mps_graph.h"

#include <algorithm>

#include "hearth/error.h"

namespace hearth::metal {
namespace {

// MPSDataType: bits, and what they are.
constexpr unsigned kFloat = 0x10000000, kOtherEncoding = 0x80000000;
// MPSGraphOptimizationLevel0. The next one may use what is no GPU.
constexpr UInteger kOnlyTheGpu = 0;
// MPSGraphOptionsNone. Memory is shared: there is nothing to synchronize.
constexpr UInteger kNoOptions = 0;

}  // namespace

unsigned mps_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return kFloat | 32;
    case DType::f16:
      return kFloat | 16;
    case DType::bf16:
      return kOtherEncoding | kFloat | 16;
    default:
      return 0;
  }
}

MpsGraph::MpsGraph(const ObjectiveC& objc)
    : objc_(objc), graph_(objc.send(objc.type_named("MPSGraph"), messages::new_graph)) {}

Id MpsGraph::input(const MpsShape& shape, DType dtype) {
  const Id numbers = objc_.numbers(shape);
  const Id placeholder =
      objc_.send(graph_.get(), messages::graph_placeholder, numbers, mps_type(dtype), nullptr);
  placeholders_.push_back(placeholder);
  types_.push_back(objc_.make(objc_.type_named("MPSGraphShapedType"), messages::alloc_shaped_type,
                              messages::init_shaped_type, numbers, mps_type(dtype)));
  return dtype == DType::f32 ? placeholder : cast(placeholder, DType::f32);
}

Id MpsGraph::transposed(Id x, UInteger axis, UInteger other) const {
  return objc_.send(graph_.get(), messages::graph_transpose, x, axis, other, nullptr);
}

Id MpsGraph::reshaped(Id x, const MpsShape& shape) const {
  return objc_.send(graph_.get(), messages::graph_reshape, x, objc_.numbers(shape), nullptr);
}

Id MpsGraph::broadcast(Id x, const MpsShape& shape) const {
  return objc_.send(graph_.get(), messages::graph_broadcast, x, objc_.numbers(shape), nullptr);
}

Id MpsGraph::scalar(double value) const {
  return objc_.send(graph_.get(), messages::graph_scalar, value, mps_type(DType::f32));
}

Id MpsGraph::relu(Id x) const { return objc_.send(graph_.get(), messages::graph_relu, x, nullptr); }

Id MpsGraph::gelu_tanh(Id x) const {
  const Id cube = multiply(multiply(x, x), x);
  const Id inner = add(x, multiply(cube, scalar(0.044715)));
  const Id bent = objc_.send(graph_.get(), messages::graph_tanh,
                             multiply(inner, scalar(0.7978845608028654)), nullptr);
  return multiply(multiply(x, scalar(0.5)), add(bent, scalar(1)));
}

Id MpsGraph::attention(Id q, Id k, Id v, Id mask, double scale) const {
  return objc_.send(graph_.get(), messages::graph_attention, q, k, v, mask,
                    static_cast<float>(scale), nullptr);
}

Id MpsGraph::causal_mask(UInteger rows, UInteger columns, UInteger first) const {
  constexpr double kBeyondScores = 1e30;
  const UInteger shape[] = {1, 1, rows, columns};
  const Id ones = objc_.send(graph_.get(), messages::graph_constant, 1.0, objc_.numbers(shape),
                             mps_type(DType::f32));
  // 1 where a column is seen, and 0 where not.
  const Id seen = objc_.send(graph_.get(), messages::graph_band, ones, Integer{-1},
                             static_cast<Integer>(first), nullptr);
  return multiply(add(seen, scalar(-1)), scalar(kBeyondScores));
}

Id MpsGraph::binary(Message<Id(Id, Id, Id), false> message, Id a, Id b) const {
  return objc_.send(graph_.get(), message, a, b, nullptr);
}

Id MpsGraph::cast(Id x, DType dtype) const {
  return objc_.send(graph_.get(), messages::graph_cast, x, mps_type(dtype), nullptr);
}

MpsExecutable MpsGraph::compile(Id graph_device, Id result, DType dtype) const {
  if (dtype != DType::f32) result = cast(result, dtype);
  std::vector<Id> types;
  for (const Owned& type : types_) types.push_back(type.get());
  const Id feeds = objc_.send(objc_.type_named("NSDictionary"), messages::dictionary_with,
                              types.data(), placeholders_.data(), UInteger{types.size()});
  const Owned descriptor = objc_.send(objc_.type_named("MPSGraphCompilationDescriptor"),
                                      messages::new_compilation_descriptor);
  objc_.send(descriptor.get(), messages::set_optimization_level, kOnlyTheGpu);
  objc_.send(descriptor.get(), messages::set_compile_waits, Bool{1});
  MpsExecutable made;
  made.executable =
      objc_.keep(objc_.send(graph_.get(), messages::graph_compile, graph_device, feeds,
                            objc_.array({&result, 1}), nullptr, descriptor.get()));
  if (!made.executable) throw Error(ErrorCode::device, "metal: MPSGraph compiles no executable");
  objc_.send(made.executable.get(), messages::set_graph_options, kNoOptions);
  // In an order of its own.
  const Id order = objc_.send(made.executable.get(), messages::feed_tensors);
  const UInteger count = order == nullptr ? 0 : objc_.send(order, messages::array_count);
  for (UInteger i = 0; i < count; ++i) {
    const auto found = std::find(placeholders_.begin(), placeholders_.end(),
                                 objc_.send(order, messages::object_at, i));
    if (found != placeholders_.end()) {
      made.feeds.push_back(static_cast<std::size_t>(found - placeholders_.begin()));
    }
  }
  if (made.feeds.size() != placeholders_.size()) {
    throw Error(ErrorCode::device, "metal: MPSGraph takes other inputs; got " +
                                       std::to_string(made.feeds.size()) + " of them, expected " +
                                       std::to_string(placeholders_.size()));
  }
  return made;
}

}  // namespace hearth::metal
