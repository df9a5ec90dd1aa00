#include "devices/cuda/driver/compile/cuda_module.h"

#include <array>
#include <cstring>

#include "hearth/error.h"
#include "runtime/compile/source_hash.h"

namespace hearth::cuda {
namespace {

template <class T>
T read(std::span<const std::byte> bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// An ELF file of 64 bits that contains the tables that its header names. They lie after all code.
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

[[noreturn]] void refuse(const std::string& kernel, const std::string& got) {
  throw Error(ErrorCode::corrupt_file, "cuda: the image of kernel " + kernel +
                                           " cannot be loaded; got " + got +
                                           ", expected code for this card");
}

}  // namespace

CudaModule::CudaModule(Context& context, const std::string& kernel,
                       std::span<const std::byte> image)
    : context_(context) {
  if (!is_whole(image)) refuse(kernel, std::to_string(image.size()) + " bytes that are not whole");
  const Context::Scope scope(context, Context::Use::call);
  std::array<char, 4096> log{};
  std::array options{JitOption::error_log_buffer, JitOption::error_log_buffer_size_bytes};
  std::array<void*, 2> values{log.data(), reinterpret_cast<void*>(log.size() - 1)};
  check(kernel,
        context.api().cuModuleLoadDataEx(&module_, image.data(), options.size(), options.data(),
                                         values.data()),
        "cuModuleLoadDataEx", log.data());
}

CudaModule::~CudaModule() {
  if (!context_.drain()) return;
  try {
    const Context::Scope scope(context_, Context::Use::call);
    context_.api().cuModuleUnload(module_);
  } catch (const std::exception&) {
    // The driver's library is gone, and the module with it.
  }
}

FunctionHandle CudaModule::function(const std::string& kernel) const {
  FunctionHandle found = nullptr;
  check(kernel, context_.api().cuModuleGetFunction(&found, module_, kernel.c_str()),
        "cuModuleGetFunction", "");
  return found;
}

void CudaModule::check(const std::string& kernel, Result result, const char* call,
                       const char* log) const {
  if (is_fault_of_image(result)) {
    refuse(kernel, describe(context_.api(), result) + " from " + call +
                       (*log == 0 ? "" : std::string(": ") + log));
  }
  context_.check(result, call);
}

std::shared_ptr<const CudaModule> CudaModules::load(const std::string& kernel,
                                                    std::span<const std::byte> image) {
  const Key key{image.size(), runtime::checksum(image.data(), image.size())};
  const std::lock_guard lock(mutex_);
  std::erase_if(modules_, [](const auto& known) { return known.second.expired(); });
  std::weak_ptr<const CudaModule>& known = modules_[key];
  if (auto module = known.lock()) return module;
  auto module = std::make_shared<const CudaModule>(context_, kernel, image);
  known = module;
  return module;
}

}  // namespace hearth::cuda
