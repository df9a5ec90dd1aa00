#include "codegen/nvrtc_compiler.h"

#include <dlfcn.h>

#include <cstdlib>
#include <vector>

#include "codegen/kept_results.h"
#include "devices/cuda/driver/compile/nvrtc.h"

namespace hearth::gpu_test {
namespace {

using cuda::NvrtcApi;

struct Compiler {
  NvrtcApi api{};
  std::string missing;
  std::string version;
};

template <class F>
void find(void* library, const char* name, F** function) {
  *function = reinterpret_cast<F*>(dlsym(library, name));
}

const Compiler& compiler() {
  static const Compiler loaded = [] {
    Compiler made;
    cuda::Places places = cuda::Places::from_environment();
    if (const char* root = std::getenv("HEARTH_SOURCE_DIR")) {
      places.virtual_env = std::string(root) + "/.venv";
    }
    std::vector<std::string> notes;
    // Hearth's own compiler says nothing of registers and spills, but knows where the library is.
    const auto own = cuda::Nvrtc::open(places, 13000, notes);
    if (own == nullptr) {
      made.missing = notes.empty() ? "no NVRTC" : notes.back();
      return made;
    }
    made.version = own->version();
    void* library = dlopen("libnvrtc.so.13", RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) library = dlopen("libnvrtc.so.12", RTLD_NOW | RTLD_NOLOAD);
    find(library, "nvrtcCreateProgram", &made.api.nvrtcCreateProgram);
    find(library, "nvrtcCompileProgram", &made.api.nvrtcCompileProgram);
    find(library, "nvrtcGetProgramLogSize", &made.api.nvrtcGetProgramLogSize);
    find(library, "nvrtcGetProgramLog", &made.api.nvrtcGetProgramLog);
    find(library, "nvrtcGetPTXSize", &made.api.nvrtcGetPTXSize);
    find(library, "nvrtcGetPTX", &made.api.nvrtcGetPTX);
    find(library, "nvrtcDestroyProgram", &made.api.nvrtcDestroyProgram);
    return made;
  }();
  return loaded;
}

// From the first to the second, which may be missing; empty without the first.
std::string between(const std::string& text, const std::string& first, const std::string& second) {
  const std::size_t begin = text.find(first);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find(second, begin + first.size()) - begin);
}

// A build that succeeded as a text: the length of its log, the log, the PTX.
std::string to_text(const CudaBuild& build) {
  return std::to_string(build.log.size()) + "\n" + build.log + build.ptx;
}

CudaBuild from_text(const std::string& text) {
  const std::size_t log = text.find('\n') + 1, size = std::stoul(text);
  return {true, text.substr(log, size), text.substr(log + size)};
}

CudaBuild compile(const std::string& text, const std::vector<const char*>& options) {
  const NvrtcApi& api = compiler().api;
  CudaBuild build;
  NvrtcApi::Program program{};
  if (api.nvrtcCreateProgram(&program, text.c_str(), "kernel.cu", 0, nullptr, nullptr) !=
      NvrtcApi::Result::success) {
    return build;
  }
  build.ok = api.nvrtcCompileProgram(program, static_cast<int>(options.size()), options.data()) ==
             NvrtcApi::Result::success;
  std::size_t size = 0;
  api.nvrtcGetProgramLogSize(program, &size);
  build.log.resize(size);
  api.nvrtcGetProgramLog(program, build.log.data());
  if (build.ok) {
    api.nvrtcGetPTXSize(program, &size);
    build.ptx.resize(size);
    api.nvrtcGetPTX(program, build.ptx.data());
  }
  api.nvrtcDestroyProgram(&program);
  return build;
}

}  // namespace

const std::string& nvrtc_missing() { return compiler().missing; }

CudaBuild nvrtc_compile(const std::string& text, const std::string& architecture) {
  const std::string target = "--gpu-architecture=" + architecture;
  const std::vector<const char*> options = {"-default-device", "--std=c++20", "--fmad=false",
                                            target.c_str(), "--ptxas-options=-v"};
  std::string key = compiler().version;
  for (const char* option : options) key += std::string(" ") + option;
  key += "\n" + text;
  if (const auto kept = kept_result(key)) return from_text(*kept);
  CudaBuild build = compile(text, options);
  if (build.ok) keep_result(key, to_text(build));
  return build;
}

CudaBuild kernel_of(const CudaBuild& program, const std::string& name) {
  const std::string compiling = "Compiling entry function '";
  CudaBuild build;
  build.log = between(program.log, compiling + name + "'", compiling);
  build.ptx = between(program.ptx, ".entry " + name + "(", "\n}\n");
  build.ok = program.ok && !build.log.empty() && !build.ptx.empty();
  return build;
}

}  // namespace hearth::gpu_test
