#include "codegen/msl/absent_parameters.h"

#include <algorithm>

#include "codegen/msl/preprocessor/constant_expression.h"
#include "codegen/msl/token_runs.h"
#include "codegen/text/text_builder.h"

namespace hearth::gpu {
namespace {

std::string_view from_to(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

const char* end_of(std::string_view part) { return part.data() + part.size(); }

class ParameterList {
 public:
  ParameterList(const MetalText& text, const MetalEntry& entry)
      : text_(text), entry_(entry), tokens_(tokens_of(entry.parameters)) {
    for (const Tokens part : separated(tokens_)) parts_.push_back({part, absent_value(part)});
  }

  // False where no parameter goes.
  bool rewrite(TextEdits& edits) const {
    std::string made;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].null.empty()) {
        cut_attributes(parts_[i].tokens, edits);
      } else {
        edits.replace(with_comma(i), "");
        made += " " + parts_[i].null;
      }
    }
    if (!made.empty() && !entry_.body.empty()) edits.replace(entry_.body.substr(0, 1), "{" + made);
    return !made.empty();
  }

 private:
  struct Part {
    Tokens tokens;
    std::string null;  // the declaration that stands for it; empty where it stays
  };

  std::string absent_value(Tokens tokens) const {
    bool is_absent = false, has_index = false;
    const std::vector<Token> words = plain(tokens);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (!is_attribute(tokens, i)) continue;
      for (const Attribute& attribute : read_attribute(tokens, i)) {
        has_index |= attribute.name == "buffer" || attribute.name == "threadgroup";
        if (attribute.name != "function_constant") continue;
        const auto there =
            evaluate(attribute.arguments, [&](std::string_view name) { return text_.value(name); });
        is_absent = there && *there == 0;
      }
      i = after_bracket(tokens, i) - 1;
    }
    const std::size_t count = words.size();
    if (!is_absent || !has_index || count < 3 || words.back().kind != TokenKind::word) return "";
    const std::string_view name = words.back().text, mark = words[count - 2].text;
    const auto type = std::string(from_to(words.front().text.data(), mark.data()));
    if (mark == "*") return joined(type, "* ", name, " = nullptr;");
    if (mark == "&") return joined(type, "& ", name, " = *static_cast<", type, "*>(nullptr);");
    return "";
  }

  // A parameter with the comma that goes with it.
  std::string_view with_comma(std::size_t at) const {
    const std::string_view part = source_of(parts_[at].tokens);
    const bool is_followed =
        std::any_of(parts_.begin() + static_cast<std::ptrdiff_t>(at) + 1, parts_.end(),
                    [](const Part& other) { return other.null.empty(); });
    if (is_followed) return from_to(part.data(), source_of(parts_[at + 1].tokens).data());
    if (at == 0) return part;
    return from_to(end_of(source_of(parts_[at - 1].tokens)), end_of(part));
  }

  static void cut_attributes(Tokens tokens, TextEdits& edits) {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (!is_attribute(tokens, i)) continue;
      const std::size_t end = after_bracket(tokens, i);
      std::string kept;
      bool cuts = false;
      for (const Attribute& attribute : read_attribute(tokens, i)) {
        if (attribute.name == "function_constant") {
          cuts = true;
          continue;
        }
        kept += (kept.empty() ? "" : ", ") + attribute.name;
        if (!attribute.arguments.empty()) kept += joined("(", source_of(attribute.arguments), ")");
      }
      if (cuts) {
        edits.replace(source_of(tokens.subspan(i, end - i)),
                      kept.empty() ? "" : joined("[[", kept, "]]"));
      }
      i = end - 1;
    }
  }

  const MetalText& text_;
  const MetalEntry& entry_;
  const std::vector<Token> tokens_;
  std::vector<Part> parts_;
};

}  // namespace

void drop_absent_parameters(const MetalText& text, TextEdits& edits) {
  for (const MetalEntry& entry : text.entries) {
    const bool drops = ParameterList(text, entry).rewrite(edits);
    // Instances that list the parameters follow.
    for (const MetalInstance& instance : text.instances) {
      const bool is_of = instance.function.substr(0, instance.function.find('<')) == entry.name;
      const auto has = [&](const char* word) {
        return instance.text.find(word) != std::string_view::npos;
      };
      if (!is_of || has("decltype") || !(drops || has("function_constant"))) continue;
      const std::string name =
          instance.host_name.empty() ? "" : joined("[[host_name(\"", instance.host_name, "\")]] ");
      edits.replace(instance.text, joined("template ", name, "[[kernel]] decltype(",
                                          instance.function, ") ", instance.function, ";"));
    }
  }
}

}  // namespace hearth::gpu
