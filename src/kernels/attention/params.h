// Parameter structs of the kernels in this folder: see kernels/blocks/params.h.
#pragma once

#include "kernels/blocks/params.h"

// Of attention_tiles() and paged_tiles(): rows and keys of a tile, columns of a slice of q or k,
// elements from a row of a slice to the next, which begins in another bank, elements of a slice of
// v.
enum {
  kAttentionTile = 64,
  kSliceDepth = 32,
  kSlicePitch = kAttentionTile + 4,
  kSliceValues = 2048
};

// Simdgroups of a threadgroup of flash_decoding() and flash_decoding_mma(); rows of a simdgroup of
// attention_small_mma(), and columns.
enum { kFewSimdgroups = 4, kMatrixSimdgroups = 8 };
enum { kShortRows = 16, kShortColumns = 64 };

// Of paged attention: ints of a unit or tile that paged_plan() lists, keys of a piece of a unit.
enum { kPagedEntry = 4, kPieceKeys = 256 };
// Of paged_pieces(): simdgroups, which add up their sums in halves, and those of a half.
enum { kPieceSimdgroups = 8, kPieceThreads = 32 * kPieceSimdgroups, kPieceSums = 4 };
// Of paged_cache_pieces() and paged_matrix().
enum { kCodeSimdgroups = 4, kCodeThreads = 32 * kCodeSimdgroups, kPagedSimdgroups = 4 };
// Of paged_combine(): simdgroups, and columns of a lane.
enum { kCombineSimdgroups = 8, kCombineColumns = 4 };
enum { kPagedTileThreads = 128 };
// Of paged_prompts(): threads, rows of a simdgroup's tile, blocks of keys that are there at a time,
// and those whose slots are.
enum { kPromptThreads = 128, kPromptRows = 16, kPromptStages = 2, kPromptSlots = 4 };

// Where [item, head, row, column] of an operand lies; strides are 0 where it is broadcast.
struct AttentionOperand {
  long base, item, head, row, column;
};

// Where a number for each item lies, in words of 32 bits: of which it has `words`, or 0 where there
// are none.
struct AttentionBounds {
  long words, base, item;
};

// `scale`, `softcap` and `log2e` are the bits of an f64: see number_of().
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

// Where [slot or row, head, column] of an operand of paged_attention lies.
struct PagedOperand {
  long base, row, head, column;
};

// Where integers lie, in words of 32 bits, of which each has `words`.
struct PagedNumbers {
  long words, base, row, column;
};

struct PagedAttentionParams {
  long rows, heads, kv_heads, group, d, dv;
  long sequences, most, page_size, page_count;
  long window;   // 0: none
  long scale;    // as AttentionParams
  long softcap;  // times log2(e); 0: none
  long log2e;
  PagedOperand q, keys, values;
  PagedNumbers pages, starts, lengths;
  long sinks, sink_base, sink_step;  // whether there are some, and where they lie
  long few;                          // up to so many rows of a sequence are units, else in tiles
  long units, tiles;                 // there are, at most
  long tile_shift;                   // tiles have up to 1 << tile_shift rows
  long pieces;                       // of the keys of a unit, at most
  long blocks;  // threadgroups that share the heads of a group, or the columns of a row of tiles
};
