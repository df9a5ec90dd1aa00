// POST /completion: texts that go on with prompts, in llama.cpp's own form.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "models/sampling/sampling_fields.h"
#include "tools/chat_json/field_error.h"
#include "tools/serve/answer_form.h"
#include "tools/serve/answer_job.h"
#include "tools/serve/answer_objects.h"
#include "tools/serve/endpoints.h"
#include "tools/serve/event_stream.h"
#include "tools/serve/generation_fields.h"
#include "tools/serve/prompts.h"
#include "tools/serve/request_body.h"
#include "tools/serve/text_limits.h"
#include "tools/serve/unsupported_fields.h"

namespace hearth::tools::serve {
namespace {

constexpr std::int64_t kMostProbabilities = 100;

constexpr UnsupportedField kNotOfLlamaCompletions[] = {
    {"n", is_one, "several prompts"},
    {"logprobs", is_false, "n_probs, or it in /v1/completions"},  // 0 asks for those of tokens
    {"post_sampling_probs", is_false, "n_probs alone, which are of the model's own scores"},
    {"prompt_logprobs", never, "it in /v1/completions"},
    {"echo", is_false, "it in /v1/completions"},
    {"suffix", is_empty, "none"},
    {"tools", is_empty, "them in /v1/chat/completions"},
};

struct LlamaJob {
  GenerationFields fields;
  models::TokenLists prompts;
  bool gives_tokens = false;       // beside the texts
  bool has_probabilities = false;  // of tokens, beside the texts
  bool is_timed = false;           // with each chunk of a stream

