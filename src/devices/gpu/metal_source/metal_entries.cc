#include "devices/gpu/metal_source/metal_entries.h"

#include <algorithm>
#include <set>
#include <span>

#include "devices/gpu/metal_source/constant_expression.h"
#include "hearth/error.h"

namespace hearth::gpu {
namespace {

using Tokens = std::span<const Token>;

bool is(Tokens tokens, std::size_t at, std::string_view text) {
  return at < tokens.size() && tokens[at].text == text;
}

// From the first to the last token, which are parts of one text.
std::string_view stretch(Tokens tokens) {
  if (tokens.empty()) return {};
  const char* begin = tokens.front().text.data();
  const char* end = tokens.back().text.data() + tokens.back().text.size();
  return {begin, static_cast<std::size_t>(end - begin)};
}

bool opens(std::string_view text) { return text == "(" || text == "[" || text == "{"; }
bool closes(std::string_view text) { return text == ")" || text == "]" || text == "}"; }

// Behind the bracket that closes the one at `at`; tokens.size() where there is none.
std::size_t behind_bracket(Tokens tokens, std::size_t at) {
  int depth = 0;
  for (; at < tokens.size(); ++at) {
    if (opens(tokens[at].text)) ++depth;
    if (closes(tokens[at].text) && --depth == 0) return at + 1;
  }
  return at;
}

// [[...]]: two brackets without a blank between.
bool is_attribute(Tokens tokens, std::size_t at) {
  return is(tokens, at, "[") && is(tokens, at + 1, "[") &&
         tokens[at + 1].text.data() == tokens[at].text.data() + 1;
}

struct Attribute {
  std::string name;
  Tokens arguments;
};

// Of [[a(1), b]], which begins at `at`.
std::vector<Attribute> read_attribute(Tokens tokens, std::size_t at) {
  const std::size_t end = behind_bracket(tokens, at);
  std::vector<Attribute> all;
  for (std::size_t i = at + 2; i + 2 < end; ++i) {
    if (tokens[i].kind != TokenKind::word) continue;
    Attribute made{std::string(tokens[i].text), {}};
    if (is(tokens, i + 1, "(")) {
      const std::size_t behind = behind_bracket(tokens, i + 1);
      made.arguments = tokens.subspan(i + 2, behind - i - 3);
      i = behind - 1;
    }
    all.push_back(made);
  }
  return all;
}

// "a" "b" is ab.
std::string text_of(Tokens literals) {
  std::string all;
  for (const Token& token : literals) {
    if (token.kind == TokenKind::literal) all += token.text.substr(1, token.text.size() - 2);
  }
  return all;
}

// Tokens without attributes.
std::vector<Token> plain(Tokens tokens) {
  std::vector<Token> all;
  for (std::size_t i = 0; i < tokens.size();) {
    if (is_attribute(tokens, i)) {
      i = behind_bracket(tokens, i);
    } else {
      all.push_back(tokens[i++]);
    }
  }
  return all;
}

// The function that an explicit instantiation names, whose parameters may stand behind it.
std::string instantiated(Tokens declaration) {
  const std::vector<Token> tokens = plain(declaration);
  std::size_t end = tokens.size();
  if (end > 0 && tokens[end - 1].text == ")") {
    int depth = 0;
    do {
      --end;
      depth += tokens[end].text == ")" ? 1 : tokens[end].text == "(" ? -1 : 0;
    } while (depth != 0 && end > 0);
  }
  std::size_t begin = end;
  int depth = 0, brackets = 0;
  while (begin > 0) {
    const std::string_view text = tokens[--begin].text;
    if (closes(text)) ++brackets;
    if (opens(text)) --brackets;
    if (brackets == 0) depth += text == ">" ? 1 : text == "<" ? -1 : 0;
    if (depth == 0 && brackets == 0) break;
  }
  if (begin > 0 && begin < end && tokens[begin].text == "<") --begin;
  std::string name;
  for (std::size_t i = begin; i < end; ++i) {
    const bool both_words =
        i > begin && is_word_character(tokens[i].text[0]) && is_word_character(name.back());
    name += (both_words ? " " : "") + std::string(tokens[i].text);
  }
  return name;
}

// Separated by commas that are in no brackets of any kind.
std::vector<Tokens> separated(Tokens tokens) {
  std::vector<Tokens> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string_view text = tokens[i].text;
    if (opens(text) || text == "<") ++depth;
    if (closes(text) || text == ">") --depth;
    if (text == "," && depth == 0) {
      parts.push_back(tokens.subspan(begin, i - begin));
      begin = i + 1;
    }
  }
  if (begin < tokens.size()) parts.push_back(tokens.subspan(begin));
  return parts;
}

// Behind the > that belongs to the < at `at`.
std::size_t behind_template(Tokens tokens, std::size_t at) {
  int depth = 0;
  while (at < tokens.size()) {
    const std::string_view text = tokens[at].text;
    if (opens(text)) {
      at = behind_bracket(tokens, at);
      continue;
    }
    ++at;
    if (text == "<") ++depth;
    if (text == ">" && --depth == 0) break;
  }
  return at;
}

// A declaration of a kernel, from `begin` on, whose word kernel stands at `marker`; the end of it.
std::size_t read_declaration(MetalText& text, std::size_t begin, std::size_t marker) {
  const Tokens tokens = text.tokens;
  if (is(tokens, begin, "template") && !is(tokens, begin + 1, "<")) {
    std::size_t end = begin;
    while (end < tokens.size() && tokens[end].text != ";") ++end;
    MetalInstance instance;
    const Tokens declaration = tokens.subspan(begin, end - begin);
    for (std::size_t i = 0; i < declaration.size(); ++i) {
      if (!is_attribute(declaration, i)) continue;
      for (const Attribute& attribute : read_attribute(declaration, i)) {
        if (attribute.name == "host_name") instance.host_name = text_of(attribute.arguments);
      }
    }
    instance.function = instantiated(declaration.subspan(1));
    instance.text = stretch(tokens.subspan(begin, std::min(end + 1, tokens.size()) - begin));
    text.instances.push_back(std::move(instance));
    return end;
  }
  MetalEntry entry;
  entry.is_template = is(tokens, begin, "template") && !is(tokens, begin + 2, ">");
  std::size_t at = begin;
  if (is(tokens, begin, "template")) at = behind_template(tokens, begin + 1);
  for (; at < tokens.size() && tokens[at].text != "("; ++at) {
    if (!is_attribute(tokens, at)) continue;
    for (const Attribute& attribute : read_attribute(tokens, at)) {
      if (attribute.name == "host_name") entry.host_name = text_of(attribute.arguments);
    }
    at = behind_bracket(tokens, at) - 1;
  }
  if (at >= tokens.size() || at == 0 || tokens[at - 1].kind != TokenKind::word) return marker;
  entry.name = tokens[at - 1].text;
  const std::size_t behind = behind_bracket(tokens, at);
  entry.parameters = stretch(tokens.subspan(at + 1, behind - at - 2));
  at = behind;
  while (is_attribute(tokens, at)) at = behind_bracket(tokens, at);
  if (is(tokens, at, "{")) {
    const std::size_t end = behind_bracket(tokens, at);
    entry.body = stretch(tokens.subspan(at, end - at));
    at = end - 1;
  }
  entry.text = stretch(tokens.subspan(begin, std::min(at + 1, tokens.size()) - begin));
  text.entries.push_back(std::move(entry));
  return behind - 1;
}

}  // namespace

