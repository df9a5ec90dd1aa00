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
  // > 0: whole texts, each of so many rows, of which the caches had none; they keep states alone.
  // Last rows of a text may be padding: encoders have lengths to say so, models that see one way
  // have none, since no row sees what comes after it. Pages, slots and outputs are not there;
  // starts and states, of which each text has one, only for models with states.
  std::int64_t width = 0;
  Array outputs;  // i32 [wanted]: rows of which scores are wanted
};

}  // namespace hearth::models
