// Encodes the launches of kernels into a batch of one device.
#pragma once

#include <atomic>
#include <initializer_list>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "hearth/error.h"
#include "runtime/commands/command_batch.h"
#include "runtime/compile/kernel_registry.h"

namespace hearth {
inline namespace v0 {
namespace runtime {

// A kernel that is compiled when it is first launched, or a library's function that is made ready
// then. Serves one device: the first that asks.
class LazyKernel {
 public:
  explicit LazyKernel(KernelSource source) : source_(std::move(source)) {}
  explicit LazyKernel(LibraryCall call) : source_(std::move(call)) {}
  // Null for a library's function: nothing is compiled.
  const KernelSource* source() const noexcept { return std::get_if<KernelSource>(&source_); }
  const Function& get(KernelRegistry& registry) const {
    const Function* function = function_.load(std::memory_order_acquire);
    if (function == nullptr) {
      function = std::visit(
          [&](const auto& source) -> const Function* { return &registry.get(source); }, source_);
      function_.store(function, std::memory_order_release);
    }
    return *function;
  }
  bool is_ready() const noexcept { return function_.load(std::memory_order_acquire) != nullptr; }
  // False for a call that its library does not take: Error{unsupported} when it is made ready.
  // Compiles nothing.
  bool is_supported(KernelRegistry& registry) const {
    if (source() != nullptr) return true;
    try {
      get(registry);
      return true;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
      return false;
    }
  }

 private:
  std::variant<KernelSource, LibraryCall> source_;
  mutable std::atomic<const Function*> function_{nullptr};
};

inline Argument memory(Address address, std::int64_t bytes) { return {address, bytes, nullptr}; }
// `value` is copied when the command is encoded.
template <class T>
Argument constant_argument(const T& value) {
  return {nullptr, static_cast<std::int64_t>(sizeof(T)), &value};
}

class Encoder {
 public:
  Encoder(KernelRegistry& registry, CommandBatch& batch, const Properties& properties,
          Address dynamics, std::int64_t dynamic_bytes)
      : registry_(registry),
        batch_(batch),
        properties_(properties),
        dynamics_(dynamics),
        dynamic_bytes_(dynamic_bytes) {}

  // Encodes nothing: notes in `needed` the kernels that launches would ask for.
  Encoder(KernelRegistry& registry, CommandBatch& batch, const Properties& properties,
          Address dynamics, std::int64_t dynamic_bytes, std::vector<const LazyKernel*>& needed)
      : Encoder(registry, batch, properties, dynamics, dynamic_bytes) {
    needed_ = &needed;
  }

  // Adds a launch; arguments in the order of the kernel's parameters, without threadgroup arrays.
  // `work`: see Command.
  void dispatch(const LazyKernel& kernel, Size3 groups, Size3 threads,
                std::span<const Argument> arguments, double work = 0, Command::Shares shares = {}) {
    if (needed_ != nullptr) return needed_->push_back(&kernel);
    batch_.add(kernel.get(registry_), groups, threads, arguments, properties_, work, shares);
  }
  void dispatch(const LazyKernel& kernel, Size3 groups, Size3 threads,
                std::initializer_list<Argument> arguments) {
    dispatch(kernel, groups, threads, std::span(arguments.begin(), arguments.size()));
  }
  bool supports(const LazyKernel& kernel) const { return kernel.is_supported(registry_); }
  // The plan's dynamic block in device memory, 64-bit words. Kernels read run-time scalars there
  // and nowhere else: what is encoded may be replayed with other values in the block.
  Argument dynamics() const noexcept { return memory(dynamics_, dynamic_bytes_); }
  const Properties& properties() const noexcept { return properties_; }

 private:
  KernelRegistry& registry_;
  CommandBatch& batch_;
  const Properties& properties_;
  Address dynamics_;
  std::int64_t dynamic_bytes_;
  std::vector<const LazyKernel*>* needed_ = nullptr;
};

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
