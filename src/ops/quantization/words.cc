#include "ops/quantization/words.h"

#include "hearth/ops.h"
#include "ops/quantization/codes.h"

namespace hearth::quantization {
namespace {

std::int64_t code_mask(const QuantScheme& scheme) {
  return (std::int64_t{1} << bits_of(scheme.value)) - 1;
}

// Along the axis of a word's codes of a split array.
Array split_shifts(const Array& shifts, const Split& split) {
  Shape shape = Shape::filled(split.elements.rank(), 1);
  shape[split.codes_axis] = shifts.size();
  return reshape(shifts, shape);
}

Array as_words(const Array& payload) {
  return payload.dtype() == DType::u32 ? payload : cast(payload, DType::u32);
}

// Those that the array keeps; values that were loaded into it may be elsewhere than they are.
Array kept_shifts(const QuantizedArray& x) {
  if (x.shifts().device() == x.payload().device()) return x.shifts();
  return shifts_of(x.scheme(), x.payload().device());
}

// u8 codes in the array's order. All first codes of a line's words are taken out, then all second
// ones: bytes that are brought in order are less to move than what is made of them.
Array opened_lines(const QuantizedArray& x, const Split& split) {
  const std::int64_t words = x.payload().shape(-1);
  const std::int64_t lines = words == 0 ? 0 : x.payload().size() / words;
  const Array line = reshape(as_words(x.payload()), {lines, 1, words});
  const Array shifts = reshape(kept_shifts(x), {1, codes_per_word(x.scheme()), 1});
  const Array codes =
      cast(bitwise_and(bitwise_right_shift(line, shifts), code_mask(x.scheme())), DType::u8);
  return reshape(contiguous(permute(codes, {0, 2, 1})), split.padded);
}

// And back, in the shape of `words`.
Array closed_lines(const Array& codes, const QuantScheme& scheme, const Shape& words) {
  const std::int64_t count = words.back(), per_word = codes_per_word(scheme);
  const std::int64_t lines = count == 0 ? 0 : element_count(words) / count;
  const Array bytes = cast(bitwise_and(codes, code_mask(scheme)), DType::u8);
  const Array placed = contiguous(permute(reshape(bytes, {lines, count, per_word}), {0, 2, 1}));
  const Array shifts = reshape(shifts_of(scheme, codes.device()), {1, per_word, 1});
  return reshape(sum(bitwise_left_shift(cast(placed, DType::u32), shifts), {1}), words);
}

}  // namespace

Array shifts_of(const QuantScheme& scheme, Device device) {
  const std::int64_t count = codes_per_word(scheme), bits = bits_of(scheme.value);
  return count == 1 ? Array() : arange(0, bits * count, bits, DType::u32, device);
}

Array packed(const Array& codes, const QuantScheme& scheme, const Shape& shape,
             const Split& split) {
  const DType dtype = payload_dtype(scheme);
  const Shape words = payload_shape(scheme, shape);
  if (split.opens_lines) return cast(closed_lines(codes, scheme, words), dtype);
  if (split.codes_axis < 0) return reshape(cast(codes, dtype), words);
  const Array fields = cast(bitwise_and(codes, code_mask(scheme)), DType::u32);
  const Array placed =
      bitwise_left_shift(fields, split_shifts(shifts_of(scheme, codes.device()), split));
  return reshape(cast(sum(placed, {split.codes_axis}), dtype), words);
}

Array unpacked(const QuantizedArray& x, const Split& split) {
  Array codes;
  if (split.opens_lines) {
    codes = reshape(opened_lines(x, split), split.elements);
  } else {
    codes = reshape(x.payload(), split.words);
  }
  if (split.codes_axis >= 0) {
    codes = bitwise_right_shift(as_words(codes), split_shifts(kept_shifts(x), split));
    codes = bitwise_and(codes, code_mask(x.scheme()));
  }
  return decoded(cast(codes, DType::i32), x.scheme().value);
}

}  // namespace hearth::quantization
