#include "devices/cuda/driver/compile/nvrtc.h"

#include <algorithm>
#include <array>

#include "hearth/error.h"

namespace hearth::cuda {
namespace {

using Program = NvrtcApi::Program;
using NvrtcResult = NvrtcApi::Result;

// An option, and the release that it came with.
struct Option {
  const char* text;
  int since;
};
// Everything in the text runs on the device; a * b + c is contracted where the planner says so and
// nowhere else. Textures, kernels started by kernels and the like are not declared, which saves the
// time to read that; the compiler keeps no images of its own, since the kernel registry does.
constexpr std::array kOptions{Option{"--device-as-default-execution-space", 0},
                              Option{"--std=c++20", 0}, Option{"--fmad=false", 0},
                              Option{"--minimal", 12040}, Option{"--no-cache", 12090}};

Library find_library(const Places& places, int driver_version, std::vector<std::string>& notes) {
  const ToolkitNames names("libnvrtc", driver_version);
  // A driver newer than all of them runs what they compile.
  const std::vector<std::string> folders = search_folders(places);
  const Library library = open_library(names.fitting, folders, notes);
  return library ? library : open_library(names.newer, folders, notes);
}

// The compiler opens this part of itself by name, which the loader does not find beside a library
// that it was given by path. It does find what is open already.
void open_builtins(const Library& library, int major, int minor, std::vector<std::string>& notes) {
  const std::size_t slash = library.path().rfind('/');
  if (slash == std::string::npos) return;
  const std::array names{"libnvrtc-builtins.so." + std::to_string(major) + "." +
                         std::to_string(minor)};
  open_library(names, {library.path().substr(0, slash)}, notes);
}

// A program of the compiler, which has to be given back.
class Compilation {
 public:
  Compilation(const NvrtcApi& api, const std::string& text, const std::string& name)
      : api_(api), name_(name) {
    check(api_.nvrtcCreateProgram(&program_, text.c_str(), (name + ".cu").c_str(), 0, nullptr,
                                  nullptr),
          "nvrtcCreateProgram");
  }
  ~Compilation() {
    if (program_ != nullptr) api_.nvrtcDestroyProgram(&program_);
  }
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  void run(std::vector<const char*> options, const std::string& architecture) {
    const std::string option = "--gpu-architecture=" + architecture;
    options.push_back(option.c_str());
    const NvrtcResult result =
        api_.nvrtcCompileProgram(program_, static_cast<int>(options.size()), options.data());
    if (result == NvrtcResult::success) return;
    throw Error(ErrorCode::device, "cuda: kernel " + name_ + " does not compile for " +
                                       architecture + "; got " + api_.nvrtcGetErrorString(result) +
                                       ", expected machine code\n" + log());
  }

  using Size = NvrtcResult (*)(Program, std::size_t*);
  using Get = NvrtcResult (*)(Program, char*);
  std::vector<std::byte> image(Size size, Get get, const char* call) const {
    std::size_t bytes = 0;
    check(size(program_, &bytes), call);
    std::vector<std::byte> image(bytes);
    check(get(program_, reinterpret_cast<char*>(image.data())), call);
    return image;
  }

 private:
  std::string log() const {
    std::size_t bytes = 0;
    if (api_.nvrtcGetProgramLogSize(program_, &bytes) != NvrtcResult::success || bytes == 0)
      return "";
    std::string text(bytes, '\0');
    if (api_.nvrtcGetProgramLog(program_, text.data()) != NvrtcResult::success) return "";
    text.pop_back();  // its terminator
    return text;
  }
  void check(NvrtcResult result, const char* call) const {
    if (result == NvrtcResult::success) return;
    throw Error(ErrorCode::device, "cuda: kernel " + name_ + " does not compile; got " +
                                       api_.nvrtcGetErrorString(result) + " from " + call +
                                       ", expected success");
  }

  const NvrtcApi& api_;
  const std::string& name_;
  Program program_ = nullptr;
};

}  // namespace

std::shared_ptr<const Nvrtc> Nvrtc::open(const Places& places, int driver_version,
                                         std::vector<std::string>& notes) {
  const Library library = find_library(places, driver_version, notes);
  if (!library) {
    notes.emplace_back(
        "no CUDA compiler: libnvrtc was not found; `pip install nvidia-cuda-nvrtc` brings it, and "
        "HEARTH_CUDA_PATH may name its folder");
    return nullptr;
  }
  NvrtcApi api{};
  FunctionLookup find(library);
#define HEARTH_FUNCTION(result, name, parameters) find(#name, api.name);
#include "devices/cuda/nvrtc_functions.def"
#undef HEARTH_FUNCTION
  if (!find.missing().empty()) {
    notes.push_back("the CUDA compiler is too old: libnvrtc has no " + find.missing());
    return nullptr;
  }
  int major = 0;
  int minor = 0;
  int count = 0;
  std::vector<int> architectures;
  bool works = api.nvrtcVersion(&major, &minor) == NvrtcResult::success &&
               api.nvrtcGetNumSupportedArchs(&count) == NvrtcResult::success && count > 0;
  if (works) {
    architectures.resize(static_cast<std::size_t>(count));
    works = api.nvrtcGetSupportedArchs(architectures.data()) == NvrtcResult::success;
  }
  if (!works) {
    notes.emplace_back("the CUDA compiler does not work: libnvrtc does not tell its version");
    return nullptr;
  }
  open_builtins(library, major, minor, notes);
  std::sort(architectures.begin(), architectures.end());
  std::string version = "nvrtc " + std::to_string(major) + "." + std::to_string(minor);
  notes.push_back("CUDA compiler " + version);
  const int release = 1000 * major + 10 * minor;
  std::vector<const char*> options;
  for (const Option& option : kOptions) {
    if (release >= option.since) options.push_back(option.text);
  }
  for (const char* option : options) version += std::string(" ") + option;
  return std::shared_ptr<const Nvrtc>(
      new Nvrtc(api, std::move(version), release, std::move(architectures), std::move(options)));
}

std::vector<std::byte> Nvrtc::compile(const std::string& text, const std::string& name,
                                      int capability) const {
  const auto newer = std::upper_bound(architectures_.begin(), architectures_.end(), capability);
  if (newer == architectures_.begin()) {
    throw Error(ErrorCode::unsupported,
                "cuda: the card is too old for the compiler; got compute capability " +
                    std::to_string(capability) + ", expected at least " + std::to_string(oldest()));
  }
  const int nearest = *(newer - 1);
  Compilation compilation(api_, text, name);
  if (nearest == capability) {
    compilation.run(options_, "sm_" + std::to_string(nearest));
    return compilation.image(api_.nvrtcGetCUBINSize, api_.nvrtcGetCUBIN, "nvrtcGetCUBIN");
  }
  compilation.run(options_, "compute_" + std::to_string(nearest));
  return compilation.image(api_.nvrtcGetPTXSize, api_.nvrtcGetPTX, "nvrtcGetPTX");
}

}  // namespace hearth::cuda
