// Elementwise functions, rows and reductions, scans and sorts, movement, indexing, random numbers.
#include "hearth/ops.h"
#include "hearth/random.h"
#include "tools/bench/functions/functions.h"

namespace hearth::tools {
namespace {

// Two matrices.
BenchFunction binary(std::string name, std::function<Array(const Array&, const Array&)> function) {
  return {std::move(name), [function = std::move(function)](const BenchInputs& in) {
            return [x = in.normal(in.matrix()), y = in.normal(in.matrix()), function] {
              return function(x, y);
            };
          }};
}

// A matrix of `shape`, and as many indices as `counted` has, below its extent along `axis`.
BenchFunction indexed(std::string name, Shape (BenchInputs::*shape)() const, std::int64_t axis,
                      bool one_a_row, std::function<Array(const Array&, const Array&)> function) {
  return {std::move(name), [=, function = std::move(function)](const BenchInputs& in) {
            const Shape all = (in.*shape)();
            const std::int64_t extent = all[static_cast<std::size_t>(axis)];
            return
                [x = in.normal(all), indices = in.indices(one_a_row ? Shape{extent} : all, extent),
                 function] { return function(x, indices); };
          }};
}

void add_elementwise(std::vector<BenchFunction>& out) {
  out.push_back(unary_function("elementwise/exp", &BenchInputs::matrix,
                               [](const Array& x) { return exp(x); }));
  out.push_back(unary_function("elementwise/tanh", &BenchInputs::matrix,
                               [](const Array& x) { return tanh(x); }));
  out.push_back(unary_function("elementwise/erf", &BenchInputs::matrix,
                               [](const Array& x) { return erf(x); }));
  out.push_back(unary_function("elementwise/gelu", &BenchInputs::matrix,
                               [](const Array& x) { return gelu(x); }));
  out.push_back(unary_function("elementwise/clamp", &BenchInputs::matrix,
                               [](const Array& x) { return clamp(x, Array(-0.5), Array(0.5)); }));
  out.push_back(unary_function("elementwise/cast", &BenchInputs::matrix, [](const Array& x) {
    return cast(x, x.dtype() == DType::f32 ? DType::bf16 : DType::f32);
  }));
  out.push_back(binary("elementwise/add", [](auto& x, auto& y) { return x + y; }));
  out.push_back(binary("elementwise/pow", [](auto& x, auto& y) { return pow(abs(x), y); }));
  out.push_back(binary("elementwise/atan2", [](auto& x, auto& y) { return atan2(x, y); }));
  out.push_back(binary("elementwise/greater", [](auto& x, auto& y) { return greater(x, y); }));
  out.push_back(binary("elementwise/where",
                       [](auto& x, auto& y) { return where(greater(x, Array(0.0)), x, y); }));
  out.push_back({"elementwise/add_row", [](const BenchInputs& in) {
                   return [x = in.normal(in.matrix()), row = in.normal({in.matrix()[1]})] {
                     return x + row;
                   };
                 }});
}

void add_rows(std::vector<BenchFunction>& out) {
  const auto row = [&](const char* name, Array (*function)(const Array& x)) {
    out.push_back(unary_function(name, &BenchInputs::matrix, function));
  };
  row("reduce/sum", [](const Array& x) { return sum(x); });
  row("reduce/sum_axis0", [](const Array& x) { return sum(x, {0}); });
  row("reduce/sum_axis1", [](const Array& x) { return sum(x, {1}); });
  row("reduce/max_axis1", [](const Array& x) { return max(x, {1}); });
  row("reduce/prod_axis1", [](const Array& x) { return prod(x, {1}); });
  row("reduce/argmax_axis0", [](const Array& x) { return argmax(x, 0); });
  row("reduce/argmax_axis1", [](const Array& x) { return argmax(x, 1); });
  row("reduce/var_axis1", [](const Array& x) { return var(x, {1}); });
  row("reduce/any_axis1", [](const Array& x) { return any(greater(x, Array(9.0)), {1}); });
  row("rows/softmax", [](const Array& x) { return softmax(x, 1); });
  row("rows/softmax_axis0", [](const Array& x) { return softmax(x, 0); });
  row("rows/log_softmax", [](const Array& x) { return log_softmax(x, 1); });
  row("rows/rms_norm", [](const Array& x) { return rms_norm(x); });
  row("rows/layer_norm", [](const Array& x) { return layer_norm(x); });
  row("scan/cumsum_axis0", [](const Array& x) { return cumsum(x, 0); });
  row("scan/cumsum_axis1", [](const Array& x) { return cumsum(x, 1); });
  row("scan/cumprod_axis1", [](const Array& x) { return cumprod(x, 1); });
  row("scan/cummax_axis1", [](const Array& x) { return cummax(x, 1); });
  row("scan/logcumsumexp_axis1", [](const Array& x) { return logcumsumexp(x, 1); });
  row("movement/transpose", [](const Array& x) { return contiguous(transpose(x)); });
  row("movement/pad", [](const Array& x) { return pad(x, {1, 3}, {2, 5}); });
  row("movement/roll", [](const Array& x) { return contiguous(roll(x, {5, 7}, {0, 1})); });
  row("movement/flip", [](const Array& x) { return contiguous(flip(x, {1})); });
  row("movement/tril", [](const Array& x) { return tril(x); });
  row("movement/repeat_interleave", [](const Array& x) { return repeat_interleave(x, 2, 1); });
  row("random/dropout", [](const Array& x) { return dropout(x, 0.1); });
  row("random/normal",
      [](const Array& x) { return random_normal(x.shape(), 0, 1, x.dtype(), x.device()); });
  row("random/uniform",
      [](const Array& x) { return random_uniform(x.shape(), 0, 1, x.dtype(), x.device()); });
  out.push_back(binary("movement/cat_axis0", [](auto& x, auto& y) { return cat({x, y}, 0); }));
  out.push_back(binary("movement/cat_axis1", [](auto& x, auto& y) { return cat({x, y}, 1); }));
  out.push_back(unary_function("movement/pad_reflect", &BenchInputs::images, [](const Array& x) {
    return pad(x, {0, 0, 3, 3}, {0, 0, 3, 3}, PadMode::reflect);
  }));
  out.push_back(unary_function("movement/permute", &BenchInputs::heads, [](const Array& x) {
    return contiguous(permute(x, {0, 2, 1, 3}));
  }));
}

void add_order(std::vector<BenchFunction>& out) {
  const auto row = [&](const char* name, Array (*function)(const Array& x)) {
    out.push_back(unary_function(name, &BenchInputs::lines, function));
  };
  row("sort/sort_axis1", [](const Array& x) { return sort(x, 1); });
  row("sort/sort_axis0", [](const Array& x) { return sort(x, 0); });
  row("sort/argsort_axis1", [](const Array& x) { return argsort(x, 1); });
  row("sort/sort_flat", [](const Array& x) { return sort(reshape(x, {-1})); });
  row("sort/topk10_axis1", [](const Array& x) { return topk(x, 10, 1); });
  row("sort/median_axis1", [](const Array& x) { return median(x, 1); });
}

void add_indexing(std::vector<BenchFunction>& out) {
  const auto rows = [&](const char* name, std::int64_t axis, auto function) {
    out.push_back(indexed(name, &BenchInputs::matrix, axis, true, function));
  };
  const auto elements = [&](const char* name, std::int64_t axis, auto function) {
    out.push_back(indexed(name, &BenchInputs::lines, axis, false, function));
  };
  rows("indexing/select_axis0", 0, [](auto& x, auto& i) { return select(x, i, 0); });
  rows("indexing/select_axis1", 1, [](auto& x, auto& i) { return select(x, i, 1); });
  rows("indexing/select_add_axis0", 0, [](auto& x, auto& i) { return select_add(x, i, x, 0); });
  elements("indexing/gather_axis0", 0, [](auto& x, auto& i) { return gather(x, i, 0); });
  elements("indexing/gather_axis1", 1, [](auto& x, auto& i) { return gather(x, i, 1); });
  elements("indexing/scatter_add_axis0", 0,
           [](auto& x, auto& i) { return scatter_add(x, i, x, 0); });
  elements("indexing/scatter_add_axis1", 1,
           [](auto& x, auto& i) { return scatter_add(x, i, x, 1); });
  const auto row = [&](const char* name, Array (*function)(const Array& x)) {
    out.push_back(unary_function(name, &BenchInputs::lines, function));
  };
  row("indexing/mask_select",
      [](const Array& x) { return mask_select(x, greater(x, Array(0.5))); });
  row("indexing/nonzero", [](const Array& x) { return nonzero(greater(x, Array(1.0)))[0]; });
  row("indexing/argwhere", [](const Array& x) { return argwhere(greater(x, Array(1.0))); });
}

}  // namespace

std::vector<BenchFunction> array_functions() {
  std::vector<BenchFunction> out;
  add_elementwise(out);
  add_rows(out);
  add_order(out);
  add_indexing(out);
  return out;
}

}  // namespace hearth::tools
