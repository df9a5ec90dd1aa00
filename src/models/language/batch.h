// The rows that one pass of a language model works on: tokens of one or several sequences, one
// sequence behind the other. What the arrays hold is data: passes of equal shapes share plans.
#pragma once

#include <cstdint>

#include "hearth/array.h"

namespace hearth::models {

struct Batch {
  Array tokens;     // i32 [rows]
  Array positions;  // i32 [rows]
  // i32 [sequences + 1]: the first row of each sequence; rows behind the last are padding.
  Array starts;
  Array lengths;  // i32 [sequences]: rows of each in the caches, these among them
  Array pages;    // i32 [sequences, pages]: where in the caches a sequence's rows are, page by page
  Array slots;    // i32 [rows]: where these rows go in the caches
  // The same of layers with windows (windows.h), where the model has some; pages that no row sees
  // are -1.
  Array window_pages, window_slots;
  Array states;  // i32 [sequences]: the states of each, of models that have some
  // > 0: the batch is whole texts of so many rows each; caches had none of them and keep states
  // alone. A text's last rows may be padding: encoders have `lengths` to say so, other models need
  // none, since no row sees what comes after it. Pages, slots and outputs are absent, and so are
  // starts and states, of which each text has one, unless the model has states.
  std::int64_t width = 0;
  Array outputs;  // i32 [wanted]: rows of which scores are wanted
};

}  // namespace hearth::models
