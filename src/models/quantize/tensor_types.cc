#include "models/quantize/tensor_types.h"

#include <algorithm>

#include "hearth/error.h"
#include "models/files/tensor_roles.h"

namespace hearth::models {
namespace {

constexpr QuantizeMix kSmall = QuantizeMix::small, kMedium = QuantizeMix::medium,
                      kLarge = QuantizeMix::large;

// The numbers of llama.cpp's files.
struct NamedType {
  std::string_view name;
  QuantizeType type;
  std::int64_t file_type;
};
constexpr NamedType kTypes[] = {
    {"keep", {.is_kept = true}, -1},
    {"f32", {DType::f32}, 0},
    {"f16", {DType::f16}, 1},
    {"bf16", {DType::bf16}, 32},
    {"q1_0", {DType::q1_0}, -1},
    {"q2_0", {DType::q2_0}, -1},
    {"q4_0", {DType::q4_0}, 2},
    {"q4_1", {DType::q4_1}, 3},
    {"q5_0", {DType::q5_0}, 8},
    {"q5_1", {DType::q5_1}, 9},
    {"q8_0", {DType::q8_0}, 7},
    {"q2_k", {DType::q2_k}, 10},
    {"q3_k", {DType::q3_k}, 11},
    {"q3_k_s", {DType::q3_k, kSmall}, 11},
    {"q3_k_m", {DType::q3_k, kMedium}, 12},
    {"q3_k_l", {DType::q3_k, kLarge}, 13},
    {"q4_k", {DType::q4_k}, 14},
    {"q4_k_s", {DType::q4_k, kSmall}, 14},
    {"q4_k_m", {DType::q4_k, kMedium}, 15},
    {"q5_k", {DType::q5_k}, 16},
    {"q5_k_s", {DType::q5_k, kSmall}, 16},
    {"q5_k_m", {DType::q5_k, kMedium}, 17},
    {"q6_k", {DType::q6_k}, 18},
    {"iq1_s", {DType::iq1_s}, 24},
    {"iq1_m", {DType::iq1_m}, 31},
    {"iq2_xxs", {DType::iq2_xxs}, 19},
    {"iq2_xs", {DType::iq2_xs}, 20},
    {"iq2_s", {DType::iq2_s}, 28},
    {"iq3_xxs", {DType::iq3_xxs}, 23},
    {"iq3_s", {DType::iq3_s}, 26},
    {"iq4_nl", {DType::iq4_nl}, 25},
    {"iq4_xs", {DType::iq4_xs}, 30},
    {"mxfp4", {DType::mxfp4}, -1},
    {"nvfp4", {DType::nvfp4}, -1},
    {"tq1_0", {DType::tq1_0}, 36},
    {"tq2_0", {DType::tq2_0}, 37},
};

}  // namespace

bool is_matrix(std::string_view name, const Shape& shape) {
  if (shape.rank() < 2 || !name.ends_with(".weight")) return false;
  const TensorRole role = role_of(name);
  return role != TensorRole::norm && role != TensorRole::router && role != TensorRole::table &&
         role != TensorRole::convolution;
}

namespace {

// The layers in which a matrix gets more bits, of all those of a model.
enum class Where : std::uint8_t { all, first_two, first_four, sixteenth, eighth, sensitive };

bool is_in(Where where, std::int64_t layer, std::int64_t layers) {
  const std::int64_t eighth = layers / 8;
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
    case Where::sensitive:  // near both ends, and every third of the others: they cost a model most
      return layer < eighth || layer >= 7 * eighth || (layer - eighth) % 3 == 2;
  }
  return false;
}

// What the mixes of llama.cpp give to which matrices; of several lines the first that fits counts.
struct Upgrade {
  DType of;
  QuantizeMix mix;
  TensorRole role;
  Where where;
  DType to;
};
constexpr Upgrade kUpgrades[] = {
    {DType::q3_k, kMedium, TensorRole::value, Where::first_two, DType::q5_k},
    {DType::q3_k, kMedium, TensorRole::value, Where::all, DType::q4_k},
    {DType::q3_k, kMedium, TensorRole::down, Where::sixteenth, DType::q5_k},
    {DType::q3_k, kMedium, TensorRole::down, Where::all, DType::q4_k},
    {DType::q3_k, kMedium, TensorRole::mixed, Where::all, DType::q4_k},
    {DType::q3_k, kMedium, TensorRole::query_key_value, Where::all, DType::q4_k},
    {DType::q3_k, kLarge, TensorRole::value, Where::all, DType::q5_k},
    {DType::q3_k, kLarge, TensorRole::down, Where::all, DType::q5_k},
    {DType::q3_k, kLarge, TensorRole::mixed, Where::all, DType::q5_k},
    {DType::q3_k, kLarge, TensorRole::query_key_value, Where::all, DType::q4_k},
    {DType::q4_k, kSmall, TensorRole::value, Where::first_four, DType::q5_k},
    {DType::q4_k, kSmall, TensorRole::down, Where::eighth, DType::q5_k},
    {DType::q4_k, kMedium, TensorRole::value, Where::sensitive, DType::q6_k},
    {DType::q4_k, kMedium, TensorRole::down, Where::sensitive, DType::q6_k},
    {DType::q4_k, kMedium, TensorRole::query_key_value, Where::all, DType::q5_k},
    {DType::q5_k, kMedium, TensorRole::value, Where::sensitive, DType::q6_k},
    {DType::q5_k, kMedium, TensorRole::down, Where::sensitive, DType::q6_k},
    {DType::q5_k, kMedium, TensorRole::query_key_value, Where::all, DType::q6_k},
};

DType mixed_dtype(const QuantizeType& type, std::string_view name, std::int64_t layers) {
  const std::int64_t layer = layer_of(name);
  const TensorRole role = role_of(name);
  for (const Upgrade& each : kUpgrades) {
    if (each.of == type.dtype && each.mix == type.mix && each.role == role &&
        is_in(each.where, layer, layers)) {
      return each.to;
    }
  }
  return type.dtype;
}

double bits_of(DType dtype) {
  return 8.0 * static_cast<double>(size_of(dtype)) / static_cast<double>(block_of(dtype));
}

// Of 32 elements a block, for rows that are no multiple of 256.
DType with_small_blocks(DType dtype) {
  switch (dtype) {
    case DType::q4_k:
      return DType::q5_0;
    case DType::q5_k:
      return DType::q5_1;
    case DType::q6_k:
      return DType::q8_0;
    case DType::nvfp4:
    case DType::q2_0:
    case DType::q1_0:
    default:
      return DType::iq4_nl;
  }
}

}  // namespace

