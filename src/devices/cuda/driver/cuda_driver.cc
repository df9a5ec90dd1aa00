#include "devices/cuda/driver/cuda_driver.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "codegen/kernel_programs.h"
#include "codegen/kernel_text.h"
#include "devices/cuda/driver/commands/cuda_graph.h"
#include "devices/cuda/driver/compile/cuda_kernel.h"
#include "devices/cuda/driver/stopwatch.h"
#include "hearth/error.h"

namespace hearth::cuda {
namespace {

using runtime::Command;
using Use = Context::Use;

DevicePointer device_pointer(Address address) {
  return static_cast<DevicePointer>(reinterpret_cast<std::uintptr_t>(address));
}

Address address_of(DevicePointer pointer) {
  return reinterpret_cast<Address>(static_cast<std::uintptr_t>(pointer));
}

void check(const DriverApi& api, Result result, const char* call) {
  if (result == Result::success) return;
  throw Error(ErrorCode::device, std::string("cuda: a card does not answer; got ") +
                                     describe(api, result) + " from " + call +
                                     ", expected success");
}

int attribute(const DriverApi& api, Card card, DeviceAttribute which) {
  int value = 0;
  check(api, api.cuDeviceGetAttribute(&value, which, card), "cuDeviceGetAttribute");
  return value;
}

// CUDA 12.1 took the limit from 4 KB to 32 KB, for cards since Volta.
std::int64_t most_argument_bytes(const DriverApi& api, const Nvrtc* compiler, int capability) {
  constexpr int kSince = 12010;
  const bool large = driver_version(api) >= kSince && compiler != nullptr &&
                     compiler->release() >= kSince && capability >= 70;
  return large ? 32764 : 4096;
}

}  // namespace

int compute_capability(const DriverApi& api, Card card) {
  return attribute(api, card, DeviceAttribute::compute_capability_major) * 10 +
         attribute(api, card, DeviceAttribute::compute_capability_minor);
}

// CUDA C++ Programming Guide, compute capabilities and arithmetic instructions.
constexpr int kThreadRegisters = 255;
constexpr int kBankBytes = 32 * 4;
bool is_half_wide(int capability) {
  return capability == 60 || (capability >= 70 && capability <= 80);
}

runtime::Properties card_properties(const DriverApi& api, Card card) {
  runtime::Properties properties;
  std::array<char, 256> name{};
  check(api, api.cuDeviceGetName(name.data(), static_cast<int>(name.size() - 1), card),
        "cuDeviceGetName");
  std::size_t bytes = 0;
  check(api, api.cuDeviceTotalMem_v2(&bytes, card), "cuDeviceTotalMem");
  properties.name = name.data();
  const int capability = compute_capability(api, card);
  properties.architecture = "sm_" + std::to_string(capability);
  properties.memory = static_cast<std::int64_t>(bytes);
  properties.processors = attribute(api, card, DeviceAttribute::multiprocessor_count);
  properties.processor_threads =
      attribute(api, card, DeviceAttribute::max_threads_per_multiprocessor);
  properties.processor_registers =
      attribute(api, card, DeviceAttribute::max_registers_per_multiprocessor);
  properties.processor_memory =
      attribute(api, card, DeviceAttribute::max_shared_memory_per_multiprocessor);
  properties.thread_registers = kThreadRegisters;
  properties.per_clock.multiply_adds = is_half_wide(capability) ? 64 : 128;
  properties.per_clock.threadgroup_bytes = kBankBytes;
  properties.max_threads = attribute(api, card, DeviceAttribute::max_threads_per_block);
  properties.threadgroup_memory =
      attribute(api, card, DeviceAttribute::max_shared_memory_per_block);
  properties.large_threadgroup_memory =
      attribute(api, card, DeviceAttribute::max_shared_memory_per_block_optin);
  properties.cache_bytes = attribute(api, card, DeviceAttribute::l2_cache_size);
  properties.has_f64 = gpu::has_f64(gpu::Target::cuda);
  properties.has_tile_products = capability >= 80;
  return properties;
}

CudaDriver::CudaDriver(std::shared_ptr<const DriverApi> api, Card card,
                       std::shared_ptr<const Nvrtc> compiler,
                       std::span<const LibraryMaker> libraries)
    : api_(std::move(api)),
      compiler_(std::move(compiler)),
      properties_(card_properties(*api_, card)),
      capability_(compute_capability(*api_, card)),
      argument_bytes_(most_argument_bytes(*api_, compiler_.get(), capability_)),
      context_(api_, card, properties_.name),
      staging_(context_),
      early_(context_),
      modules_(context_) {
  for (const LibraryMaker& make : libraries) libraries_.push_back(make(context_));
}

CudaDriver::~CudaDriver() { context_.drain(); }

Address CudaDriver::allocate(std::int64_t bytes) {
  if (bytes < 0) {
    throw Error(ErrorCode::invalid_argument, "cuda: allocate: negative size; got " +
                                                 std::to_string(bytes) + ", expected 0 or more");
  }
  const Context::Scope scope(context_, Use::call);
  DevicePointer pointer = 0;
  // The API refuses empty blocks.
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
  const Result result = api_->cuMemAlloc_v2(&pointer, size);
  if (result == Result::out_of_memory) {
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    api_->cuMemGetInfo_v2(&free_bytes, &total_bytes);
    throw Error(ErrorCode::out_of_memory,
                "cuda: " + properties_.name + " is out of memory; got a request of " +
                    std::to_string(bytes) + " bytes, expected at most " +
                    std::to_string(free_bytes) + " free of " + std::to_string(total_bytes));
  }
  context_.check(result, "cuMemAlloc");
  return address_of(pointer);
}

void CudaDriver::free(Address address) noexcept {
  if (address == nullptr || !context_.drain()) return;
  try {
    const Context::Scope scope(context_, Use::call);
    context_.check(api_->cuMemFree_v2(device_pointer(address)), "cuMemFree");
  } catch (const std::exception&) {
    // A fault is kept by the context, and thrown where an error can be.
  }
}

const Nvrtc& CudaDriver::compiler_for(const std::string& kernel) const {
  if (compiler_ != nullptr) return *compiler_;
  throw Error(ErrorCode::unsupported,
              "cuda: kernel " + kernel +
                  " cannot be compiled; got no NVRTC, expected its library beside the driver");
}

std::vector<std::byte> CudaDriver::compile(const runtime::KernelSource& source) {
  const Nvrtc& compiler = compiler_for(source.name);
  return compiler.compile(gpu::assemble(source, gpu::Target::cuda), source.name, capability_);
}

std::vector<std::vector<const runtime::KernelSource*>> CudaDriver::divide_among_programs(
    std::span<const runtime::KernelSource* const> sources, int threads) const {
  return gpu::divide_among_programs(sources, threads);
}

std::vector<std::byte> CudaDriver::compile_together(
    std::span<const runtime::KernelSource* const> sources) {
  const std::string name = sources.front()->name + "_and_others";
  return compiler_for(name).compile(gpu::assemble_together(sources), name, capability_);
}

std::string CudaDriver::compiler_version() const {
  if (compiler_ == nullptr) return "none";
  return compiler_->version() + " " + std::to_string(gpu::embedded_revision());
}

std::unique_ptr<runtime::Function> CudaDriver::load(const runtime::KernelSource& source,
                                                    std::span<const std::byte> image) {
  return std::make_unique<CudaKernel>(context_, source, modules_.load(source.name, image),
                                      properties_.large_threadgroup_memory);
}

runtime::LibraryTraits CudaDriver::libraries() const {
  runtime::LibraryTraits traits;
  for (const auto& library : libraries_) library->add_to(traits);
  return traits;
}

std::unique_ptr<runtime::Function> CudaDriver::library_function(const runtime::LibraryCall& call,
                                                                runtime::Autotuner& tuner) {
  for (const auto& library : libraries_) {
    if (auto made = library->function(call, tuner)) return made;
  }
  return Driver::library_function(call, tuner);
}

void CudaDriver::enqueue(const Command& command) {
  const CudaFunction& function = function_of(command);
  const std::string* name = function.remembered_name();
  context_.note_launches({&name, 1});
  function.enqueue(command, context_.stream());
}

void CudaDriver::submit(std::span<const Command> commands) {
  if (commands.empty()) return;
  const Context::Scope scope(context_, Use::queue);
  ++batches_;
  for (const Command& command : commands) {
    enqueue(command);
    if (command.early.bytes != 0) early_.keep(batches_, command.early);
  }
}

void CudaDriver::copy_to_device(Address target, const void* source, std::int64_t bytes) {
  if (bytes <= 0) return;
  const Context::Scope scope(context_, Use::queue);
  staging_.upload(device_pointer(target), static_cast<const std::byte*>(source), bytes);
}

void CudaDriver::copy_on_device(Address target, Address source, std::int64_t bytes) {
  if (bytes <= 0) return;
  const Context::Scope scope(context_, Use::queue);
  context_.check(api_->cuMemcpyDtoDAsync_v2(device_pointer(target), device_pointer(source),
                                            static_cast<std::size_t>(bytes), context_.stream()),
                 "cuMemcpyDtoDAsync");
}

void CudaDriver::fill(Address target, std::uint8_t value, std::int64_t bytes) {
  if (bytes <= 0) return;
  const Context::Scope scope(context_, Use::queue);
  context_.check(api_->cuMemsetD8Async(device_pointer(target), value,
                                       static_cast<std::size_t>(bytes), context_.stream()),
                 "cuMemsetD8Async");
}

void CudaDriver::copy_to_host(void* target, Address source, std::int64_t bytes) {
  const Context::Scope scope(context_, Use::call);  // what it queues is done when it returns
  if (bytes > 0) {
    staging_.download(static_cast<std::byte*>(target), device_pointer(source), bytes);
  }
  context_.wait();
}

void CudaDriver::wait() {
  const Context::Scope scope(context_, Use::call);
  context_.wait();
}

bool CudaDriver::read_early(std::int64_t batch, void* target, Address source, std::int64_t bytes) {
  const Context::Scope scope(context_, Use::call);
  return early_.read(batch, target, source, bytes);
}

std::unique_ptr<runtime::Executable> CudaDriver::instantiate(std::span<const Command> commands) {
  if (!runtime::are_recordable(commands)) return nullptr;
  const Context::Scope scope(context_, Use::call);
  return std::make_unique<CudaGraph>(context_, commands);
}

bool CudaDriver::update(runtime::Executable& executable, std::span<const Command> commands) {
  const Context::Scope scope(context_, Use::call);
  return static_cast<CudaGraph&>(executable).update(commands);
}

void CudaDriver::launch(runtime::Executable& executable) {
  const Context::Scope scope(context_, Use::queue);
  static_cast<CudaGraph&>(executable).launch(early_, ++batches_);
}

std::optional<double> CudaDriver::time_batch(std::span<const Command> commands) {
  const Context::Scope scope(context_, Use::call);
  for (const Command& command : commands) function_of(command).make_ready(command);
  context_.wait();
  ++batches_;
  Stopwatch stopwatch(context_);
  stopwatch.mark();
  for (const Command& command : commands) {
    enqueue(command);
    if (command.early.bytes != 0) early_.keep(batches_, command.early);
  }
  stopwatch.mark();
  context_.wait();
  return stopwatch.seconds().front();
}

std::vector<double> CudaDriver::time(std::span<const Command> commands) {
  const Context::Scope scope(context_, Use::queue);
  for (const Command& command : commands) function_of(command).make_ready(command);
  Stopwatch stopwatch(context_);
  stopwatch.mark();
  for (const Command& command : commands) {
    enqueue(command);
    stopwatch.mark();
  }
  context_.wait();
  return stopwatch.seconds();
}

}  // namespace hearth::cuda
