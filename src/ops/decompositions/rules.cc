#include "ops/decompositions/rules.h"

#include "graph/switches.h"

namespace hearth::decompositions {
namespace {

// Kernels serve although composites are asked for: the CPU has nothing else.
class WithKernels {
 public:
  WithKernels() : before_(switches().composites) { switches().composites = false; }
  ~WithKernels() { switches().composites = before_; }
  WithKernels(const WithKernels&) = delete;
  WithKernels& operator=(const WithKernels&) = delete;

 private:
  bool before_;
};

std::string text_of(const Shape& shape, bool square) {
  return "got " + to_string(shape) + ", expected " + (square ? "[..., n, n]" : "[..., m, n]");
}

bool is_matrix(const Shape& shape, bool square) {
  if (shape.rank() < 2) return false;
  return !square || shape[shape.rank() - 1] == shape[shape.rank() - 2];
}

}  // namespace

void require_matrix(const Inference& inference, int i, bool square) {
  require_accepted(inference, inference.input(i).dtype());
  const Shape& shape = inference.input(i).shape();
  if (is_matrix(shape, square)) return;
  inference.fail(ErrorCode::shape,
                 (square ? "no square matrix; " : "no matrix; ") + text_of(shape, square));
}

void require_matrix(const char* function, const Array& x, bool square) {
  require_defined(function, x);
  require_float_array(function, x);
  if (is_matrix(x.shape(), square)) return;
  throw Error(ErrorCode::shape, std::string(function) +
                                    (square ? ": no square matrix; " : ": no matrix; ") +
                                    text_of(x.shape(), square));
}

void infer_system(Inference& inference) {
  require_matrix(inference, 0, true);
  const Array &a = inference.input(0), &b = inference.input(1);
  if (a.dtype() != b.dtype()) {
    inference.fail(ErrorCode::dtype, "a and b differ in dtype; got " +
                                         std::string(name(a.dtype())) + " and " +
                                         std::string(name(b.dtype())) + ", expected one dtype");
  }
  if (b.rank() != a.rank() || batch_of(a.shape()) != batch_of(b.shape()) ||
      b.shape()[b.rank() - 2] != a.shape().back()) {
    inference.fail(ErrorCode::shape, "shapes do not fit; got a " + to_string(a.shape()) +
                                         " and b " + to_string(b.shape()) +
                                         ", expected [..., n, n] and [..., n, k]");
  }
  inference.shape = b.shape();
  inference.dtype = inference.scalar_dtype = a.dtype();
}

std::vector<Array> through_host(const OpDef& op, const Composite& arguments) {
  std::vector<Array> moved(arguments.inputs.size());
  std::vector<const Array*> pointers(moved.size());
  for (std::size_t i = 0; i < moved.size(); ++i) {
    if (!arguments.has(static_cast<int>(i))) continue;
    moved[i] = to_device(*arguments.inputs[i], Device::cpu());
    pointers[i] = &moved[i];
  }
  const WithKernels scope;
  const Device host = Device::cpu();
  std::vector<Array> results = record_outputs(op, pointers, arguments.params, &host);
  for (Array& result : results) result = to_device(result, arguments.device);
  return results;
}

Array half_triangle(std::int64_t n, const Array& like) {
  const Array ones_below = tril(ones({n, n}, like.dtype(), like.device()));
  return sub(ones_below, mul(eye(n, like.dtype(), like.device()), 0.5));
}

Array lower_gradient(const Array& full) {
  return mul(add(full, transpose(full)), half_triangle(full.shape().back(), full));
}

Array reciprocals(const Array& differences) {
  const Array zero = equal(differences, 0.0);
  return where(zero, 0.0, recip(where(zero, 1.0, differences)));
}

Array differences_of(const Array& x) { return sub(unsqueeze(x, {-2}), unsqueeze(x, {-1})); }

Array rows_at(const Array& x, const Array& rows) {
  return gather(x, expand(unsqueeze(rows, {-1}), x.shape()), -2);
}

Array rows_to(const Array& x, const Array& rows) { return rows_at(x, argsort(rows, -1)); }

System make_system(const char* function, const Array& a, const Array& b, bool square) {
  require_matrix(function, a, square);
  require_defined(function, b);
  if (a.dtype() != b.dtype()) {
    throw Error(ErrorCode::dtype, std::string(function) + ": a and b differ in dtype; got " +
                                      std::string(name(a.dtype())) + " and " +
                                      std::string(name(b.dtype())) + ", expected one dtype");
  }
  const bool is_vector = b.rank() == 1;
  const Array columns = is_vector ? unsqueeze(b, {-1}) : b;
  const Shape& left = a.shape();
  if (b.rank() == 0 || columns.shape()[columns.rank() - 2] != left[left.rank() - 2]) {
    throw Error(ErrorCode::shape, std::string(function) + ": rows do not fit; got a " +
                                      to_string(left) + " and b " + to_string(b.shape()) +
                                      ", expected as many rows in both");
  }
  const Shape batch = broadcast_shapes(function, batch_of(left), batch_of(columns.shape()));
  const auto stretched = [&](const Array& x) {
    const int rank = x.rank();
    return expand(wide(x), with_matrix(batch, x.shape()[rank - 2], x.shape()[rank - 1]));
  };
  return {stretched(a), stretched(columns), is_vector};
}

Array solution_of(const System& system, const Array& x, DType dtype) {
  return cast(system.is_vector ? squeeze(x, {-1}) : x, dtype);
}

}  // namespace hearth::decompositions
