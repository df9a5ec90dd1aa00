#include "tools/serve/chat_job.h"

#include <set>
#include <string>
#include <utility>

#include "hearth/error.h"
#include "tools/chat_json/chat_messages.h"
#include "tools/chat_json/field_error.h"
#include "tools/chat_json/template_options.h"
#include "tools/serve/answer_form.h"
#include "tools/serve/text_limits.h"
#include "tools/serve/tool_choice.h"

namespace hearth::tools::serve {
namespace {

constexpr std::size_t kMostModalities = 16;

void refuse_template(const Fields& fields) {
  if (fields.find("chat_template") == nullptr) return;
  throw bad_field("chat_template",
                  "is not supported in requests; expected --chat-template of the server's command");
}

// What a prompt that ends within its last message needs of that.
void require_continuable(const std::vector<models::ChatMessage>& messages) {
  const models::ChatMessage& last = messages.back();
  const char* const name = "continue_final_message";
  if (last.role != "assistant") {
    throw bad_field(
        name, "behind a last message of role " + json_text(last.role) + "; expected \"assistant\"");
  }
  if (!last.tool_calls.empty()) throw bad_field(name, "behind a call of tools; expected a text");
}

// Refuses results of calls that no message before has.
void require_known_calls(const std::vector<models::ChatMessage>& messages) {
  std::set<std::string> ids;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    for (const models::ToolCall& call : messages[i].tool_calls) ids.insert(call.id);
    const std::string& id = messages[i].tool_call_id;
    if (messages[i].role != "tool" || id.empty() || ids.contains(id)) continue;
    throw bad_field("messages[" + std::to_string(i) + "].tool_call_id",
                    "is of no call before; got " + json_text(id) +
                        ", expected an id of tool_calls of the assistant");
  }
}

// What an answer without them would not be what was asked for.
void refuse_unsupported(const Fields& fields) {
  for (const char* name : {"functions", "function_call"}) {
    if (fields.find(name) != nullptr) {
      throw bad_field(name, "is not supported any more; expected tools and tool_choice");
    }
  }
  for (const char* name : {"audio", "web_search_options"}) {
    if (fields.find(name) != nullptr) throw bad_field(name, "is not supported; expected none");
  }
  refuse_template(fields);
  const JsonArray* modalities = fields.array("modalities", kMostModalities);
  for (std::size_t i = 0; modalities != nullptr && i < modalities->size(); ++i) {
    if ((*modalities)[i] == JsonValue("text")) continue;
    throw bad_field("modalities",
                    "is not supported; got " + json_text((*modalities)[i]) + ", expected \"text\"");
  }
}

// That of an answer of the form, a schema, or else of calls.
std::shared_ptr<models::grammar::Constraint> constrain_to_answer_or_calls(const AnswerForm& form,
                                                                          const ToolChoice& choice,
                                                                          ServedModel& model) {
  if (!form.schema) {
    throw bad_field("tools",
                    "beside a grammar, which leaves no room for calls; expected tool_choice "
                    "\"none\", a response_format of a JSON schema, or one of both");
  }
  try {
    return model.constrain_by_gbnf(model.chat().grammar_of_answer_or_calls(
        *form.schema, choice.callable, choice.may_call_several));
  } catch (const Error& error) {
    constrain(form, model);  // where the schema alone is wrong
    throw bad_field("tools", error.what());
  }
}

// Of what the fields ask for besides: a call, an answer of that form, or either of both.
std::shared_ptr<models::grammar::Constraint> constrain_to_choice(const AnswerForm& form,
                                                                 const ToolChoice& choice,
                                                                 ServedModel& model) {
  if (choice.call_schema) {
    if (!form.is_free()) {
      throw bad_field("tool_choice", "requires a call beside a response_format or grammar");
    }
    return constrain({.schema = choice.call_schema, .gbnf = {}, .param = "tools"}, model);
  }
  if (choice.callable.empty() || form.is_free()) return constrain(form, model);
  return constrain_to_answer_or_calls(form, choice, model);
}

}  // namespace

ChatJob read_chat_job(const Fields& fields, const ApiRequest& request, const Service& service) {
  refuse_unsupported(fields);
  ChatJob job;
  job.fields = read_generation_fields(fields, *service.model);
  models::GenerationRequest& generation = job.fields.generation;
  job.has_logprobs = fields.flag("logprobs", false);
  const auto best = fields.integer("top_logprobs", 0, kMostChatLogprobs);
  if (fields.number("n_probs", 0, 1 << 20).value_or(0) != 0) {
    throw bad_field("n_probs", "is not supported here; expected logprobs and top_logprobs");
  }
  if (best && !job.has_logprobs) throw bad_field("top_logprobs", "without logprobs: true");
  if (job.has_logprobs) generation.logprobs = best.value_or(0);
  ToolChoice choice = read_tool_choice(fields);
  generation.constraint = constrain_to_choice(read_answer_form(fields), choice, *service.model);
  job.is_call = choice.call_schema.has_value();
  job.may_call_several = choice.may_call_several;
  models::ChatOptions options = read_template_options(fields);
  options.tools = std::move(choice.tools);
  if (!options.add_generation_prompt && !options.continue_final_message) {
    throw bad_field("add_generation_prompt",
                    "is false, so that nothing would begin the answer; expected true, or "
                    "continue_final_message");
  }
  const auto messages = read_chat_messages(fields);
  require_known_calls(messages);
  if (options.continue_final_message) require_continuable(messages);
  job.prompt = within_context(request, service, "messages", true, [&](models::EncodeLimits limits) {
    options.limits = std::move(limits);
    return service.model->chat().render(messages, options);
  });
  check_prompt(job.prompt.tokens, *service.model, "messages");
  job.prompt.allows_calls = !choice.callable.empty() && generation.constraint != nullptr;
  // A call that is required is JSON without marks.
  if (job.is_call) job.prompt.has_tools = false;
  service.model->chat().prepare(&job.prompt, &generation);
  return job;
}

models::ChatPrompt read_chat_prompt(const Fields& fields, const ApiRequest& request,
                                    const Service& service) {
  refuse_template(fields);
  models::ChatOptions options = read_template_options(fields);
  options.tools = read_tool_choice(fields).tools;
  options.limits = text_limits(request, service, kMostListedTokens);
  const auto messages = read_chat_messages(fields);
  require_known_calls(messages);
  if (options.continue_final_message) require_continuable(messages);
  return service.model->chat().render(messages, options);
}

}  // namespace hearth::tools::serve
