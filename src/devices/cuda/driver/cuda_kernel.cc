#include "devices/cuda/driver/cuda_kernel.h"

#include <array>
#include <cstdint>
#include <cstring>

#include "codegen/entry_stub.h"
#include "hearth/error.h"
#include "runtime/commands/batched_kernel.h"

namespace hearth::cuda {
namespace {

template <class T>
T read(std::span<const std::byte> bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// An ELF file of 64 bits that contains the tables that its header names. They lie behind all code.
bool is_whole_elf(std::span<const std::byte> image) {
  constexpr std::size_t kHeader = 64;
  if (image.size() < kHeader || read<std::uint8_t>(image, 4) != 2) return false;
  const auto contains = [&](std::uint64_t at, std::uint64_t size, std::uint64_t count) {
    return at <= image.size() && size * count <= image.size() - at;
  };
  return contains(read<std::uint64_t>(image, 32), read<std::uint16_t>(image, 54),
                  read<std::uint16_t>(image, 56)) &&
         contains(read<std::uint64_t>(image, 40), read<std::uint16_t>(image, 58),
                  read<std::uint16_t>(image, 60));
}

// The API takes no length: an image that was cut short would be read past its end.
bool is_whole(std::span<const std::byte> image) {
  constexpr std::array<unsigned char, 4> kElf{0x7f, 'E', 'L', 'F'};
  if (image.size() < kElf.size()) return false;
  if (std::memcmp(image.data(), kElf.data(), kElf.size()) == 0) return is_whole_elf(image);
  // PTX: text with one zero, at its end.
  return std::memchr(image.data(), 0, image.size()) == &image.back();
}

bool is_fault_of_image(Result result) {
  switch (result) {
    case Result::invalid_image:
    case Result::no_binary_for_gpu:
    case Result::invalid_ptx:
    case Result::unsupported_ptx_version:
    case Result::invalid_source:
    case Result::not_found:
      return true;
    default:
      return false;
  }
}

[[noreturn]] void refuse(const runtime::KernelSource& source, const std::string& got) {
  throw Error(ErrorCode::corrupt_file, "cuda: the image of kernel " + source.name +
                                           " cannot be loaded; got " + got +
                                           ", expected code for this card");
}

}  // namespace

CudaKernel::CudaKernel(Context& context, const runtime::KernelSource& source,
                       std::span<const std::byte> image, std::int64_t most_threadgroup_bytes)
    : CudaFunction(context, source) {
  if (!is_whole(image)) refuse(source, std::to_string(image.size()) + " bytes that are not whole");

  const Context::Scope scope(context, Context::Use::call);
  const DriverApi& api = context.api();
  std::array<char, 4096> log{};
  std::array options{JitOption::error_log_buffer, JitOption::error_log_buffer_size_bytes};
  std::array<void*, 2> values{log.data(), reinterpret_cast<void*>(log.size() - 1)};
  const auto check = [&](Result result, const char* call) {
    if (is_fault_of_image(result)) {
      refuse(source,
             describe(api, result) + " from " + call + (log[0] == 0 ? "" : ": ") + log.data());
    }
    context.check(result, call);
  };
  check(
      api.cuModuleLoadDataEx(&module_, image.data(), options.size(), options.data(), values.data()),
      "cuModuleLoadDataEx");
  try {
    check(api.cuModuleGetFunction(&function_, module_, source.name.c_str()), "cuModuleGetFunction");
    ask_for_threadgroup_memory(most_threadgroup_bytes);
  } catch (const Error&) {
    api.cuModuleUnload(module_);
    throw;
  }
}

void CudaKernel::ask_for_threadgroup_memory(std::int64_t most) {
  const std::int64_t bytes = gpu::large_arrays(*source()).bytes;
  if (bytes == 0) return;
  int own = 0;  // variables of its text
  const DriverApi& api = context().api();
  context().check(api.cuFuncGetAttribute(&own, FunctionAttribute::shared_size_bytes, function_),
                  "cuFuncGetAttribute");
  if (bytes + own > most) {
    throw Error(ErrorCode::unsupported, name() + ": too much threadgroup memory for " +
                                            context().name() + "; got " +
                                            std::to_string(bytes + own) +
                                            " bytes, expected at most " + std::to_string(most));
  }
  large_bytes_ = static_cast<unsigned>(bytes);
  context().check(
      api.cuFuncSetAttribute(function_, FunctionAttribute::max_dynamic_shared_size_bytes,
                             static_cast<int>(bytes)),
      "cuFuncSetAttribute");
}

CudaKernel::~CudaKernel() {
  if (!context().drain()) return;
  try {
    const Context::Scope scope(context(), Context::Use::call);
    context().api().cuModuleUnload(module_);
  } catch (const std::exception&) {
    // The driver's library is gone, and the module with it.
  }
}

void** CudaKernel::collect_arguments(const runtime::Command& command) const {
  check_arguments(command);
  values_.clear();
  if (source()->members > 0) {
    batch_ = runtime::pack_batch(*source(), command);
    values_.push_back(batch_.data());
    return values_.data();
  }
  for (const runtime::Argument& argument : command.arguments) {
    const void* value = argument.constant != nullptr ? argument.constant : &argument.address;
    values_.push_back(const_cast<void*>(value));  // the API only reads it
  }
  return values_.data();
}

void CudaKernel::enqueue(const runtime::Command& command, Stream stream) const {
  void** const values = collect_arguments(command);
  context().check(
      context().api().cuLaunchKernel(function_, command.groups.x, command.groups.y,
                                     command.groups.z, command.threads.x, command.threads.y,
                                     command.threads.z, large_bytes_, stream, values, nullptr),
      "cuLaunchKernel");
}

KernelNodeParameters CudaKernel::node_parameters(const runtime::Command& command) const {
  KernelNodeParameters node;
  node.function = function_;
  node.grid_x = command.groups.x;
  node.grid_y = command.groups.y;
  node.grid_z = command.groups.z;
  node.block_x = command.threads.x;
  node.block_y = command.threads.y;
  node.block_z = command.threads.z;
  node.shared_memory_bytes = large_bytes_;
  node.parameters = collect_arguments(command);
  return node;
}

GraphNode CudaKernel::add_node(const runtime::Command& command, Graph graph,
                               std::span<const GraphNode> after) const {
  const KernelNodeParameters parameters = node_parameters(command);
  GraphNode node = nullptr;
  context().check(context().api().cuGraphAddKernelNode_v2(&node, graph, after.data(), after.size(),
                                                          &parameters),
                  "cuGraphAddKernelNode");
  return node;
}

bool CudaKernel::set_node(const runtime::Command& command, GraphExec exec, GraphNode node) const {
  const KernelNodeParameters parameters = node_parameters(command);
  return check_update(context().api().cuGraphExecKernelNodeSetParams_v2(exec, node, &parameters),
                      "cuGraphExecKernelNodeSetParams");
}

}  // namespace hearth::cuda
