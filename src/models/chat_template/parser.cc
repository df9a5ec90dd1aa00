#include "models/chat_template/parser.h"

#include <initializer_list>

#include "models/chat_template/expression_parser.h"

namespace hearth::models::chat_template {
namespace {

constexpr int kMaxBlockDepth = 60;

class StatementParser {
 public:
  explicit StatementParser(std::string_view source)
      : tokens_(tokenize(source)), expressions_(tokens_) {}

  Statements run() { return parse_body({}, "", 0); }

 private:
  using Ends = std::initializer_list<const char*>;

  // Statements up to a block that begins with one of `ends`, whose name is not yet taken; without
  // any, up to the end of the template. `opened` and `line` are those of the block around.
  Statements parse_body(Ends ends, const char* opened, int line) {
    if (++depth_ > kMaxBlockDepth) {
      fail_at(tokens_.line(), "blocks nest too deep; expected at most " +
                                  std::to_string(kMaxBlockDepth) + " levels");
    }
    Statements body;
    while (!tokens_.is(TokenKind::end)) {
      if (tokens_.is(TokenKind::data)) {
        Statement& data = add(body, StatementKind::data);
        data.value = std::make_shared<const MarkedText>(MarkedText(tokens_.take().text, false));
      } else if (tokens_.is(TokenKind::variable_begin)) {
        tokens_.take();
        Statement& output = add(body, StatementKind::output);
        output.expressions.push_back(expressions_.parse_tuple());
        tokens_.expect(TokenKind::variable_end, "the end of the variable");
      } else {
        tokens_.expect(TokenKind::block_begin, "a block");
        for (const char* end : ends) {
          if (tokens_.is_name(end)) {
            --depth_;
            return body;
          }
        }
        parse_block(body);
        tokens_.expect(TokenKind::block_end, "the end of the block");
      }
    }
    if (ends.size() != 0) {
      fail_at(line,
              std::string("a block has no end; got ") + opened + ", expected " + *(ends.end() - 1));
    }
    --depth_;
    return body;
  }

  Statement& add(Statements& body, StatementKind kind) {
    Statement& made = body.emplace_back();
    made.kind = kind;
    made.line = tokens_.line();
    return made;
  }

  // The statement is complete before it is added: parsing its body adds others.
  void parse_block(Statements& body) {
    Statement made;
    made.line = tokens_.line();
    const std::string name = tokens_.expect_name();
    if (name == "if") {
      parse_if(made);
    } else if (name == "for") {
      parse_for(made);
    } else if (name == "set") {
      parse_set(made);
    } else if (name == "macro") {
      made.kind = StatementKind::macro;
      made.name = tokens_.expect_name();
      made.parameters = parse_parameters();
      parse_rest(made, "macro", "endmacro");
      if (tokens_.is(TokenKind::name)) tokens_.take();
    } else if (name == "call") {
      made.kind = StatementKind::call_block;
      if (tokens_.is_symbol("(")) made.parameters = parse_parameters();
      made.expressions.push_back(expressions_.parse());
      if (made.expressions[0]->kind != ExpressionKind::call) {
        fail_at(made.line, "a call block calls nothing; expected a call");
      }
      parse_rest(made, "call", "endcall");
    } else if (name == "filter") {
      made.kind = StatementKind::filter_block;
      made.expressions.push_back(expressions_.parse_filters(nullptr));
      parse_rest(made, "filter", "endfilter");
    } else if (name == "generation") {
      made.kind = StatementKind::generation;
      parse_rest(made, "generation", "endgeneration");
    } else if (name == "with") {
      parse_with(made);
    } else if (name == "break" || name == "continue") {
      if (loops_ == 0) {
        fail_at(made.line, "a block outside of a loop; got " + name + ", expected it within for");
      }
      made.kind = name == "break" ? StatementKind::loop_break : StatementKind::loop_continue;
    } else {
      fail_at(made.line, "an unknown block; got " + hearth::quoted(name, 40) +
                             ", expected if, for, set, with, macro, call, filter, generation, raw, "
                             "break or continue");
    }
    body.push_back(std::move(made));
  }

  // The body of a block that one word ends.
  void parse_rest(Statement& made, const char* opened, const char* end) {
    tokens_.expect(TokenKind::block_end, "the end of the block");
    const int loops = std::exchange(loops_, 0);
    const auto before = expressions_.mentions();
    made.body = parse_body({end}, opened, made.line);
    const auto& after = expressions_.mentions();
    made.takes_rest = after.varargs != before.varargs;
    made.takes_named_rest = after.kwargs != before.kwargs;
    made.takes_caller = after.caller != before.caller;
    loops_ = loops;
    tokens_.take();
  }

