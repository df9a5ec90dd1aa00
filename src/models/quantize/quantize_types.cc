#include "models/quantize/quantize_types.h"

#include <algorithm>
#include <iterator>

#include "hearth/error.h"

namespace hearth::models {
namespace {

using Mix = QuantizeMix;

// The numbers of llama.cpp's files, and its words for them; without these, other names of a type
// before.
struct NamedType {
  std::string_view name;
  QuantizeType type;
  std::int64_t file_type;
  std::string_view words = {};
};
constexpr NamedType kTypes[] = {
    {"keep", {.is_kept = true}, -1},
    {"copy", {.is_kept = true}, -1},
    {"f32", {DType::f32}, 0, "all F32"},
    {"f16", {DType::f16}, 1, "F16"},
    {"bf16", {DType::bf16}, 32, "BF16"},
    {"q1_0", {DType::q1_0, Mix::plain}, 40, "Q1_0"},
    {"q2_0", {DType::q2_0, Mix::ternary}, 41, "Q2_0"},
    {"q4_0", {DType::q4_0, Mix::q4_0}, 2, "Q4_0"},
    {"q4_1", {DType::q4_1, Mix::plain}, 3, "Q4_1"},
    {"q5_0", {DType::q5_0, Mix::q5_0}, 8, "Q5_0"},
    {"q5_1", {DType::q5_1, Mix::plain}, 9, "Q5_1"},
    {"q8_0", {DType::q8_0}, 7, "Q8_0"},
    {"q2_k", {DType::q2_k, Mix::q2_k}, 10, "Q2_K - Medium"},
    {"q2_k_s", {DType::q2_k, Mix::q2_k_s}, 21, "Q2_K - Small"},
    {"q3_k_s", {DType::q3_k, Mix::q3_k_s}, 11, "Q3_K - Small"},
    {"q3_k_m", {DType::q3_k, Mix::q3_k_m}, 12, "Q3_K - Medium"},
    {"q3_k", {DType::q3_k, Mix::q3_k_m}, 12},
    {"q3_k_l", {DType::q3_k, Mix::q3_k_l}, 13, "Q3_K - Large"},
    {"q4_k_s", {DType::q4_k, Mix::q4_k_s}, 14, "Q4_K - Small"},
    {"q4_k_m", {DType::q4_k, Mix::q4_k_m}, 15, "Q4_K - Medium"},
    {"q4_k", {DType::q4_k, Mix::q4_k_m}, 15},
    {"q5_k_s", {DType::q5_k, Mix::q5_k_s}, 16, "Q5_K - Small"},
    {"q5_k_m", {DType::q5_k, Mix::q5_k_m}, 17, "Q5_K - Medium"},
    {"q5_k", {DType::q5_k, Mix::q5_k_m}, 17},
    {"q6_k", {DType::q6_k, Mix::plain}, 18, "Q6_K"},
    {"iq1_s", {DType::iq1_s, Mix::iq1_s}, 24, "IQ1_S - 1.5625 bpw"},
    {"iq1_m", {DType::iq1_m, Mix::iq1_m}, 31, "IQ1_M - 1.75 bpw"},
    {"iq2_xxs", {DType::iq2_xxs, Mix::iq2_xxs}, 19, "IQ2_XXS - 2.0625 bpw"},
    {"iq2_xs", {DType::iq2_xs, Mix::iq2_xs}, 20, "IQ2_XS - 2.3125 bpw"},
    {"iq2_s", {DType::iq2_s, Mix::iq2_s}, 28, "IQ2_S - 2.5 bpw"},
    {"iq2_m", {DType::iq2_s, Mix::iq2_m}, 29, "IQ2_M - 2.7 bpw"},
    {"iq3_xxs", {DType::iq3_xxs, Mix::iq3_xxs}, 23, "IQ3_XXS - 3.0625 bpw"},
    {"iq3_xs", {DType::iq3_s, Mix::iq3_xs}, 22, "IQ3_XS - 3.3 bpw"},
    {"iq3_s", {DType::iq3_s, Mix::iq3_s}, 26, "IQ3_S - 3.4375 bpw"},
    {"iq3_m", {DType::iq3_s, Mix::iq3_m}, 27, "IQ3_S mix - 3.66 bpw"},
    {"iq4_nl", {DType::iq4_nl, Mix::iq4_nl}, 25, "IQ4_NL - 4.5 bpw"},
    {"iq4_xs", {DType::iq4_xs, Mix::iq4_xs}, 30, "IQ4_XS - 4.25 bpw"},
    {"mxfp4", {DType::mxfp4}, -1},
    {"mxfp4_moe", {DType::mxfp4, Mix::mxfp4_moe}, 38, "MXFP4 MoE"},
    {"nvfp4", {DType::nvfp4}, 39, "NVFP4"},
    {"tq1_0", {DType::tq1_0, Mix::ternary}, 36, "TQ1_0 - 1.69 bpw ternary"},
    {"tq2_0", {DType::tq2_0, Mix::ternary}, 37, "TQ2_0 - 2.06 bpw ternary"},
};

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

std::string_view file_type_name(std::int64_t file_type) noexcept {
  const auto* found = std::ranges::find(kTypes, file_type, &NamedType::file_type);
  return found == std::end(kTypes) ? std::string_view() : found->words;
}

std::int64_t file_type_of(const QuantizeType& type) {
  std::int64_t nearest = -1;
  for (const NamedType& each : kTypes) {
    if (each.type.dtype != type.dtype || each.type.is_kept != type.is_kept) continue;
    if (each.type.mix == type.mix) return each.file_type;
    if (nearest < 0) nearest = each.file_type;
  }
  return nearest;
}

}  // namespace hearth::models
