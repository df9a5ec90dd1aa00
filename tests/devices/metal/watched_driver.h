// A driver that passes everything on and keeps the memory that each queued command names.
#pragma once

#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "devices/metal/driver/commands/recorded_commands.h"
#include "runtime/commands/dependencies.h"
#include "runtime/commands/driver.h"

namespace hearth::metal {

class WatchedDriver final : public runtime::Driver {
 public:
  explicit WatchedDriver(std::unique_ptr<runtime::Driver> inner) : inner_(std::move(inner)) {}

  // Commands since forget(), and the fewest barriers between their groups that keep in order what
  // conflicts, byte for byte.
  int commands() const noexcept { return count_; }
  int needed_barriers() const noexcept { return needed_; }
  // Launches of batched kernels since then, and their members, by kernel.
  const std::map<std::string, std::pair<int, int>>& batches() const noexcept { return batches_; }
  void forget() {
    tracker_.clear();
    batches_.clear();
    count_ = needed_ = covered_ = 0;
  }

  const runtime::Properties& properties() const override { return inner_->properties(); }
  Address allocate(std::int64_t bytes) override { return inner_->allocate(bytes); }
  void free(Address address) noexcept override { inner_->free(address); }
  bool adopt(const std::byte* pages, std::int64_t bytes) override {
    return inner_->adopt(pages, bytes);
  }
  void disown(const std::byte* pages, std::shared_ptr<const void> keeper) noexcept override {
    inner_->disown(pages, std::move(keeper));
  }
  std::vector<std::byte> compile(const runtime::KernelSource& source) override {
    return inner_->compile(source);
  }
  std::string compiler_version() const override { return inner_->compiler_version(); }
  std::unique_ptr<runtime::Function> load(const runtime::KernelSource& source,
                                          std::span<const std::byte> image) override {
    return inner_->load(source, image);
  }
  runtime::LibraryTraits libraries() const override { return inner_->libraries(); }
  std::unique_ptr<runtime::Function> library_function(const runtime::LibraryCall& call,
                                                      runtime::Autotuner& tuner) override {
    return inner_->library_function(call, tuner);
  }
  std::int64_t argument_bytes() const override { return inner_->argument_bytes(); }
  void submit(std::span<const runtime::Command> commands) override {
    watch(commands);
    inner_->submit(commands);
  }
  void copy_to_device(Address target, const void* source, std::int64_t bytes) override {
    inner_->copy_to_device(target, source, bytes);
  }
  void copy_on_device(Address target, Address source, std::int64_t bytes) override {
    inner_->copy_on_device(target, source, bytes);
  }
  void fill(Address target, std::uint8_t value, std::int64_t bytes) override {
    inner_->fill(target, value, bytes);
  }
  void copy_to_host(void* target, Address source, std::int64_t bytes) override {
    inner_->copy_to_host(target, source, bytes);
  }
  void wait() override { inner_->wait(); }
  std::unique_ptr<runtime::Executable> instantiate(
      std::span<const runtime::Command> commands) override {
    return inner_->instantiate(commands);
  }
  void launch(runtime::Executable& executable) override {
    watch(static_cast<RecordedCommands&>(executable).commands());
    inner_->launch(executable);
  }

 private:
  void watch(std::span<const runtime::Command> commands) {
    for (std::size_t i = 0; i < commands.size();) {
      const int first = count_;
      const int group = commands[i].group;
      bool waits = false;
      for (; i < commands.size() && commands[i].group == group; ++i, ++count_) {
        for (const int earlier : earlier_of(commands[i])) {
          waits = waits || (earlier >= covered_ && earlier < first);
        }
      }
      if (!waits) continue;
      ++needed_;
      covered_ = first;
    }
  }
  std::vector<int> earlier_of(const runtime::Command& command) {
    std::vector<int> after;
    const runtime::KernelSource* const source = command.function->source();
    // A batch has a table in front, and the arguments of its members back to back.
    const bool is_batch = source != nullptr && source->members > 0;
    if (is_batch) {
      std::uint32_t members = 0;
      std::memcpy(&members, command.arguments[0].constant, sizeof members);
      auto& [launches, all] = batches_[command.function->name()];
      ++launches;
      all += static_cast<int>(members);
    }
    for (std::size_t i = is_batch ? 1 : 0; i < command.arguments.size();) {
      for (const runtime::KernelParameter& parameter : command.function->parameters()) {
        if (parameter.kind == runtime::KernelParameter::Kind::threadgroup) continue;
        const runtime::Argument& each = command.arguments[i++];
        if (each.constant != nullptr) continue;
        tracker_.access(reinterpret_cast<std::uintptr_t>(each.address), each.bytes,
                        parameter.kind != runtime::KernelParameter::Kind::read, count_, &after);
      }
    }
    return after;
  }

  const std::unique_ptr<runtime::Driver> inner_;
  runtime::DependencyTracker tracker_;
  std::map<std::string, std::pair<int, int>> batches_;
  int count_ = 0;
  int needed_ = 0;
  int covered_ = 0;  // the first command that no barrier so far comes after
};

}  // namespace hearth::metal
