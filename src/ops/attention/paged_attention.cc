// paged_attention: attention of ragged sequences whose keys and values lie in pages.
#include <cmath>
#include <limits>
#include <string>

#include "core/number_text.h"
#include "core/packed/turbo.h"
#include "core/throw_as.h"
#include "hearth/quantization/packed.h"
#include "ops/attention/paged.h"
#include "ops/definition/call.h"
#include "ops/definition/defs.h"
#include "ops/definition/rules.h"
#include "ops/packed/blocks.h"

namespace hearth {
namespace paged {
namespace {

// Positions of keys have 31 bits.
constexpr std::int64_t kMostKeys = std::numeric_limits<std::int32_t>::max();

void require_shape(const Inference& inference, int input, const char* what, const Shape& shape) {
  if (inference.input(input).shape() == shape) return;
  inference.fail(ErrorCode::shape, std::string(what) + " do not fit; got " +
                                       to_string(inference.input(input).shape()) + ", expected " +
                                       to_string(shape));
}

void require_dtype(const Inference& inference, int input, const char* what, int like,
                   const char* other) {
  const DType got = inference.input(input).dtype(), expected = inference.input(like).dtype();
  if (got == expected) return;
  inference.fail(ErrorCode::dtype, std::string(what) + " differ from " + other + "; got " +
                                       std::string(name(got)) + ", expected " +
                                       std::string(name(expected)));
}

// The columns of a cache's rows.
std::int64_t check_cache(const Inference& inference, int input, const char* what,
                         CacheFormat format) {
  const Array& cache = inference.input(input);
  if (!is_cache_format(format)) {
    inference.fail(ErrorCode::invalid_argument, std::string(what) + " have no such format; got " +
                                                    std::to_string(format) +
                                                    ", expected 2, 3 or 4 bits, q8_0 or q4_0");
  }
  if (format == 0) {
    require_float(inference, input, what);
  } else if (cache.dtype() != DType::u8) {
    inference.fail(ErrorCode::dtype, std::string(what) + " are no codes; got " +
                                         std::string(name(cache.dtype())) + ", expected u8");
  }
  const std::int64_t columns = columns_of(format, cache.shape()[2]);
  if (columns < 0) {
    inference.fail(ErrorCode::shape, std::string(what) + " are no rows of codes; got " +
                                         to_string(cache.shape()) +
                                         ", expected whole blocks in the last axis");
  }
  return columns;
}

// The columns of values.
std::int64_t check_arrays(const Inference& inference) {
  constexpr const char* kNames[] = {"q", "keys", "values", "pages", "starts", "lengths"};
  constexpr int kRanks[] = {3, 3, 3, 2, 1, 1};
  for (int i = kQ; i <= kLengths; ++i) {
    require_rank(inference, i, kRanks[i], kNames[i]);
    if (i > kValues) require_indices(inference, i, kNames[i]);
  }
  require_float(inference, kQ, kNames[kQ]);
  const Settings s = settings_of(ParamReader(inference.params.statics().span()));
  const std::int64_t d = check_cache(inference, kKeys, kNames[kKeys], s.key_format);
  const std::int64_t dv = check_cache(inference, kValues, kNames[kValues], s.value_format);
  const Shape& q = inference.input(kQ).shape();
  const Shape& keys = inference.input(kKeys).shape();
  const Shape& values = inference.input(kValues).shape();
  if (keys[0] != values[0] || keys[1] != values[1] || q[2] != d) {
    inference.fail(ErrorCode::shape, "extents differ; got q " + to_string(q) + ", keys " +
                                         to_string(keys) + ", values " + to_string(values) +
                                         ", expected q [rows, heads, d], keys [slots, kv_heads, d]"
                                         " and values [slots, kv_heads, dv]");
  }
  if (keys[1] == 0 ? q[1] != 0 : q[1] % keys[1] != 0) {
    inference.fail(ErrorCode::shape, "heads cannot be shared out; got q " + to_string(q) +
                                         ", keys " + to_string(keys) +
                                         ", expected heads to be a multiple of kv_heads");
  }
  const std::int64_t sequences = inference.input(kPages).shape()[0];
  require_shape(inference, kStarts, "starts", {sequences + 1});
  require_shape(inference, kLengths, "lengths", {sequences});
  if (inference.has(kSinks)) {
    require_dtype(inference, kSinks, "sinks", kQ, "q");
    require_shape(inference, kSinks, "sinks", {q[1]});
  }
  return dv;
}

void check_settings(const Inference& inference) {
  const Settings s = settings_of(ParamReader(inference.params.statics().span()));
  const auto refuse = [&](const std::string& text) {
    inference.fail(ErrorCode::invalid_argument, text);
  };
  if (!std::isfinite(s.scale)) {
    refuse("scale is not finite; got " + number_text(s.scale) + ", expected a number");
  }
  if (!(s.softcap >= 0) || !std::isfinite(s.softcap)) {
    refuse("softcap is out of range; got " + number_text(s.softcap) +
           ", expected 0 for none or a positive number");
  }
  if (s.window < 0) {
    refuse("window is negative; got " + std::to_string(s.window) + ", expected 0 for none or more");
  }
  if (s.page_size < 1) {
    refuse("page_size is out of range; got " + std::to_string(s.page_size) +
           ", expected at least 1");
  }
  const std::int64_t slots = inference.input(kKeys).shape()[0];
  if (slots % s.page_size != 0) {
    refuse("slots do not fill pages; got " + std::to_string(slots) + " slots and page_size " +
           std::to_string(s.page_size) + ", expected slots to be a multiple of it");
  }
  const std::int64_t most = inference.input(kPages).shape()[1];
  if (most > 0 && s.page_size > kMostKeys / most) {
    refuse("a sequence has too many keys; got " + std::to_string(most) + " pages of " +
           std::to_string(s.page_size) + ", expected at most " + std::to_string(kMostKeys) +
           " keys");
  }
}

void infer_paged_attention(Inference& inference) {
  const std::int64_t dv = check_arrays(inference);
  check_settings(inference);
  const Shape& q = inference.input(kQ).shape();
  inference.shape = {q[0], q[1], dv};
  check_shape(inference.op.name.text, inference.shape);
  inference.dtype = inference.scalar_dtype = inference.input(kQ).dtype();
}

// Where rows and their keys are: `slots` i64 [rows, keys], and which of them a row sees.
struct Places {
  Array slots, seen;
};

Places places_of(const Composite& c, const Settings& s) {
  const std::int64_t rows = c.input(kQ).shape()[0], slots = c.input(kKeys).shape()[0];
  const std::int64_t sequences = c.input(kPages).shape()[0], most = c.input(kPages).shape()[1];
  const std::int64_t keys = most * s.page_size;
  const auto clamped = [](const Array& x, std::int64_t high) {
    return minimum(maximum(cast(x, DType::i64), 0), high);
  };
  const Array starts = cummax(clamped(c.input(kStarts), rows), 0);
  const Array row = arange(0, rows, 1, DType::i64, c.device);
  // Sequences that begin at a row or before it, of which the last one has the row.
  const Array begun = sum(cast(less_equal(starts, unsqueeze(row, {1})), DType::i64), {1});
  const Array sequence = clamped(sub(begun, 1), sequences - 1);
  const Array has_sequence = logical_and(greater(begun, 0), less_equal(begun, sequences));
  const Array length = select(clamped(c.input(kLengths), keys), sequence, 0);
  const Array position = sub(add(length, row), select(starts, add(sequence, 1), 0));
  const Array column = arange(0, keys, 1, DType::i64, c.device), own = unsqueeze(position, {1});
  Array seen = logical_and(unsqueeze(has_sequence, {1}), less_equal(column, own));
  if (s.window > 0 && s.window < keys)
    seen = logical_and(seen, greater(column, sub(own, s.window)));
  const Array pages = select(cast(c.input(kPages), DType::i64), sequence, 0);
  const Array exists =
      logical_and(greater_equal(pages, 0), less(pages, slots / s.page_size));  // [rows, most]
  const Array first = unsqueeze(mul(where(exists, pages, 0), s.page_size), {2});
  const Array within = arange(0, s.page_size, 1, DType::i64, c.device);
  const Array there = expand(unsqueeze(exists, {2}), {rows, most, s.page_size});
  seen = logical_and(seen, reshape(there, {rows, keys}));
  return {reshape(add(first, within), {rows, keys}), seen};
}

// What codes stand for.
Array decoded(const Array& codes, CacheFormat format, DType dtype) {
  if (format == 0) return cast(codes, dtype);
  if (is_turbo_bits(format)) return turbo_dequantize(codes, format, dtype);
  return dequantize_blocks(codes, static_cast<DType>(format), dtype);
}

// [rows, keys, kv_heads, columns] of what each row sees, in the dtype of the computation; 0 for
// the rest, whatever lies there.
Array taken(const Array& cache, const Places& places, CacheFormat format, DType dtype) {
  const Shape& shape = cache.shape();
  const Shape& at = places.slots.shape();
  const Array flat = select(cache, reshape(places.slots, {at[0] * at[1]}), 0);
  const Array found = decoded(reshape(flat, {at[0], at[1], shape[1], shape[2]}), format, dtype);
  return where(unsqueeze(places.seen, {2, 3}), found, 0.0);
}

Array paged_attention_composite(const Composite& c) {
  const Settings s = settings_of(c.statics());
  const Shape& q = c.input(kQ).shape();
  const Shape& cache = c.input(kKeys).shape();
  const std::int64_t rows = q[0], heads = q[1], kv_heads = cache[1];
  const std::int64_t dv = columns_of(s.value_format, c.input(kValues).shape()[2]);
  const std::int64_t keys = c.input(kPages).shape()[1] * s.page_size;
  const Shape shape = {rows, heads, dv};
  const DType dtype = c.input(kQ).dtype(), sums = compute_dtype(dtype);
  if (element_count(shape) == 0 || keys == 0 || cache[0] == 0 || c.input(kPages).shape()[0] == 0) {
    return contiguous(zeros(shape, dtype, c.device));
  }
  const std::int64_t group = heads / kv_heads;
  const Places places = places_of(c, s);
  // [rows, kv_heads, group, keys]
  const Array grouped = reshape(cast(c.input(kQ), sums), {rows, kv_heads, group, q[2]});
  Array scores =
      matmul(grouped, permute(taken(c.input(kKeys), places, s.key_format, sums), {0, 2, 3, 1}));
  scores = mul(scores, s.softcap > 0 ? s.scale / s.softcap : s.scale);
  if (s.softcap > 0) scores = mul(tanh(scores), s.softcap);
  const Array unseeing = unsqueeze(logical_not(any(places.seen, {1}, true)), {2, 3});
  const Array hidden = unsqueeze(logical_not(places.seen), {1, 2});
  scores = where(hidden, -std::numeric_limits<double>::infinity(), scores);
  scores = where(unseeing, 0.0, scores);
  Array weights = softmax(scores, 3);
  if (c.has(kSinks)) {
    // e^sum / (e^sum + e^sink).
    const Array sinks = reshape(cast(c.input(kSinks), sums), {1, kv_heads, group, 1});
    weights = mul(weights, sigmoid(sub(logsumexp(scores, 3, true), sinks)));
  }
  weights = where(logical_or(unseeing, hidden), 0.0, weights);
  const Array values = permute(taken(c.input(kValues), places, s.value_format, sums), {0, 2, 1, 3});
  return cast(reshape(matmul(weights, values), shape), dtype);
}

std::vector<SampleCase> paged_attention_samples() {
  const auto of = [](std::int64_t page_size, double softcap = 0, std::int64_t window = 0,
                     CacheFormat keys = 0, CacheFormat values = 0) {
    return params_of({0.35, page_size, softcap, window, keys, values});
  };
  // Bytes of which halves and floats are small numbers.
  const auto codes = [](const Shape& shape) {
    return SampleInput{shape, 0, 60, static_cast<int>(DType::u8)};
  };
  const auto ints = [](const Shape& shape, double lo, double hi, int dtype = kI32) {
    return SampleInput{shape, lo, hi, dtype};
  };
  constexpr int kF16 = static_cast<int>(DType::f16), kBf16 = static_cast<int>(DType::bf16);
  const auto cache = [](const Shape& shape, int dtype) { return SampleInput{shape, -2, 2, dtype}; };
  const SampleInput q = {{5, 4, 8}}, keys = {{16, 2, 8}}, values = {{16, 2, 6}};
  const SampleInput pages = ints({3, 3}, 0, 3), starts = ints({4}, 0, 5), lengths = ints({3}, 1, 9);
  return {
      {{q, keys, values, pages, starts, lengths}, of(4)},
      {{q, keys, values, pages, starts, lengths, {{4}}}, of(4, 2, 3)},
      // Many rows, and numbers that name nothing.
      {{{{40, 4, 16}},
        {{64, 2, 16}},
        {{64, 2, 24}},
        ints({2, 15}, -1, 17),
        ints({3}, -2, 44),
        ints({2}, 20, 70)},
       of(4)},
      {{{{40, 4, 16}},
        {{64, 1, 16}},
        {{64, 1, 16}},
        ints({2, 9}, -1, 9, kI64),
        ints({3}, 0, 40, kI64),
        ints({2}, 20, 70, kI64),
        {{4}}},
       of(8, 3, 11)},
      // Caches of another dtype.
      {{q, cache({16, 2, 8}, kF16), cache({16, 2, 6}, kF16), pages, starts, lengths}, of(4)},
      {{q, cache({16, 2, 8}, kBf16), cache({16, 2, 6}, kBf16), pages, starts, lengths}, of(8)},
      {{{{20, 2, 8}},
        cache({24, 2, 8}, kF16),
        cache({24, 2, 8}, kF16),
        ints({1, 4}, 0, 7),
        ints({2}, 0, 0),
        ints({1}, 9, 12)},
       of(3)},
      // Codes, of few rows and of many.
      {{{{5, 4, 32}}, codes({16, 2, 34}), codes({16, 2, 36}), pages, starts, lengths},
       of(4, 0, 0, kQ8Format, kQ4Format)},
      {{{{5, 4, 64}}, codes({16, 2, 36}), codes({16, 2, 28}), pages, starts, lengths},
       of(4, 2, 3, 4, 3)},
      {{{{5, 4, 64}}, codes({16, 2, 20}), cache({16, 2, 6}, kF16), pages, starts, lengths},
       of(4, 0, 0, 2)},
      {{{{5, 4, 8}}, cache({16, 2, 8}, kBf16), codes({16, 2, 68}), pages, starts, lengths},
       of(4, 0, 0, 0, kQ8Format)},
      {{{{40, 4, 64}},
        codes({64, 2, 68}),
        codes({64, 2, 36}),
        ints({2, 15}, -1, 17),
        ints({3}, -2, 44),
        ints({2}, 20, 70)},
       of(4, 0, 9, kQ8Format, 4)},
      {{{{5, 4, 32}}, codes({16, 2, 33}), codes({16, 2, 36}), pages, starts, lengths},
       of(4, 0, 0, kQ8Format, kQ4Format),
       kShapeError},
      {{{{5, 4, 32}}, codes({16, 2, 34}), codes({16, 2, 36}), pages, starts, lengths},
       of(4, 0, 0, 13, kQ4Format),
       kArgumentError},
      {{q, keys, values, pages, starts, lengths}, of(4, 0, 0, 4), kDTypeError},
      // Nothing to see.
      {{{{0, 4, 8}}, keys, values, pages, starts, lengths}, of(4)},
      {{q, keys, values, ints({0, 3}, 0, 1), ints({1}, 0, 5), ints({0}, 0, 1)}, of(4)},
      {{q, {{0, 2, 8}}, {{0, 2, 6}}, pages, starts, lengths}, of(4)},
      {{q, keys, values, pages, starts, lengths}, of(5), kArgumentError},
      {{q, keys, values, pages, starts, lengths}, of(0), kArgumentError},
      {{q, keys, values, pages, starts, lengths}, of(4, -1), kArgumentError},
      {{q, keys, values, pages, starts, lengths}, of(4, 0, -1), kArgumentError},
      {{q, keys, values, pages, ints({3}, 0, 5), lengths}, of(4), kShapeError},
      {{q, keys, {{16, 1, 6}}, pages, starts, lengths}, of(4), kShapeError},
      {{{{5, 3, 8}}, keys, values, pages, starts, lengths}, of(4), kShapeError},
      {{q, keys, values, pages, starts, lengths, {{2}}}, of(4), kShapeError},
      {{q, keys, values, {{3, 3}, 0, 1, kBool}, starts, lengths}, of(4), kDTypeError},
  };
}

// A cache as the op has it.
struct Cache {
  Array rows;
  CacheFormat format = 0;
};

Cache cache_of(const Array& rows, std::int64_t bits, const char* what) {
  if (bits != 0 && !is_turbo_bits(bits)) {
    throw Error(ErrorCode::invalid_argument, std::string("paged_attention: ") + what +
                                                 " are none of turbo_quantize(); got " +
                                                 std::to_string(bits) + ", expected 0, 2, 3 or 4");
  }
  if (!rows.defined() || !is_packed(rows.dtype())) return {rows, bits};
  if (bits != 0 || (rows.dtype() != DType::q8_0 && rows.dtype() != DType::q4_0)) {
    throw Error(ErrorCode::dtype, "paged_attention: a cache of blocks that it does not read; got " +
                                      std::string(name(rows.dtype())) +
                                      (bits != 0 ? " and bits of codes" : "") +
                                      ", expected floats, q8_0, q4_0 or codes of turbo_quantize()");
  }
  return {block_bytes(rows), static_cast<CacheFormat>(rows.dtype())};
}

}  // namespace
}  // namespace paged

constinit const OpDef defs::paged_attention_op = {
    .name = "paged_attention",
    .summary = "Attention of ragged sequences over keys and values that lie in pages of caches.",
    .shapes =
        "q [rows, heads, d], keys [slots, kv_heads, d], values [slots, kv_heads, dv], pages "
        "[sequences, most], starts [sequences + 1], lengths [sequences], sinks [heads] -> [rows, "
        "heads, dv]",
    .method = "",
    .params = paged::kParams,
    .min_inputs = 6,
    .max_inputs = paged::kInputs,
    .infer = paged::infer_paged_attention,
    .composite = paged::paged_attention_composite,
    .differentiable = false,
    .accepts_dtype = is_float,
    .samples = paged::paged_attention_samples,
};

inline namespace v0 {

Array paged_attention(const Array& q, const Array& keys, const Array& values, const Array& pages,
                      const Array& starts, const Array& lengths, std::int64_t page_size,
                      const PagedAttentionOptions& options) try {
  const std::int64_t d = q.rank() == 3 ? q.shape()[2] : 1;
  const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(d > 0 ? d : 1)));
  const paged::Cache k = paged::cache_of(keys, options.key_bits, "key_bits");
  const paged::Cache v = paged::cache_of(values, options.value_bits, "value_bits");
  return call(
      defs::paged_attention_op,
      paged::params_of({scale, page_size, options.softcap, options.window, k.format, v.format}),
      {&q, &k.rows, &v.rows, &pages, &starts, &lengths, optional_input(options.sinks)});
} catch (const Error& error) {
  throw_as("paged_attention", error);
}

}  // namespace v0
}  // namespace hearth
