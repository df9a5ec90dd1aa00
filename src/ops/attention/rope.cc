// rope: rotary position embedding.
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/number_text.h"
#include "core/throw_as.h"
#include "ops/attention/rope_settings.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace {

enum RopeInput : int { kX, kPositions, kFrequencies, kRopeInputs };

void check_positions(const Inference& inference, const Shape& shape, const RopeSettings& s) {
  if (!inference.has(kPositions)) {
    if (s.sections.empty()) return;
    inference.fail(ErrorCode::invalid_argument, "sections without positions; got " +
                                                    std::to_string(s.sections.rank()) +
                                                    " sections, expected positions of each");
  }
  const Array& positions = inference.input(kPositions);
  require_indices(inference, kPositions, "positions");
  Shape one = {shape[shape.rank() - 2]};
  Shape each = {shape[0], shape[shape.rank() - 2]};
  if (!s.sections.empty()) {
    one = {s.sections.rank(), one[0]};
    each = {s.sections.rank(), each[0], each[1]};
  }
  const bool fits = positions.shape() == one || (shape.rank() > 2 && positions.shape() == each);
  if (!fits) {
    inference.fail(ErrorCode::shape, "positions do not fit; got " + to_string(positions.shape()) +
                                         ", expected " + to_string(one) +
                                         (shape.rank() > 2 ? " or " + to_string(each) : ""));
  }
}

void check_sections(const Inference& inference, const RopeSettings& s, std::int64_t pairs) {
  std::int64_t left = pairs;
  for (const std::int64_t section : s.sections) {
    if (section < 0 || section > left) left = -1;
    if (left >= 0) left -= section;
  }
  if (s.sections.rank() > kMaxRopeSections || (!s.sections.empty() && left != 0)) {
    inference.fail(ErrorCode::invalid_argument,
                   "sections do not add up; got " + to_string(s.sections) + ", expected up to " +
                       std::to_string(kMaxRopeSections) + " that make " + std::to_string(pairs) +
                       " pairs");
  }
}

void check_offset(const Inference& inference, std::int64_t rows) {
  const std::int64_t offset = dynamic_i64(inference.params.dynamics()[0]);
  const std::int64_t more = inference.has(kPositions) || rows == 0 ? 0 : rows - 1;
  if (is_rope_position(more) && is_rope_position(offset) && is_rope_position(offset + more)) return;
  inference.fail(ErrorCode::invalid_argument,
                 "offset out of range; got " + std::to_string(offset) + " for " +
                     std::to_string(rows) + " rows, expected positions from -2^31 to 2^31 - 1");
}

void infer_rope(Inference& inference) {
  require_float(inference, kX, "x");
  const Array& x = inference.input(kX);
  if (x.rank() < 2) {
    inference.fail(ErrorCode::shape, "x has no sequence axis; got " + to_string(x.shape()) +
                                         ", expected [.., sequence, dim]");
  }
  const RopeSettings s = RopeSettings::of(ParamReader(inference.params.statics().span()));
  if (s.dims == 0 && x.shape().back() % 2 != 0) {
    inference.fail(ErrorCode::shape, "the last extent is odd; got " + to_string(x.shape()) +
                                         ", expected [.., sequence, dim] with dim even");
  }
  if (s.dims < 0 || s.dims > x.shape().back() || s.dims % 2 != 0) {
    inference.fail(ErrorCode::invalid_argument,
                   "dims are out of range; got " + std::to_string(s.dims) +
                       ", expected an even number from 0 to " + std::to_string(x.shape().back()));
  }
  if (!(s.base > 0) || !std::isfinite(s.base)) {
    inference.fail(ErrorCode::invalid_argument, "base is not a positive number; got " +
                                                    number_text(s.base) +
                                                    ", expected something like 10000");
  }
  if (!std::isfinite(s.magnitude)) {
    inference.fail(
        ErrorCode::invalid_argument,
        "magnitude is not finite; got " + number_text(s.magnitude) + ", expected a number");
  }
  const std::int64_t pairs = s.pairs(x.shape().back());
  check_sections(inference, s, pairs);
  check_positions(inference, x.shape(), s);
  check_offset(inference, x.shape()[x.rank() - 2]);
  if (inference.has(kFrequencies)) {
    const Array& frequencies = inference.input(kFrequencies);
    if (frequencies.dtype() != DType::f32) {
      inference.fail(ErrorCode::dtype, "frequencies have another dtype; got " +
                                           std::string(name(frequencies.dtype())) +
                                           ", expected f32");
    }
    if (frequencies.shape() != Shape{pairs} && frequencies.shape() != Shape{2, pairs}) {
      inference.fail(ErrorCode::shape, "frequencies do not fit; got " +
                                           to_string(frequencies.shape()) + ", expected " +
                                           to_string(Shape{pairs}) + " or " +
                                           to_string(Shape{2, pairs}));
    }
  }
  inference.shape = x.shape();
  inference.dtype = inference.scalar_dtype = x.dtype();
}

