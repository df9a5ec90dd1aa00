// The math of attention that its ops and their gradients share.
#pragma once

#include <array>
#include <cstdint>

#include "ops/definition/call.h"

namespace hearth::attention_math {

inline constexpr ParamSpec kParams[] = {
    {.name = "scale", .type = ParamType::f64, .range = "finite"},
    {.name = "softcap", .type = ParamType::f64, .optional = true, .range = "[0, inf)"},
    {.name = "causal", .type = ParamType::boolean, .optional = true},
    {.name = "bounded", .type = ParamType::boolean, .optional = true},
    {.name = "window", .type = ParamType::i64, .optional = true, .range = "[0, inf)"},
    {.name = "kv_length", .type = ParamType::i64, .dynamic = true, .range = "[0, length]"}};

struct Settings {
  double scale;
  double softcap;
  bool causal;
  bool bounded;         // else all keys exist
  std::int64_t window;  // 0: none
  std::int64_t kv_length;
};

Settings settings_of(ParamReader statics, std::uint64_t kv_length);

Params params_of(double scale, double softcap, bool causal, std::int64_t kv_length,
                 bool bounded = true, std::int64_t window = 0);

// The inputs of the ops, counted from q.
enum Input : int { kQ, kK, kV, kMask, kBias, kLengths, kStarts, kSinks, kInputs };

// Checks the inputs from `first` on, which is q, and the parameters. Returns the shape of the
// result.
Shape check_operands(const Inference& inference, int first);

// The operands as the math below wants them: keys and values that do not exist are 0, whatever
// their memory holds; heads that share keys lie among the rows. Bias and sinks are of the dtype of
// the computation.
struct Operands {
  Array q, k, v, mask, bias;
  Array lengths, starts;  // i64 [batch, 1, 1, 1], in [0, kv_length]; undefined: all keys
  Array sinks;            // [1, heads, 1, 1], or undefined
  Settings settings;

  Shape grouped(std::int64_t columns) const {  // [batch, kv_heads, group * q_length, columns]
    const Shape& kv = k.shape();
    return {kv[0], kv[1], kv[1] == 0 ? 0 : q.shape()[1] / kv[1] * q.shape()[2], columns};
  }
  Shape plain(std::int64_t columns) const {  // [batch, heads, q_length, columns]
    return {q.shape()[0], q.shape()[1], q.shape()[2], columns};
  }
};

// The dtype of q, k and v: that of the computation, or the one that they have.
enum class Products : std::uint8_t { computed, given };

// `inputs` are those of Input, undefined where absent.
Operands operands(const std::array<Array, kInputs>& inputs, const Settings& settings,
                  Products products = Products::computed);

// The inputs of a composite, from `first` on.
Operands operands(const Composite& c, int first);

bool is_empty(const Operands& o);

// 0 to count - 1, i64.
Array columns(std::int64_t count, Device device);

// True where a key comes after the last that its row sees, of which `seen` exist: [rows, keys].
// Layers share it.
Array behind(std::int64_t rows, std::int64_t keys, std::int64_t seen, Device device);

// In the dtype of the computation.
struct Scores {
  Array scores;  // [batch, heads, q_length, length], -inf where masked out; 0 in rows of `unseeing`
  Array unseeing;  // rows that see no key: [batch, heads, q_length, 1], or undefined for none
  Array tanh;      // of score / softcap; undefined without softcap
  Array sinks;     // as Operands::sinks
};

Scores scores_of(const Operands& o);

// The logarithm of each row's sum of e^score, the sink's among them: [batch, heads, q_length, 1],
// of rows that see a key.
Array log_sums(const Scores& s);

// What is left to keys where a sink takes its share of what rows have, whose sums without it are
// `sums`: [batch, heads, q_length, 1]; undefined without sinks.
Array share_of_keys(const Scores& s);

// softmax of the scores, without rows that see no key.
Array weights_of(const Scores& s);

// `x` where rows see a key, else 0.
Array where_seeing(const Scores& s, const Array& x);

// Whether scores are products, scaled, of which causal order may hide some.
bool is_plain(const Operands& o);

// What a row's keys weigh where is_plain(); the rows of q are aligned with the last keys.
Array plain_weights(const Array& q, const Array& k, const Settings& settings);

}  // namespace hearth::attention_math
