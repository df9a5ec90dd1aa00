// The user's rules for selecting implementations: HEARTH_CHOICES.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hearth {
inline namespace v0 {
namespace runtime {

// For the classes of an op that fit `pattern`, whose * stand for anything: the candidate of this
// name, or where it is a family, "simdgroup", one of those that are called "simdgroup/...".
struct SelectionRule {
  std::string op;
  std::string pattern = "*";
  std::string name;
};

// "matmul=simdgroup,attention=tiles", or the path of a JSON file:
//   [{"op": "matmul", "class": "f32 * k4096 *", "choose": "simdgroup/64x64x16"}, ...]
// Of the rules for a problem the first counts; "class" may be left out. Throws
// Error{invalid_argument}, for a file that cannot be read too.
std::vector<SelectionRule> read_choice_rules(const std::string& text);

bool fits_pattern(std::string_view text, std::string_view pattern) noexcept;
// Whether `name` is what is wanted, or of the family.
bool is_wanted(std::string_view name, std::string_view wanted) noexcept;

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
