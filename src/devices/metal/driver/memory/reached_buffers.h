// Buffers that kernels reach by addresses in their arguments, which Metal does not see.
#pragma once

#include <unordered_map>
#include <vector>

#include "devices/metal/objc/objc.h"

namespace hearth::metal {

// Of one encoder. It has to be told of each before the first command that reaches it: the buffer is
// resident then while the encoder's commands run, and ordered against other command buffers. A
// residency set does the first alone. It is not said that an encoder keeps such buffers alive.
class ReachedBuffers {
 public:
  explicit ReachedBuffers(const ObjectiveC& objc) : objc_(objc) {}

  // Of the commands up to the next tell().
  void add(Id buffer, bool writes);
  // Tells the encoder what it does not know yet.
  void tell(Id encoder);
  // The encoder has ended; all that it was told of.
  std::vector<Owned> take();

 private:
  const ObjectiveC& objc_;
  std::unordered_map<Id, bool> known_;  // whether it may be written
  std::vector<Id> read_, written_;      // that the encoder is not told of
  std::vector<Owned> kept_;
};

}  // namespace hearth::metal