  void parse_if(Statement& made) {
    made.kind = StatementKind::if_chain;
    made.branches.push_back({expressions_.parse_tuple(false), {}});
    while (true) {
      tokens_.expect(TokenKind::block_end, "the end of the block");
      const bool is_else = made.branches.back().condition == nullptr;
      made.branches.back().body = is_else ? parse_body({"endif"}, "if", made.line)
                                          : parse_body({"elif", "else", "endif"}, "if", made.line);
      if (tokens_.skip_name("endif")) return;
      const bool has_condition = tokens_.skip_name("elif");
      if (!has_condition) tokens_.expect_name("else");
      made.branches.push_back({has_condition ? expressions_.parse_tuple(false) : nullptr, {}});
    }
  }

  void parse_for(Statement& made) {
    made.kind = StatementKind::for_loop;
    made.target = parse_target(false);
    tokens_.expect_name("in");
    made.expressions.push_back(expressions_.parse_tuple(false));
    made.expressions.push_back(tokens_.skip_name("if") ? expressions_.parse() : nullptr);
    made.is_recursive = tokens_.skip_name("recursive");
    tokens_.expect(TokenKind::block_end, "the end of the block");
    ++loops_;
    made.body = parse_body({"else", "endfor"}, "for", made.line);
    --loops_;
    if (!tokens_.skip_name("endfor")) {
      tokens_.expect_name("else");
      tokens_.expect(TokenKind::block_end, "the end of the block");
      made.other = parse_body({"endfor"}, "for", made.line);
      tokens_.take();
    }
  }

  // Values are those around the block, whatever the names before them.
  void parse_with(Statement& made) {
    made.kind = StatementKind::with_block;
    while (!tokens_.is(TokenKind::block_end)) {
      if (!made.target.parts.empty()) tokens_.expect_symbol(",");
      made.target.parts.push_back(parse_target(false));
      tokens_.expect_symbol("=");
      made.expressions.push_back(expressions_.parse());
    }
    tokens_.expect(TokenKind::block_end, "the end of the block");
    made.body = parse_body({"endwith"}, "with", made.line);
    tokens_.take();
  }

  void parse_set(Statement& made) {
    made.target = parse_target(true);
    if (tokens_.skip_symbol("=")) {
      made.kind = StatementKind::assign;
      made.expressions.push_back(expressions_.parse_tuple());
      return;
    }
    made.kind = StatementKind::assign_block;
    made.expressions.push_back(tokens_.skip_symbol("|") ? expressions_.parse_filters(nullptr)
                                                        : nullptr);
    parse_rest(made, "set", "endset");
  }

  Target parse_target(bool takes_attribute) {
    Target first = parse_single_target(takes_attribute);
    if (!tokens_.is_symbol(",")) return first;
    Target out;
    out.parts.push_back(std::move(first));
    while (tokens_.skip_symbol(",")) {
      if (tokens_.is_name("in") || tokens_.is_symbol("=") || tokens_.is_symbol(")")) break;
      out.parts.push_back(parse_single_target(takes_attribute));
    }
    return out;
  }

  Target parse_single_target(bool takes_attribute) {
    if (tokens_.skip_symbol("(")) {
      if (++depth_ > kMaxBlockDepth) {
        fail_at(tokens_.line(), "names nest too deep; expected at most " +
                                    std::to_string(kMaxBlockDepth) + " levels");
      }
      Target inner = parse_target(takes_attribute);
      tokens_.expect_symbol(")");
      --depth_;
      return inner;
    }
    Target out;
    const int line = tokens_.line();
    out.name = tokens_.expect_name();
    for (const char* constant : {"true", "false", "none", "True", "False", "None"}) {
      if (out.name == constant) {
        fail_at(line, "a constant cannot be set; got " + out.name + ", expected another name");
      }
    }
    if (takes_attribute && tokens_.skip_symbol(".")) out.attribute = tokens_.expect_name();
    return out;
  }

  std::vector<Parameter> parse_parameters() {
    std::vector<Parameter> out;
    tokens_.expect_symbol("(");
    while (!tokens_.skip_symbol(")")) {
      const int line = tokens_.line();
      Parameter& each = out.emplace_back();
      each.name = tokens_.expect_name();
      if (tokens_.skip_symbol("=")) {
        each.fallback = expressions_.parse();
      } else if (out.size() > 1 && out[out.size() - 2].fallback != nullptr) {
        fail_at(line, "a parameter without a default follows one with it; got " + each.name +
                          ", expected a default");
      }
      if (!tokens_.is_symbol(")")) tokens_.expect_symbol(",");
    }
    return out;
  }

  TokenStream tokens_;
  ExpressionParser expressions_;
  int depth_ = 0, loops_ = 0;
};

}  // namespace

Statements parse_template(std::string_view source) { return StatementParser(source).run(); }

}  // namespace hearth::models::chat_template
