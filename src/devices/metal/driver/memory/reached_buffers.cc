#include "devices/metal/driver/memory/reached_buffers.h"

#include <algorithm>

namespace hearth::metal {
namespace {

constexpr UInteger kRead = 1;   // MTLResourceUsageRead
constexpr UInteger kWrite = 2;  // MTLResourceUsageWrite

}  // namespace

void ReachedBuffers::add(Id buffer, bool writes) {
  const auto [known, is_new] = known_.try_emplace(buffer, writes);
  if (is_new) {
    kept_.push_back(objc_.keep(buffer));
  } else if (!writes || known->second) {
    return;
  }
  known->second = writes;
  (writes ? written_ : read_).push_back(buffer);
}

void ReachedBuffers::tell(Id encoder) {
  // The last call counts, so that buffers in both lists are written.
  if (!read_.empty()) {
    objc_.send(encoder, messages::use_resources, read_.data(), UInteger{read_.size()}, kRead);
  }
  if (!written_.empty()) {
    objc_.send(encoder, messages::use_resources, written_.data(), UInteger{written_.size()},
               kRead | kWrite);
  }
  read_.clear();
  written_.clear();
}

std::vector<Owned> ReachedBuffers::take() {
  known_.clear();
  read_.clear();
  written_.clear();
  return std::exchange(kept_, {});
}

}  // namespace hearth::metal
