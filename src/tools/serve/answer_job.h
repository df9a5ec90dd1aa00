// What all endpoints do that let the model write: answer at once, or by server-sent events.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "tools/serve/api_error.h"
#include "tools/serve/event_stream.h"
#include "tools/serve/exchange.h"
#include "tools/serve/running_answers.h"

namespace hearth::tools::serve {

// Gives `take` all pieces of the answers. Throws ApiError where they do not end or nobody waits.
template <class Take>
void take_whole(RunningAnswers& answers, const ApiRequest& request, const Take& take) {
  if (answers.run(take, [&] { return request.still_waits(); })) return;
  throw answers.is_stopping() ? stopping() : cancelled();
}

// Sends the events of all answers: begin(), push(answer, piece) of each piece, and end() where all
// came, which is what it gives. A false from begin() or push() ends them.
template <class Chunks>
bool stream_chunks(Chunks& chunks, RunningAnswers& answers, const std::function<bool()>& wait) {
  const auto push = [&](std::size_t i, const models::GenerationPiece& piece) {
    return chunks.push(i, piece);
  };
  const bool is_whole = chunks.begin() && answers.run(push, wait);
  if (is_whole) chunks.end();
  return is_whole;
}

// `read` makes the job of a request, which has `fields` and requests(); `whole` gives its answer in
// one piece. `stream(job, answers, wait, events)` sends the events of it and gives whether all of
// it came; `wait` is for RunningAnswers::run(). Throws ApiError for a model that writes none, and
// what `read`, `whole` and submitting throw.
template <class Read, class Whole, class Stream>
ApiResponse answer_job(const ApiRequest& request, const Service& service, const Read& read,
                       const Whole& whole, const Stream& stream) {
  if (!service.model->card().writes) {
    throw ApiError(400, "the model embeds texts and writes none; expected /v1/embeddings",
                   "invalid_request_error", "model");
  }
  using Job = decltype(read(request, service));
  auto job = std::make_shared<const Job>(read(request, service));
  if (!job->fields.is_streamed) return whole(*job, service, request);
  // Submitted now, so that what is refused has its own status.
  auto answers = std::make_shared<RunningAnswers>(service, job->requests(), job->fields.count);
  ApiResponse response{.content_type = "text/event-stream"};
  response.stream = [job, answers, service, stream, is_open = request.is_open,
                     may_be_gone = request.may_be_gone](Sink& sink) {
    EventStream events(sink, service.ping);
    try {
      const auto wait = [&] {
        return (!is_open || is_open()) && events.keep_alive(may_be_gone && may_be_gone());
      };
      if (!stream(*job, service, *answers, wait, events) && answers->is_stopping()) {
        events.send(stopping().document());
      }
    } catch (...) {
      events.send(error_of_exception().document());
    }
  };
  return response;
}

}  // namespace hearth::tools::serve