// f64 [pairs].
Array frequencies_of(const Composite& c, const RopeSettings& s, std::int64_t pairs) {
  if (c.has(kFrequencies)) {
    const Array given = cast(c.input(kFrequencies), DType::f64);
    return given.rank() == 2 ? sum(given, {0}) : given;
  }
  const Array exponent =
      linear_ramp(pairs, 0, -1 / static_cast<double>(pairs), DType::f64, c.device);
  return pow(make_scalar(s.base, DType::f64), exponent);
}

// Where the pairs of rows of `shape` are, in a float dtype: broadcasts to [..., sequence, pairs].
// `positions` may be undefined.
Array places_of(const Array& positions, const RopeSettings& s, const Shape& shape, DType dtype,
                Device device) {
  const std::int64_t rows = shape[shape.rank() - 2], pairs = s.pairs(shape.back());
  if (!positions.defined()) {
    return unsqueeze(linear_ramp(rows, static_cast<double>(s.offset), 1, dtype, device), {1});
  }
  const Array moved = add(cast(positions, DType::i64), s.offset);
  const Array is_near = equal(moved, cast(cast(moved, DType::i32), DType::i64));
  const Array places = where(is_near, cast(moved, dtype), std::numeric_limits<double>::quiet_NaN());
  const int front = s.sections.empty() ? 0 : 1;
  // As rows of x: [batch, 1..., sequence, 1] or [sequence, 1].
  Shape lines = {rows, 1};
  if (places.rank() - front == 2) {
    lines = Shape::filled(shape.rank(), 1);
    lines[0] = shape[0];
    lines[shape.rank() - 2] = rows;
  }
  if (front == 0) return reshape(places, lines);
  Array all;
  for (std::int64_t section = 0; section < s.section_count(); ++section) {
    std::vector<double> takes;
    for (std::int64_t i = 0; i < pairs; ++i) takes.push_back(s.section_of(i) == section ? 1 : 0);
    const Array own = cast(Array::from_data(takes, {pairs}, device), dtype);
    const Array part = mul(reshape(narrow(places, 0, section, 1), lines), own);
    all = all.defined() ? add(all, part) : part;
  }
  return all;
}

// Both of each pair of the columns that turn: [..., sequence, pairs].
std::pair<Array, Array> halves_of(const Array& x, const RopeSettings& s) {
  const int last = x.rank() - 1;
  const std::int64_t half = s.pairs(x.shape()[last]);
  const Array value = wide(narrow(x, last, 0, 2 * half));
  Shape pairs = value.shape();
  pairs[last] = s.interleaved ? half : 2;
  pairs.push_back(s.interleaved ? 2 : half);
  const int axis = s.interleaved ? last + 1 : last;
  const Array paired = reshape(value, pairs);
  return {squeeze(narrow(paired, axis, 0, 1), {axis}), squeeze(narrow(paired, axis, 1, 1), {axis})};
}

Array rope_composite(const Composite& c) {
  RopeSettings s = RopeSettings::of(c.statics());
  s.offset = dynamic_i64(c.params.dynamics()[0]);
  const Array& x = c.input(kX);
  if (x.size() == 0) return contiguous(x);
  const int last = x.rank() - 1;
  const std::int64_t columns = x.shape()[last], half = s.pairs(columns);
  if (half == 0) return contiguous(x);
  // In f64: in f32 a position of 10^5 has lost 3 digits of its turn.
  const Array positions = c.has(kPositions) ? c.input(kPositions) : Array();
  const Array angle =
      mul(places_of(positions, s, x.shape(), DType::f64, c.device), frequencies_of(c, s, half));
  const auto [first, second] = halves_of(x, s);
  Array cosine = cos(angle), sine = sin(angle);
  if (s.magnitude != 1) {
    cosine = mul(cosine, s.magnitude);
    sine = mul(sine, s.magnitude);
  }
  cosine = cast(cosine, first.dtype());
  sine = cast(s.inverse ? neg(sine) : sine, first.dtype());
  const Array both = stack(
      {sub(mul(first, cosine), mul(second, sine)), add(mul(second, cosine), mul(first, sine))},
      s.interleaved ? last + 1 : last);
  Shape turning = x.shape();
  turning[last] = 2 * half;
  const Array turned = cast(reshape(both, turning), x.dtype());
  if (2 * half == columns) return turned;
  return cat({turned, narrow(x, last, 2 * half, columns - 2 * half)}, last);
}

// A pair (y0, y1) changes by (-y1, y0) with its angle, which is position * frequency.
Array frequency_gradient(const Vjp& v, const RopeSettings& s, const Array& positions) {
  const Shape& shape = v.shape(kX);
  const auto [y0, y1] = halves_of(v.out, s);
  const auto [g0, g1] = halves_of(v.grad, s);
  const Array slope = sub(mul(g1, y0), mul(g0, y1));
  const Array places = places_of(positions, s, shape, slope.dtype(), v.grad.device());
  const Array each = sum_to(mul(slope, places), {s.pairs(shape.back())});
  const Array one = cast(s.inverse ? neg(each) : each, v.dtype(kFrequencies));
  return v.shape(kFrequencies).rank() == 1 ? one : stack({one, one}, 0);
}

