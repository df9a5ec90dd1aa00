#include "ops/reference/host_array.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include "core/packed/decode.h"
#include "core/packed/encode.h"
#include "core/packed/turbo.h"

#include "hearth/ops/indexing.h"
#include "ops/reference/host_elementwise.h"
#include "ops/reference/host_random.h"

namespace hearth::testing {
namespace {

HostArray filled(const Shape& shape, double value) {
  return {shape, std::vector<double>(static_cast<std::size_t>(element_count(shape)), value)};
}

// Element `at` of the broadcast result, in x.
double broadcast_element(const HostArray& x, const Dims& at) {
  Dims own = Dims::filled(x.shape.rank(), 0);
  const int shift = at.rank() - x.shape.rank();
  for (int axis = 0; axis < own.rank(); ++axis)
    own[axis] = x.shape[axis] == 1 ? 0 : at[axis + shift];
  return x.values[offset_of(x.shape, own)];
}

template <class Function>
HostArray map_broadcast(const std::vector<HostArray>& inputs, Function function) {
  Shape shape = inputs[0].shape;
  for (const HostArray& input : inputs) shape = broadcast_shapes("reference", shape, input.shape);
  HostArray out = filled(shape, 0);
  for (Indices at(shape); !at.done(); at.advance()) {
    std::vector<double> values;
    for (const HostArray& input : inputs) values.push_back(broadcast_element(input, *at));
    out.values[offset_of(shape, *at)] = function(values);
  }
  return out;
}

// The reduced shape and, for every element of x, the place of its result.
Shape reduced_shape(const Shape& shape, const Dims& axes, bool keepdim) {
  Shape out;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const bool reduced = std::find(axes.begin(), axes.end(), axis) != axes.end();
    if (!reduced) out.push_back(shape[axis]);
    if (reduced && keepdim) out.push_back(1);
  }
  return out;
}

HostArray reduce(std::string_view op, const HostArray& x, const Dims& axes, bool keepdim) {
  const Shape kept = reduced_shape(x.shape, axes, true);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double start = op == "prod" || op == "all" ? 1
                       : op == "max"               ? -kInfinity
                       : op == "min"               ? kInfinity
                                                   : 0;
  HostArray out = filled(kept, start);
  for (Indices at(x.shape); !at.done(); at.advance()) {
    Dims place = *at;
    for (const std::int64_t axis : axes) place[static_cast<int>(axis)] = 0;
    double& into = out.values[offset_of(kept, place)];
    const double value = x.values[offset_of(x.shape, *at)];
    if (op == "sum") into += value;
    if (op == "prod") into *= value;
    if (op == "any") into = into != 0 || value != 0;
    if (op == "all") into = into != 0 && value != 0;
    if (op == "max")
      into = std::isnan(into) || std::isnan(value) ? std::nan("") : std::max(into, value);
    if (op == "min")
      into = std::isnan(into) || std::isnan(value) ? std::nan("") : std::min(into, value);
  }
  out.shape = reduced_shape(x.shape, axes, keepdim);
  return out;
}

HostArray arg_reduce(bool largest, const HostArray& x, int axis, bool keepdim) {
  Shape kept = x.shape;
  kept[axis] = 1;
  HostArray out = filled(kept, 0);
  for (Indices at(kept); !at.done(); at.advance()) {
    Dims place = *at;
    double best = 0;
    for (std::int64_t i = 0; i < x.shape[axis]; ++i) {
      place[axis] = i;
      const double value = x.values[offset_of(x.shape, place)];
      const bool better =
          i == 0 ||
          (!std::isnan(best) && (std::isnan(value) || (largest ? value > best : value < best)));
      if (!better) continue;
      best = value;
      out.values[offset_of(kept, *at)] = static_cast<double>(i);
    }
  }
  if (!keepdim) out.shape.erase(axis);
  return out;
}

HostArray sorted(const HostArray& x, int axis, bool descending, bool indices) {
  HostArray out = x;
  Shape lines = x.shape;
  lines[axis] = 1;
  for (Indices at(lines); !at.done() && x.shape[axis] > 0; at.advance()) {
    Dims place = *at;
    const auto element = [&](std::int64_t i) {
      place[axis] = i;
      return x.values[offset_of(x.shape, place)];
    };
    std::vector<std::int64_t> order(static_cast<std::size_t>(x.shape[axis]));
    std::iota(order.begin(), order.end(), 0);
    const auto precedes = [](double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; };
    std::sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
      const double a = element(i), b = element(j);
      if (precedes(a, b) || precedes(b, a)) return precedes(a, b) != descending;
      return i < j;
    });
    for (std::int64_t i = 0; i < x.shape[axis]; ++i) {
      const std::int64_t from = order[static_cast<std::size_t>(i)];
      const double value = indices ? static_cast<double>(from) : element(from);
      place[axis] = i;
      out.values[offset_of(x.shape, place)] = value;
    }
  }
  return out;
}

