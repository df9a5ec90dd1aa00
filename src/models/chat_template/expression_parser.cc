#include "models/chat_template/expression_parser.h"

#include <algorithm>

namespace hearth::models::chat_template {
namespace {

constexpr int kMaxHeight = 200;
// Of expressions within one another while they are parsed.
constexpr int kMaxParsingDepth = 100;

Value text_literal(std::string_view text) {
  return std::make_shared<const MarkedText>(MarkedText(text, false));
}

}  // namespace

class ExpressionParser::Nested {
 public:
  explicit Nested(ExpressionParser& parser) : parser_(parser) {
    if (++parser.depth_ > kMaxParsingDepth) {
      --parser.depth_;
      fail_at(parser.tokens_.line(), "expressions nest too deep; expected at most " +
                                         std::to_string(kMaxParsingDepth) + " levels");
    }
  }
  ~Nested() { --parser_.depth_; }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;

 private:
  ExpressionParser& parser_;
};

ExpressionPtr ExpressionParser::make(ExpressionKind kind, int line) const {
  auto made = std::make_unique<Expression>();
  made->kind = kind;
  made->line = line;
  return made;
}

ExpressionPtr ExpressionParser::checked(ExpressionPtr made) const {
  int height = 0;
  const auto see = [&](const ExpressionPtr& each) {
    if (each != nullptr) height = std::max(height, each->height);
  };
  for (const ExpressionPtr& child : made->children) see(child);
  for (const ExpressionPtr& argument : made->arguments.positional) see(argument);
  for (const auto& [name, argument] : made->arguments.named) see(argument);
  see(made->arguments.rest);
  see(made->arguments.named_rest);
  made->height = height + 1;
  if (made->height > kMaxHeight) {
    fail_at(made->line, "an expression is too long; expected at most " +
                            std::to_string(kMaxHeight) + " levels");
  }
  return made;
}

ExpressionPtr ExpressionParser::make_of(ExpressionKind kind, int line, ExpressionPtr first,
                                        ExpressionPtr second) const {
  ExpressionPtr made = make(kind, line);
  made->children.push_back(std::move(first));
  if (second != nullptr) made->children.push_back(std::move(second));
  return checked(std::move(made));
}

ExpressionPtr ExpressionParser::parse(bool takes_condition) {
  const Nested nested(*this);
  if (!takes_condition) return parse_or();
  ExpressionPtr value = parse_or();
  while (tokens_.is_name("if")) {
    const int line = tokens_.take().line;
    ExpressionPtr made = make(ExpressionKind::conditional, line);
    made->children.push_back(parse_or());
    made->children.push_back(std::move(value));
    if (tokens_.skip_name("else")) made->children.push_back(parse());
    value = checked(std::move(made));
  }
  return value;
}

bool ExpressionParser::ends_tuple() const {
  return tokens_.is(TokenKind::variable_end) || tokens_.is(TokenKind::block_end) ||
         tokens_.is_symbol(")");
}

ExpressionPtr ExpressionParser::parse_tuple(bool takes_condition) {
  const int line = tokens_.line();
  ExpressionPtr first = parse(takes_condition);
  if (!tokens_.is_symbol(",")) return first;
  ExpressionPtr made = make(ExpressionKind::tuple, line);
  made->children.push_back(std::move(first));
  while (tokens_.skip_symbol(",") && !ends_tuple()) {
    made->children.push_back(parse(takes_condition));
  }
  return checked(std::move(made));
}

ExpressionPtr ExpressionParser::parse_or() {
  ExpressionPtr left = parse_and();
  while (tokens_.is_name("or")) {
    const int line = tokens_.take().line;
    left = make_of(ExpressionKind::logical_or, line, std::move(left), parse_and());
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_and() {
  ExpressionPtr left = parse_not();
  while (tokens_.is_name("and")) {
    const int line = tokens_.take().line;
    left = make_of(ExpressionKind::logical_and, line, std::move(left), parse_not());
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_not() {
  if (!tokens_.is_name("not")) return parse_comparison();
  const Nested nested(*this);
  const int line = tokens_.take().line;
  return make_of(ExpressionKind::logical_not, line, parse_not());
}

// Empty where there is none.
std::string ExpressionParser::take_comparison() {
  for (const char* symbol : {"==", "!=", "<", "<=", ">", ">="}) {
    if (tokens_.skip_symbol(symbol)) return symbol;
  }
  if (tokens_.skip_name("in")) return "in";
  const Token& next = tokens_.following();
  if (tokens_.is_name("not") && next.kind == TokenKind::name && next.text == "in") {
    tokens_.take();
    tokens_.take();
    return "not in";
  }
  return "";
}

ExpressionPtr ExpressionParser::parse_comparison() {
  ExpressionPtr left = parse_binary(0);
  const int line = tokens_.line();
  std::string symbol = take_comparison();
  if (symbol.empty()) return left;
  ExpressionPtr made = make(ExpressionKind::comparison, line);
  made->children.push_back(std::move(left));
  for (; !symbol.empty(); symbol = take_comparison()) {
    made->names.push_back(symbol);
    made->children.push_back(parse_binary(0));
  }
  return checked(std::move(made));
}

// Level 0: + and -; 1: * / // %; 2: **, which joins from the left as all do in jinja2.
ExpressionPtr ExpressionParser::parse_binary(int level) {
  static const std::vector<std::string> kSymbols[] = {{"+", "-"}, {"*", "/", "//", "%"}, {"**"}};
  const auto operand = [&] {
    return level == 0 ? parse_concat() : level == 1 ? parse_binary(2) : parse_unary();
  };
  ExpressionPtr left = operand();
  const auto& symbols = kSymbols[level];
  while (tokens_.is(TokenKind::symbol) &&
         std::find(symbols.begin(), symbols.end(), tokens_.current().text) != symbols.end()) {
    const Token symbol = tokens_.take();
    left = make_of(ExpressionKind::binary, symbol.line, std::move(left), operand());
    left->name = symbol.text;
  }
  return left;
}

ExpressionPtr ExpressionParser::parse_concat() {
  const int line = tokens_.line();
  ExpressionPtr first = parse_binary(1);
  if (!tokens_.is_symbol("~")) return first;
  ExpressionPtr made = make(ExpressionKind::concat, line);
  made->children.push_back(std::move(first));
  while (tokens_.skip_symbol("~")) made->children.push_back(parse_binary(1));
  return checked(std::move(made));
}

ExpressionPtr ExpressionParser::parse_unary(bool takes_filters) {
  const int line = tokens_.line();
  ExpressionPtr value;
  if (tokens_.is_symbol("-") || tokens_.is_symbol("+")) {
    const Nested nested(*this);
    const auto kind =
        tokens_.take().text == "-" ? ExpressionKind::negative : ExpressionKind::positive;
    value = make_of(kind, line, parse_unary(false));
  } else {
    value = parse_primary();
  }
  value = parse_postfix(std::move(value));
  return takes_filters ? parse_suffixes(std::move(value)) : std::move(value);
}

ExpressionPtr ExpressionParser::parse_postfix(ExpressionPtr of) {
  while (true) {
    const int line = tokens_.line();
    if (tokens_.skip_symbol(".")) {
      if (tokens_.is(TokenKind::integer)) {
        ExpressionPtr key = make(ExpressionKind::literal, line);
        key->value = tokens_.take().integer;
        of = make_of(ExpressionKind::item, line, std::move(of), std::move(key));
        continue;
      }
      std::string name = tokens_.expect_name();
      of = make_of(ExpressionKind::attribute, line, std::move(of));
      of->name = std::move(name);
    } else if (tokens_.is_symbol("[")) {
      of = parse_subscript(std::move(of));
    } else if (tokens_.is_symbol("(")) {
      of = parse_call(std::move(of));
    } else {
      return of;
    }
  }
}

ExpressionPtr ExpressionParser::parse_suffixes(ExpressionPtr of) {
  while (true) {
    if (tokens_.is_symbol("|")) {
      tokens_.take();
      of = parse_filters(std::move(of));
    } else if (tokens_.is_name("is")) {
      of = parse_test(std::move(of));
    } else if (tokens_.is_symbol("(")) {
      of = parse_call(std::move(of));
    } else {
      return of;
    }
  }
}

ExpressionPtr ExpressionParser::parse_filters(ExpressionPtr of) {
  do {
    ExpressionPtr made = make(ExpressionKind::filter, tokens_.line());
    made->name = tokens_.expect_name();
    while (tokens_.skip_symbol(".")) made->name += "." + tokens_.expect_name();
    made->children.push_back(std::move(of));
    if (tokens_.is_symbol("(")) made->arguments = parse_arguments();
    of = checked(std::move(made));
  } while (tokens_.skip_symbol("|"));
  return of;
}

ExpressionPtr ExpressionParser::parse_test(ExpressionPtr of) {
  const int line = tokens_.take().line;
  const bool is_negated = tokens_.skip_name("not");
  ExpressionPtr made = make(ExpressionKind::test, line);
  made->name = tokens_.expect_name();
  while (tokens_.skip_symbol(".")) made->name += "." + tokens_.expect_name();
  made->children.push_back(std::move(of));
  const bool is_word = tokens_.is(TokenKind::name) && !tokens_.is_name("else") &&
                       !tokens_.is_name("or") && !tokens_.is_name("and");
  if (tokens_.is_symbol("(")) {
    made->arguments = parse_arguments();
  } else if (is_word || tokens_.is(TokenKind::text) || tokens_.is(TokenKind::integer) ||
             tokens_.is(TokenKind::floating) || tokens_.is_symbol("[") || tokens_.is_symbol("{")) {
    if (tokens_.is_name("is")) {
      fail_at(line,
              "tests cannot follow one another; got is ... is, expected brackets around the first");
    }
    const Nested nested(*this);
    made->arguments.positional.push_back(parse_postfix(parse_primary()));
  }
  made = checked(std::move(made));
  if (!is_negated) return made;
  return make_of(ExpressionKind::logical_not, line, std::move(made));
}

ExpressionPtr ExpressionParser::parse_subscript(ExpressionPtr of) {
  const Nested nested(*this);
  const int line = tokens_.take().line;
  const auto ends = [&] {
    return tokens_.is_symbol(":") || tokens_.is_symbol("]") || tokens_.is_symbol(",");
  };
  ExpressionPtr parts[3];
  int count = 0;
  bool is_slice = false;
  while (true) {
    if (!ends()) parts[count] = parse();
    if (count == 2 || !tokens_.skip_symbol(":")) break;
    is_slice = true;
    ++count;
  }
  if (!is_slice && parts[0] == nullptr) tokens_.fail_unexpected("an index");
  if (!is_slice && tokens_.is_symbol(",")) {
    ExpressionPtr key = make(ExpressionKind::tuple, line);
    key->children.push_back(std::move(parts[0]));
    while (tokens_.skip_symbol(",") && !tokens_.is_symbol("]")) key->children.push_back(parse());
    parts[0] = checked(std::move(key));
  }
  tokens_.expect_symbol("]");
  if (!is_slice) return make_of(ExpressionKind::item, line, std::move(of), std::move(parts[0]));
  ExpressionPtr made = make(ExpressionKind::slice, line);
  made->children.push_back(std::move(of));
  for (ExpressionPtr& part : parts) made->children.push_back(std::move(part));
  return checked(std::move(made));
}

ExpressionPtr ExpressionParser::parse_call(ExpressionPtr of) {
  ExpressionPtr made = make(ExpressionKind::call, tokens_.line());
  made->children.push_back(std::move(of));
  made->arguments = parse_arguments();
  return checked(std::move(made));
}

CallArguments ExpressionParser::parse_arguments() {
  const Nested nested(*this);
  CallArguments out;
  tokens_.expect_symbol("(");
  while (!tokens_.skip_symbol(")")) {
    const bool is_plain = out.named.empty() && out.rest == nullptr && out.named_rest == nullptr;
    const Token& next = tokens_.following();
    if (tokens_.is_symbol("*") && out.rest == nullptr && out.named_rest == nullptr) {
      tokens_.take();
      out.rest = parse();
    } else if (tokens_.is_symbol("**") && out.named_rest == nullptr) {
      tokens_.take();
      out.named_rest = parse();
    } else if (tokens_.is(TokenKind::name) && next.kind == TokenKind::symbol && next.text == "=") {
      std::string name = tokens_.take().text;
      tokens_.take();
      out.named.emplace_back(std::move(name), parse());
    } else if (is_plain) {
      out.positional.push_back(parse());
    } else {
      tokens_.fail_unexpected("an argument with its name");
    }
    if (!tokens_.is_symbol(")")) tokens_.expect_symbol(",");
  }
  return out;
}

ExpressionPtr ExpressionParser::parse_primary() {
  if (tokens_.is_symbol("(")) return parse_parentheses();
  if (tokens_.is_symbol("[")) return parse_list();
  if (tokens_.is_symbol("{")) return parse_dict();
  return parse_literal();
}

ExpressionPtr ExpressionParser::parse_literal() {
  ExpressionPtr made = make(ExpressionKind::literal, tokens_.line());
  if (tokens_.is(TokenKind::text)) {
    std::string text;
    while (tokens_.is(TokenKind::text)) text += tokens_.take().text;
    made->value = text_literal(text);
  } else if (tokens_.is(TokenKind::integer)) {
    made->value = tokens_.take().integer;
  } else if (tokens_.is(TokenKind::floating)) {
    made->value = tokens_.take().floating;
  } else if (tokens_.skip_name("true") || tokens_.skip_name("True")) {
    made->value = true;
  } else if (tokens_.skip_name("false") || tokens_.skip_name("False")) {
    made->value = false;
  } else if (tokens_.skip_name("none") || tokens_.skip_name("None")) {
    made->value = None{};
  } else if (tokens_.is(TokenKind::name)) {
    made->kind = ExpressionKind::name;
    made->name = tokens_.take().text;
    mentions_.varargs += made->name == "varargs" ? 1 : 0;
    mentions_.kwargs += made->name == "kwargs" ? 1 : 0;
    mentions_.caller += made->name == "caller" ? 1 : 0;
  } else {
    tokens_.fail_unexpected("an expression");
  }
  return made;
}

ExpressionPtr ExpressionParser::parse_parentheses() {
  const Nested nested(*this);
  const int line = tokens_.take().line;
  ExpressionPtr made = tokens_.is_symbol(")") ? make(ExpressionKind::tuple, line) : parse_tuple();
  tokens_.expect_symbol(")");
  return made;
}

ExpressionPtr ExpressionParser::parse_list() {
  const Nested nested(*this);
  ExpressionPtr made = make(ExpressionKind::list, tokens_.take().line);
  while (!tokens_.is_symbol("]")) {
    made->children.push_back(parse());
    if (!tokens_.is_symbol("]")) tokens_.expect_symbol(",");
  }
  tokens_.take();
  return checked(std::move(made));
}

ExpressionPtr ExpressionParser::parse_dict() {
  const Nested nested(*this);
  ExpressionPtr made = make(ExpressionKind::dict, tokens_.take().line);
  while (!tokens_.is_symbol("}")) {
    made->children.push_back(parse());
    tokens_.expect_symbol(":");
    made->children.push_back(parse());
    if (!tokens_.is_symbol("}")) tokens_.expect_symbol(",");
  }
  tokens_.take();
  return checked(std::move(made));
}

}  // namespace hearth::models::chat_template
