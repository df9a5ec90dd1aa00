#include "devices/sim/checker/access_clock.h"

#include <algorithm>
#include <iterator>

#include "hearth/error.h"

namespace hearth::sim {
namespace {

// Record::thread: | turn:17 | split | many groups | many simdgroups | many lanes | atomic |
// thread:10 |. A turn counts the simdgroup's barriers of its own. The `many` flags say that others
// than `thread` are summed up in the record: of other threadgroups, other simdgroups, other lanes.
// The cells of its bytes describe a word that is split.
constexpr std::uint32_t kThread = 0x3ff;
constexpr std::uint32_t kLane = 0x1f;
constexpr std::uint32_t kSimdgroup = kThread & ~kLane;
constexpr std::uint32_t kAtomic = 1u << 10;
constexpr std::uint32_t kManyLanes = 1u << 11;
constexpr std::uint32_t kManySimdgroups = 1u << 12;
constexpr std::uint32_t kManyGroups = 1u << 13;
constexpr std::uint32_t kSplit = 1u << 14;
constexpr int kTurnShift = 15;

}  // namespace

void AccessClock::begin_launch() {
  advance(true);
  first_ = segment_;
}

void AccessClock::begin_threadgroup(bool own) {
  advance(true);
  first_of_group_ = segment_;
  if (own) first_ = segment_;
}

void AccessClock::pass_barrier(bool ordered) { advance(ordered); }

void AccessClock::advance(bool ordered) {
  if (++segment_ == 0) {
    throw Error(ErrorCode::device, "sim: the checker of this driver has run too long");
  }
  if (!ordered) return;
  visible_ = segment_;
  std::fill(std::begin(turns_), std::end(turns_), 0u);
  std::fill(std::begin(visible_turns_), std::end(visible_turns_), 0u);
}

int AccessClock::thread_of(const ShadowCell::Record& record) noexcept {
  return static_cast<int>(record.thread & kThread);
}

bool AccessClock::is_of_many_groups(const ShadowCell::Record& record) noexcept {
  return (record.thread & kManyGroups) != 0;
}

// Of an access of one's own simdgroup: no simdgroup barrier since has ordered it.
inline bool AccessClock::same_turn(const ShadowCell::Record& before, std::uint32_t me,
                                   Earlier was) const {
  const std::uint32_t simdgroup = (me & kThread) / 32;
  return before.thread >> kTurnShift >=
         (was == Earlier::write ? visible_turns_[simdgroup] : turns_[simdgroup]);
}

// True unless `before` and an access of `me` now may happen at the same time.
inline bool AccessClock::in_order(const ShadowCell::Record& before, std::uint32_t me,
                                  Earlier was) const {
  if (before.segment < first_) return true;
  if (before.segment < first_of_group_ || (before.thread & kManyGroups) != 0) return false;
  if (before.segment < (was == Earlier::write ? visible_ : segment_)) return true;
  if (((before.thread ^ me) & kSimdgroup) != 0 || (before.thread & kManySimdgroups) != 0) {
    return false;
  }
  if (!same_turn(before, me, was)) return true;
  return ((before.thread ^ me) & kLane) == 0 && (before.thread & kManyLanes) == 0;
}

// A record of `me` that stands for `before` too, as far as that can still be out of order with
// anything.
inline ShadowCell::Record AccessClock::joined(const ShadowCell::Record& before, std::uint32_t me,
                                              Earlier was) const {
  ShadowCell::Record record = {segment_, me};
  if (before.segment < first_) return record;
  if (before.segment < first_of_group_ || (before.thread & kManyGroups) != 0) {
    record.thread |= kManyGroups;
  }
  if (before.segment < (was == Earlier::write ? visible_ : segment_)) return record;
  if (((before.thread ^ me) & kSimdgroup) != 0) {
    record.thread |= kManySimdgroups;
    return record;
  }
  record.thread |= before.thread & kManySimdgroups;
  if (same_turn(before, me, was)) {
    record.thread |= before.thread & kManyLanes;
    if (((before.thread ^ me) & kLane) != 0) record.thread |= kManyLanes;
  }
  return record;
}

inline AccessClock::Conflict AccessClock::check_cell(ShadowCell& cell, std::uint32_t me,
                                                     Access access, bool initialised) const {
  if (initialised && !writes(access) && cell.write.segment < first_of_group_) {
    return {Finding::uninitialised, cell.write, true};
  }
  const bool atomic = access >= Access::atomic_read;
  const bool among_atomics = atomic && (cell.write.thread & kAtomic) != 0;
  if (!among_atomics && !in_order(cell.write, me, Earlier::write))
    return {Finding::race, cell.write, true};
  if (writes(access)) {
    if (!in_order(cell.read, me, Earlier::read)) return {Finding::race, cell.read, false};
    const std::uint32_t flag = atomic ? kAtomic : 0;
    cell.write = among_atomics ? joined(cell.write, me | flag, Earlier::write)
                               : ShadowCell::Record{segment_, me | flag};
  } else if (!atomic) {
    cell.read = joined(cell.read, me, Earlier::read);
  }
  return {};
}

inline bool AccessClock::is_split(const ShadowCell& word) const {
  return (word.write.thread & kSplit) != 0 && word.write.segment >= first_;
}

// From now on the bytes have cells of their own, until the word can be forgotten.
void AccessClock::split(ShadowCell& word, ShadowCell* bytes) const {
  std::fill(bytes, bytes + 4, word);
  word = {{segment_, kSplit}, {}};
}

AccessClock::Conflict AccessClock::check(const Shadow& shadow, std::int64_t offset,
                                         std::int64_t bytes, int thread, Access access,
                                         bool initialised) const {
  const auto number = static_cast<std::uint32_t>(thread);
  const std::uint32_t me = number | turns_[number / 32] << kTurnShift;
  std::int64_t at = shadow.offset + offset;
  const std::int64_t end = at + bytes;
  while (at < end) {
    ShadowCell& word = shadow.words[at / 4];
    const std::int64_t next = std::min((at / 4 + 1) * 4, end);
    if (next - at == 4 && !is_split(word)) {
      const Conflict conflict = check_cell(word, me, access, initialised);
      if (conflict.finding != Finding::none) return conflict;
      at = next;
      continue;
    }
    if (!is_split(word)) split(word, shadow.bytes + at / 4 * 4);
    for (; at < next; ++at) {
      const Conflict conflict = check_cell(shadow.bytes[at], me, access, initialised);
      if (conflict.finding != Finding::none) return conflict;
    }
  }
  return {};
}

}  // namespace hearth::sim