// What a scan makes of what it has so far, which is `before`, and of an element.
double scan_step(std::string_view op, double before, double value) {
  if (op == "cumsum") return before + value;
  if (op == "cumprod") return before * value;
  if (op == "logcumsumexp") {
    const double top = std::max(before, value);
    return std::isinf(top) ? top : top + std::log(std::exp(before - top) + std::exp(value - top));
  }
  const bool largest = op.starts_with("cummax");
  if (std::isnan(before) || std::isnan(value)) return std::nan("");
  return largest ? std::max(before, value) : std::min(before, value);
}

// inputs[1], of linear_scan, is what is added.
HostArray scan(std::string_view op, const std::vector<HostArray>& inputs, int axis, bool reverse,
               bool indices) {
  const HostArray& x = inputs[0];
  HostArray out = x;
  Shape lines = x.shape;
  lines[axis] = 1;
  for (Indices at(lines); !at.done(); at.advance()) {
    double state = 0, place = 0;
    for (std::int64_t i = 0; i < x.shape[axis]; ++i) {
      Dims here = *at;
      here[axis] = reverse ? x.shape[axis] - 1 - i : i;
      const std::size_t offset = offset_of(x.shape, here);
      const double value = x.values[offset];
      if (op == "linear_scan") {
        state = value * state + inputs[1].values[offset];
      } else {
        state = i == 0 ? value : scan_step(op, state, value);
      }
      if (state == value || std::isnan(value)) place = static_cast<double>(i);
      out.values[offset] = indices ? place : state;
    }
  }
  return out;
}

HostArray matmul(const HostArray& a, const HostArray& b) {
  const Shape batch = broadcast_shapes(
      "reference", Shape(a.shape.data(), static_cast<std::size_t>(a.shape.rank() - 2)),
      Shape(b.shape.data(), static_cast<std::size_t>(b.shape.rank() - 2)));
  Shape shape = batch;
  shape.push_back(a.shape[a.shape.rank() - 2]);
  shape.push_back(b.shape.back());
  const std::int64_t inner = a.shape.back();
  HostArray out = filled(shape, 0);
  const auto element = [](const HostArray& x, const Dims& at, std::int64_t row,
                          std::int64_t column) {
    Dims own = Dims::filled(x.shape.rank(), 0);
    const int shift = at.rank() - x.shape.rank();
    for (int axis = 0; axis + 2 < own.rank(); ++axis)
      own[axis] = x.shape[axis] == 1 ? 0 : at[axis + shift];
    own[own.rank() - 2] = row;
    own[own.rank() - 1] = column;
    return x.values[offset_of(x.shape, own)];
  };
  for (Indices at(shape); !at.done(); at.advance()) {
    double total = 0;
    for (std::int64_t k = 0; k < inner; ++k) {
      total +=
          element(a, *at, (*at)[shape.rank() - 2], k) * element(b, *at, k, (*at)[shape.rank() - 1]);
    }
    out.values[offset_of(shape, *at)] = total;
  }
  return out;
}

HostArray sliced(const HostArray& x, const Dims& starts, const Dims& sizes, const Dims& steps) {
  HostArray out = filled(sizes, 0);
  for (Indices at(sizes); !at.done(); at.advance()) {
    Dims place = *at;
    for (int axis = 0; axis < place.rank(); ++axis)
      place[axis] = starts[axis] + place[axis] * steps[axis];
    out.values[offset_of(sizes, *at)] = x.values[offset_of(x.shape, place)];
  }
  return out;
}

