#include "codegen/nvrtc_compiler.h"

#include <dlfcn.h>

#include <cstdlib>
#include <vector>

#include "devices/cuda/driver/compile/nvrtc.h"

namespace hearth::gpu_test {
namespace {

using cuda::NvrtcApi;

struct Compiler {
  NvrtcApi api{};
  std::string missing;
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
    if (cuda::Nvrtc::open(places, 13000, notes) == nullptr) {
      made.missing = notes.empty() ? "no NVRTC" : notes.back();
      return made;
    }
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

}  // namespace

const std::string& nvrtc_missing() { return compiler().missing; }

CudaBuild nvrtc_compile(const std::string& text, const std::string& architecture) {
  const NvrtcApi& api = compiler().api;
  const std::string target = "--gpu-architecture=" + architecture;
  const char* options[] = {"-default-device", "--std=c++20", "--fmad=false", target.c_str(),
                           "--ptxas-options=-v"};
  CudaBuild build;
  NvrtcApi::Program program{};
  if (api.nvrtcCreateProgram(&program, text.c_str(), "kernel.cu", 0, nullptr, nullptr) !=
      NvrtcApi::Result::success) {
    return build;
  }
  build.ok = api.nvrtcCompileProgram(program, 5, options) == NvrtcApi::Result::success;
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

CudaBuild kernel_of(const CudaBuild& program, const std::string& name) {
  const std::string compiling = "Compiling entry function '";
  CudaBuild build;
  build.log = between(program.log, compiling + name + "'", compiling);
  build.ptx = between(program.ptx, ".entry " + name + "(", "\n}\n");
  build.ok = program.ok && !build.log.empty() && !build.ptx.empty();
  return build;
}

}  // namespace hearth::gpu_test
