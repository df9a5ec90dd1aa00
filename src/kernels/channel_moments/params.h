// Parameter structs of the kernels in this folder: see kernels/blocks/params.h.
#pragma once

#include "kernels/blocks/params.h"

// Of channel_moments() and channel_sums(). A unit is what a thread loads at once: elements of
// channels that follow one another, or of one channel. Unit k of those is where
//   k * outer                             channels are innermost
//   k / per * outer + k % per * inner     else
// says, after the `step` elements of each channel before.
struct ChannelParams {
  long channels, step;
  long units, chunk;     // of a channel; of a threadgroup
  long wide, wide_bits;  // threads of a threadgroup that have channels of their own
  Divisor per;
  long outer, inner;
  long mean_base, mean_step;
};

// Channels that a threadgroup joins the chunks of, a sector of memory, and their logarithm.
enum { kCombineChannels = 8, kCombineChannelBits = 3 };

// Of channel_moments_combine() and channel_sums_combine().
struct ChannelCombineParams {
  long channels, chunks;
  long count, chunk;  // elements of a channel, and of its chunks but the last
};