std::optional<HostArray> view(std::string_view op, const std::vector<HostArray>& inputs,
                              const Params& params) {
  const HostArray& x = inputs[0];
  ParamReader statics(params.statics().span());
  if (op == "contiguous") return x;
  if (op == "reshape") return HostArray{statics.list(), x.values};
  if (op == "permute") {
    const Dims axes = statics.list();
    Shape shape;
    for (const std::int64_t axis : axes) shape.push_back(x.shape[static_cast<int>(axis)]);
    HostArray out = filled(shape, 0);
    for (Indices at(shape); !at.done(); at.advance()) {
      Dims place = *at;
      for (int i = 0; i < axes.rank(); ++i) place[static_cast<int>(axes[i])] = (*at)[i];
      out.values[offset_of(shape, *at)] = x.values[offset_of(x.shape, place)];
    }
    return out;
  }
  if (op == "expand") {
    const Shape shape = statics.list();
    HostArray out = filled(shape, 0);
    for (Indices at(shape); !at.done(); at.advance()) {
      out.values[offset_of(shape, *at)] = broadcast_element(x, *at);
    }
    return out;
  }
  if (op == "slice") {
    const Dims starts = statics.list();
    const Dims sizes = statics.list();
    return sliced(x, starts, sizes, statics.list());
  }
  if (op == "unfold") {
    const auto axis = static_cast<int>(statics.i64());
    const std::int64_t size = statics.i64();
    const std::int64_t step = statics.i64();
    Shape shape = x.shape;
    shape[axis] = 0;
    for (std::int64_t at = 0; at + size <= x.shape[axis]; at += step) ++shape[axis];
    shape.push_back(size);
    HostArray out = filled(shape, 0);
    for (Indices at(shape); !at.done(); at.advance()) {
      Dims place = *at;
      place.erase(place.rank() - 1);
      place[axis] = (*at)[axis] * step + (*at).back();
      out.values[offset_of(shape, *at)] = x.values[offset_of(x.shape, place)];
    }
    return out;
  }
  if (op == "diagonal") {
    const std::int64_t offset = statics.i64();
    const auto first = static_cast<int>(statics.i64());
    const auto second = static_cast<int>(statics.i64());
    std::int64_t length = 0;
    for (std::int64_t row = 0; row < x.shape[first]; ++row) {
      const std::int64_t column = row + offset;
      if (column >= 0 && column < x.shape[second]) ++length;
    }
    Shape shape;
    for (int axis = 0; axis < x.shape.rank(); ++axis) {
      if (axis != first && axis != second) shape.push_back(x.shape[axis]);
    }
    shape.push_back(length);
    HostArray out = filled(shape, 0);
    for (Indices at(shape); !at.done(); at.advance()) {
      Dims place;
      int next = 0;
      for (int axis = 0; axis < x.shape.rank(); ++axis) {
        if (axis == first) {
          place.push_back((*at).back() + std::max<std::int64_t>(-offset, 0));
        } else if (axis == second) {
          place.push_back((*at).back() + std::max<std::int64_t>(offset, 0));
        } else {
          place.push_back((*at)[next++]);
        }
      }
      out.values[offset_of(shape, *at)] = x.values[offset_of(x.shape, place)];
    }
    return out;
  }
  if (op == "dynamic_slice") {
    const Dims sizes = statics.list();
    Dims starts;
    for (int i = 0; i < sizes.rank(); ++i) starts.push_back(dynamic_i64(params.dynamics()[i]));
    return sliced(x, starts, sizes, Dims::filled(sizes.rank(), 1));
  }
  if (op == "cat") {
    const auto axis = static_cast<int>(statics.i64());
    Shape shape = x.shape;
    shape[axis] = 0;
    for (const HostArray& input : inputs) shape[axis] += input.shape[axis];
    HostArray out = filled(shape, 0);
    std::int64_t begin = 0;
    for (const HostArray& input : inputs) {
      for (Indices at(input.shape); !at.done(); at.advance()) {
        Dims place = *at;
        place[axis] += begin;
        out.values[offset_of(shape, place)] = input.values[offset_of(input.shape, *at)];
      }
      begin += input.shape[axis];
    }
    return out;
  }
  return std::nullopt;
}

