// Guesses at how texts go on, which a model then checks many at a time.
//
// What a text becomes does not depend on them, within what scheduler.h says of rounding: behind
// each guessed token the next one is drawn as it would be without guesses, from the same scores
// with the same random bits, and a guess holds only where it is the token that was drawn. Good
// guesses save passes of the model, bad ones cost rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/sampling/sampling_state.h"

namespace hearth::models {

// What is guessed for one text.
struct Draft {
  std::int64_t text = 0;                    // the same for the same text, else another one
  std::span<const std::int32_t> tokens;     // so far: the prompt and what was drawn
  const SamplingState* sampling = nullptr;  // behind these
  std::int64_t most = 0;                    // tokens to guess at most
  std::vector<std::int32_t> guess = {};     // is filled in; may stay empty
};

// Not for several threads at once.
class Drafter {
 public:
  Drafter() = default;
  Drafter(const Drafter&) = delete;
  Drafter& operator=(const Drafter&) = delete;
  virtual ~Drafter() = default;

  // Guesses for all of these at once, each text being there once. Never throws Error: where it
  // cannot guess it does not. std::bad_alloc where the host has no memory left.
  virtual void draft(std::span<Draft> drafts) = 0;
  // What is kept of a text that ended goes.
  virtual void forget(std::int64_t text) noexcept = 0;
};

}  // namespace hearth::models
