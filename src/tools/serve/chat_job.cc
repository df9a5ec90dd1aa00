#include "tools/serve/chat_job.h"

#include <functional>
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
#include "tools/serve/unsupported_fields.h"

namespace hearth::tools::serve {
namespace {

constexpr std::size_t kMostModalities = 16;

bool is_none(const JsonValue& value) { return value == JsonValue("none"); }

constexpr UnsupportedField kNotOfTemplates[] = {
    {"chat_template", is_empty, "--chat-template of the server's command"},
    {"add_special_tokens", is_false, "false: the template says what a prompt begins with"},
    {"parse_special", is_false,
     "false: what messages say is no control token; /apply-template and /completion take prompts"},
    {"documents", is_empty, "them in chat_template_kwargs, where the template knows any"},
};
constexpr UnsupportedField kNotOfChats[] = {
    {"functions", is_empty, "tools and tool_choice"},
    {"function_call", is_none, "tools and tool_choice"},
    {"audio", never, "a request without it: answers are texts"},
    {"web_search_options", never, "a request without it: nothing is searched for"},
    {"n_probs", is_empty, "logprobs and top_logprobs"},
    {"post_sampling_probs", is_false, "logprobs, which are of the model's own scores"},
    {"prompt_logprobs", never, "it in /v1/completions"},
    {"echo", is_false, "continue_final_message, or it in /v1/completions"},
    {"return_tokens", is_false, "it in /completion"},
    {"parse_tool_calls", is_true, "true, or tool_choice \"none\""},
};

// What a prompt that ends within its last message needs of that.
void require_continuable(const std::vector<models::ChatMessage>& messages) {
  const models::ChatMessage& last = messages.back();
  const char* const name = "continue_final_message";
  if (last.role != "assistant") {
    throw bad_field(name, "behind a last message of another's; got role " + shown(last.role) +
                              ", expected \"assistant\"");
  }
  if (!last.tool_calls.empty()) throw bad_field(name, "behind a call of tools; expected a text");
}

// Refuses results of calls that no message before has.
void require_known_calls(const std::vector<models::ChatMessage>& messages) {
  std::set<std::string> ids;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    for (const models::ToolCall& call : messages[i].tool_calls) ids.insert(call.id);
    const std::string& id = messages[i].tool_call_id;
    // Calls without an id of theirs may be meant by any.
    if (messages[i].role != "tool" || id.empty() || ids.contains(id) || ids.contains("")) continue;
    throw bad_field("messages[" + std::to_string(i) + "].tool_call_id",
                    "is of no call before; got " + shown(id) +
                        ", expected an id of tool_calls of the assistant");
  }
}

void refuse_modalities(const Fields& fields) {
  const JsonArray* modalities = fields.array("modalities", kMostModalities);
  for (std::size_t i = 0; modalities != nullptr && i < modalities->size(); ++i) {
    if ((*modalities)[i] == JsonValue("text")) continue;
    throw bad_field("modalities",
                    "is not supported; got " + shown((*modalities)[i]) + ", expected \"text\"");
  }
}

// That of an answer of the form, a schema, or else of calls.
std::shared_ptr<models::grammar::Constraint> constrain_to_answer_or_calls(
    const AnswerForm& form, const ToolChoice& choice, ServedModel& model,
    const std::function<void()>& watch) {
  if (!form.schema) {
    throw bad_field("tools",
                    "beside a grammar, which leaves no room for calls; expected tool_choice "
                    "\"none\", a response_format of a JSON schema, or one of both");
  }
  try {
    return model.constrain_by_gbnf(model.chat().grammar_of_answer_or_calls(
                                       *form.schema, choice.callable, choice.may_call_several),
                                   watch);
  } catch (const Error& error) {
    constrain(form, model, watch);  // where the schema alone is wrong
    throw bad_field("tools", error.what());
  }
}

// Of what the fields ask for besides: a call, an answer of that form, or either of both.
std::shared_ptr<models::grammar::Constraint> constrain_to_choice(
    const AnswerForm& form, const ToolChoice& choice, ServedModel& model,
    const std::function<void()>& watch) {
  if (choice.call_schema) {
    if (!form.is_free()) {
      throw bad_field("tool_choice",
                      "requires a call beside a response_format or grammar; expected one of both");
    }
    return constrain({.schema = choice.call_schema, .gbnf = {}, .param = "tools"}, model, watch);
  }
  if (choice.callable.empty() || form.is_free()) return constrain(form, model, watch);
  return constrain_to_answer_or_calls(form, choice, model, watch);
}

}  // namespace

ChatJob read_chat_job(const Fields& fields, const ApiRequest& request, const Service& service) {
  refuse_unsupported(fields, kNotOfChats);
  refuse_unsupported(fields, kNotOfTemplates);
  refuse_modalities(fields);
  ChatJob job;
  job.fields = read_generation_fields(fields, *service.model);
  models::GenerationRequest& generation = job.fields.generation;
  job.has_logprobs = fields.flag("logprobs", false);
  const auto best = fields.integer("top_logprobs", 0, kMostChatLogprobs);
  if (best && !job.has_logprobs) {
    throw bad_field("top_logprobs", "is given without logprobs; expected logprobs: true");
  }
  if (job.has_logprobs) generation.logprobs = best.value_or(0);
  ToolChoice choice = read_tool_choice(fields);
  set_constraint(generation, constrain_to_choice(read_answer_form(fields), choice, *service.model,
                                                 watch_of(request, service)));
  job.is_call = choice.call_schema.has_value();
  job.may_call_several = choice.may_call_several;
  models::ChatOptions options = read_template_options(fields);
  options.refuses_lost_calls = true;
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
  refuse_unsupported(fields, kNotOfTemplates);
  models::ChatOptions options = read_template_options(fields);
  options.refuses_lost_calls = true;
  options.tools = read_tool_choice(fields).tools;
  options.limits = text_limits(request, service, kMostListedTokens);
  const auto messages = read_chat_messages(fields);
  require_known_calls(messages);
  if (options.continue_final_message) require_continuable(messages);
  const WorkSlots::Slot slot = service.encoders->take(options.limits.watch);
  return service.model->chat().render(messages, options);
}

}  // namespace hearth::tools::serve
