#include "models/drafting/look_up.h"

namespace hearth::models {

void LookUpDrafter::draft(std::span<Draft> drafts) {
  for (Draft& draft : drafts) draft.guess = texts_[draft.text].next(draft.tokens, draft.most);
}

void LookUpDrafter::forget(std::int64_t text) noexcept { texts_.erase(text); }

}  // namespace hearth::models
