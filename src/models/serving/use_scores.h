// What the scores of a step are for: log probabilities of prompts, and the tokens that come next.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "hearth/array.h"
#include "models/sampling/draw_tokens.h"
#include "models/serving/running_text.h"

namespace hearth::models {

// Of the rows of scores that a step gave, those of one text: first those that its prompt is scored
// with, then those that draw, one and one for each token of its guess.
struct ScoreRows {
  RunningText* text;
  std::int64_t first, prompt, drawing;
};

// Gets as many tokens as the text has rows that draw.
using TakeDrawn = std::function<void(RunningText& text, std::span<const DrawnToken> drawn)>;

// What fails of one text, `take` included, ends that one alone.
void use_scores(std::span<const ScoreRows> parts, const Array& scores, const TakeDrawn& take);

}  // namespace hearth::models