  std::vector<models::GenerationRequest> requests() const { return fields.requests(prompts); }
};

LlamaJob read_llama_completion(const ApiRequest& request, const Service& service) {
  const JsonObject body = parse_body(request.body);
  const Fields fields(body);
  refuse_unsupported(fields, kNotOfLlamaCompletions);
  LlamaJob job;
  job.fields = read_generation_fields(fields, *service.model, 0);
  const std::int64_t probabilities = fields.integer("n_probs", 0, kMostProbabilities).value_or(0);
  job.has_probabilities = probabilities > 0;
  if (job.has_probabilities) job.fields.generation.logprobs = probabilities;
  set_constraint(job.fields.generation,
                 constrain(read_answer_form(fields), *service.model, watch_of(request, service)));
  job.gives_tokens = fields.flag("return_tokens", false);
  job.is_timed = fields.flag("timings_per_token", false);
  job.prompts = read_prompts(fields, request, service, job.fields.generation.most_tokens > 0);
  require_room(job.prompts.size(), *service.model);
  return job;
}

const char* stop_type(const models::GenerationPiece& last) {
  if (last.finish == models::FinishReason::length) return "limit";
  return last.stop.empty() ? "eos" : "word";
}

JsonArray token_ids(const LlamaJob& job, const std::vector<models::GenerationToken>& tokens) {
  JsonArray ids;
  if (!job.gives_tokens) return ids;
  for (const models::GenerationToken& each : tokens) ids.emplace_back(std::int64_t{each.token});
  return ids;
}

void add_probabilities(const LlamaJob& job, const Service& service,
                       const models::GenerationPiece& piece, JsonObject& object) {
  if (!job.has_probabilities) return;
  object.emplace_back("completion_probabilities",
                      llama_probabilities(service.model->tokenizer(), piece.tokens));
}

// What chunks and whole answers have in common.
JsonObject head(const LlamaJob& job, std::size_t index, const models::GenerationPiece& piece,
                bool is_last) {
  return {{"index", static_cast<std::int64_t>(index)},
          {"content", piece.text},
          {"tokens", token_ids(job, piece.tokens)},
          {"id_slot", -1},
          {"stop", is_last},
          {"tokens_predicted", piece.new_tokens},
          {"tokens_evaluated", static_cast<std::int64_t>(job.prompts[index].size())}};
}

JsonObject settings(const LlamaJob& job) {
  const models::GenerationRequest& generation = job.fields.generation;
  JsonObject all = sampling_object(generation.sampling);
  JsonArray stops;
  for (const std::string& stop : generation.stops) stops.emplace_back(stop);
  all.emplace_back("stop", std::move(stops));
  all.emplace_back("n_predict", generation.most_tokens);
  all.emplace_back("ignore_eos", generation.ignores_end);
  all.emplace_back("stream", job.fields.is_streamed);
  return all;
}

// `all`: the answer so far, of which a stream has no text any more.
JsonObject whole(const LlamaJob& job, const Service& service, const RunningAnswers& answers,
                 std::size_t index, const models::GenerationPiece& all, bool has_line_break) {
  const auto prompt_tokens = static_cast<std::int64_t>(job.prompts[index].size());
  JsonObject object = head(job, index, all, true);
  object.emplace_back("model", job.fields.model);
  object.emplace_back("generation_settings", settings(job));
  object.emplace_back(
      "prompt", service.model->tokenizer().decode(job.prompts[index], {.show_special = true}));
  object.emplace_back("has_new_line", has_line_break);
  object.emplace_back("truncated", false);
  object.emplace_back("stop_type", stop_type(all));
  object.emplace_back("stopping_word", all.stop);
  object.emplace_back("tokens_cached", prompt_tokens + all.new_tokens);
  object.emplace_back("timings", answers.timings());
  return object;
}

bool breaks_line(const std::string& text) { return text.find('\n') != std::string::npos; }

ApiResponse whole_llama_completion(const LlamaJob& job, const Service& service,
                                   const ApiRequest& request) {
  RunningAnswers answers(service, job.requests(), 1);
  std::vector<models::GenerationPiece> all(answers.count());
  for (auto& each : all) each.finish = models::FinishReason::length;  // where none is asked for
  take_whole(answers, request, [&](std::size_t i, const models::GenerationPiece& piece) {
    all[i].append(piece);
    return true;
  });
  JsonArray objects;
  for (std::size_t i = 0; i < all.size(); ++i) {
    JsonObject object = whole(job, service, answers, i, all[i], breaks_line(all[i].text));
    add_probabilities(job, service, all[i], object);
    objects.push_back(std::move(object));
  }
  const bool is_one = objects.size() == 1;
  return {.body = json_text(is_one ? std::move(objects.front()) : JsonValue(std::move(objects)))};
}

// Ends with the chunk whose `stop` is true: llama.cpp says no [DONE] here.
bool stream_llama_completion(const LlamaJob& job, const Service& service, RunningAnswers& answers,
                             const std::function<bool()>& wait, EventStream& events) {
  std::vector<bool> has_line_break(answers.count(), false);
  const auto end = [&](std::size_t i, models::GenerationPiece last) {
    last.text.clear();
    last.tokens.clear();
    return events.send(whole(job, service, answers, i, last, has_line_break[i]));
  };
  if (job.fields.generation.most_tokens == 0) {
    for (std::size_t i = 0; i < answers.count(); ++i) {
      if (!end(i, {.finish = models::FinishReason::length})) return false;
    }
  }
  return answers.run(
      [&](std::size_t i, const models::GenerationPiece& piece) {
        if (breaks_line(piece.text)) has_line_break[i] = true;
        bool is_open = true;
        if (!piece.text.empty() || !piece.tokens.empty()) {
          JsonObject chunk = head(job, i, piece, false);
          add_probabilities(job, service, piece, chunk);
          if (job.is_timed) chunk.emplace_back("timings", answers.timings());
          is_open = events.send(std::move(chunk));
        }
        return is_open && (piece.finish == models::FinishReason::none || end(i, piece));
      },
      wait);
}

}  // namespace

ApiResponse answer_llama_completion(const ApiRequest& request, const Service& service) {
  return answer_job(request, service, read_llama_completion, whole_llama_completion,
                    stream_llama_completion);
}

}  // namespace hearth::tools::serve
