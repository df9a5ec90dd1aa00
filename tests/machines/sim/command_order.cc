#include "machines/sim/command_order.h"

#include <algorithm>

namespace hearth::sim {
namespace {

using Kind = runtime::KernelParameter::Kind;

struct Range {
  Address begin;
  Address end;
  int command;
  bool writes;
  const std::string* name;
};

std::vector<Range> ranges_of(const Batch& batch) {
  std::vector<Range> ranges;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    for (const QueuedCommand::Argument& argument : batch[i].arguments) {
      if (argument.parameter->kind == Kind::constant || argument.bytes == 0) continue;
      ranges.push_back({argument.address, argument.address + argument.bytes, static_cast<int>(i),
                        argument.parameter->kind != Kind::read, &argument.parameter->name});
    }
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  return ranges;
}

// Which commands are sure to be done before which start.
class Precedence {
 public:
  Precedence(const Batch& batch, DependencyBy by) : batch_(batch), by_(by) {
    if (by == DependencyBy::groups) return;
    before_.resize(batch.size(), std::vector<bool>(batch.size()));
    for (std::size_t i = 0; i < batch.size(); ++i) {
      for (const int earlier : batch[i].after) {
        const std::vector<bool>& theirs = before_[static_cast<std::size_t>(earlier)];
        for (std::size_t j = 0; j < i; ++j) {
          if (theirs[j]) before_[i][j] = true;
        }
        before_[i][static_cast<std::size_t>(earlier)] = true;
      }
    }
  }

  bool is_before(int first, int second) const {
    const auto a = static_cast<std::size_t>(first);
    const auto b = static_cast<std::size_t>(second);
    return by_ == DependencyBy::groups ? batch_[a].group < batch_[b].group : before_[b][a];
  }

 private:
  const Batch& batch_;
  DependencyBy by_;
  std::vector<std::vector<bool>> before_;
};

std::string describe(const Batch& batch, const Range& range) {
  return "'" + batch[static_cast<std::size_t>(range.command)].library->name() + "' (command " +
         std::to_string(range.command) + ") " + (range.writes ? "writes" : "reads") + " '" +
         *range.name + "'";
}

std::vector<int> order_by_groups(const Batch& batch, Order order, Random& random) {
  std::vector<int> all(batch.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
  for (std::size_t begin = 0; begin < batch.size();) {
    std::size_t end = begin;
    while (end < batch.size() && batch[end].group == batch[begin].group) ++end;
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(begin);
    if (order == Order::reverse) {
      std::reverse(first, all.begin() + static_cast<std::ptrdiff_t>(end));
    } else if (order == Order::shuffled) {
      for (std::size_t n = end - begin; n > 1; --n) {
        std::swap(first[static_cast<std::ptrdiff_t>(n - 1)],
                  first[static_cast<std::ptrdiff_t>(random.below(n))]);
      }
    }
    begin = end;
  }
  return all;
}

std::vector<int> order_by_edges(const Batch& batch, Order order, Random& random) {
  std::vector<std::vector<int>> followers(batch.size());
  std::vector<std::size_t> missing(batch.size());
  std::vector<int> ready;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    missing[i] = batch[i].after.size();
    if (missing[i] == 0) ready.push_back(static_cast<int>(i));
    for (const int earlier : batch[i].after) {
      followers[static_cast<std::size_t>(earlier)].push_back(static_cast<int>(i));
    }
  }
  std::vector<int> all;
  while (!ready.empty()) {
    auto at = std::min_element(ready.begin(), ready.end());
    if (order == Order::reverse) at = std::max_element(ready.begin(), ready.end());
    if (order == Order::shuffled) {
      at = ready.begin() + static_cast<std::ptrdiff_t>(random.below(ready.size()));
    }
    const int next = *at;
    ready.erase(at);
    all.push_back(next);
    for (const int follower : followers[static_cast<std::size_t>(next)]) {
      if (--missing[static_cast<std::size_t>(follower)] == 0) ready.push_back(follower);
    }
  }
  return all;
}

}  // namespace

std::vector<int> run_order(const Batch& batch, DependencyBy by, Order order, Random& random) {
  return by == DependencyBy::groups ? order_by_groups(batch, order, random)
                                    : order_by_edges(batch, order, random);
}

std::string find_hazard(const Batch& batch, DependencyBy by) {
  const Precedence precedence(batch, by);
  std::vector<Range> open;  // ranges that reach to where the sweep is
  for (const Range& range : ranges_of(batch)) {
    std::erase_if(open, [&range](const Range& other) { return other.end <= range.begin; });
    for (const Range& other : open) {
      if (range.command == other.command || (!range.writes && !other.writes)) continue;
      const Range& first = range.command < other.command ? range : other;
      const Range& second = range.command < other.command ? other : range;
      if (precedence.is_before(first.command, second.command)) continue;
      return describe(batch, first) + " and " + describe(batch, second) +
             ": they share memory, and nothing orders them";
    }
    open.push_back(range);
  }
  return {};
}

}  // namespace hearth::sim
