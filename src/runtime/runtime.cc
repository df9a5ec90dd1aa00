#include "hearth/runtime.h"

#include <cstring>
#include <mutex>
#include <utility>

#include "runtime/commands/command_batch.h"
#include "runtime/commands/driver.h"
#include "runtime/commands/driver_calls.h"
#include "runtime/compile/kernel_registry.h"
#include "runtime/memory/buffer_storage.h"
#include "runtime/memory/host_mappings.h"

namespace hearth {
inline namespace v0 {
namespace runtime {
namespace {

Driver& driver_of(Device device) {
  Driver* driver = device.impl().driver();
  if (driver == nullptr) {
    throw Error(ErrorCode::unsupported,
                "runtime: device runs no kernels; got " + device.name() + ", expected a GPU");
  }
  return *driver;
}

bool is_metal(const Kernel& kernel) {
  const KernelSource* const source = kernel.function().source();
  return source != nullptr && source->metal;
}

// Whether the argument with this number is memory that is only read.
bool reads_memory(const Kernel& kernel, std::size_t number) {
  for (const KernelParameter& parameter : kernel.function().parameters()) {
    if (parameter.kind == KernelParameter::Kind::threadgroup) continue;
    if (number-- == 0) return parameter.kind == KernelParameter::Kind::read;
  }
  return false;
}

[[noreturn]] void wrong_size(const char* what, std::int64_t got, std::int64_t expected) {
  throw Error(ErrorCode::shape, std::string(what) + ": wrong size; got " + std::to_string(got) +
                                    " bytes, expected " + std::to_string(expected));
}

}  // namespace

Properties properties(Device device) { return driver_of(device).properties(); }

Buffer::Buffer(Device device, DType dtype, const Shape& shape) : dtype_(dtype), shape_(shape) {
  driver_of(device);
  check_shape("Buffer", shape);
  storage_ = std::make_shared<Storage>(device, bytes());
}

Buffer Buffer::zeros(Device device, DType dtype, const Shape& shape) {
  Buffer made(device, dtype, shape);
  const std::lock_guard lock(device.impl().queue_mutex());
  driver_of(device).fill(made.address(), 0, made.bytes());
  return made;
}

Device Buffer::device() const {
  if (storage_ == nullptr) {
    throw Error(ErrorCode::invalid_argument,
                "Buffer: no memory; got an undefined Buffer, expected a defined one");
  }
  return storage_->device;
}

std::byte* Buffer::address() const noexcept {
  return storage_ == nullptr ? nullptr : storage_->address + offset_;
}

HostBytes Buffer::host_bytes(DType dtype, bool writes) const {
  const Device owner = device();
  if (dtype != dtype_) {
    throw Error(ErrorCode::dtype, "Buffer::host_view: wrong element type; got " +
                                      std::string(hearth::name(dtype)) + ", expected " +
                                      std::string(hearth::name(dtype_)));
  }
  const bool shared = owner.impl().shares_memory();
  if (writes && !shared) {
    throw Error(ErrorCode::unsupported,
                "Buffer::host_view: the memory is the device's own; got a view to write on " +
                    owner.name() + ", expected one of const elements, or write()");
  }
  struct View {
    View(const Buffer& seen, bool writes)
        : buffer(seen), hold(seen.device().impl(), seen.address(), seen.bytes(), writes) {}
    const Buffer buffer;
    const HostHold hold;
    std::vector<std::byte> copy;
  };
  std::shared_ptr<View> view;
  {
    // What is queued from here on is checked; what came before is waited for.
    const std::lock_guard lock(owner.impl().queue_mutex());
    view = std::make_shared<View>(*this, writes);
  }
  HostBytes seen{view, address(), bytes(), !shared};
  if (shared) {
    owner.impl().synchronize();
  } else {
    view->copy = host_vector<std::byte>("Buffer::host_view", bytes());
    read(view->copy);
    seen.data = view->copy.data();
  }
  return seen;
}

Buffer Buffer::view(std::int64_t first, const Shape& shape) const {
  check_shape("Buffer::view", shape);
  const std::int64_t count = element_count(shape), own = element_count(shape_);
  if (first < 0 || first > own || count > own - first) {
    throw Error(ErrorCode::shape, "Buffer::view: beyond the end; got elements [" +
                                      std::to_string(first) + ", " + std::to_string(first + count) +
                                      "), expected at most " + std::to_string(own));
  }
  Buffer made = *this;
  made.shape_ = shape;
  made.offset_ += first * size_of(dtype_);
  return made;
}

Buffer Buffer::reinterpret(DType dtype, const Shape& shape) const {
  check_shape("Buffer::reinterpret", shape);
  const std::int64_t wanted = bytes_of(dtype, element_count(shape));
  if (wanted != bytes()) wrong_size("Buffer::reinterpret", wanted, bytes());
  Buffer made = *this;
  made.dtype_ = dtype;
  made.shape_ = shape;
  return made;
}

void Buffer::write(std::span<const std::byte> data) const {
  const auto size = static_cast<std::int64_t>(data.size());
  const Device owner = device();
  if (size != bytes()) wrong_size("Buffer::write", size, bytes());
  if (size == 0) return;
  const std::lock_guard lock(owner.impl().queue_mutex());
  check_host_holds(owner.impl(), "Buffer::write", address(), size, true);
  copy_to_device(driver_of(owner), address(), data.data(), size);
}

void Buffer::copy_from(const Buffer& source) const {
  const Device owner = device();
  if (!(source.device() == owner)) {
    throw Error(ErrorCode::device, "Buffer::copy_from: buffer of another device; got " +
                                       source.device().name() + ", expected " + owner.name());
  }
  if (source.bytes() != bytes()) wrong_size("Buffer::copy_from", source.bytes(), bytes());
  const std::lock_guard lock(owner.impl().queue_mutex());
  check_host_holds(owner.impl(), "Buffer::copy_from", source.address(), bytes(), false);
  check_host_holds(owner.impl(), "Buffer::copy_from", address(), bytes(), true);
  copy_on_device(driver_of(owner), address(), source.address(), bytes());
}

void Buffer::read(std::span<std::byte> data) const {
  const auto size = static_cast<std::int64_t>(data.size());
  const Device owner = device();
  if (size != bytes()) wrong_size("Buffer::read", size, bytes());
  if (size > 0) owner.impl().copy_to_host(data.data(), address(), size);
}

Kernel::Kernel(Device device, const KernelSource& source) : device_(device) {
  driver_of(device);
  function_ = &device.impl().registry()->get(source);
}

const std::string& Kernel::name() const noexcept { return function_->name(); }

void prewarm(Device device, std::span<const KernelSource> sources) {
  driver_of(device);
  KernelRegistry& registry = *device.impl().registry();
  std::vector<const KernelSource*> all;
  for (const KernelSource& source : sources) all.push_back(&source);
  registry.prepare(all);
  for (const KernelSource* source : all) registry.get(*source);  // throws what failed
}

struct CapturedCommands {
  explicit CapturedCommands(Device owner) : device(owner) {}
  Device device;
  CommandBatch batch;
  std::vector<Buffer> buffers;  // that the commands name
  std::unique_ptr<Executable> executable;
  bool changed = true;  // since the executable was made
};

struct CommandEncoder::State {
  explicit State(Device owner) : driver(driver_of(owner)), pending(owner) {}
  // The pool gives this memory only to work queued later, so it may be freed once that is queued.
  void forget() {
    pending.batch.clear();
    pending.buffers.clear();
  }

  Driver& driver;
  CapturedCommands pending;
};

int Capture::commands() const noexcept {
  return commands_ == nullptr ? 0 : static_cast<int>(commands_->batch.size());
}

int Capture::groups() const noexcept {
  return commands_ == nullptr ? 0 : commands_->batch.group_count();
}

std::vector<CapturedCommand> Capture::list() const {
  std::vector<CapturedCommand> all;
  if (commands_ == nullptr) return all;
  for (const Command& command : commands_->batch.commands()) {
    CapturedCommand& made = all.emplace_back();
    made.kernel = command.function->name();
    made.groups = command.groups;
    made.threads = command.threads;
    made.group = command.group;
    made.after.assign(command.after.begin(), command.after.end());
    std::size_t next = 0;
    for (const KernelParameter& parameter : command.function->parameters()) {
      using Kind = KernelParameter::Kind;
      if (parameter.kind == Kind::threadgroup) continue;
      const Argument& argument = command.arguments[next++];
      if (argument.constant != nullptr) continue;
      made.accesses.push_back({parameter.name, reinterpret_cast<std::uintptr_t>(argument.address),
                               argument.bytes, parameter.kind != Kind::write,
                               parameter.kind != Kind::read});
    }
  }
  return all;
}

void Capture::rebind(const Buffer& from, const Buffer& to) {
  if (commands_ == nullptr) return;
  if (!(to.device() == commands_->device) || !(from.device() == commands_->device)) {
    throw Error(ErrorCode::device, "Capture::rebind: buffer of another device; got " +
                                       to.device().name() + ", expected " +
                                       commands_->device.name());
  }
  if (to.bytes() < from.bytes()) wrong_size("Capture::rebind", to.bytes(), from.bytes());
  commands_->batch.rebind(from.address(), from.bytes(), to.address());
  commands_->buffers.push_back(to);
  commands_->changed = true;
}

void Capture::replay() {
  if (commands_ == nullptr || commands_->batch.empty()) return;
  CapturedCommands& captured = *commands_;
  Driver& driver = driver_of(captured.device);
  const std::lock_guard lock(captured.device.impl().queue_mutex());
  check_host_holds(captured.device.impl(), captured.batch.commands());
  if (wants_commands()) return submit(driver, captured.batch.commands());
  if (captured.changed) {
    const auto commands = captured.batch.commands();
    if (captured.executable == nullptr || !driver.update(*captured.executable, commands)) {
      captured.executable = driver.instantiate(commands);
    }
    captured.changed = false;
  }
  if (captured.executable != nullptr) {
    return launch(driver, *captured.executable, captured.batch.size());
  }
  submit(driver, captured.batch.commands());
}

CommandEncoder::CommandEncoder(Device device) : state_(std::make_unique<State>(device)) {}
CommandEncoder::CommandEncoder(CommandEncoder&&) noexcept = default;
CommandEncoder& CommandEncoder::operator=(CommandEncoder&&) noexcept = default;
CommandEncoder::~CommandEncoder() = default;

void CommandEncoder::dispatch(const Kernel& kernel, Size3 groups, Size3 threads,
                              std::initializer_list<Value> values) {
  add(kernel, groups, threads, {groups.x * threads.x, groups.y * threads.y, groups.z * threads.z},
      values);
}

void CommandEncoder::dispatch_threads(const Kernel& kernel, Size3 grid, Size3 threads,
                                      std::initializer_list<Value> values) {
  if (!is_metal(kernel)) {
    throw Error(ErrorCode::invalid_argument,
                kernel.name() +
                    ": threads beyond the grid would run; got a kernel of the dialect, " +
                    "expected one of metal_kernel(), or dispatch() and a bound in the kernel");
  }
  if (threads.product() == 0) {
    throw Error(ErrorCode::invalid_argument,
                kernel.name() + ": empty threadgroups; got 0 threads, expected a multiple of 32");
  }
  const auto groups = [](std::uint32_t all, std::uint32_t each) {
    return all / each + (all % each == 0 ? 0 : 1);
  };
  add(kernel, {groups(grid.x, threads.x), groups(grid.y, threads.y), groups(grid.z, threads.z)},
      threads, grid, values);
}

void CommandEncoder::add(const Kernel& kernel, Size3 groups, Size3 threads, Size3 grid,
                         std::initializer_list<Value> values) {
  CapturedCommands& pending = state_->pending;
  const auto check = [&](Device device) {
    if (device == pending.device) return;
    throw Error(ErrorCode::device, kernel.name() + ": from another device; got " + device.name() +
                                       ", expected " + pending.device.name());
  };
  check(kernel.device());
  const bool metal = is_metal(kernel);
  std::vector<Argument> arguments;
  std::vector<Buffer> uploaded;
  for (const Value& value : values) {
    if (value.buffer_ == nullptr && metal && reads_memory(kernel, arguments.size())) {
      const std::span bytes(static_cast<const std::byte*>(value.constant_),
                            static_cast<std::size_t>(value.bytes_));
      uploaded.emplace_back(pending.device, DType::u8, Shape{value.bytes_});
      uploaded.back().write(bytes);
      arguments.push_back({uploaded.back().address(), value.bytes_, nullptr});
      continue;
    }
    if (value.buffer_ == nullptr) {
      arguments.push_back({nullptr, value.bytes_, value.constant_});
      continue;
    }
    check(value.buffer_->device());
    arguments.push_back({value.buffer_->address(), value.buffer_->bytes(), nullptr});
  }
  if (metal) arguments.push_back({nullptr, sizeof grid, &grid});
  pending.batch.add(kernel.function(), groups, threads, arguments, state_->driver.properties());
  for (const Value& value : values) {
    if (value.buffer_ != nullptr) pending.buffers.push_back(*value.buffer_);
  }
  pending.buffers.insert(pending.buffers.end(), uploaded.begin(), uploaded.end());
}

void CommandEncoder::commit(std::string_view label) {
  CapturedCommands& pending = state_->pending;
  if (!pending.batch.empty()) {
    const std::lock_guard lock(pending.device.impl().queue_mutex());
    check_host_holds(pending.device.impl(), pending.batch.commands());
    submit(state_->driver, pending.batch.commands(), label);
  }
  state_->forget();
}

std::optional<double> CommandEncoder::commit_and_time(std::string_view label) {
  CapturedCommands& pending = state_->pending;
  std::optional<double> seconds;
  if (!pending.batch.empty()) {
    pending.device.impl().synchronize();
    const std::lock_guard lock(pending.device.impl().queue_mutex());
    check_host_holds(pending.device.impl(), pending.batch.commands());
    seconds = submit_and_time(state_->driver, pending.batch.commands(), label);
  }
  state_->forget();
  return seconds;
}

void CommandEncoder::wait() {
  commit();
  state_->pending.device.impl().synchronize();
}

Capture CommandEncoder::capture() {
  Capture made;
  made.commands_ = std::make_shared<CapturedCommands>(state_->pending.device);
  std::swap(made.commands_->batch, state_->pending.batch);
  std::swap(made.commands_->buffers, state_->pending.buffers);
  return made;
}

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
