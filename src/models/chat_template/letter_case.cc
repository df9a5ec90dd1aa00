#include "models/chat_template/letter_case.h"

#include <cstdint>
#include <string>

#include "models/chat_template/unicode.h"
#include "models/tokenizer/unicode.h"

namespace hearth::models::chat_template {
namespace {

using tokens::LetterCase;

constexpr char32_t kCapitalSigma = 0x3a3;
constexpr const char* kFinalSigma = "\xcf\x82";

// What is no UTF-8 has no facts.
std::uint32_t facts_of(const Character& each) {
  const bool is_byte = each.size == 1 && each.code >= 0x80;
  return is_byte ? 0 : tokens::character_facts(each.code);
}
bool has(std::uint32_t facts, std::uint32_t fact) { return (facts & fact) != 0; }
bool is_ignorable(std::uint32_t facts) {
  return has(facts, tokens::CharacterFacts::kCaseIgnorable);
}
bool is_cased(std::uint32_t facts) { return has(facts, tokens::CharacterFacts::kCased); }

// Whether the first of what stands behind, ignorable ones left out, has case.
bool goes_on_as_word(std::string_view behind) {
  for (std::size_t at = 0; at < behind.size();) {
    const Character each = character_at(behind, at);
    const std::uint32_t facts = facts_of(each);
    if (!is_ignorable(facts)) return is_cased(facts);
    at += each.size;
  }
  return false;
}

LetterCase case_of(Letters letters, std::uint32_t facts, bool is_first, bool is_behind_cased) {
  switch (letters) {
    case Letters::lower:
      return LetterCase::lower;
    case Letters::upper:
      return LetterCase::upper;
    case Letters::fold:
      return LetterCase::fold;
    case Letters::swapped:
      return has(facts, tokens::CharacterFacts::kUpper) ? LetterCase::lower : LetterCase::upper;
    case Letters::title:
      return is_behind_cased ? LetterCase::lower : LetterCase::title;
    case Letters::capital:
      return is_first ? LetterCase::title : LetterCase::lower;
  }
  return LetterCase::lower;
}

}  // namespace

MarkedText in_letters(const MarkedText& text, Letters letters) {
  MarkedText out;
  const std::string_view view = text.view();
  std::string made;
  bool is_behind_cased = false;  // the character before has case
  bool is_within_word = false;   // or the last that is not ignorable
  for (std::size_t at = 0; at < view.size();) {
    const Character each = character_at(view, at);
    const std::uint32_t facts = facts_of(each);
    const LetterCase to = case_of(letters, facts, at == 0, is_behind_cased);
    const std::string_view rest = view.substr(at + each.size);
    made.clear();
    if (each.size == 1 && each.code >= 0x80) {
      made = view.substr(at, 1);
    } else if (each.code == kCapitalSigma && to == LetterCase::lower && is_within_word &&
               !goes_on_as_word(rest)) {
      made = kFinalSigma;
    } else if (letters == Letters::swapped &&
               !has(facts, tokens::CharacterFacts::kUpper | tokens::CharacterFacts::kLower)) {
      made = view.substr(at, each.size);
    } else {
      tokens::append_in_case(made, each.code, to);
    }
    out.append(made, text.is_input_at(at));
    is_behind_cased = is_cased(facts);
    if (!is_ignorable(facts)) is_within_word = is_behind_cased;
    at += each.size;
  }
  return out;
}

}  // namespace hearth::models::chat_template
