#include "ops/quantization/dequantize_words.h"

#include <string>
#include <vector>

#include "core/integer_math.h"
#include "graph/selector.h"
#include "hearth/ops.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"
#include "ops/quantization/codes.h"
#include "ops/quantization/value_traits.h"
#include "runtime/device/device_spec.h"

namespace hearth {
namespace quantization {
namespace {

constexpr ParamSpec kWordParams[] = {
    {.name = "value", .type = ParamType::i64, .range = "[0, 8], a QuantValue"},
    {.name = "count", .type = ParamType::i64, .range = "[0, codes of a line's words]"},
    {.name = "dtype", .type = ParamType::dtype, .range = "floats"},
    {.name = "word_bits", .type = ParamType::i64, .range = "8 of u8, 32 of u32"}};

static_assert(kQuantValues == 9);  // as the range of `value` says

std::int64_t bits_of_word(const Array& words) { return 8 * size_of(words.dtype()); }

void infer_words(Inference& inference) {
  require_input(inference, 0);
  const Array &words = inference.input(0), &scales = inference.input(1);
  ParamReader statics(inference.params.statics().span());
  const std::int64_t value = statics.i64(), count = statics.i64();
  const DType dtype = statics.dtype();
  const std::int64_t word_bits = statics.i64();
  const DType unit = word_bits == 8 ? DType::u8 : DType::u32;
  if (word_bits != 8 && word_bits != 32) {
    inference.fail(ErrorCode::invalid_argument,
                   "no such words; got " + std::to_string(word_bits) + " bits, expected 8 or 32");
  }
  if (words.dtype() != unit) {
    inference.fail(ErrorCode::dtype, "no words; got " + std::string(name(words.dtype())) +
                                         ", expected " + std::string(name(unit)));
  }
  if (value < 0 || value >= kQuantValues) {
    inference.fail(ErrorCode::invalid_argument, "no such value; got " + std::to_string(value) +
                                                    ", expected 0 to " +
                                                    std::to_string(kQuantValues - 1));
  }
  const std::int64_t per_word = bits_of_word(words) / bits_of(static_cast<QuantValue>(value));
  const bool are_lines = words.rank() == 2 && scales.rank() == 2 &&
                         words.shape()[0] == scales.shape()[0] && scales.shape()[1] > 0;
  if (!are_lines || count < 0 || ceil_div(count, per_word) != words.shape()[1] ||
      count % scales.shape()[1] != 0) {
    inference.fail(ErrorCode::shape, "operands do not fit; got words " + to_string(words.shape()) +
                                         ", scales " + to_string(scales.shape()) + " and " +
                                         std::to_string(count) +
                                         " codes, expected [lines, words of the codes] and "
                                         "[lines, blocks that divide the codes]");
  }
  require_accepted(inference, scales.dtype());
  require_accepted(inference, dtype);
  inference.dtype = dtype;
  inference.scalar_dtype = scales.dtype();
  inference.shape = {words.shape()[0], count};
  check_shape("dequantize_words", inference.shape);
}

Array composite_words(const Composite& c) {
  ParamReader statics = c.statics();
  const auto value = static_cast<QuantValue>(statics.i64());
  const std::int64_t count = statics.i64();
  const DType dtype = statics.dtype();
  const Array &words = c.input(0), &scales = c.input(1);
  const std::int64_t lines = words.shape()[0], bits = bits_of(value), word = bits_of_word(words);
  const std::int64_t blocks = scales.shape()[1], per_word = word / bits;
  const Array shifts = arange(0, word, bits, DType::u32, words.device());
  const Array each =
      bitwise_right_shift(reshape(cast(words, DType::u32), {lines, words.shape()[1], 1}), shifts);
  const Array fields = bitwise_and(each, (std::int64_t{1} << bits) - 1);
  const Array codes = reshape(fields, {lines, words.shape()[1] * per_word});
  const Array values = decoded(cast(narrow(codes, 1, 0, count), DType::i32), value);
  const Array factors = wide(scales);
  const Array products =
      mul(reshape(cast(values, factors.dtype()), {lines, blocks, count / blocks}),
          reshape(factors, {lines, blocks, 1}));
  return cast(reshape(products, {lines, count}), dtype);
}

std::vector<SampleCase> word_samples() {
  std::vector<SampleCase> samples;
  const auto add = [&samples](QuantValue value, const Shape& words, const Shape& scales,
                              std::int64_t count, DType unit = DType::u32,
                              DType dtype = DType::f32) {
    const double largest = unit == DType::u8 ? 255 : 4294967295.0;
    samples.emplace_back().inputs = {{words, 0, largest, static_cast<int>(unit)}, {scales}};
    samples.back().params.i64(static_cast<std::int64_t>(value)).i64(count).dtype(dtype);
    samples.back().params.i64(unit == DType::u8 ? 8 : 32);
  };
  add(QuantValue::q4s, {3, 8}, {3, 2}, 64);
  add(QuantValue::q4f, {2, 3}, {2, 1}, 19);
  add(QuantValue::q2s, {3, 6}, {3, 3}, 96);
  add(QuantValue::q2f, {1, 2}, {1, 1}, 31);
  add(QuantValue::q8s, {2, 12}, {2, 3}, 48);
  add(QuantValue::q8f, {4, 5}, {4, 1}, 17);
  add(QuantValue::e2m1, {2, 24}, {2, 3}, 48, DType::u8);
  add(QuantValue::e2m1, {2, 5}, {2, 1}, 9, DType::u8);
  add(QuantValue::e2m1, {2, 4}, {2, 2}, 32);
  add(QuantValue::q4s, {2, 700}, {2, 1}, 5595);
  add(QuantValue::q4s, {1, 3}, {1, 4}, 20);  // blocks that end within a word
  add(QuantValue::q4s, {2, 2}, {2, 2}, 16, DType::u32, DType::bf16);
  add(QuantValue::q2f, {2, 2}, {2, 2}, 32, DType::u32, DType::f16);
  add(QuantValue::q4s, {0, 3}, {0, 1}, 24);
  add(QuantValue::q4s, {3, 0}, {3, 1}, 0);
  add(QuantValue::q4s, {3, 2}, {3, 1}, 24);
  samples.back().error = kShapeError;
  add(QuantValue::q4s, {3, 3}, {3, 5}, 24);
  samples.back().error = kShapeError;
  add(QuantValue::q4s, {3, 3}, {2, 1}, 24);
  samples.back().error = kShapeError;
  add(static_cast<QuantValue>(kQuantValues), {3, 3}, {3, 1}, 24);
  samples.back().error = kArgumentError;
  add(QuantValue::q4s, {3, 3}, {3, 1}, 24, DType::u32, DType::i32);
  samples.back().error = kDTypeError;
  add(QuantValue::q4s, {3, 3}, {3, 1}, 24, DType::i64);
  samples.back().error = kDTypeError;
  return samples;
}

}  // namespace

Array dequantize_words(const Array& words, const Array& scales, QuantValue value,
                       std::int64_t count, DType dtype) {
  return call(defs::dequantize_words_op,
              Params()
                  .i64(static_cast<std::int64_t>(value))
                  .i64(count)
                  .dtype(dtype)
                  .i64(bits_of_word(words)),
              {&words, &scales});
}

bool has_dequantize_words(Device device) {
  return device.impl().selector().has(&defs::dequantize_words_op);
}

}  // namespace quantization

constinit const OpDef defs::dequantize_words_op = {
    .name = "dequantize_words",
    .summary = "What codes in words stand for, times the scales of their blocks.",
    .shapes = "words [lines, words], scales [lines, blocks] -> [lines, count]",
    .method = "",
    .params = quantization::kWordParams,
    .min_inputs = 2,
    .max_inputs = 2,
    .infer = quantization::infer_words,
    .composite = quantization::composite_words,
    .accepts_dtype = is_float,
    .samples = quantization::word_samples,
};

}  // namespace hearth
