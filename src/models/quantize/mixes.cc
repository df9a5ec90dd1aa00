#include "models/quantize/mixes.h"

#include <initializer_list>

namespace hearth::models {
namespace {

using Mix = QuantizeMix;
using Role = TensorRole;

// A set of mixes, a bit each.
constexpr std::uint32_t mixes(std::initializer_list<Mix> all) {
  std::uint32_t bits = 0;
  for (const Mix each : all) bits |= std::uint32_t{1} << static_cast<unsigned>(each);
  return bits;
}
constexpr std::uint32_t kIq1 = mixes({Mix::iq1_s, Mix::iq1_m});
constexpr std::uint32_t kIq2Small = mixes({Mix::iq2_xxs, Mix::iq2_xs});
constexpr std::uint32_t kIq2Large = mixes({Mix::iq2_s, Mix::iq2_m});
constexpr std::uint32_t kLow = kIq1 | kIq2Small | kIq2Large;
constexpr std::uint32_t kAll = ~mixes({Mix::none});

// The layers, of all that a model has.
enum class Where : std::uint8_t {
  all,
  first_two,
  first_four,
  sixteenth,
  eighth,
  middle,
  sensitive
};

bool is_in(Where where, std::int64_t layer, std::int64_t layers) {
  const std::int64_t eighth = layers / 8, last_eighth = 7 * layers / 8;
  switch (where) {
    case Where::all:
      return true;
    case Where::first_two:
      return layer < 2;
    case Where::first_four:
      return layer < 4;
    case Where::sixteenth:
      return layer < layers / 16;
    case Where::eighth:
      return layer < eighth;
    case Where::middle:
      return layer >= eighth && layer < last_eighth;
    case Where::sensitive:  // near both ends, and every third of the others: they cost a model most
      return layer < eighth || layer >= last_eighth || (layer - eighth) % 3 == 2;
  }
  return false;
}

// The models and matrices.
enum class When : std::uint8_t {
  always,
  heads_share,  // four query heads or more, so that values are small
  heads_or_experts_share,
  eight_experts,
  other_than_eight_experts,
  with_importance,
  without_importance,
  of_experts,
};

bool holds(When when, const MixedMatrix& matrix, const MixedModel& model) {
  switch (when) {
    case When::always:
      return true;
    case When::heads_share:
      return model.heads_together >= 4;
    case When::heads_or_experts_share:
      return model.heads_together >= 4 || model.experts >= 4;
    case When::eight_experts:
      return model.experts == 8;
    case When::other_than_eight_experts:
      return model.experts != 8;
    case When::with_importance:
      return model.has_importance;
    case When::without_importance:
      return !model.has_importance;
    case When::of_experts:
      return matrix.is_of_experts;
  }
  return false;
}

// Of several lines the first that fits counts.
struct MixRule {
  std::uint32_t mixes;
  Role role;
  Where where;
  When when;
  DType to;
};
constexpr MixRule kMixRules[] = {
    {kLow | mixes({Mix::iq3_xxs}), Role::output, Where::all, When::always, DType::q5_k},
    {mixes({Mix::mxfp4_moe}), Role::output, Where::all, When::always, DType::q8_0},
    {kAll, Role::output, Where::all, When::always, DType::q6_k},

    {kIq1 | kIq2Small, Role::token_embedding, Where::all, When::always, DType::q2_k},
    {kIq2Large | mixes({Mix::iq3_xxs}), Role::token_embedding, Where::all, When::always,
     DType::iq3_s},
    {mixes({Mix::ternary}), Role::token_embedding, Where::all, When::always, DType::q4_k},
    {mixes({Mix::mxfp4_moe}), Role::token_embedding, Where::all, When::always, DType::q8_0},

    {kLow, Role::value, Where::all, When::heads_or_experts_share, DType::q4_k},
    {kIq2Large, Role::value, Where::all, When::always, DType::iq3_s},
    {kLow, Role::value, Where::all, When::always, DType::q2_k},
    {kLow, Role::key, Where::all, When::eight_experts, DType::q4_k},
    {kLow, Role::mixed, Where::all, When::eight_experts, DType::q5_k},
    {kIq1, Role::mixed, Where::all, When::always, DType::iq2_xxs},
    {kIq2Large, Role::mixed, Where::all, When::always, DType::iq3_s},
    {kIq2Large, Role::down, Where::eighth, When::always, DType::iq3_s},
    {kLow, Role::down, Where::eighth, When::always, DType::q2_k},

    {kAll & ~mixes({Mix::mxfp4_moe}), Role::value, Where::all, When::eight_experts, DType::q8_0},
    {kAll & ~kLow & ~mixes({Mix::mxfp4_moe}), Role::key, Where::all, When::eight_experts,
     DType::q8_0},

    {mixes({Mix::q2_k, Mix::q2_k_s, Mix::iq3_xxs, Mix::iq3_xs, Mix::iq3_s}), Role::value,
     Where::all, When::heads_share, DType::q4_k},
    {mixes({Mix::q2_k}), Role::value, Where::all, When::always, DType::q3_k},
    {mixes({Mix::iq3_xxs}), Role::value, Where::all, When::without_importance, DType::iq3_s},
    {mixes({Mix::iq3_m}), Role::value, Where::all, When::always, DType::q4_k},
    {mixes({Mix::q3_k_m}), Role::value, Where::first_two, When::always, DType::q5_k},
    {mixes({Mix::q3_k_m}), Role::value, Where::all, When::always, DType::q4_k},
    {mixes({Mix::q3_k_l}), Role::value, Where::all, When::always, DType::q5_k},
    {mixes({Mix::q4_k_s}), Role::value, Where::first_four, When::always, DType::q5_k},
    {mixes({Mix::q4_k_m, Mix::q5_k_m}), Role::value, Where::sensitive, When::always, DType::q6_k},
    {mixes({Mix::iq4_nl, Mix::iq4_xs}), Role::value, Where::all, When::heads_share, DType::q5_k},

    {mixes({Mix::iq3_xs}), Role::key, Where::all, When::always, DType::iq3_xxs},
    {mixes({Mix::iq3_xs}), Role::query, Where::all, When::always, DType::iq3_xxs},
    {mixes({Mix::iq3_xxs}), Role::key, Where::all, When::always, DType::iq2_s},
    {mixes({Mix::iq3_xxs}), Role::query, Where::all, When::always, DType::iq2_s},

    {mixes({Mix::q2_k, Mix::iq3_xs, Mix::iq3_xxs, Mix::q3_k_s, Mix::q3_k_m, Mix::iq4_nl,
            Mix::q4_k_s, Mix::q4_k_m, Mix::iq3_s, Mix::iq3_m, Mix::iq4_xs}),
     Role::mixed, Where::all, When::eight_experts, DType::q5_k},
    {mixes({Mix::q2_k}), Role::mixed, Where::all, When::always, DType::q3_k},
    {mixes({Mix::iq3_xxs}), Role::mixed, Where::all, When::always, DType::iq3_s},
    {mixes({Mix::q3_k_m, Mix::iq3_m}), Role::mixed, Where::all, When::always, DType::q4_k},
    {mixes({Mix::q3_k_l}), Role::mixed, Where::all, When::other_than_eight_experts, DType::q5_k},

    {mixes({Mix::q2_k}), Role::down, Where::all, When::always, DType::q3_k},
    {mixes({Mix::q2_k_s}), Role::down, Where::eighth, When::always, DType::q4_k},
    {mixes({Mix::q3_k_m}), Role::down, Where::sixteenth, When::always, DType::q5_k},
    {mixes({Mix::q3_k_m}), Role::down, Where::all, When::always, DType::q4_k},
    {mixes({Mix::q3_k_l}), Role::down, Where::all, When::always, DType::q5_k},
    {mixes({Mix::q4_k_s}), Role::down, Where::eighth, When::always, DType::q5_k},
    {mixes({Mix::q4_k_m, Mix::q5_k_m}), Role::down, Where::sensitive, When::always, DType::q6_k},
    {mixes({Mix::iq3_xxs}), Role::down, Where::eighth, When::without_importance, DType::q4_k},
    {mixes({Mix::iq3_xxs}), Role::down, Where::all, When::without_importance, DType::q3_k},
    {mixes({Mix::iq3_m}), Role::down, Where::eighth, When::always, DType::q4_k},
    {mixes({Mix::iq3_m}), Role::down, Where::sensitive, When::eight_experts, DType::q4_k},
    {mixes({Mix::iq4_nl, Mix::iq4_xs}), Role::down, Where::eighth, When::without_importance,
     DType::q5_k},
    {mixes({Mix::q4_0}), Role::down, Where::eighth, When::with_importance, DType::q4_1},
    {mixes({Mix::q5_0}), Role::down, Where::eighth, When::with_importance, DType::q5_1},

    {mixes({Mix::iq3_xs}), Role::gate, Where::middle, When::always, DType::iq3_xxs},
    {mixes({Mix::iq3_xs}), Role::up, Where::middle, When::always, DType::iq3_xxs},
};

// What mixes have for matrices of which no other rule is.
struct MixBase {
  Mix mix;
  When when;
  DType to;
};
constexpr MixBase kMixBases[] = {
    {Mix::iq2_s, When::always, DType::iq2_xs},   {Mix::iq2_m, When::always, DType::iq2_s},
    {Mix::iq3_xs, When::always, DType::iq3_s},   {Mix::mxfp4_moe, When::of_experts, DType::mxfp4},
    {Mix::mxfp4_moe, When::always, DType::q8_0},
};

DType dtype_by_rules(Mix mix, DType base, const MixedMatrix& matrix, const MixedModel& model) {
  // The few bits count matrices, as does all where there are no experts; with experts it is layers.
  const bool counts = model.experts <= 1 || (mixes({mix}) & kLow) != 0;
  const bool is_of_layer = matrix.role != Role::value && !counts;
  const std::int64_t at = is_of_layer ? matrix.layer : matrix.index;
  const std::int64_t all = matrix.role == Role::value ? matrix.count : model.layers;
  for (const MixRule& rule : kMixRules) {
    if ((rule.mixes & mixes({mix})) != 0 && rule.role == matrix.role &&
        is_in(rule.where, at, all) && holds(rule.when, matrix, model)) {
      return rule.to;
    }
  }
  for (const MixBase& each : kMixBases) {
    if (each.mix == mix && holds(each.when, matrix, model)) return each.to;
  }
  return base;
}

}  // namespace

TensorRole role_in_mixes(std::string_view name, bool has_output) {
  const Role role = role_of(name);
  if (role == Role::token_embedding || role == Role::layer_embedding) {
    return has_output ? Role::token_embedding : Role::output;
  }
  return role == Role::query_key_value || role == Role::key_value ? Role::value : role;
}

DType mixed_dtype(QuantizeMix mix, DType base, const MixedMatrix& matrix, const MixedModel& model) {
  if (mix == Mix::none) return base;
  const DType dtype = dtype_by_rules(mix, base, matrix, model);
  const bool is_small = model.has_few_values && matrix.role == Role::value &&
                        (mixes({mix}) & kLow) == 0 &&
                        (dtype == DType::q3_k || dtype == DType::q4_k);
  return is_small ? DType::q5_k : dtype;
}

}  // namespace hearth::models