Saves saves_of_rope(std::uint32_t needs, ParamReader) {
  const Saves inputs = Saves::input1 | Saves::input2;
  return (needs & (1u << kFrequencies)) != 0 ? inputs | Saves::output : inputs;
}

Grads rope_vjp(const Vjp& v) {
  RopeSettings s = RopeSettings::of(v.statics());
  s.offset = dynamic_i64(v.dynamic(0));
  Grads grads(static_cast<std::size_t>(v.input_count()));
  const auto given = [&v](int i) { return i < v.input_count() && v.has(i) ? v.input(i) : Array(); };
  const Array positions = given(kPositions), frequencies = given(kFrequencies);
  if (kFrequencies < v.input_count() && v.has(kFrequencies) && v.needs(kFrequencies)) {
    grads[kFrequencies] = frequency_gradient(v, s, positions);
  }
  if (!v.needs(kX)) return grads;
  s.inverse = !s.inverse;
  grads[kX] = call(defs::rope_op, s.params(),
                   {&v.grad, optional_input(positions), optional_input(frequencies)});
  return grads;
}

std::vector<SampleCase> rope_samples() {
  const auto plain = [](double base, bool interleaved, bool inverse, std::int64_t offset) {
    return RopeSettings{
        .base = base, .interleaved = interleaved, .inverse = inverse, .offset = offset}
        .params();
  };
  const Params part = RopeSettings{.dims = 4, .magnitude = 1.25, .offset = 2}.params();
  const Params pairs_part = RopeSettings{.interleaved = true, .dims = 4}.params();
  const Params rows = RopeSettings{.sections = {2, 1, 1}}.params();
  const Params mixed = RopeSettings{.mixed = true, .sections = {2, 1, 1}}.params();
  const SampleInput frequencies = {{2, 4}, 0, 0.9, static_cast<int>(DType::f32)};
  return {
      {{{{5, 4}}}, plain(10000, false, false, 0)},
      {{{{2, 3, 5, 6}}}, plain(500000, false, false, 17)},
      {{{{2, 5, 8}}}, plain(10000, true, false, 3)},
      {{{{2, 5, 8}}}, plain(10000, true, true, 3)},
      {{{{2, 0, 8}}}, plain(10000, false, false, 0)},
      {{{{2, 5, 9}}}, part},
      {{{{2, 5, 7}}}, pairs_part},
      {{{{2, 3, 5, 8}}, {{2, 5}, 0, 500, kI64}}, plain(10000, false, false, 1)},
      {{{{2, 3, 5, 8}}, {{5}, 0, 4, kI32}, frequencies}, plain(10000, true, false, 0)},
      {{{{2, 3, 5, 8}}, {{3, 2, 5}, 0, 4, kI32}, frequencies}, rows},
      {{{{3, 5, 9}}, {{5}, -3, 4, kI32}, {{2}, 0, 0.9, static_cast<int>(DType::f32)}}, part},
      {{{{2, 5, 8}}, {{3, 5}, 0, 500, kI64}}, mixed},
      {{{{5, 3}}}, plain(10000, false, false, 0), kShapeError},
      {{{{4}}}, plain(10000, false, false, 0), kShapeError},
      {{{{5, 4}}}, plain(0, false, false, 0), kArgumentError},
      {{{{5, 4}}}, RopeSettings{.dims = 6}.params(), kArgumentError},
      {{{{5, 4}}}, plain(10000, false, false, INT32_MAX - 3), kArgumentError},
      {{{{5, 4}}}, RopeSettings{.dims = 3}.params(), kArgumentError},
      {{{{5, 8}}}, rows, kArgumentError},
      {{{{5, 6}}, {{3, 5}, 0, 9, kI32}}, rows, kArgumentError},
      {{{{5, 8}}, {{4}, 0, 9, kI32}}, plain(10000, false, false, 0), kShapeError},
      {{{{5, 8}}, {{5}, 0, 1, kBool}}, plain(10000, false, false, 0), kDTypeError},
  };
}

}  // namespace

constinit const OpDef defs::rope_op = {
    .name = "rope",
    .revision = 3,
    .summary = "Rotary position embedding of [.., sequence, dim].",
    .shapes = "x [..., sequence, dim], positions, frequencies -> [..., sequence, dim]",
    .method = "",
    .params = kRopeParams,
    .max_inputs = kRopeInputs,
    .infer = infer_rope,
    .vjp = rope_vjp,
    .saves = Saves::input1 | Saves::input2 | Saves::output,
    .saves_for = saves_of_rope,
    .composite = rope_composite,
    .accepts_dtype = is_float,
    .samples = rope_samples,
};

inline namespace v0 {

Array rope(const Array& x, const RopeOptions& options) {
  const RopeSettings settings = {.base = options.base,
                                 .interleaved = options.interleaved,
                                 .inverse = false,
                                 .dims = options.dims,
                                 .magnitude = options.magnitude,
                                 .mixed = options.mixed_sections,
                                 .sections = options.sections,
                                 .offset = options.offset};
  return call(defs::rope_op, settings.params(),
              {&x, optional_input(options.positions), optional_input(options.frequencies)});
}

}  // namespace v0
}  // namespace hearth
