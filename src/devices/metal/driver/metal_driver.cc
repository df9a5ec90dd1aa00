#include "devices/metal/driver/metal_driver.h"

#include <algorithm>
#include <cstring>

#include "codegen/bfloat_text.h"
#include "codegen/kernel_text.h"
#include "devices/metal/driver/chip.h"
#include "devices/metal/driver/commands/recorded_commands.h"
#include "hearth/error.h"
#include "runtime/commands/batched_kernel.h"

namespace hearth::metal {
namespace {

using runtime::Argument;
using runtime::Command;

constexpr Integer kMatrixFamily = 1007;      // MTLGPUFamilyApple7, of the M1: simdgroup matrices
constexpr Integer kMetal3 = 5001;            // MTLGPUFamilyMetal3
constexpr UInteger kTier2 = 1;               // MTLArgumentBuffersTier2
constexpr UInteger kBufferScope = 1;         // MTLBarrierScopeBuffers
constexpr std::int64_t kInlineBytes = 4096;  // what setBytes takes
constexpr std::int64_t kBatchBytes = std::int64_t{32} << 10;  // as on CUDA
// Of a batch, the first command buffer is short, so that the device starts soon; the next are this
// many times as long. One without end would look like one that hangs.
constexpr std::int64_t kLaterBuffers = 64;

const MetalKernel& kernel_of(const Command& command) {
  return static_cast<const MetalKernel&>(*command.function);
}

// A call of a library, which has no source, and encodes itself.
bool is_call(const Command& command) { return command.function->source() == nullptr; }

Size size_of(const runtime::Size3& size) { return {size.x, size.y, size.z}; }

Load load_of(const Command& command) {
  Load load{1, 0, command.work};
  for (const Argument& argument : command.arguments) load.bytes += argument.bytes;
  return load;
}

[[noreturn]] void fail(const Command& command, const std::string& what) {
  throw Error(ErrorCode::internal, "metal: " + command.function->name() + ": " + what);
}

}  // namespace

runtime::Properties device_properties(const ObjectiveC& objc, Id device, SystemVersion system) {
  const AutoreleasePool pool(objc);
  runtime::Properties properties;
  properties.name = objc.text(objc.send(device, messages::device_name));
  properties.architecture = "metal";
  if (system.major >= 14) {
    const Id architecture = objc.send(device, messages::architecture);
    if (architecture != nullptr) {
      properties.architecture = objc.text(objc.send(architecture, messages::architecture_name));
    }
  }
  const Chip chip = chip_named(properties.name);
  properties.memory = static_cast<std::int64_t>(objc.send(device, messages::working_set_size));
  properties.processors = chip.cores;
  properties.processor_registers = kCoreRegisters;
  properties.thread_registers = kCoreThreadRegisters;
  properties.processor_memory = kCoreMemory;
  properties.per_clock = kCoreClock;
  properties.cache_bytes = chip.cache_bytes;
  properties.threadgroup_memory =
      static_cast<std::int64_t>(objc.send(device, messages::max_threadgroup_memory));
  properties.unified = objc.send(device, messages::has_unified_memory) != 0;
  properties.has_f64 = gpu::has_f64(gpu::Target::metal);
  properties.has_simdgroup_matrix =
      objc.send(device, messages::supports_family, kMatrixFamily) != 0;
  return properties;
}

std::int64_t most_argument_bytes(const ObjectiveC& objc, Id device) {
  // Structs hold addresses as they are, wherever they lie.
  const bool plain = objc.send(device, messages::supports_family, kMetal3) != 0 &&
                     objc.send(device, messages::argument_buffers_support) >= kTier2;
  return plain ? kBatchBytes : 0;
}

MetalDriver::MetalDriver(std::shared_ptr<const ObjectiveC> objc, Owned device, SystemVersion system,
                         std::shared_ptr<Capture> capture, std::unique_ptr<MpsLibrary> mps)
    : objc_(std::move(objc)),
      device_(std::move(device)),
      capture_(std::move(capture)),
      mps_(std::move(mps)),
      properties_(device_properties(*objc_, device_.get(), system)),
      argument_bytes_(most_argument_bytes(*objc_, device_.get())),
      pipelines_(*objc_, device_.get()),
      compiler_(*objc_, device_.get(), pipelines_, system),
      residency_(*objc_, device_.get(), system),
      buffers_(*objc_, device_.get(), residency_, argument_bytes_ > 0, properties_.name),
      stream_(*objc_, device_.get(), residency_, chip_named(properties_.name), properties_.name),
      ring_(buffers_, stream_),
      copies_([this](const runtime::KernelSource& source) { return load(source, compile(source)); },
              [this](std::span<const Command> commands) { submit_groups(commands); }) {}

std::vector<std::byte> MetalDriver::compile(const runtime::KernelSource& source) {
  std::string text = gpu::assemble(source, gpu::Target::metal);
  if (!compiler_.has_bfloat()) text = gpu::bfloat_prelude(source) + text;
  return compiler_.compile(source, text);
}

std::string MetalDriver::compiler_version() const {
  return compiler_.version() + " " + std::to_string(gpu::embedded_revision());
}

std::unique_ptr<runtime::Function> MetalDriver::load(const runtime::KernelSource& source,
                                                     std::span<const std::byte> image) {
  return std::make_unique<MetalKernel>(*objc_, pipelines_, source,
                                       compiler_.load(source.name, image),
                                       properties_.threadgroup_memory);
}

std::unique_ptr<runtime::Function> MetalDriver::library_function(const runtime::LibraryCall& call,
                                                                 runtime::Autotuner& tuner) {
  return mps_ == nullptr ? Driver::library_function(call, tuner) : mps_->function(call);
}

void MetalDriver::submit(std::span<const Command> commands) {
  if (capture_ != nullptr && !commands.empty() && capture_->take()) {
    submit_captured(commands);
  } else {
    submit_groups(commands);
  }
}

void MetalDriver::submit_captured(std::span<const Command> commands) {
  // What came before is not part of it.
  stream_.commit();
  barriers_.clear();
  capture_->start(device_.get());
  try {
    submit_groups(commands);
    wait();
  } catch (...) {
    stream_.commit();
    capture_->stop();
    throw;
  }
  capture_->stop();
}

void MetalDriver::submit_groups(std::span<const Command> commands) {
  const AutoreleasePool pool(*objc_);
  Load left;
  for (const Command& command : commands) left += load_of(command);
  std::int64_t times = 1;
  while (!commands.empty()) {
    const auto end = std::find_if(commands.begin(), commands.end(), [&](const Command& command) {
      return command.group != commands.front().group;
    });
    const auto count = static_cast<std::size_t>(end - commands.begin());
    submit_group(commands.first(count), left);
    commands = commands.subspan(count);
    // What is left has to be worth a command buffer too, unless nothing is.
    const bool fills = commands.empty()
                           ? stream_.fills(stream_.encoded())
                           : stream_.fills(stream_.encoded(), times) && stream_.fills(left);
    if (!fills && !stream_.is_long(stream_.encoded())) continue;
    // Between groups only: what runs in the next encoder then follows all that barriers_ knew of.
    stream_.commit();
    barriers_.clear();
    times = kLaterBuffers;
  }
}

void MetalDriver::submit_group(std::span<const Command> group, Load& left) {
  places_.clear();
  for (const Command& command : group) find_places(command);
  // Kernels first: calls end their encoder.
  const bool has_kernels = !std::all_of(group.begin(), group.end(), is_call);
  const Id encoder = has_kernels ? stream_.encoder() : nullptr;
  if (has_kernels) wait_for_earlier(encoder);
  for (const bool calls : {false, true}) {
    const BufferPlace* places = places_.data();
    for (const Command& command : group) {
      if (is_call(command) == calls) {
        const Load load = load_of(command);
        if (calls) {
          encode_call(command, places);
        } else {
          encode(encoder, command, places);
          stream_.note(kernel_of(command).shared_name(), load);
        }
        left.commands -= load.commands;
        left.bytes -= load.bytes;
      }
      places += command.arguments.size();
    }
  }
}

void MetalDriver::encode_call(const Command& command, const BufferPlace* places) {
  const auto& call = static_cast<const MpsCall&>(*command.function);
  barriers_.clear();  // the next encoder follows all before
  stream_.encode_call(call.shared_name(), load_of(command),
                      [&](Id buffer) { call.encode(buffer, places); });
}

BufferPlace MetalDriver::place_of(const Argument& argument) {
  if (argument.constant != nullptr) return {};
  if (argument.bytes > 0) return buffers_.find(argument.address, argument.bytes);
  if (nothing_ == nullptr) nothing_ = buffers_.allocate(16);
  return buffers_.find(nothing_, 0);
}

void MetalDriver::find_places(const Command& command) {
  if (is_call(command)) {
    for (const Argument& argument : command.arguments) places_.push_back(place_of(argument));
    return;
  }
  const MetalKernel& kernel = kernel_of(command);
  const std::vector<bool>& writes = kernel.writes();
  std::size_t front = 0, members = 1;
  if (kernel.bindings().is_batch) {
    if (command.arguments.empty() || command.arguments[0].constant == nullptr) {
      fail(command, "a batch without its table");
    }
    std::uint32_t count = 0;
    std::memcpy(&count, command.arguments[0].constant, sizeof count);
    if (count > static_cast<std::uint32_t>(kernel.source()->members)) {
      fail(command, "a batch of too many members");
    }
    front = 1;
    members = count;
    places_.emplace_back();
  }
  if (command.arguments.size() != front + members * writes.size()) {
    fail(command, command.arguments.size() < front + members * writes.size()
                      ? "too few arguments"
                      : "too many arguments");
  }
  for (std::size_t i = front; i < command.arguments.size();) {
    for (std::size_t k = 0; k < writes.size(); ++k, ++i) {
      const Argument& argument = command.arguments[i];
      const BufferPlace& place = places_.emplace_back(place_of(argument));
      if (argument.constant == nullptr && argument.bytes > 0) {
        barriers_.use(place.buffer, writes[k]);
      }
    }
  }
}

void MetalDriver::wait_for_earlier(Id encoder) {
  const std::vector<Id>& waits = barriers_.end_group();
  if (waits.empty()) return;
  if (waits.size() > Barriers::kFew) {
    objc_->send(encoder, messages::barrier_scope, kBufferScope);
  } else {
    objc_->send(encoder, messages::barrier_resources, waits.data(), waits.size());
  }
}

void MetalDriver::set_buffer(Id encoder, const BufferPlace& place, UInteger index) {
  if (stream_.bound().has_buffer(place.buffer, place.offset, index)) return;
  objc_->send(encoder, messages::set_buffer, place.buffer, place.offset, index);
  stream_.bound().set_buffer(place.buffer, place.offset, index);
}

void MetalDriver::set_bytes(Id encoder, const void* bytes, std::int64_t count, UInteger index) {
  stream_.bound().set_buffer(nullptr, 0, index);
  objc_->send(encoder, messages::set_bytes, bytes, static_cast<UInteger>(count), index);
}

std::byte* MetalDriver::set_large(Id encoder, std::int64_t bytes, UInteger index) {
  const ArgumentRing::Piece piece = ring_.take(bytes);
  set_buffer(encoder, piece.place, index);
  return piece.bytes;
}

void MetalDriver::set_batch(Id encoder, const Command& command, const BufferPlace* places) {
  const MetalKernel& kernel = kernel_of(command);
  const std::vector<bool>& writes = kernel.writes();
  ReachedBuffers& reached = stream_.reached();
  for (std::size_t i = 1; i < command.arguments.size();) {
    for (std::size_t k = 0; k < writes.size(); ++k, ++i) {
      if (places[i].buffer != nullptr) reached.add(places[i].buffer, writes[k]);
    }
  }
  reached.tell(encoder);
  const runtime::KernelSource& source = *kernel.source();
  const std::int64_t bytes = runtime::batch_bytes(source, command);
  alignas(16) std::byte few[kInlineBytes];
  std::byte* const target = bytes > kInlineBytes ? set_large(encoder, bytes, 0) : few;
  runtime::pack_batch(source, command, target,
                      [&](std::size_t i) { return places[i].gpu_address; });
  if (target != few) return;
  set_bytes(encoder, few, bytes, 0);
}

void MetalDriver::encode(Id encoder, const Command& command, const BufferPlace* places) {
  const MetalKernel& kernel = kernel_of(command);
  const Bindings& bindings = kernel.bindings();
  if (command.threads.product() > kernel.max_threads()) {
    throw Error(ErrorCode::unsupported,
                "metal: kernel " + kernel.name() + ": too large a threadgroup for " +
                    properties_.name + "; got " + std::to_string(command.threads.product()) +
                    " threads, expected at most " + std::to_string(kernel.max_threads()));
  }
  if (!stream_.bound().has_pipeline(kernel.pipeline())) {
    objc_->send(encoder, messages::set_pipeline, kernel.pipeline());
    stream_.bound().set_pipeline(kernel.pipeline());
  }
  if (bindings.is_batch) set_batch(encoder, command, places);
  for (std::size_t i = 0; i < bindings.buffers.size() && !bindings.is_batch; ++i) {
    const Argument& argument = command.arguments[i];
    const UInteger index = bindings.buffers[i];
    if (argument.constant == nullptr) {
      set_buffer(encoder, places[i], index);
    } else if (argument.bytes <= kInlineBytes) {
      set_bytes(encoder, argument.constant, argument.bytes, index);
    } else {
      std::memcpy(set_large(encoder, argument.bytes, index), argument.constant,
                  static_cast<std::size_t>(argument.bytes));
    }
  }
  for (const auto& [index, bytes] : bindings.threadgroup) {
    objc_->send(encoder, messages::set_threadgroup_memory, bytes, index);
  }
  if (bindings.takes_grid) {
    runtime::Size3 grid;
    std::memcpy(&grid, command.arguments.back().constant, sizeof grid);
    objc_->send(encoder, messages::dispatch_threads, size_of(grid), size_of(command.threads));
  } else {
    objc_->send(encoder, messages::dispatch_groups, size_of(command.groups),
                size_of(command.threads));
  }
}

void MetalDriver::copy_to_device(Address target, const void* source, std::int64_t bytes) {
  if (bytes <= 0) return;
  if (stream_.is_idle()) {
    buffers_.find(target, bytes);
    std::memcpy(target, source, static_cast<std::size_t>(bytes));
    return;
  }
  const Address copy = buffers_.allocate(bytes);
  std::memcpy(copy, source, static_cast<std::size_t>(bytes));
  copy_on_device(target, copy, bytes);
  buffers_.free(copy);
}

void MetalDriver::copy_on_device(Address target, Address source, std::int64_t bytes) {
  copies_.copy(target, source, bytes);
}

void MetalDriver::fill(Address target, std::uint8_t value, std::int64_t bytes) {
  if (bytes <= 0) return;
  if (stream_.is_idle()) {
    buffers_.find(target, bytes);
    std::memset(target, value, static_cast<std::size_t>(bytes));
    return;
  }
  copies_.fill(target, value, bytes);
}

void MetalDriver::wait() {
  barriers_.clear();
  struct Settled {
    Buffers& buffers;
    ~Settled() { buffers.settle(); }  // all is done, also where something failed
  } const settled{buffers_};
  stream_.wait();
}

void MetalDriver::copy_to_host(void* target, Address source, std::int64_t bytes) {
  wait();
  if (bytes <= 0) return;
  buffers_.find(source, bytes);
  std::memcpy(target, source, static_cast<std::size_t>(bytes));
}

std::unique_ptr<runtime::Executable> MetalDriver::instantiate(std::span<const Command> commands) {
  return std::make_unique<RecordedCommands>(commands);
}

void MetalDriver::launch(runtime::Executable& executable) {
  submit(static_cast<RecordedCommands&>(executable).commands());
}

std::optional<double> MetalDriver::time_batch(std::span<const Command> commands) {
  wait();
  submit_groups(commands);
  const double seconds = stream_.wait();
  wait();  // what else ends with queued work
  return seconds;
}

std::vector<double> MetalDriver::time(std::span<const Command> commands) {
  wait();
  std::vector<double> seconds;
  for (const Command& command : commands) {
    submit_groups({&command, 1});
    barriers_.clear();
    seconds.push_back(stream_.wait());
  }
  return seconds;
}

}  // namespace hearth::metal
