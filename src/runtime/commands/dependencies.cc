#include "runtime/commands/dependencies.h"

#include <algorithm>
#include <iterator>

namespace hearth {
inline namespace v0 {
namespace runtime {
namespace {

void add_once(std::vector<int>* after, std::size_t first, int command) {
  if (std::find(after->begin() + static_cast<std::ptrdiff_t>(first), after->end(), command) ==
      after->end()) {
    after->push_back(command);
  }
}

}  // namespace

void DependencyTracker::split(std::uintptr_t at) {
  auto next = segments_.upper_bound(at);
  if (next == segments_.begin()) return;
  const auto holder = std::prev(next);
  if (holder->first == at || holder->second.end <= at) return;
  Segment tail = holder->second;
  holder->second.end = at;
  segments_.emplace_hint(next, at, std::move(tail));
}

void DependencyTracker::access(std::uintptr_t begin, std::int64_t bytes, bool writes, int command,
                               std::vector<int>* after) {
  if (bytes <= 0) return;
  const std::uintptr_t end = begin + static_cast<std::uintptr_t>(bytes);
  const std::size_t first = after->size();
  split(begin);
  split(end);
  auto at = segments_.lower_bound(begin);
  std::uintptr_t covered = begin;
  while (at != segments_.end() && at->first < end) {
    Segment& segment = at->second;
    if (segment.writer >= 0 && segment.writer != command) add_once(after, first, segment.writer);
    if (writes) {
      for (const int reader : segment.readers) {
        if (reader != command) add_once(after, first, reader);
      }
      at = segments_.erase(at);
      continue;
    }
    if (at->first > covered) {
      segments_.emplace_hint(at, covered, Segment{at->first, -1, {command}});
    }
    covered = segment.end;
    if (segment.readers.empty() || segment.readers.back() != command) {
      segment.readers.push_back(command);
    }
    ++at;
  }
  if (writes) {
    segments_.emplace_hint(at, begin, Segment{end, command, {}});
  } else if (covered < end) {
    segments_.emplace_hint(at, covered, Segment{end, -1, {command}});
  }
}

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
