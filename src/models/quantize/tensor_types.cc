#include "models/quantize/tensor_types.h"

#include <algorithm>
#include <charconv>
#include <span>

#include "hearth/error.h"

namespace hearth::models {
namespace {

// The numbers of llama.cpp's files.
struct NamedType {
  std::string_view name;
  QuantizeType type;
  std::int64_t file_type;
};
constexpr NamedType kTypes[] = {
    {"keep", {.is_kept = true}, -1},   {"f32", {DType::f32}, 0},
    {"f16", {DType::f16}, 1},          {"bf16", {DType::bf16}, 32},
    {"q1_0", {DType::q1_0}, -1},       {"q2_0", {DType::q2_0}, -1},
    {"q4_0", {DType::q4_0}, 2},        {"q4_1", {DType::q4_1}, 3},
    {"q5_0", {DType::q5_0}, 8},        {"q5_1", {DType::q5_1}, 9},
    {"q8_0", {DType::q8_0}, 7},        {"q2_k", {DType::q2_k}, 10},
    {"q3_k", {DType::q3_k}, 11},       {"q3_k_m", {DType::q3_k, true}, 12},
    {"q4_k", {DType::q4_k}, 14},       {"q4_k_m", {DType::q4_k, true}, 15},
    {"q5_k", {DType::q5_k}, 16},       {"q5_k_m", {DType::q5_k, true}, 17},
    {"q6_k", {DType::q6_k}, 18},       {"iq1_s", {DType::iq1_s}, 24},
    {"iq1_m", {DType::iq1_m}, 31},     {"iq2_xxs", {DType::iq2_xxs}, 19},
    {"iq2_xs", {DType::iq2_xs}, 20},   {"iq2_s", {DType::iq2_s}, 28},
    {"iq3_xxs", {DType::iq3_xxs}, 23}, {"iq3_s", {DType::iq3_s}, 26},
    {"iq4_nl", {DType::iq4_nl}, 25},   {"iq4_xs", {DType::iq4_xs}, 30},
    {"mxfp4", {DType::mxfp4}, -1},     {"nvfp4", {DType::nvfp4}, -1},
    {"tq1_0", {DType::tq1_0}, 36},     {"tq2_0", {DType::tq2_0}, 37},
};

bool ends_with(std::string_view name, std::string_view end) { return name.ends_with(end); }

bool ends_with_any(std::string_view name, std::span<const std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return ends_with(name, ending); });
}

}  // namespace

bool is_matrix(std::string_view name, const Shape& shape) {
  constexpr std::string_view kKept[] = {"_norm.weight",         "ffn_gate_inp.weight",
                                        "position_embd.weight", "token_types.weight",
                                        "ssm_conv1d.weight",    "ffn_gate_inp_shexp.weight"};
  return shape.rank() >= 2 && ends_with(name, ".weight") && !ends_with_any(name, kKept);
}

namespace {

// Layers near both ends, and every third of the others: they cost a model most.
bool is_sensitive(std::int64_t layer, std::int64_t layers) {
  const std::int64_t eighth = layers / 8;
  return layer < eighth || layer >= 7 * eighth || (layer - eighth) % 3 == 2;
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
  for (const NamedType& each : kTypes) {
    if (each.name == name) return each.type;
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

std::int64_t file_type_of(const QuantizeType& type) {
  for (const NamedType& each : kTypes) {
    if (each.type.dtype == type.dtype && each.type.is_mixed == type.is_mixed &&
        each.type.is_kept == type.is_kept) {
      return each.file_type;
    }
  }
  return -1;
}

std::int64_t layer_of(std::string_view name) {
  constexpr std::string_view kPrefix = "blk.";
  if (!name.starts_with(kPrefix)) return -1;
  std::int32_t layer = -1;  // no model has more
  std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), layer);
  return layer;
}

DType quantized_dtype(const QuantizeType& type, std::string_view name, const Shape& shape,
                      DType given, std::int64_t layers, bool has_output) {
  if (type.is_kept || !is_matrix(name, shape)) return given;
  DType dtype = type.dtype;
  const bool is_output = name == "output.weight" || (!has_output && name == "token_embd.weight");
  if (is_packed(dtype) && !type.is_pure) {
    const std::int64_t layer = layer_of(name);
    const bool is_lossy = ends_with(name, "attn_v.weight") || ends_with(name, "ffn_down.weight");
    const bool has_more = is_output || (type.is_mixed && is_lossy && is_sensitive(layer, layers));
    if (has_more && bits_of(dtype) < bits_of(DType::q6_k)) dtype = DType::q6_k;
  }
  const std::int64_t in = shape.back();
  if (in % block_of(dtype) != 0) dtype = with_small_blocks(dtype);
  return in % block_of(dtype) == 0 ? dtype : given;
}

}  // namespace hearth::models