std::optional<HostArray> indexed(std::string_view op, const std::vector<HostArray>& inputs,
                                 const Params& params, bool logical) {
  const HostArray& x = inputs[0];
  ParamReader statics(params.statics().span());
  const auto updated = [&](double& into, double value, std::int64_t update) {
    const double old = into;
    switch (static_cast<IndexingUpdateOp>(update)) {
      case IndexingUpdateOp::assign:
        into = value;
        break;
      case IndexingUpdateOp::add:
        into = logical ? (old != 0 || value != 0 ? 1 : 0) : old + value;
        break;
      case IndexingUpdateOp::mul:
        into = old * value;
        break;
      case IndexingUpdateOp::min:
        into = old < value || std::isnan(old) ? old : value;
        break;
      case IndexingUpdateOp::max:
        into = old > value || std::isnan(old) ? old : value;
        break;
    }
  };
  if (op == "slice_assign") {
    const Dims steps = statics.list();
    HostArray out = x;
    for (Indices at(inputs[1].shape); !at.done(); at.advance()) {
      Dims place = *at;
      for (int axis = 0; axis < place.rank(); ++axis) {
        place[axis] = dynamic_i64(params.dynamics()[axis]) + place[axis] * steps[axis];
      }
      out.values[offset_of(x.shape, place)] = inputs[1].values[offset_of(inputs[1].shape, *at)];
    }
    return out;
  }
  const auto add = static_cast<std::int64_t>(IndexingUpdateOp::add);
  if (op == "gather" || op == "scatter_add" || op == "scatter") {
    const auto axis = static_cast<int>(statics.i64());
    const std::int64_t update = op == "scatter" ? statics.i64() : add;
    const HostArray& indices = inputs[1];
    HostArray out = op == "gather" ? filled(indices.shape, 0) : x;
    for (Indices at(indices.shape); !at.done(); at.advance()) {
      const std::size_t here = offset_of(indices.shape, *at);
      Dims place = *at;
      place[axis] = static_cast<std::int64_t>(indices.values[here]);
      const std::size_t there = offset_of(x.shape, place);
      if (op == "gather") {
        out.values[here] = x.values[there];
      } else {
        updated(out.values[there], inputs[2].values[here], update);
      }
    }
    return out;
  }
  if (op == "select" || op == "select_add" || op == "select_assign") {
    const auto axis = static_cast<int>(statics.i64());
    const std::int64_t update = op == "select_assign" ? statics.i64() : add;
    const HostArray& indices = inputs[1];
    Shape shape = x.shape;
    shape[axis] = indices.shape[0];
    HostArray out = op == "select" ? filled(shape, 0) : x;
    for (Indices at(shape); !at.done(); at.advance()) {
      Dims place = *at;
      place[axis] =
          static_cast<std::int64_t>(indices.values[static_cast<std::size_t>((*at)[axis])]);
      const std::size_t here = offset_of(shape, *at);
      const std::size_t there = offset_of(x.shape, place);
      if (op == "select") {
        out.values[here] = x.values[there];
      } else {
        updated(out.values[there], inputs[2].values[here], update);
      }
    }
    return out;
  }
  return std::nullopt;
}

// Rows of x by their deviation. The mean is taken of what elements differ from the row's first one
// by, so rows of equal elements have exactly their mean.
HostArray normalized(const std::vector<HostArray>& inputs, double epsilon, bool centred) {
  HostArray out = inputs[0];
  const auto length = static_cast<std::size_t>(out.shape.back());
  const auto vector = [&](std::size_t input, std::size_t i, double absent) {
    const bool is_given = input < inputs.size() && !inputs[input].values.empty();
    return is_given ? inputs[input].values[i] : absent;
  };
  for (std::size_t row = 0; row < out.values.size(); row += length) {
    double* const x = out.values.data() + row;
    const double first = centred ? x[0] : 0;
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < length; ++i) sum += x[i] - first;
    const double mean = centred ? sum / static_cast<double>(length) : 0;
    for (std::size_t i = 0; i < length; ++i) {
      x[i] = (x[i] - first) - mean;
      squares += x[i] * x[i];
    }
    const double deviation = std::sqrt(squares / static_cast<double>(length) + epsilon);
    for (std::size_t i = 0; i < length; ++i) {
      x[i] = x[i] / deviation * vector(1, i, 1) + vector(2, i, 0);
    }
  }
  return out;
}

