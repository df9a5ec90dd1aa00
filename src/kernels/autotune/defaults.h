// What is known of choices before anything is measured.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::gpu {

// An alternative that exists, be it on this device or not.
struct ChoiceName {
  std::string op, name;
};

// Where nothing is known of a class, or it is too small to be measured: of the rules that fit, the
// first whose alternative, or one of that family, is offered. Without one, the first that is
// offered.
struct DefaultRule {
  std::string_view op;
  std::string_view device = "*";      // a pattern of "Apple M2 Max, applegpu_g14s, 32 cores"
  std::int64_t least_processors = 0;  // cores
  double least_work = 0;              // ChoiceClass::work
  std::string_view name;
};

struct ChoiceTable {
  std::vector<ChoiceName> names;
  std::vector<DefaultRule> rules;
  // Alternatives that nothing but a rule of the user's chooses: never measured, and no default.
  std::vector<std::string> on_request;
};

}  // namespace hearth::gpu
