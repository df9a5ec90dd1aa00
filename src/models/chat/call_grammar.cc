#include "models/chat/call_grammar.h"

#include <vector>

#include "hearth/error.h"
#include "models/grammar/json_schema.h"
#include "models/grammar/schema_characters.h"

namespace hearth::models {
namespace {

using grammar::gbnf_literal;

// A text of JSON as a literal.
std::string json_literal(const JsonValue& value) { return gbnf_literal(json_text(value)); }

class CallGrammar {
 public:
  CallGrammar(const Tokenizer& tokenizer, std::string_view source,
              std::span<const CallableTool> tools, grammar::SchemaGrammar& schemas)
      : tokenizer_(tokenizer), source_(source), tools_(tools) {
    for (const CallableTool& tool : tools) arguments_.push_back(schemas.add(tool.parameters));
  }

  // In GBNF, with `several` for the repetition of calls.
  std::string text(CallForm form, bool several) const {
    switch (form) {
      case CallForm::marked:
        return repeated(
            mark("<tool_call>") + " space " + any_object() + " space " + mark("</tool_call>"),
            "space", several);
      case CallForm::bracketed:
        return source_.find("[ARGS]") != std::string_view::npos ? named_calls(several)
                                                                : list_of_calls(several);
      case CallForm::separated:
        return separated_calls(several);
      case CallForm::unmarked:
        break;
    }
    return {};
  }

 private:
  // Control tokens have no bytes in grammars: they are tokens there, too.
  std::string mark(std::string_view text) const {
    const std::int32_t id = tokenizer_.find(text);
    const bool is_token = id >= 0 && tokenizer_.is_control(id);
    return is_token ? "<[" + std::to_string(id) + "]>" : gbnf_literal(text);
  }

  static std::string repeated(const std::string& call, const std::string& between, bool several) {
    return several ? call + " (" + between + " " + call + ")*" : call;
  }

  // of(name, arguments) of each tool as alternatives.
  template <class Of>
  std::string any_tool(Of of) const {
    std::string out;
    for (std::size_t i = 0; i < tools_.size(); ++i) {
      out += (i == 0 ? "(" : " | ") + of(tools_[i].name, arguments_[i]);
    }
    return out + ")";
  }

  std::string any_object() const {
    return "\"{\" space \"\\\"name\\\"\" space \":\" space " +
           any_tool([](const std::string& name, const std::string& arguments) {
             return json_literal(name) +
                    " space \",\" space \"\\\"arguments\\\"\" space \":\" space " + arguments;
           }) +
           " space \"}\"";
  }

  // [TOOL_CALLS][{...}, {...}]
  std::string list_of_calls(bool several) const {
    return mark("[TOOL_CALLS]") + " space \"[\" space " +
           repeated(any_object(), "space \",\" space", several) + " space \"]\"";
  }

  // [TOOL_CALLS]name[ARGS]{...}, of some models with an id between both.
  std::string named_calls(bool several) const {
    const bool has_ids = source_.find("[CALL_ID]") != std::string_view::npos;
    const std::string id = has_ids ? " (" + mark("[CALL_ID]") + " [a-zA-Z0-9]{9})? " : " ";
    const std::string call =
        mark("[TOOL_CALLS]") + " space " +
        any_tool([&](const std::string& name, const std::string& arguments) {
          return gbnf_literal(name) + id + mark("[ARGS]") + " space " + arguments;
        });
    return repeated(call, "", several);
  }

  // DeepSeek's, with the arguments in a block of code where the template has one.
  std::string separated_calls(bool several) const {
    const std::string separator = mark("<\uff5ctool\u2581sep\uff5c>");
    const bool is_fenced = source_.find("```json") != std::string_view::npos;
    const std::string call = mark("<\uff5ctool\u2581call\u2581begin\uff5c>") + " " +
                             any_tool([&](const std::string& name, const std::string& arguments) {
                               return is_fenced
                                          ? "\"function\" " + separator + " " +
                                                gbnf_literal(name + "\n```json\n") + " " +
                                                arguments + " \"\\n```\""
                                          : gbnf_literal(name) + " " + separator + " " + arguments;
                             }) +
                             " " + mark("<\uff5ctool\u2581call\u2581end\uff5c>");
    return mark("<\uff5ctool\u2581calls\u2581begin\uff5c>") + " " +
           repeated(call, "space", several) + " " + mark("<\uff5ctool\u2581calls\u2581end\uff5c>");
  }

  const Tokenizer& tokenizer_;
  std::string_view source_;
  std::span<const CallableTool> tools_;
  std::vector<std::string> arguments_;  // names of rules
};

}  // namespace

std::string gbnf_of_answer_or_calls(const AnswerFormat& format, std::string_view source,
                                    const Tokenizer& tokenizer, const JsonValue& schema,
                                    std::span<const CallableTool> tools, bool several) {
  if (format.calls == CallForm::unmarked) {
    throw Error(
        ErrorCode::unsupported,
        "chat: calls of tools beside JSON of a schema; got a model with answers of the form " +
            std::string(format.name) +
            ", whose calls have no mark of their own, expected deepseek, hermes or mistral");
  }
  grammar::SchemaGrammar schemas;
  const std::string answer = schemas.add(schema);
  const CallGrammar calls(tokenizer, source, tools, schemas);
  return schemas.text(answer + " | " + calls.text(format.calls, several));
}

}  // namespace hearth::models