// Bytes of blocks [.., n] as what they stand for.
HostArray host_decoded(const HostArray& x, const Params& params) {
  const auto format = static_cast<DType>(ParamReader(params.statics().span()).i64());
  HostArray decoded_x{x.shape, {}};
  const int last = x.shape.rank() - 1;
  decoded_x.shape[last] = x.shape[last] / size_of(format) * block_of(format);
  std::vector<std::byte> blocks;
  for (const double value : x.values) blocks.push_back(static_cast<std::byte>(value));
  std::vector<float> values(static_cast<std::size_t>(element_count(decoded_x.shape)));
  decode(format, blocks.data(), element_count(decoded_x.shape), values.data());
  decoded_x.values.assign(values.begin(), values.end());
  return decoded_x;
}

// Rows as the host's encoder has them.
HostArray host_encoded(const HostArray& x, const Params& params) {
  const auto format = static_cast<DType>(ParamReader(params.statics().span()).i64());
  const std::vector<float> values(x.values.begin(), x.values.end());
  const auto count = static_cast<std::int64_t>(values.size());
  HostArray made{x.shape, {}};
  const int last = x.shape.rank() - 1;
  made.shape[last] = x.shape[last] / block_of(format) * size_of(format);
  std::vector<std::byte> blocks(static_cast<std::size_t>(element_count(made.shape)));
  encode(format, values.data(), count, nullptr, blocks.data());
  for (const std::byte byte : blocks) made.values.push_back(std::to_integer<int>(byte));
  return made;
}

// Rows of codes of TurboQuant as what they stand for.
HostArray host_turbo(const HostArray& x, const Params& params) {
  const std::int64_t bits = ParamReader(params.statics().span()).i64();
  const int last = x.shape.rank() - 1;
  const std::int64_t bytes = x.shape[last], n = turbo_elements(bits, bytes);
  HostArray made{x.shape, {}};
  made.shape[last] = n;
  const std::int64_t rows = element_count(x.shape) / std::max<std::int64_t>(bytes, 1);
  std::vector<std::byte> codes;
  for (const double value : x.values) codes.push_back(static_cast<std::byte>(value));
  std::vector<float> values(static_cast<std::size_t>(rows * n));
  for (std::int64_t row = 0; row < rows; ++row) {
    decode_turbo(bits, codes.data() + row * bytes, n, values.data() + row * n);
  }
  made.values.assign(values.begin(), values.end());
  return made;
}

}  // namespace

double rounded(double value, DType dtype) {
  const auto whole = [value] {
    return std::abs(value) < 9e18 ? static_cast<std::int64_t>(value) : std::int64_t{0};
  };
  switch (dtype) {
    case DType::f64:
      return value;
    case DType::f32:
      return static_cast<double>(static_cast<float>(value));
    case DType::f16:
      return static_cast<double>(static_cast<float>(float16(static_cast<float>(value))));
    case DType::bf16:
      return static_cast<double>(static_cast<float>(bfloat16(static_cast<float>(value))));
    case DType::i64:
      return static_cast<double>(whole());
    case DType::i32:
      return static_cast<double>(static_cast<std::int32_t>(whole()));
    case DType::i16:
      return static_cast<double>(static_cast<std::int16_t>(whole()));
    case DType::i8:
      return static_cast<double>(static_cast<std::int8_t>(whole()));
    case DType::u64:
      return value >= 9e18 ? value : static_cast<double>(static_cast<std::uint64_t>(whole()));
    case DType::u32:
      return static_cast<double>(static_cast<std::uint32_t>(whole()));
    case DType::u16:
      return static_cast<double>(static_cast<std::uint16_t>(whole()));
    case DType::u8:
      return static_cast<double>(static_cast<std::uint8_t>(whole()));
    case DType::bool_:
    default:
      return value != 0 ? 1 : 0;
  }
  return value;
}

