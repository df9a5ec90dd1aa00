// The front of a recording: what another thread needs of it.
//
// A thread that reads a value of somebody else's tape submits what lies in front of the value, and
// not what happens to have been recorded behind it by then. So equal programs are cut at equal
// places, whenever the reader comes, and keep finding their plans.
#pragma once

#include <cstddef>
#include <cstdint>

#include "graph/record/tape.h"

namespace hearth {

// How much of each part of a recording its front takes.
struct RecordingFront {
  std::size_t nodes = 0, words = 0, dynamics = 0, externals = 0;
};

// Up to the op of the node `last`, with all its results.
RecordingFront front_of(const Recording& recording, std::uint32_t last) noexcept;

// What lies behind `front`, as a recording of its own in which values of the front are externals.
// No reference is taken; nodes keep the index that they have in `recording`. Throws bad_alloc.
Recording behind(const Recording& recording, const RecordingFront& front);

}  // namespace hearth