MetalText::MetalText(std::string_view all) : text(all), tokens(tokens_of(all)) {
  std::size_t begin = 0;  // of the declaration in hand
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::string_view word = tokens[i].text;
    if (word == ";" || word == "{" || word == "}") {
      begin = i + 1;
      continue;
    }
    bool is_kernel = word == "kernel";
    if (is_kernel) qualifiers.push_back(word);
    std::size_t end = i;
    if (is_attribute(tokens, i)) {
      end = behind_bracket(tokens, i);
      attributes.push_back(stretch(Tokens(tokens).subspan(i, end - i)));
      for (const Attribute& attribute : read_attribute(tokens, i)) {
        is_kernel |= attribute.name == "kernel";
        if (attribute.name != "function_constant" || tokens[begin].text != "constant") continue;
        if (!is(tokens, end, ";") || i < begin + 3) continue;
        constants.push_back({std::string(tokens[i - 1].text),
                             std::string(stretch(Tokens(tokens).subspan(begin + 1, i - begin - 2))),
                             stretch(Tokens(tokens).subspan(begin, end + 1 - begin)),
                             attributes.back()});
      }
      --end;
    }
    if (!is_kernel) {
      i = end;
      continue;
    }
    const std::size_t next = read_declaration(*this, begin, i);
    // Attributes and words up to there.
    for (std::size_t k = end + 1; k <= next && k < tokens.size(); ++k) {
      if (tokens[k].text == "kernel") qualifiers.push_back(tokens[k].text);
      if (!is_attribute(tokens, k)) continue;
      const std::size_t behind = behind_bracket(tokens, k);
      attributes.push_back(stretch(Tokens(tokens).subspan(k, behind - k)));
      k = behind - 1;
    }
    i = std::max(end, next);
    if (i < tokens.size() && tokens[i].text == ";") begin = i + 1;
  }
}