std::optional<HostArray> host_reference(std::string_view op, const std::vector<HostArray>& inputs,
                                        const Params& params, DType dtype, int output) {
  if (auto drawn = host_random(op, params)) return drawn;
  ParamReader statics(params.statics().span());
  if (const Scalar1 function = host_unary(op, dtype)) {
    return map_broadcast(inputs, [&](const std::vector<double>& v) { return function(v[0]); });
  }
  if (const Scalar2 function = host_binary(op, dtype)) {
    return map_broadcast(inputs,
                         [&](const std::vector<double>& v) { return function(v[0], v[1]); });
  }
  if (op == "dequantize_blocks") return host_decoded(inputs[0], params);
  if (op == "quantize_blocks") return host_encoded(inputs[0], params);
  if (op == "turbo_dequantize") return host_turbo(inputs[0], params);
  if (op == "where") {
    return map_broadcast(inputs,
                         [](const std::vector<double>& v) { return v[0] != 0 ? v[1] : v[2]; });
  }
  if (op == "clamp") {
    return map_broadcast(inputs, [](const std::vector<double>& v) {
      const double capped = v[0] > v[2] ? v[2] : v[0];
      return capped < v[1] ? v[1] : capped;
    });
  }
  if (op == "lerp") {
    return map_broadcast(inputs,
                         [](const std::vector<double>& v) { return v[0] + (v[1] - v[0]) * v[2]; });
  }
  if (op == "cast") {
    const DType to = statics.dtype();
    return map_broadcast(inputs, [&](const std::vector<double>& v) {
      double value = v[0];
      if (is_int(to)) {
        value = std::trunc(value);
        // Integers wrap, floats saturate.
        if (is_float(dtype) && !info(to).is_signed) value = std::max(value, 0.0);
      }
      return value;
    });
  }
  if (op == "sum" || op == "prod" || op == "max" || op == "min" || op == "any" || op == "all") {
    const Dims axes = statics.list();
    return reduce(op, inputs[0], axes, statics.boolean());
  }
  if (op == "argmax" || op == "argmin") {
    const auto axis = static_cast<int>(statics.i64());
    return arg_reduce(op == "argmax", inputs[0], axis, statics.boolean());
  }
  if (op == "max_with_indices" || op == "min_with_indices") {
    const Dims axis = {statics.i64()};
    const bool largest = op == "max_with_indices", keepdim = statics.boolean();
    if (output == 0) return reduce(largest ? "max" : "min", inputs[0], axis, keepdim);
    return arg_reduce(largest, inputs[0], static_cast<int>(axis[0]), keepdim);
  }
  if (op == "sort_with_indices") {
    const auto axis = static_cast<int>(statics.i64());
    return sorted(inputs[0], axis, statics.boolean(), output == 1);
  }
  if (op.starts_with("cum") || op == "logcumsumexp" || op == "linear_scan") {
    const auto axis = static_cast<int>(statics.i64());
    const bool reverse = params.statics().span().size() > 1 && statics.boolean();
    return scan(op, inputs, axis, reverse, output == 1);
  }
  if (op == "layer_norm" || op == "rms_norm") {
    return normalized(inputs, statics.f64(), op == "layer_norm");
  }
  if (op == "matmul") return matmul(inputs[0], inputs[1]);
  if (op == "arange") {
    HostArray out = filled({statics.i64()}, 0);
    const bool real = is_float(statics.dtype());
    const auto number = [&](int i) {
      const std::uint64_t word = params.dynamics()[i];
      return real ? dynamic_f64(word) : static_cast<double>(dynamic_i64(word));
    };
    for (std::size_t i = 0; i < out.values.size(); ++i) {
      out.values[i] = number(0) + static_cast<double>(i) * number(1);
    }
    return out;
  }
  if (inputs.empty()) return std::nullopt;
  if (auto out = view(op, inputs, params)) return out;
  return indexed(op, inputs, params, is_bool(dtype));
}

}  // namespace hearth::testing
