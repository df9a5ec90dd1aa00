// Guesses that look up in the text itself how it went on where it stood before: no model is needed,
// and answers that repeat their prompt, as edits of code do, come several tokens at a time.
#pragma once

#include <unordered_map>

#include "models/drafting/drafter.h"
#include "models/drafting/repeats.h"

namespace hearth::models {

class LookUpDrafter : public Drafter {
 public:
  void draft(std::span<Draft> drafts) override;
  void forget(std::int64_t text) noexcept override;

 private:
  std::unordered_map<std::int64_t, Repeats> texts_;
};

}  // namespace hearth::models