const MetalEntry* MetalText::entry(std::string_view name) const {
  const MetalEntry* found = nullptr;
  for (const MetalEntry& each : entries) {
    // A definition rather than a declaration.
    if (each.name == name && (found == nullptr || found->body.empty())) found = &each;
  }
  return found;
}

std::optional<std::int64_t> MetalText::value(std::string_view name) const {
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (tokens[i].text != name || tokens[i + 1].text != "=") continue;
    std::size_t first = i;
    while (first > 0 && tokens[first].text != ";" && tokens[first].text != "{" &&
           tokens[first].text != "}") {
      --first;
    }
    const bool is_constant = std::any_of(
        tokens.begin() + static_cast<std::ptrdiff_t>(first),
        tokens.begin() + static_cast<std::ptrdiff_t>(i),
        [](const Token& token) { return token.text == "constant" || token.text == "constexpr"; });
    if (!is_constant) continue;
    std::size_t end = i + 2;
    while (end < tokens.size() && tokens[end].text != ";") ++end;
    // Names of earlier constants only: this ends.
    return evaluate(Tokens(tokens).subspan(i + 2, end - i - 2), [&](std::string_view other) {
      for (std::size_t k = 0; k < i; ++k) {
        if (tokens[k].text == other && is(tokens, k + 1, "=")) return value(other);
      }
      return std::optional<std::int64_t>();
    });
  }
  return {};
}

namespace {

constexpr std::string_view kPositions[] = {"thread_position_in_grid",
                                           "threadgroup_position_in_grid",
                                           "thread_position_in_threadgroup",
                                           "thread_index_in_threadgroup",
                                           "threads_per_threadgroup",
                                           "dispatch_threads_per_threadgroup",
                                           "threadgroups_per_grid",
                                           "threads_per_grid",
                                           "grid_size",
                                           "grid_origin",
                                           "simdgroup_index_in_threadgroup",
                                           "thread_index_in_simdgroup",
                                           "simdgroups_per_threadgroup",
                                           "dispatch_simdgroups_per_threadgroup",
                                           "threads_per_simdgroup",
                                           "thread_execution_width",
                                           "quadgroup_index_in_threadgroup",
                                           "thread_index_in_quadgroup",
                                           "quadgroups_per_threadgroup",
                                           "dispatch_quadgroups_per_threadgroup",
                                           "threads_per_quadgroup"};

class ParameterReader {
 public:
  ParameterReader(const MetalText& text, const MetalEntry& entry) : text_(text), entry_(entry) {}

