#include "models/language/folder/tensor_rules.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "models/language/folder/standard_rules.h"

namespace hearth::models {
namespace {

struct Fit {
  std::vector<std::string> numbers;  // what {} stands for
  std::string_view rest;             // behind what the rule names
};

// A rule's name against the beginning of a tensor's.
std::optional<Fit> fit(std::string_view rule, std::string_view name) {
  Fit found;
  while (!rule.empty()) {
    if (rule.substr(0, 2) == "{}") {
      const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
      if (digits == 0 || digits > 9) return std::nullopt;
      found.numbers.emplace_back(name.substr(0, digits));
      name.remove_prefix(digits);
      rule.remove_prefix(2);
    } else {
      if (name.empty() || name.front() != rule.front()) return std::nullopt;
      name.remove_prefix(1);
      rule.remove_prefix(1);
    }
  }
  if (!name.empty() && name.front() != '.') return std::nullopt;
  found.rest = name;
  return found;
}

// GGUF's name of what fits: the layer in place of {}.
std::string gguf_name(std::string_view pattern, const Fit& fit) {
  if (pattern.empty()) return "";
  std::string name(pattern);
  const std::size_t hole = name.find("{}");
  if (hole != std::string::npos && !fit.numbers.empty()) name.replace(hole, 2, fit.numbers[0]);
  return name.append(fit.rest);
}

}  // namespace

std::string text_name(const std::string& name) {
  for (const auto& [prefix, with] :
       {std::pair<std::string_view, std::string_view>{"model.language_model.", "model."},
        {"language_model.model.", "model."},
        {"language_model.lm_head.", "lm_head."},
        // Of an encoder, saved with what guesses its tokens.
        {"bert.", ""},
        {"roberta.", ""}}) {
    if (name.starts_with(prefix)) return std::string(with) + name.substr(prefix.size());
  }
  // Of a model without its output, saved alone, as those are that make vectors.
  for (const std::string_view bare : {"embed_tokens.", "layers.", "norm."}) {
    if (name.starts_with(bare)) return "model." + name;
  }
  return name;
}

std::vector<RenamedTensor> renamed(std::string_view name, const Family& family) {
  std::vector<RenamedTensor> all;
  std::size_t longest = 0;
  for (const auto rules : {family.tensors, standard_tensors()}) {
    // What a family says of a name stands, not what is usual.
    const std::size_t least = longest + (rules.data() == family.tensors.data() ? 0 : 1);
    for (const TensorRule& rule : rules) {
      const std::optional<Fit> found = fit(rule.name, name);
      const std::size_t length = rule.name.size();
      if (!found || length < std::max(least, longest)) continue;
      if (length > longest) all.clear();
      longest = length;
      RenamedTensor& made = all.emplace_back();
      made.rule = &rule;
      made.name = gguf_name(rule.gguf, *found);
      if (found->numbers.size() > 1) {
        const std::string& digits = found->numbers[1];
        std::from_chars(digits.data(), digits.data() + digits.size(), made.expert);
      }
    }
  }
  return all;
}

}  // namespace hearth::models
