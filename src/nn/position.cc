#include "hearth/nn/position.h"

#include <cmath>
#include <string>

#include "core/require.h"
#include "core/throw_as.h"
#include "hearth/ops.h"
#include "nn/rope_options.h"

namespace hearth {
inline namespace v0 {
namespace nn {
namespace {

void require_positions(const char* layer, std::int64_t longest, std::int64_t dim, double base) {
  // Products of two of them, and of a few such, stay far from the ends of i64.
  constexpr std::int64_t kMax = std::int64_t{1} << 30;
  require_in_range(longest >= 1 && dim >= 1 && longest <= kMax && dim <= kMax, layer, "sizes",
                   std::to_string(longest) + " and " + std::to_string(dim), "1 to 2^30");
  require_positive(layer, "base", base);
}

void require_rows(const char* layer, const Array& x, std::int64_t start, std::int64_t longest,
                  std::int64_t dim) {
  if (x.rank() < 2 || x.shape(-1) != dim) {
    throw Error(ErrorCode::shape, std::string(layer) + ": input does not fit; got " +
                                      to_string(x.shape()) + ", expected [..., rows, " +
                                      std::to_string(dim) + "]");
  }
  if (start < 0 || start > longest || x.shape(-2) > longest - start) {
    throw Error(ErrorCode::shape, std::string(layer) + ": rows beyond the longest; got " +
                                      std::to_string(x.shape(-2)) + " from " +
                                      std::to_string(start) + " on, expected at most " +
                                      std::to_string(longest) + " in all");
  }
}

}  // namespace

PositionalEncoding::PositionalEncoding(std::int64_t dim, std::int64_t longest, double timescale,
                                       Device device) try {
  require_positions("positional_encoding", longest, dim, timescale);
  const NoGrad no_grad;
  // Angles in f64, since those of far rows are large, and so on the CPU, which always has it.
  const Array columns = cast(arange(0, dim, 1, DType::i64, Device::cpu()), DType::f64);
  const Array even = floor(columns * 0.5) * 2.0;
  const Array rates = exp(even * (-std::log(timescale) / static_cast<double>(dim)));
  const Array rows = cast(arange(0, longest, 1, DType::i64, Device::cpu()), DType::f64);
  const Array angles = reshape(rows, {longest, 1}) * rates;
  const Array values = where(equal(columns, even), sin(angles), cos(angles));
  table = to_device(cast(values, DType::f32), device);
} catch (const Error& error) {
  throw_as("positional_encoding", error);
}

Array PositionalEncoding::forward(const Array& x, std::int64_t start) const try {
  require_rows("positional_encoding", x, start, table.shape(0), table.shape(1));
  const Array rows = dynamic_slice(table, {start, 0}, {x.shape(-2), table.shape(1)});
  return x + cast(to_device(rows, x.device()), x.dtype());
} catch (const Error& error) {
  throw_as("positional_encoding", error);
}

RotaryEncoding::RotaryEncoding(std::int64_t its_longest, std::int64_t its_dim,
                               const Options& options) try
    : longest(its_longest), dim(its_dim) {
  require_positions("rotary_encoding", longest, dim, options.base);
  if (dim % 2 != 0) {
    throw Error(ErrorCode::invalid_argument, "rotary_encoding: odd dim; got " +
                                                 std::to_string(dim) + ", expected an even number");
  }
  rope = nn_detail::rope_options("rotary_encoding", dim, options);
} catch (const Error& error) {
  throw_as("rotary_encoding", error);
}

Array RotaryEncoding::forward(const Array& x, std::int64_t start) const try {
  require_rows("rotary_encoding", x, start, longest, dim);
  return nn_detail::turned(x, rope, start, Array());
} catch (const Error& error) {
  throw_as("rotary_encoding", error);
}

Array RotaryEncoding::forward(const Array& x, const Array& positions) const try {
  require_rows("rotary_encoding", x, 0, longest, dim);
  if (!positions.defined()) {
    throw Error(ErrorCode::invalid_argument,
                "rotary_encoding: no positions; got an array without a value, expected integers");
  }
  return nn_detail::turned(x, rope, 0, positions);
} catch (const Error& error) {
  throw_as("rotary_encoding", error);
}

}  // namespace nn
}  // namespace v0
}  // namespace hearth
