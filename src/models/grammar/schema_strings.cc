#include "models/grammar/schema_strings.h"

#include <algorithm>
#include <set>

#include "models/grammar/schema_characters.h"
#include "models/tokenizer/unicode.h"

namespace hearth::models::grammar {

std::string json_plain_char_grammar() { return "[^\"\\\\\\x00-\\x1F\\x7F]"; }

std::string json_char_grammar() {
  return json_plain_char_grammar() +
         " | \"\\\\\" ([\"\\\\/bfnrt] | \"u\" ([0-9a-cA-CefEF] [0-9a-fA-F]{3} | [dD] [0-7] "
         "[0-9a-fA-F]{2}))";
}

std::string other_name_grammar(const std::vector<std::string>& names) {
  // By prefixes of the names: a character that leads to no name and anything behind it, or the end
  // where no name ends. Alternatives are flat, so that long names do not nest.
  std::set<std::string> prefixes, whole(names.begin(), names.end());
  for (const std::string& name : names) {
    for (std::size_t at = 0; at < name.size(); at += tokens::decode_one(name, at).size) {
      prefixes.insert(name.substr(0, at));
    }
    prefixes.insert(name);
  }
  prefixes.insert("");
  std::string out;
  for (const std::string& prefix : prefixes) {
    // What a name with a character that needs an escape begins with is never written here.
    if (std::any_of(prefix.begin(), prefix.end(), [](char c) {
          return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\' || c == 0x7f;
        })) {
      continue;
    }
    std::string others = "[^\"\\\\\\x00-\\x1F\\x7F";
    for (const std::string& longer : prefixes) {
      if (longer.size() <= prefix.size() || longer.compare(0, prefix.size(), prefix) != 0) continue;
      const tokens::Decoded next = tokens::decode_one(longer, prefix.size());
      if (prefix.size() + next.size == longer.size()) others += gbnf_code(next.code);
    }
    const std::string begin = gbnf_literal("\"" + prefix);
    out += (out.empty() ? "" : " | ") + begin + " (" + others + "] " + json_plain_char_grammar() +
           "*" + (whole.contains(prefix) ? ")" : ")?") + " \"\\\"\"";
  }
  return out;
}

}  // namespace hearth::models::grammar
