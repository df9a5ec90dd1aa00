#include "runtime/commands/batching.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "core/integer_math.h"
#include "runtime/commands/batched_kernel.h"
#include "runtime/commands/schedule.h"

namespace hearth {
inline namespace v0 {
namespace runtime {
namespace {

constexpr int kMinCapacity = 8;
constexpr std::int64_t kMaxThreadgroups = std::numeric_limits<std::int32_t>::max();

bool is_flat(const Command& command) {
  return command.function->source()->flat && command.groups.y == 1 && command.groups.z == 1 &&
         command.threads.y == 1 && command.threads.z == 1;
}

// Commands of one class may be members of one launch.
struct Class {
  const Function* function;
  Size3 threads;  // of a threadgroup; none where they may be divided in any way
  friend bool operator<(const Class& a, const Class& b) {
    const auto key = [](const Class& c) {
      return std::tuple(c.function, c.threads.x, c.threads.y, c.threads.z);
    };
    return key(a) < key(b);
  }
};

// Threadgroups of launches that share the device: all run at the same time, and none has more to
// do than it must. As they are where one does not share out what it does.
std::vector<std::uint32_t> shared_out(std::span<const Command::Shares> shares,
                                      std::vector<std::uint32_t> as_they_are) {
  const auto least = std::ranges::min_element(shares, {}, &Command::Shares::at_once);
  const auto most = std::ranges::max_element(shares, {}, &Command::Shares::most);
  if (least->at_once < shares.size()) return as_they_are;
  std::vector<std::uint32_t> each(shares.size());
  std::uint64_t all = 0;
  for (std::uint32_t turns = 1; turns <= most->most; ++turns) {
    std::ranges::transform(shares, each.begin(), [turns](const Command::Shares& one) {
      return (one.most + turns - 1) / turns;
    });
    all = std::accumulate(each.begin(), each.end(), std::uint64_t{0});
    if (all <= least->at_once) break;
  }
  return each;
}

}  // namespace

MergedCommands::MergedCommands(std::span<const Command> commands, std::int64_t argument_bytes,
                               KernelRegistry& registry)
    : given_(commands) {
  plan(argument_bytes);
  emit(registry);
}

void MergedCommands::plan(std::int64_t argument_bytes) {
  std::vector<std::pair<Class, std::vector<int>>> classes;  // in the order of the commands
  std::map<Class, std::size_t> known;
  for (int i = 0; argument_bytes > 0 && i < static_cast<int>(given_.size()); ++i) {
    const Command& command = given_[static_cast<std::size_t>(i)];
    const KernelSource* const source = command.function->source();
    // Entry points that a text of Metal brings along are called by no other.
    if (source == nullptr || source->members != 0 || source->metal) continue;
    if (command.early.bytes != 0) continue;  // it would be done with the last of the others
    const Class kind{command.function, is_flat(command) ? Size3{0, 0, 0} : command.threads};
    const auto [found, is_new] = known.try_emplace(kind, classes.size());
    if (is_new) classes.push_back({kind, {}});
    classes[found->second].second.push_back(i);
  }

  CommandLevels levels(given_);
  std::vector<bool> is_member(given_.size(), false);
  for (auto& [kind, waiting] : classes) {
    const int fewest = static_cast<int>(waiting.size()) >= kManyLaunches ? 2 : kMinMembers;
    while (static_cast<int>(waiting.size()) >= fewest) {
      const int first = *std::min_element(waiting.begin(), waiting.end(), [&](int a, int b) {
        return levels.latest(a) < levels.latest(b);
      });
      const int level = levels.latest(first);
      std::vector<int> members;
      const auto here = std::count_if(waiting.begin(), waiting.end(),
                                      [&](int i) { return levels.may_be_at(i, level); });
      if (here >= fewest) {
        levels.fix(first, level);
        // Each that is fixed may push others, which depend on it, out of this level.
        for (const int i : waiting) {
          if (!levels.may_be_at(i, level)) continue;
          levels.fix(i, level);
          members.push_back(i);
        }
      }
      if (static_cast<int>(members.size()) >= fewest) {
        split(members, fewest, level, argument_bytes);
        for (const int i : members) is_member[static_cast<std::size_t>(i)] = true;
      } else {
        members = {first};
      }
      std::erase_if(waiting, [&](int i) {
        return std::find(members.begin(), members.end(), i) != members.end();
      });
    }
  }
  for (int i = 0; i < static_cast<int>(given_.size()); ++i) {
    if (!is_member[static_cast<std::size_t>(i)]) launches_.push_back({{i}, levels.earliest(i), 0});
  }
  // Levels rise along every dependency, so that their order is one in which launches may run.
  std::sort(launches_.begin(), launches_.end(), [](const Launch& a, const Launch& b) {
    return std::pair(a.level, a.members.front()) < std::pair(b.level, b.members.front());
  });
}

// As few launches as hold the members.
void MergedCommands::split(const std::vector<int>& members, int fewest, int level,
                           std::int64_t argument_bytes) {
  const Command& any = given_[static_cast<std::size_t>(members.front())];
  const std::int64_t each = batch_member_bytes(any.arguments) + 16;
  const std::int64_t most = (argument_bytes - 8) / each;
  const auto count = static_cast<std::int64_t>(members.size());
  if (most < fewest) {
    for (const int i : members) launches_.push_back({{i}, level, 0});
    return;
  }
  // Few capacities, so that few kernels are compiled.
  const auto wanted = ceil_power_of_two(count);
  const int capacity =
      static_cast<int>(std::min(std::max<std::int64_t>(wanted, kMinCapacity), most));
  std::int64_t threadgroups = 0;
  std::vector<int> part;
  const auto close = [&] {
    if (part.empty()) return;
    launches_.push_back({part, level, part.size() > 1 ? capacity : 0});
    part.clear();
    threadgroups = 0;
  };
  for (const int i : members) {
    const std::int64_t more = given_[static_cast<std::size_t>(i)].groups.product();
    if (static_cast<int>(part.size()) == capacity || threadgroups + more > kMaxThreadgroups) {
      close();
    }
    part.push_back(i);
    threadgroups += more;
  }
  close();
}

void MergedCommands::emit(KernelRegistry& registry) {
  std::map<std::pair<const Function*, int>, KernelSource> sources;
  for (const Launch& launch : launches_) {
    if (launch.capacity == 0) continue;
    const Function* function = given_[static_cast<std::size_t>(launch.members.front())].function;
    const auto [found, is_new] = sources.try_emplace({function, launch.capacity});
    if (is_new) found->second = batched_kernel(*function->source(), launch.capacity);
  }
  std::vector<const KernelSource*> needed;
  for (const auto& [key, source] : sources) needed.push_back(&source);
  registry.prepare(needed);

  std::vector<int> launch_of(given_.size());
  for (std::size_t k = 0; k < launches_.size(); ++k) {
    for (const int i : launches_[k].members) {
      launch_of[static_cast<std::size_t>(i)] = static_cast<int>(k);
    }
  }
  merged_.reserve(launches_.size());
  int group = -1;
  int level = -1;
  for (const Launch& launch : launches_) {
    if (launch.level != level) ++group;
    level = launch.level;
    const Command& first = given_[static_cast<std::size_t>(launch.members.front())];
    if (launch.capacity == 0) {
      merged_.push_back(first);
    } else {
      fill(launch, registry.get(sources.at({first.function, launch.capacity})));
    }
    std::vector<int>& after = after_.emplace_back();
    for (const int i : launch.members) {
      for (const int earlier : given_[static_cast<std::size_t>(i)].after) {
        after.push_back(launch_of[static_cast<std::size_t>(earlier)]);
      }
    }
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    merged_.back().group = group;
    merged_.back().after = after;
  }
}

std::vector<std::uint32_t> MergedCommands::along_x(const Launch& launch,
                                                   std::uint32_t threads) const {
  std::vector<std::uint32_t> each;
  std::vector<Command::Shares> shares;
  for (const int i : launch.members) {
    const Command& member = given_[static_cast<std::size_t>(i)];
    // Only those that may be divided in any way meet with other numbers of threads.
    const std::int64_t along_x = std::int64_t{member.groups.x} * member.threads.x;
    each.push_back(static_cast<std::uint32_t>((along_x + threads - 1) / threads));
    if (member.groups.y == 1 && member.groups.z == 1) shares.push_back(member.shares);
  }
  return shares.size() == each.size() ? shared_out(shares, std::move(each)) : each;
}

void MergedCommands::fill(const Launch& launch, const Function& function) {
  const auto capacity = static_cast<std::size_t>(launch.capacity);
  std::vector<std::uint32_t>& table = tables_.emplace_back(
      static_cast<std::size_t>(batch_table_words(launch.capacity)), std::uint32_t{0});
  std::vector<Argument>& arguments = arguments_.emplace_back();
  arguments.push_back({nullptr, static_cast<std::int64_t>(4 * table.size()), table.data()});
  Size3 threads = given_[static_cast<std::size_t>(launch.members.front())].threads;
  for (const int i : launch.members) {
    threads.x = std::max(threads.x, given_[static_cast<std::size_t>(i)].threads.x);
  }
  const std::vector<std::uint32_t> along_x = this->along_x(launch, threads.x);
  std::uint32_t first = 0;
  double work = 0;
  table[0] = static_cast<std::uint32_t>(launch.members.size());
  for (std::size_t m = 0; m < launch.members.size(); ++m) {
    const Command& member = given_[static_cast<std::size_t>(launch.members[m])];
    const std::uint32_t x = along_x[m];
    table[1 + m] = first;
    table[1 + capacity + m] = x;
    table[1 + 2 * capacity + m] = member.groups.y;
    table[1 + 3 * capacity + m] = member.groups.z;
    first += x * member.groups.y * member.groups.z;
    arguments.insert(arguments.end(), member.arguments.begin(), member.arguments.end());
    work += member.work;
  }
  Command command;
  command.work = work;
  command.function = &function;
  command.groups = {first, 1, 1};
  command.threads = threads;
  command.arguments = arguments;
  merged_.push_back(command);
}

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
