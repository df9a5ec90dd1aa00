#include "runtime/trace/order_check.h"

#include <algorithm>
#include <string>
#include <vector>

#include "hearth/error.h"

namespace hearth {
inline namespace v0 {
namespace runtime {
namespace {

// Half open.
struct Range {
  Address begin = nullptr;
  Address end = nullptr;
};

// The memory that a command writes.
std::vector<Range> written(const Command& command) {
  std::vector<Range> ranges;
  std::size_t at = 0;
  for (const KernelParameter& parameter : command.function->parameters()) {
    if (parameter.kind == KernelParameter::Kind::threadgroup) continue;
    const Argument& argument = command.arguments[at++];
    const bool writes = parameter.kind == KernelParameter::Kind::write ||
                        parameter.kind == KernelParameter::Kind::read_write;
    if (writes && argument.bytes > 0) {
      ranges.push_back({argument.address, argument.address + argument.bytes});
    }
  }
  return ranges;
}

// Ranges without overlaps, in order.
std::vector<Range> united(std::span<const Command> commands) {
  std::vector<Range> all;
  for (const Command& command : commands) {
    for (const Range& range : written(command)) all.push_back(range);
  }
  std::sort(all.begin(), all.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  std::vector<Range> out;
  for (const Range& range : all) {
    if (out.empty() || range.begin > out.back().end) {
      out.push_back(range);
    } else {
      out.back().end = std::max(out.back().end, range.end);
    }
  }
  return out;
}

// The contents of ranges.
class Contents {
 public:
  Contents(Driver& driver, const std::vector<Range>& ranges) : ranges_(ranges) {
    for (const Range& range : ranges) {
      std::vector<std::byte>& bytes = bytes_.emplace_back(range.end - range.begin);
      driver.copy_to_host(bytes.data(), range.begin, range.end - range.begin);
    }
  }
  void restore(Driver& driver) const {
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      driver.copy_to_device(ranges_[i].begin, bytes_[i].data(), ranges_[i].end - ranges_[i].begin);
    }
  }
  // How many of the bytes [begin, end), part of one of the ranges, differ.
  std::int64_t differences(const Contents& other, const Range& part) const {
    std::int64_t count = 0;
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      if (part.begin < ranges_[i].begin || part.end > ranges_[i].end) continue;
      for (Address at = part.begin; at < part.end; ++at) {
        const auto offset = static_cast<std::size_t>(at - ranges_[i].begin);
        count += bytes_[i][offset] != other.bytes_[i][offset] ? 1 : 0;
      }
    }
    return count;
  }

 private:
  const std::vector<Range>& ranges_;
  std::vector<std::vector<std::byte>> bytes_;
};

void submit_together(Driver& driver, std::span<const Command> commands) {
  if (const auto executable = driver.instantiate(commands)) {
    driver.launch(*executable);
    driver.wait();  // before it goes
  } else {
    driver.submit(commands);
  }
}

}  // namespace

void submit_and_compare(Driver& driver, std::span<const Command> commands) {
  const std::vector<Range> ranges = united(commands);
  const Contents before(driver, ranges);
  submit_together(driver, commands);
  const Contents together(driver, ranges);
  before.restore(driver);
  for (const Command& command : commands) {
    Command alone = command;
    alone.group = 0;
    alone.after = {};
    driver.submit({&alone, 1});
    driver.wait();
  }
  const Contents one_by_one(driver, ranges);
  for (std::size_t i = 0; i < commands.size(); ++i) {
    for (const Range& range : written(commands[i])) {
      const std::int64_t count = together.differences(one_by_one, range);
      if (count == 0) continue;
      throw Error(ErrorCode::device,
                  "order check: kernel " + commands[i].function->name() + " (command " +
                      std::to_string(i) + " of " + std::to_string(commands.size()) +
                      ") gives other bytes beside others than alone; got " + std::to_string(count) +
                      " that differ of " + std::to_string(range.end - range.begin) +
                      ", expected equal bytes");
    }
  }
}

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
