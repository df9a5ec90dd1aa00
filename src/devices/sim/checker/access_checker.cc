#include "devices/sim/checker/access_checker.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace hearth::sim {
namespace {

constexpr unsigned kDeviceMemory = 1;  // bits of mem_flags
constexpr unsigned kThreadgroupMemory = 2;

// A wild address is said as an offset of a parameter up to these bytes, or multiples of its size.
constexpr std::int64_t kFarthestMiss = std::int64_t{1} << 20;
constexpr std::int64_t kFarthestMissOfItsSize = 16;

std::string count(std::int64_t bytes) {
  return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
}

}  // namespace

AccessRange range_of(const GridArgument& argument) {
  using Kind = runtime::KernelParameter::Kind;
  const Kind kind = argument.parameter->kind;
  AccessRange range;
  range.name = "parameter '" + argument.parameter->name + "'";
  range.begin = static_cast<const std::byte*>(argument.address);
  range.bytes = argument.bytes;
  range.readable = kind != Kind::write;
  range.writable = kind == Kind::write || kind == Kind::read_write;
  range.shadow = argument.shadow;
  return range;
}

std::string describe(const void* address, const std::vector<AccessRange>& ranges) {
  const auto* const at = static_cast<const std::byte*>(address);
  const AccessRange* nearest = nullptr;
  std::int64_t distance = std::numeric_limits<std::int64_t>::max();
  for (const AccessRange& range : ranges) {
    const std::int64_t offset = at - range.begin;
    const std::int64_t away =
        offset < 0 ? -offset : std::max<std::int64_t>(offset - range.bytes, 0);
    // What lies farther away has nothing to do with it.
    if (away > std::max(kFarthestMiss, kFarthestMissOfItsSize * range.bytes)) continue;
    if (away >= distance || (away > 0 && !range.is_named)) continue;
    nearest = &range;
    distance = away;
  }
  if (nearest == nullptr) {
    return "an address that belongs to no parameter (an index outside a local array may have "
           "spoilt a pointer)";
  }
  return "offset " + std::to_string(at - nearest->begin) + " of " + nearest->name + " of " +
         count(nearest->bytes);
}

void AccessChecker::begin_launch(runtime::Size3 groups, runtime::Size3 threads,
                                 std::vector<AccessRange> ranges) {
  group_count_ = groups;
  thread_count_ = threads;
  std::sort(ranges.begin(), ranges.end(),
            [](const AccessRange& a, const AccessRange& b) { return a.begin < b.begin; });
  ranges_ = std::move(ranges);
  groups_.clear();
  std::fill(std::begin(last_found_), std::end(last_found_), ranges_.data());
  device_.begin_launch();
}

void AccessChecker::add_range(AccessRange range) {
  const auto after = std::upper_bound(
      ranges_.begin(), ranges_.end(), range,
      [](const AccessRange& a, const AccessRange& b) { return a.begin < b.begin; });
  ranges_.insert(after, std::move(range));
  std::fill(std::begin(last_found_), std::end(last_found_), ranges_.data());
}

void AccessChecker::begin_threadgroup(std::int64_t group) {
  device_.begin_threadgroup(false);
  threadgroup_.begin_threadgroup(true);
  groups_.push_back({device_.segment(), group});
}

void AccessChecker::pass_barrier(unsigned mem_flags) {
  device_.pass_barrier((mem_flags & kDeviceMemory) != 0);
  threadgroup_.pass_barrier((mem_flags & kThreadgroupMemory) != 0);
}

void AccessChecker::pass_simdgroup_barrier(int simdgroup, unsigned mem_flags) {
  device_.pass_simdgroup_barrier(simdgroup, (mem_flags & kDeviceMemory) != 0);
  threadgroup_.pass_simdgroup_barrier(simdgroup, (mem_flags & kThreadgroupMemory) != 0);
}

// The range that holds these bytes, or null.
const AccessRange* AccessChecker::find(const std::byte* address, std::int64_t bytes) {
  const auto holds = [address, bytes](const AccessRange& range) {
    return address >= range.begin && address - range.begin + bytes <= range.bytes;
  };
  const AccessRange*& last = last_found_[reinterpret_cast<std::uintptr_t>(address) / 4096 % kPages];
  if (holds(*last)) return last;
  const auto after = std::upper_bound(
      ranges_.begin(), ranges_.end(), address,
      [](const std::byte* at, const AccessRange& range) { return at < range.begin; });
  if (after == ranges_.begin() || !holds(*(after - 1))) return nullptr;
  last = &*(after - 1);
  return last;
}

bool AccessChecker::check(int thread, const void* address, std::int64_t bytes, Access access,
                          std::int64_t alignment) {
  const auto* const at = static_cast<const std::byte*>(address);
  if (reinterpret_cast<std::uintptr_t>(at) % static_cast<std::uintptr_t>(alignment) != 0) {
    return fail(at, bytes, access,
                ", which is not aligned to " + std::to_string(alignment) + " bytes");
  }
  const AccessRange* const range = find(at, bytes);
  if (range == nullptr) return fail(at, bytes, access, "");
  if (writes(access) && !range->writable) {
    return fail(at, bytes, access, ", which may only be read");
  }
  if (!writes(access) && !range->readable) {
    return fail(at, bytes, access, ", which may only be written");
  }
  if (range->shadow.words == nullptr) return true;
  const AccessClock& clock = range->threadgroup ? threadgroup_ : device_;
  const AccessClock::Conflict conflict =
      clock.check(range->shadow, at - range->begin, bytes, thread, access, range->threadgroup);
  switch (conflict.finding) {
    case AccessClock::Finding::none:
      return true;
    case AccessClock::Finding::uninitialised:
      return fail(at, bytes, access, ", where nothing has been written");
    case AccessClock::Finding::race:
      return fail(at, bytes, access, reason(clock, conflict));
  }
  return true;
}

bool AccessChecker::fail(const std::byte* address, std::int64_t bytes, Access access,
                         const std::string& reason) {
  fault_ = std::string(writes(access) ? "writes " : "reads ") + count(bytes) + " at " +
           describe(address, ranges_) + reason;
  return false;
}

// Why an access is out of order with an earlier one.
std::string AccessChecker::reason(const AccessClock& clock,
                                  const AccessClock::Conflict& conflict) const {
  const std::string did = conflict.wrote ? " wrote" : " read";
  const std::string thread =
      "thread " + position(thread_count_, AccessClock::thread_of(conflict.record));
  if (clock.is_of_this_group(conflict.record)) {
    return AccessClock::is_of_many_groups(conflict.record)
               ? ", which other threadgroups" + did + " in the same launch"
               : ", which " + thread + did + " without a barrier between";
  }
  const auto after = std::upper_bound(
      groups_.begin(), groups_.end(), conflict.record.segment,
      [](std::uint32_t segment, const GroupStart& start) { return segment < start.segment; });
  return ", which " + thread + " of threadgroup " + position(group_count_, (after - 1)->group) +
         did + " in the same launch";
}

}  // namespace hearth::sim
