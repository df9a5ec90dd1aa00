#include "codegen/msl/parameters.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "codegen/msl/preprocessor/constant_expression.h"
#include "codegen/msl/token_runs.h"
#include "hearth/error.h"

namespace hearth::gpu {
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

// What may stand before a type, or after it, and ends it.
constexpr std::string_view kQualifiers[] = {
    "device", "constant", "threadgroup", "const", "volatile", "*", "&"};

constexpr std::int64_t kLastIndex = 30;  // of buffers, and of threadgroup memory

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
      i = after_bracket(tokens, i) - 1;
    }
    if (made.kind == MetalParameter::Kind::position) return made;
    read_type(tokens, words, made);
    return made;
  }

 private:
  [[noreturn]] void refuse(Tokens tokens, const std::string& expected,
                           ErrorCode code = ErrorCode::unsupported) const {
    throw Error(code, "kernel: " + entry_.name + ": a parameter cannot be passed; got \"" +
                          std::string(source_of(tokens)) + "\", " + expected);
  }

  void apply(const Attribute& attribute, Tokens tokens, MetalParameter& made) const {
    const auto known = std::find(std::begin(kPositions), std::end(kPositions), attribute.name);
    if (known != std::end(kPositions)) {
      made.kind = MetalParameter::Kind::position;
      made.position = attribute.name;
    } else if (attribute.name == "buffer" || attribute.name == "threadgroup") {
      const auto index =
          evaluate(attribute.arguments, [&](std::string_view name) { return text_.value(name); });
      if (!index || *index < 0 || *index > kLastIndex) {
        refuse(tokens, "expected an index from 0 to 30", ErrorCode::invalid_argument);
      }
      made.index = static_cast<int>(*index);
    } else if (attribute.name == "function_constant") {
      const auto there =
          evaluate(attribute.arguments, [&](std::string_view name) { return text_.value(name); });
      if (!there) {
        refuse(tokens, "expected a value for its function constant", ErrorCode::invalid_argument);
      }
      made.is_absent = *there == 0;
    } else if (attribute.name != "user") {  // a name for other stages
      refuse(tokens, "expected a buffer, threadgroup memory or a position of compute kernels");
    }
  }

  void read_type(Tokens tokens, std::span<const Token> words, MetalParameter& made) const {
    int pointers = 0, references = 0, depth = 0;
    bool is_device = false, is_constant = false, is_threadgroup = false;
    for (const Token& word : words) {
      const bool is_type = &word != &words.back() && pointers + references == 0;
      if (is_type && std::find(std::begin(kQualifiers), std::end(kQualifiers), word.text) ==
                         std::end(kQualifiers)) {
        const bool apart = !made.type.empty() && is_word_character(made.type.back()) &&
                           is_word_character(word.text.front());
        made.type += (apart ? " " : "") + std::string(word.text);
      }
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

bool is_of(const MetalParameter& parameter, MetalParameter::Kind kind) {
  return parameter.kind == kind;
}

// Positions may have no names, and of parameters with one index one may be absent.
void check_apart(const MetalEntry& entry, const MetalParameter& a, const MetalParameter& b) {
  using Kind = MetalParameter::Kind;
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorCode::invalid_argument, "kernel: " + entry.name + ": two parameters " + what);
  };
  if (is_of(a, Kind::position) && is_of(b, Kind::position)) return;
  if (a.name == b.name) {
    refuse("have one name; got \"" + a.name + "\" twice, expected different names");
  }
  const bool share = is_of(a, Kind::threadgroup) == is_of(b, Kind::threadgroup);
  if (share && a.index >= 0 && a.index == b.index && !a.is_absent && !b.is_absent) {
    refuse("have one index; got " + a.name + " and " + b.name + " at " + std::to_string(a.index) +
           ", expected different indices");
  }
}

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
    const MetalParameter next = reader.read(part);
    for (const MetalParameter& earlier : all) check_apart(entry, earlier, next);
    all.push_back(next);
    if (all.back().index >= 0) taken_by(all.back()).insert(all.back().index);
  }
  for (MetalParameter& parameter : all) {
    if (parameter.kind == MetalParameter::Kind::position || parameter.index >= 0) continue;
    std::set<int>& indices = taken_by(parameter);
    while (!indices.insert(++parameter.index).second) {
    }
    if (parameter.index > kLastIndex) {
      throw Error(ErrorCode::invalid_argument,
                  "kernel: " + entry.name + ": too many parameters; got no index left for " +
                      parameter.name + ", expected at most 31 of a kind");
    }
  }
  return all;
}

}  // namespace hearth::gpu
