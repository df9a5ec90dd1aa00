#include "codegen/value_types.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "codegen/dialect_types.h"
#include "codegen/msl/parameters.h"
#include "codegen/msl/token_runs.h"

namespace hearth::gpu {
namespace {

constexpr std::pair<std::string_view, DType> kOtherNames[] = {
    {"bool", DType::bool_},    {"int8_t", DType::i8},       {"uint8_t", DType::u8},
    {"int16_t", DType::i16},   {"uint16_t", DType::u16},    {"int32_t", DType::i32},
    {"uint32_t", DType::u32},  {"int64_t", DType::i64},     {"uint64_t", DType::u64},
    {"size_t", DType::u64},    {"unsigned", DType::u32},    {"unsigned int", DType::u32},
    {"float16_t", DType::f16}, {"bfloat16_t", DType::bf16}, {"float32_t", DType::f32}};

void take_prefix(std::string_view& text, std::string_view prefix) {
  if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
}

// Takes "4" of "float4" and "4x4" of "float4x4" off the type; returns their product.
int take_lanes(std::string_view& type) {
  const auto take_extent = [&type] {
    if (type.size() < 2 || type.back() < '2' || type.back() > '4') return 1;
    const int extent = type.back() - '0';
    type.remove_suffix(1);
    return extent;
  };
  const int lanes = take_extent();
  if (lanes == 1 || !type.ends_with('x')) return lanes;
  type.remove_suffix(1);
  return lanes * take_extent();
}

// "T" and "float" for "template <typename T> ..." of "f<float>".
std::map<std::string, std::string> template_arguments(const MetalEntry& entry,
                                                      const std::string& function) {
  std::map<std::string, std::string> all;
  const std::vector<Token> text = tokens_of(entry.text);
  const std::vector<Token> call = tokens_of(function);
  const auto begins = [](Tokens tokens) {
    const auto at = std::find_if(tokens.begin(), tokens.end(),
                                 [](const Token& token) { return token.text == "<"; });
    return static_cast<std::size_t>(at - tokens.begin());
  };
  const auto list = [&](Tokens tokens) {
    const std::size_t from = begins(tokens), to = after_template(tokens, from);
    return to < from + 2 ? std::vector<Tokens>()
                         : separated(tokens.subspan(from + 1, to - from - 2));
  };
  if (!is(text, 0, "template") || begins(call) == call.size()) return all;
  const std::vector<Tokens> names = list(text), values = list(call);
  for (std::size_t i = 0; i < std::min(names.size(), values.size()); ++i) {
    Tokens name = names[i];
    for (std::size_t j = 0; j < name.size(); ++j) {
      if (name[j].text == "=") name = name.first(j);
    }
    if (!name.empty()) all.emplace(name.back().text, source_of(values[i]));
  }
  return all;
}

}  // namespace

std::map<std::string, std::string> value_types(const runtime::KernelSource& source) {
  std::map<std::string, std::string> all;
  if (!source.metal) {
    for (const runtime::KernelParameter& parameter : source.parameters) {
      all.emplace(parameter.name, parameter.type);
    }
    return all;
  }
  const MetalText text(source.text);
  const MetalEntry* const entry = text.entry(source.function.substr(0, source.function.find('<')));
  if (entry == nullptr) return all;
  const std::map<std::string, std::string> arguments = template_arguments(*entry, source.function);
  for (const MetalParameter& parameter : parameters_of(text, *entry)) {
    const auto argument = arguments.find(parameter.type);
    all.emplace(parameter.name, argument == arguments.end() ? parameter.type : argument->second);
  }
  return all;
}

std::optional<NumberType> named_numbers(std::string_view type) {
  take_prefix(type, "metal::");
  if (type.starts_with("atomic<") && type.ends_with('>')) {
    type.remove_prefix(7);
    type.remove_suffix(1);
  }
  take_prefix(type, "atomic_");
  take_prefix(type, "packed_");
  const int lanes = take_lanes(type);
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype != DType::bool_ && type == dialect_type(dtype)) return NumberType{dtype, lanes};
  }
  for (const auto& [name, dtype] : kOtherNames) {
    if (type == name) return NumberType{dtype, lanes};
  }
  return std::nullopt;
}

bool holds(DType type, DType given) {
  if (is_float(type) || is_float(given)) return type == given;
  return size_of(type) == size_of(given);
}

}  // namespace hearth::gpu
