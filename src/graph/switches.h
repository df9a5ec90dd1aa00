// Options of the graph. Those of plans are part of every plan's key; those of recording need not
// be, since a key is made of what was recorded.
#pragma once

#include <cstdint>

namespace hearth {

struct Switches {
  bool fuse_elementwise = true;  // HEARTH_FUSION=0 turns all three off
  bool fuse_reductions = true;
  bool fuse_epilogues = true;
  bool exact = false;             // HEARTH_EXACT=1: every result is rounded to its dtype
  bool donate = true;             // outputs may take over storage that is no longer wanted
  bool tf32 = false;              // HEARTH_TF32=1: f32 products may round their factors to TF32
  bool deterministic = true;      // HEARTH_DETERMINISTIC=0: equal runs may differ in rounding
  bool precise_sums = false;      // HEARTH_PRECISE_SUMS=1: sums of f32 are kept in twice its digits
  bool batch_invariant = false;   // HEARTH_BATCH_INVARIANT=1: rows have bits of their own
  bool library_epilogues = true;  // HEARTH_LIBRARY_EPILOGUES=0: a library's products take none
  bool channels_last = true;      // HEARTH_CHANNELS_LAST=0: what plans compute is row-major
  // What is recorded.
  bool check_indices = false;  // HEARTH_CHECK_INDICES=1: indices are read and checked when recorded
  bool composites = false;     // HEARTH_COMPOSITES=1: expand composite ops although kernels exist

  // Of those for plans.
  std::uint64_t word() const noexcept {
    return (fuse_elementwise ? 1u : 0u) | (fuse_reductions ? 2u : 0u) | (exact ? 4u : 0u) |
           (donate ? 8u : 0u) | (tf32 ? 16u : 0u) | (deterministic ? 32u : 0u) |
           (fuse_epilogues ? 64u : 0u) | (library_epilogues ? 128u : 0u) |
           (precise_sums ? 256u : 0u) | (channels_last ? 512u : 0u) |
           (batch_invariant ? 1024u : 0u);
  }
};

// This thread's switches; a new thread starts with those of the environment.
Switches& switches() noexcept;

}  // namespace hearth
