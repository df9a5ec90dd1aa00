// Whole texts through a language model at once, with gradients: what training needs.
#pragma once

#include <cstdint>

#include "hearth/array.h"
#include "models/language/model/language_model.h"

namespace hearth::models {

inline constexpr std::int32_t kNoTarget = -100;
inline constexpr std::int64_t kMostTrainedScores = std::int64_t{1} << 27;  // 512 MiB in f32

// Activations [texts * rows, dim] of tokens i32 [texts, rows], each text on its own from position
// 0. Gradients reach what LowRank pairs of the model require them. Throws Error{unsupported} for an
// encoder, Error{invalid_argument} for texts longer than the context.
Array hidden_of_texts(const LanguageModel& model, const Array& tokens);

// The mean of -log p, in nats, of targets i32 [texts, rows], what follows each row of `tokens`:
// kNoTarget for rows that do not count. More than `most_scores` are made piece by piece, and again
// for the gradient, so that memory holds one piece of them.
Array text_loss(const LanguageModel& model, const Array& tokens, const Array& targets,
                std::int64_t most_scores = kMostTrainedScores);

}  // namespace hearth::models
