#include "codegen/host_build.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "codegen/kept_results.h"

namespace hearth::gpu_test {
namespace {

namespace fs = std::filesystem;

struct Run {
  int status = -1;
  std::string output;
};

Run run(const std::string& command) {
  Run result;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return result;
  std::array<char, 4096> buffer;
  while (const std::size_t count = fread(buffer.data(), 1, buffer.size(), pipe)) {
    result.output.append(buffer.data(), count);
  }
  const int status = pclose(pipe);
  if (WIFEXITED(status)) result.status = WEXITSTATUS(status);
  return result;
}

// A new file name that no other process uses.
fs::path temporary(const std::string& extension) {
  static int count = 0;
  return fs::temp_directory_path() /
         ("hearth_kernel_" + std::to_string(getpid()) + "_" + std::to_string(++count) + extension);
}

// What clang says of it, warnings included.
std::string parsed(const std::string& text, const std::string& language) {
  static const std::string version = run(clang() + " --version").output;
  const std::string command = clang() + " " + language +
                              " -fsyntax-only -Wall -Wextra -Wdouble-promotion -Werror"
                              " -Wno-unused-parameter -Wno-unused-function -Wno-unknown-pragmas "
                              "-Wno-undefined-internal ";
  const std::string key = version + command + "\n" + text;
  if (kept_result(key)) return "";
  const fs::path source = temporary(".cc");
  std::ofstream(source) << text;
  const Run checked = run(command + source.string());
  fs::remove(source);
  if (checked.status == 0) keep_result(key, "");
  return checked.status == 0 ? "" : checked.output;
}

}  // namespace

const std::string& clang() {
  static const std::string name = [] {
    const char* chosen = std::getenv("HEARTH_CLANG");
    return std::string(chosen != nullptr ? chosen : "clang++-19");
  }();
  return name;
}

std::string compiler_missing(const std::string& compiler) {
  if (run(compiler + " --version").status == 0) return {};
  return compiler + " does not run: scripts/bootstrap installs it";
}

std::string lint(const std::string& text) { return parsed(text, "-std=c++14"); }

std::string lint_without_bfloat(std::string text, const std::string& bfloat) {
  const std::size_t end_of_prelude = text.find("#line 1 \"kernels/prelude/ctx.h\"");
  EXPECT_NE(end_of_prelude, std::string::npos);
  text.insert(end_of_prelude, "#define __METAL_VERSION__ 300\n" + bfloat);
  return parsed(text, "-x cl -cl-std=clc++2021 --target=spir64 -cl-no-stdinc");
}

HostLibrary::HostLibrary(const std::string& text, const std::string& compiler,
                         const std::string& options) {
  const fs::path source = temporary(".cc");
  const fs::path library = temporary(".so");
  std::ofstream(source) << text;
  const Run built =
      run(compiler + " -std=c++20 -fPIC -shared -ffp-contract=off -fwrapv -fsigned-char " +
          "-fno-strict-aliasing " + options + " " + source.string() + " -o " + library.string());
  EXPECT_EQ(built.status, 0) << built.output;
  if (built.status == 0) {
    handle_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(handle_, nullptr) << dlerror();
  }
  fs::remove(source);
  fs::remove(library);
}

HostLibrary::~HostLibrary() {
  if (handle_ != nullptr) dlclose(handle_);
}

void* HostLibrary::symbol(const std::string& name) const {
  void* found = handle_ == nullptr ? nullptr : dlsym(handle_, name.c_str());
  EXPECT_NE(found, nullptr) << "the library does not export " << name;
  return found;
}

HearthKernel HostLibrary::kernel(const std::string& name) const {
  return reinterpret_cast<HearthKernel>(symbol(name));
}
HearthThreadgroupBytes HostLibrary::threadgroup_bytes(const std::string& name) const {
  return reinterpret_cast<HearthThreadgroupBytes>(symbol(name + "_threadgroup_bytes"));
}
void HostLibrary::set_simulator(const HearthSimulator* simulator) const {
  if (void* table = symbol("hearth_simulator")) {
    *static_cast<const HearthSimulator**>(table) = simulator;
  }
}

}  // namespace hearth::gpu_test
