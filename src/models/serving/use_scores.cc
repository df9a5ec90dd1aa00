#include "models/serving/use_scores.h"

#include <cstddef>
#include <vector>

#include "hearth/error.h"
#include "hearth/ops.h"

namespace hearth::models {
namespace {

// `scores` has a row for each of the texts, and one for each token of its guess.
void draw_texts(std::span<RunningText* const> texts, const Array& scores, const TakeDrawn& take) {
  if (texts.empty()) return;
  std::vector<SamplingState*> states;
  std::vector<std::int64_t> logprobs;
  std::vector<std::size_t> firsts;  // rows of each text
  for (RunningText* text : texts) {
    firsts.push_back(states.size());
    for (std::size_t i = 0; i <= text->guess().size(); ++i) {
      states.push_back(&text->sampling_ahead(i));
      logprobs.push_back(text->logprobs());
    }
  }
  firsts.push_back(states.size());
  std::vector<DrawnToken> drawn;
  try {
    drawn = draw_tokens(scores, states, logprobs);
  } catch (const Error& error) {
    if (texts.size() == 1) {
      texts.front()->fail(error);
      return;
    }
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const auto first = static_cast<std::int64_t>(firsts[i]);
      const auto count = static_cast<std::int64_t>(firsts[i + 1]) - first;
      draw_texts(texts.subspan(i, 1), narrow(scores, 0, first, count), take);
    }
    return;
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    try {
      take(*texts[i], std::span(drawn).subspan(firsts[i], firsts[i + 1] - firsts[i]));
    } catch (const Error& error) {
      texts[i]->fail(error);
    }
  }
}

void score_prompt(const ScoreRows& part, const Array& scores) {
  RunningText& text = *part.text;
  try {
    const std::vector<std::int64_t> best(static_cast<std::size_t>(part.prompt),
                                         text.prompt_logprobs());
    text.take_prompt(score_tokens(narrow(scores, 0, part.first, part.prompt),
                                  text.prompt_targets(part.prompt), best));
  } catch (const Error& error) {
    text.fail(error);
  }
}

}  // namespace

void use_scores(std::span<const ScoreRows> parts, const Array& scores, const TakeDrawn& take) {
  std::vector<RunningText*> drawing;
  std::vector<std::int64_t> rows;
  for (const ScoreRows& part : parts) {
    if (part.prompt > 0) score_prompt(part, scores);
    if (part.drawing == 0 || part.text->has_ended()) continue;
    drawing.push_back(part.text);
    for (std::int64_t i = 0; i < part.drawing; ++i) {
      rows.push_back(part.first + part.prompt + i);
    }
  }
  const auto count = static_cast<std::int64_t>(rows.size());
  if (count == 0 || count == scores.shape(0)) {
    draw_texts(drawing, scores, take);
  } else {
    draw_texts(drawing, select(scores, Array::from_data(rows, {count}, scores.device()), 0), take);
  }
}

}  // namespace hearth::models