QuantizeType quantize_type_from_name(std::string_view name) {
  const auto small = [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c + 0; };
  for (const NamedType& each : kTypes) {
    if (std::equal(name.begin(), name.end(), each.name.begin(), each.name.end(),
                   [&](char a, char b) { return small(a) == small(b); })) {
      return each.type;
    }
  }
  std::string known;
  for (const NamedType& each : kTypes) known += " " + std::string(each.name);
  throw Error(ErrorCode::invalid_argument,
              "quantize: unknown type; got \"" + std::string(name) + "\", expected one of" + known);
}

std::vector<std::string> quantize_type_names() {
  std::vector<std::string> names;
  for (const NamedType& each : kTypes) names.emplace_back(each.name);
  return names;
}

bool needs_importance(DType dtype) {
  return dtype == DType::iq1_s || dtype == DType::iq1_m || dtype == DType::iq2_xxs ||
         dtype == DType::iq2_xs || dtype == DType::iq2_s;
}

std::int64_t file_type_of(const QuantizeType& type) {
  for (const NamedType& each : kTypes) {
    if (each.type.dtype == type.dtype && each.type.mix == type.mix &&
        each.type.is_kept == type.is_kept) {
      return each.file_type;
    }
  }
  return -1;
}

DType quantized_dtype(const QuantizeType& type, std::string_view name, const Shape& shape,
                      DType given, std::int64_t layers, bool has_output) {
  if (type.is_kept || !is_matrix(name, shape)) return given;
  DType dtype = type.dtype;
  const bool is_output = name == kOutputWeight || (!has_output && name == kTokenEmbedding);
  if (is_packed(dtype) && !type.is_pure) {
    dtype = mixed_dtype(type, name, layers);
    if (is_output && bits_of(dtype) < bits_of(DType::q6_k)) dtype = DType::q6_k;
  }
  const std::int64_t in = shape.back();
  if (in % block_of(dtype) != 0) dtype = with_small_blocks(dtype);
  return in % block_of(dtype) == 0 ? dtype : given;
}

}  // namespace hearth::models
