// The math of attention that its ops and their gradients share.
#pragma once

#include <cstdint>

#include "ops/definition/call.h"

namespace hearth::attention_math {

inline constexpr ParamSpec kParams[] = {
    {.name = "scale", .type = ParamType::f64, .range = "finite"},
    {.name = "softcap", .type = ParamType::f64, .optional = true, .range = "[0, inf)"},
    {.name = "causal", .type = ParamType::boolean, .optional = true},
    {.name = "bounded", .type = ParamType::boolean, .optional = true},
    {.name = "kv_length", .type = ParamType::i64, .dynamic = true, .range = "[0, length]"}};

struct Settings {
  double scale;
  double softcap;
  bool causal;
  bool bounded;  // else all keys exist
  std::int64_t kv_length;
};

Settings settings_of(ParamReader statics, std::uint64_t kv_length);

Params params_of(double scale, double softcap, bool causal, std::int64_t kv_length,
                 bool bounded = true);

// Checks q, k, v, mask and bias, the inputs from `first` on, and the parameters. Returns the shape
// of the result.
Shape check_operands(const Inference& inference, int first);

// The operands in the dtype of the computation, as the math below wants them: keys and values that
// do not exist are 0, whatever their memory holds; heads that share keys lie among the rows.
struct Operands {
  Array q, k, v, mask, bias;
  Settings settings;

  Shape grouped(std::int64_t columns) const {  // [batch, kv_heads, group * q_length, columns]
    const Shape& kv = k.shape();
    return {kv[0], kv[1], kv[1] == 0 ? 0 : q.shape()[1] / kv[1] * q.shape()[2], columns};
  }
  Shape plain(std::int64_t columns) const {  // [batch, heads, q_length, columns]
    return {q.shape()[0], q.shape()[1], q.shape()[2], columns};
  }
};

Operands operands(const Array& q, const Array& k, const Array& v, const Array& mask,
                  const Array& bias, const Settings& settings);

bool is_empty(const Operands& o);

// 0 to count - 1, i64.
Array columns(std::int64_t count, Device device);

// True where a key comes after the last that its row sees, of which `seen` exist: [rows, keys].
// Layers share it.
Array behind(std::int64_t rows, std::int64_t keys, std::int64_t seen, Device device);

struct Scores {
  Array scores;  // [batch, heads, q_length, length], -inf where masked out; 0 in rows of `unseeing`
  Array unseeing;  // rows that see no key: [batch, heads, q_length, 1], or undefined for none
  Array tanh;      // of score / softcap; undefined without softcap
};

Scores scores_of(const Operands& o);

// `x` where rows see a key, else 0.
Array where_seeing(const Scores& s, const Array& x);

// Whether scores are products, scaled, of which causal order may hide some.
bool is_plain(const Operands& o);

// What a row's keys weigh where is_plain(); the rows of q are aligned with the last keys.
Array plain_weights(const Array& q, const Array& k, const Settings& settings);

}  // namespace hearth::attention_math