  MetalParameter read(Tokens tokens) {
    MetalParameter made;
    std::vector<Token> words = plain(tokens);
    // An array is a pointer here.
    while (!words.empty() && words.back().text == "]") {
      while (!words.empty() && words.back().text != "[") words.pop_back();
      if (words.size() < 2) break;
      words.back().text = "*";
      std::swap(words.back(), *(words.end() - 2));
    }
    if (words.empty() || words.back().kind != TokenKind::word) {
      refuse(tokens, "expected a pointer, a reference or a position, with a name");
    }
    made.name = words.back().text;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (!is_attribute(tokens, i)) continue;
      for (const Attribute& attribute : read_attribute(tokens, i)) apply(attribute, tokens, made);
      i = behind_bracket(tokens, i) - 1;
    }
    if (made.kind == MetalParameter::Kind::position) return made;
    read_type(tokens, words, made);
    return made;
  }

 private:
  [[noreturn]] void refuse(Tokens tokens, const std::string& expected,
                           ErrorCode code = ErrorCode::unsupported) const {
    throw Error(code, "kernel: " + entry_.name + ": a parameter cannot be passed; got \"" +
                          std::string(stretch(tokens)) + "\", " + expected);
  }

  void apply(const Attribute& attribute, Tokens tokens, MetalParameter& made) const {
    const auto known = std::find(std::begin(kPositions), std::end(kPositions), attribute.name);
    if (known != std::end(kPositions)) {
      made.kind = MetalParameter::Kind::position;
      made.position = attribute.name;
    } else if (attribute.name == "buffer" || attribute.name == "threadgroup") {
      const auto index =
          evaluate(attribute.arguments, [&](std::string_view name) { return text_.value(name); });
      if (!index || *index < 0 || *index > 1000) {
        refuse(tokens, "expected an index that is a number", ErrorCode::invalid_argument);
      }
      made.index = static_cast<int>(*index);
    } else if (attribute.name == "function_constant") {
      const auto there =
          evaluate(attribute.arguments, [&](std::string_view name) { return text_.value(name); });
      if (!there) {
        refuse(tokens, "expected a value for its function constant", ErrorCode::invalid_argument);
      }
      made.is_absent = *there == 0;
    } else {
      refuse(tokens, "expected a buffer, threadgroup memory or a position of compute kernels");
    }
  }

  void read_type(Tokens tokens, std::span<const Token> words, MetalParameter& made) const {
    int pointers = 0, references = 0, depth = 0;
    bool is_device = false, is_constant = false, is_threadgroup = false;
    for (const Token& word : words) {
      if (word.text == "<") ++depth;
      if (word.text == ">") --depth;
      if (depth > 0) continue;
      is_device |= word.text == "device";
      is_constant |= word.text == "constant";
      is_threadgroup |= word.text == "threadgroup";
      if (word.text == "*") ++pointers;
      if (word.text == "&") ++references;
      if (word.text == "const" && pointers + references == 0) made.is_const = true;
    }
    const int spaces = int{is_device} + int{is_constant} + int{is_threadgroup};
    if (spaces != 1 || pointers + references != 1) {
      refuse(tokens, "expected one pointer or reference to device, constant or threadgroup memory");
    }
    made.is_reference = references == 1;
    if (is_threadgroup) {
      made.kind = MetalParameter::Kind::threadgroup;
      return;
    }
    made.is_const |= is_constant;
    if (is_constant && made.is_reference) made.kind = MetalParameter::Kind::constant;
  }

  const MetalText& text_;
  const MetalEntry& entry_;
};

}  // namespace

std::vector<MetalParameter> parameters_of(const MetalText& text, const MetalEntry& entry) {
  const std::vector<Token> tokens = tokens_of(entry.parameters);
  ParameterReader reader(text, entry);
  std::vector<MetalParameter> all;
  std::set<int> taken[2];
  const auto taken_by = [&](const MetalParameter& parameter) -> std::set<int>& {
    return taken[parameter.kind == MetalParameter::Kind::threadgroup ? 1 : 0];
  };
  for (const Tokens part : separated(tokens)) {
    all.push_back(reader.read(part));
    if (all.back().index >= 0) taken_by(all.back()).insert(all.back().index);
  }
  for (MetalParameter& parameter : all) {
    if (parameter.kind == MetalParameter::Kind::position || parameter.index >= 0) continue;
    std::set<int>& indices = taken_by(parameter);
    while (!indices.insert(++parameter.index).second) {
    }
  }
  return all;
}

}  // namespace hearth::gpu
