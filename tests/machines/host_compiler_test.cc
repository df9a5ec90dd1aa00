// What the simulator's compiler makes of texts that begin alike.
#include "devices/sim/host_compiler.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>

#include "codegen/kernel_text.h"
#include "devices/sim/host_process.h"
#include "error_text.h"

namespace hearth::sim {
namespace {

std::string numbered(const std::string& beginning, const std::string& number) {
  return beginning + std::string(gpu::kOwnText) +
         "#line 1 \"numbered\"\nextern \"C\" __attribute__((visibility(\"default\"))) int number() "
         "{\n  return " +
         number + ";\n}\n";
}

// What number() of the library returns.
int number_of(const std::string& text, HostOptions options) {
  const std::vector<std::byte> bytes = compile_for_host("numbered", text, options);
  const TemporaryFolder folder;
  std::string library(bytes.size(), '\0');
  std::memcpy(library.data(), bytes.data(), bytes.size());
  write_file(folder.file("numbered.so"), library);
  void* const handle = dlopen(folder.file("numbered.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(handle, nullptr) << dlerror();
  if (handle == nullptr) return -1;
  const int number = reinterpret_cast<int (*)()>(dlsym(handle, "number"))();
  dlclose(handle);
  return number;
}

// A file that the beginning reads is not read again.
TEST(HostCompiler, WhatManyTextsBeginWithIsCompiledOnce) {
  for (const bool checked : {false, true}) {
    const HostOptions options{.checked = checked};
    const TemporaryFolder folder;
    write_file(folder.file("seven.h"), "static inline int seven() { return 7; }\n#define TEN 10\n");
    const std::string beginning = "#include \"" + folder.file("seven.h") + "\"\n";
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(number_of(numbered(beginning, "seven() + " + std::to_string(i)), options), 7 + i);
    }
    write_file(folder.file("seven.h"), "#error read again\n");
    EXPECT_EQ(number_of(numbered(beginning, "seven() * TEN"), options), 70);
    EXPECT_EQ(number_of(numbered(beginning, "seven() - TEN"), options), -3);
    // Another beginning is compiled itself.
    EXPECT_EQ(number_of(numbered("#define TEN 11\n", "TEN"), options), 11);
    const std::string message = check::error_of(ErrorCode::device, [&] {
      number_of(numbered("#define OTHER\n" + beginning, "seven()"), options);
    });
    EXPECT_TRUE(check::contains(message, "read again")) << message;
  }
}

TEST(HostCompiler, MistakesAreToldWhereverTheyAre) {
  for (int i = 0; i < 5; ++i) {
    const std::string early = check::error_of(ErrorCode::device, [] {
      number_of(numbered("#line 1 \"early\"\nint unknown = absent;\n", "1"), {});
    });
    EXPECT_TRUE(check::contains(early, "kernel 'numbered' does not compile: early:1:")) << early;
    const std::string late = check::error_of(
        ErrorCode::device, [] { number_of(numbered("#define ONE 1\n", "ONE + absent"), {}); });
    EXPECT_TRUE(check::contains(late, "numbered:2:")) << late;
  }
}

}  // namespace
}  // namespace hearth::sim
