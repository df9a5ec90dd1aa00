// Reads the entry points and function constants of a text in Metal's own form. Only what says how a
// kernel is launched is parsed; everything else is left to compilers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/text/tokens.h"

namespace hearth::gpu {

// An entry point as it is defined. Texts are parts of the text that was read.
struct MetalEntry {
  std::string name;
  std::string host_name;  // of an attribute, or empty
  bool is_template = false;
  std::string_view parameters;  // without their parentheses
  std::string_view body;        // with its braces; empty where it is only declared
  std::string_view text;        // all of it
};

// template [[host_name("x")]] ... f<float>;
struct MetalInstance {
  std::string host_name;
  std::string function;  // "f<float>"
  std::string_view text;
};

// constant bool x [[function_constant(0)]];
struct MetalConstant {
  std::string name;
  std::string type;
  std::string_view text;       // from the word constant to the semicolon
  std::string_view attribute;  // with its brackets
};

struct MetalText {
  explicit MetalText(std::string_view text);
  std::string_view text;
  std::vector<Token> tokens;
  std::vector<MetalEntry> entries;
  std::vector<MetalInstance> instances;
  std::vector<MetalConstant> constants;
  std::vector<std::string_view> attributes;  // with their brackets
  std::vector<std::string_view> qualifiers;  // the words kernel

  // The entry of this name, the first of several; null where there is none.
  const MetalEntry* entry(std::string_view name) const;
  // The value of a constant of the text that is an integer or a bool known now.
  std::optional<std::int64_t> value(std::string_view name) const;

 private:
  static constexpr int kMaxLookups = 1000;  // of constants that one stands on
  std::optional<std::int64_t> value(std::string_view name, int* left) const;
};

}  // namespace hearth::gpu
