// Parameter structs of the kernels in this folder: see kernels/blocks/params.h.
#pragma once

#include "kernels/blocks/params.h"

// Where [item, head, row, column] of an operand lies; strides are 0 where it is broadcast.
struct AttentionOperand {
  long base, item, head, row, column;
};

// Floats are the bits of an f64: see number_of().
// Where a number for each item lies, in words of 32 bits: of which it has `words`, or 0 where there
// are none.
struct AttentionBounds {
  long words, base, item;
};

struct AttentionParams {
  long heads, kv_heads, rows, keys, d, dv;
  long causal;
  long dynamic;  // the word of the dynamic block that says how many keys exist; below 0: all
  long scale;    // times log2(e), or with a softcap over it
  long softcap;  // times log2(e); 0: none
  long log2e;
  AttentionOperand q, k, v, mask, bias;
  long window;  // 0: none
  AttentionBounds lengths, starts;
  long sinks;             // whether there are some
  AttentionOperand sink;  // of [heads], its columns
};

struct FlashDecodingParams {
  AttentionParams attention;
  long group;      // heads that share keys
  long blocks;     // threadgroups that share the queries of such a group
  Divisor splits;  // threadgroups that share the keys of a query
  long shift;      // splits are multiples of 1 << shift
};

struct LibraryAttentionParams {
  AttentionParams attention;
  long items, heads;  // of what is written
  long step;
};
