#include "devices/sim/host_compiler.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <sstream>
#include <string_view>

#include "codegen/kernel_text.h"
#include "devices/sim/checker/access_hooks.h"
#include "devices/sim/host_process.h"
#include "devices/sim/initialisers.h"
#include "devices/sim/threads/fiber.h"
#include "hearth/error.h"
#include "runtime/device/environment.h"

namespace hearth::sim {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxName = 64;  // of a file: systems refuse names of 256

// What compilers call by themselves comes from the process. Any other function that a library does
// not define is an error (-z defs): nothing could interrupt a call of the system's. Not told to
// linkers of other formats than ELF.
#if defined(__ELF__)
constexpr std::string_view kLeftToTheProcess =
    "asm(\".weak memcpy, memmove, memset, memcmp, __stack_chk_fail\");\n";
#else
constexpr std::string_view kLeftToTheProcess;
#endif
constexpr const char* kLinkOptions[] = {
    "-shared",
    "-nostdlib",
#if defined(__ELF__)
    "-Wl,-z,defs",
#endif
};

// Neither the checks nor the time limit reach inline assembly, and Metal has none. Unlike a search
// for the words, this sees those that macros and joined lines make.
constexpr std::string_view kNoAssembly = "#pragma GCC poison asm __asm __asm__\n";

struct Compiler {
  std::string command;
  std::string version;                    // the first line that it says of itself
  std::vector<std::string> float16 = {};  // options for its _Float16; empty where it has none
};

// Empty where the command does not run.
std::string version_of(const std::string& command) {
  const TemporaryFolder folder;
  const std::string output = folder.file("version");
  if (run_program({command, "--version"}, output) != 0) return {};
  const std::string text = read_file(output);
  return text.substr(0, text.find('\n'));
}

bool is_clang(const Compiler& compiler) {
  return compiler.version.find("clang") != std::string::npos;
}

// What makes _Float16 round after each operation, if the compiler has both.
std::vector<std::string> float16_options(const Compiler& compiler) {
  const TemporaryFolder folder;
  const std::string source = folder.file("float16.cc");
  write_file(source, "_Float16 sum(_Float16 a, float b) { return a + b; }\n");
  const std::string option =
      is_clang(compiler) ? "-ffloat16-excess-precision=none" : "-fexcess-precision=16";
  if (run_program({compiler.command, "-std=c++20", option, "-fsyntax-only", source},
                  folder.file("messages")) != 0) {
    return {};
  }
  return {option, "-DHEARTH_HAS_FLOAT16=1"};
}

Compiler find_compiler() {
  const std::string& asked = runtime::environment().host_compiler;
  std::vector<std::string> commands = {HEARTH_SIM_COMPILER, "g++", "c++", "clang++"};
  if (!asked.empty()) commands = {asked};
  for (const std::string& command : commands) {
    const std::string version = version_of(command);
    if (version.empty()) continue;
    Compiler found{command, version};
    found.float16 = float16_options(found);
    return found;
  }
  throw Error(ErrorCode::unsupported,
              "sim: there is no host compiler; got " +
                  (commands.size() == 1 ? "HEARTH_HOST_COMPILER=" + commands[0]
                                        : std::string("none of g++, c++ and clang++ in PATH")) +
                  ", expected a g++ or clang++ that runs (HEARTH_HOST_COMPILER names one)");
}

const Compiler& compiler() {
  static const Compiler found = find_compiler();
  return found;
}

std::vector<std::string> options(HostOptions asked) {
  // As the prelude asks (kernels/prelude/host.h). Kernels read floats as vectors of floats.
  std::vector<std::string> words = {
      "-std=c++20", "-O1", "-w", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-fwrapv",
      "-fsigned-char", "-fno-strict-aliasing", "-fno-exceptions", "-fno-rtti", "-fno-math-errno",
      // Large frames touch the page below the stack.
      "-fstack-clash-protection"};
#if defined(__aarch64__)
  // Functions of libgcc for these come with an initialiser.
  words.push_back("-mno-outline-atomics");
#endif
#if defined(__x86_64__)
  // An fma is one instruction, with the same result as the function.
  if (__builtin_cpu_supports("fma")) words.push_back("-mfma");
  // So are conversions of halves.
  if (__builtin_cpu_supports("f16c")) words.push_back("-mf16c");
#endif
  words.insert(words.end(), compiler().float16.begin(), compiler().float16.end());
  const bool clang = is_clang(compiler());
  if (!clang) {
    // Calls of one simd operation stay one call: the simulator tells operations apart by that.
    words.push_back("-fno-thread-jumps");
    words.push_back("-fno-gnu-unique");
  }
  if (asked.debug) words.push_back("-g1");
  if (asked.checked) {
    words.push_back("-fsanitize=thread");
    if (asked.debug) {
      words.push_back(clang ? "-fsanitize=array-bounds,alignment" : "-fsanitize=bounds,alignment");
    }
    words.push_back("-DHEARTH_SIM_STACK_BYTES=" + std::to_string(Fiber::kStackBytes));
    if (clang) {
      // Else the read of x[i] += 1 goes unnoticed.
      words.insert(words.end(), {"-mllvm", "-tsan-instrument-read-before-write=1"});
    }
  }
  return words;
}

void compile(const std::string& kernel, std::vector<std::string> words,
             const TemporaryFolder& folder, double time_limit = 0) {
  words.insert(words.begin(), compiler().command);
  if (time_limit > 0) {
    // The system ends what the compiler starts, too.
    const std::string seconds = std::to_string(static_cast<std::int64_t>(std::ceil(time_limit)));
    const std::vector<std::string> limited = {"sh", "-c", "ulimit -t " + seconds + "; exec \"$@\"",
                                              "sh"};
    words.insert(words.begin(), limited.begin(), limited.end());
  }
  const std::string messages = folder.file("messages");
  if (run_program(words, messages) == 0) return;
  const std::string said = read_file(messages);
  const bool is_assembly = said.find("attempt to use") != said.npos &&
                           said.find("poisoned") != said.npos && said.find("asm") != said.npos;
  throw Error(ErrorCode::device, "sim: kernel '" + kernel + "' does not compile: " +
                                     (is_assembly ? "Metal has no inline assembly: " : "") + said);
}

// The same for all libraries, and slower to compile than most kernels.
const std::string& hooks_object() {
  static const std::string object = [] {
    const TemporaryFolder folder;
    const std::string source = folder.file("hooks.cc");
    const std::string made = folder.file("hooks.o");
    write_file(source, std::string(kLeftToTheProcess) + kAccessHooks);
    std::vector<std::string> words = options({true, false});
    // Without instrumentation, and the initialiser that comes with it.
    words.insert(words.end(), {"-fno-sanitize=thread", "-c", "-o", made, source});
    try {
      compile("access hooks", words, folder);
    } catch (const Error& error) {
      // The text is ours: no kernel is to blame.
      throw Error(ErrorCode::unsupported,
                  "sim: the host compiler does not compile what comes with Hearth; got " +
                      compiler().command +
                      ", expected a g++ or clang++ that works: " + error.what());
    }
    return read_file(made);
  }();
  return object;
}

// A file to be included for what a text says before its own (codegen/kernel_text.h), compiled when
// the third text of this process begins so, since it takes as long as two; until then, and where it
// does not compile, empty: texts are then compiled as they are.
std::string precompiled_beginning(std::string_view beginning, HostOptions asked) {
  constexpr int kUses = 3;
  struct Beginning {
    int uses = 0;
    std::string file;
  };
  if (is_clang(compiler()) || asked.debug) return {};
  static const TemporaryFolder folder;
  static std::mutex mutex;
  static std::map<std::pair<bool, std::string>, Beginning> beginnings;
  const std::lock_guard lock(mutex);
  Beginning& known = beginnings[{asked.checked, std::string(beginning)}];
  if (++known.uses != kUses) return known.file;
  static int count = 0;
  const std::string file = folder.file("beginning" + std::to_string(++count) + ".h");
  write_file(file, beginning);
  std::vector<std::string> words = {compiler().command};
  for (std::string& option : options(asked)) words.push_back(std::move(option));
  words.insert(words.end(), {"-x", "c++-header", "-o", file + ".gch", file});
  if (run_program(words, folder.file("messages")) == 0) known.file = file;
  return known.file;
}

}  // namespace

std::vector<std::byte> compile_for_host(const std::string& kernel, const std::string& text,
                                        HostOptions asked) {
  const TemporaryFolder folder;
  const std::string source = folder.file(kernel.substr(0, kMaxName) + ".cc");
  const std::string library = folder.file("kernel.so");
  std::vector<std::string> words = options(asked);
  const std::size_t own = text.find(gpu::kOwnText);
  const std::string beginning =
      own == text.npos ? "" : precompiled_beginning(std::string_view(text).substr(0, own), asked);
  if (beginning.empty()) {
    const std::size_t begin = own == text.npos ? 0 : own;
    write_file(source, std::string(kLeftToTheProcess)
                           .append(text, 0, begin)
                           .append(kNoAssembly)
                           .append(text, begin));
  } else {
    write_file(source, std::string(kLeftToTheProcess).append(kNoAssembly).append(text, own));
    words.insert(words.end(), {"-include", beginning});
  }
  words.insert(words.end(), std::begin(kLinkOptions), std::end(kLinkOptions));
  words.insert(words.end(), {"-o", library, source});
  if (asked.checked) {
    words.push_back(folder.file("hooks.o"));
    write_file(words.back(), hooks_object());
  }
  words.insert(words.end(), {"-lm", "-lgcc"});
  compile(kernel, words, folder, asked.time_limit);
  const std::string bytes = read_file(library);
  std::vector<std::byte> made(bytes.size());
  std::memcpy(made.data(), bytes.data(), bytes.size());
  // A constant that takes more than a constant expression is for the host compiler to initialise; a
  // text that is checked may have code of any kind there. The sanitizer's own initialiser calls
  // __tsan_init(), which does nothing.
  if (asked.debug) refuse_initialisers(kernel, made, asked.checked ? 1 : 0);
  return made;
}

std::string host_compiler_version(HostOptions asked) {
  std::string all = compiler().version;
  for (const std::string& option : options(asked)) all += " " + option;
  if (asked.checked) all += " hooks " + std::to_string(std::hash<std::string_view>()(kAccessHooks));
  return all;
}

std::string source_line(std::span<const std::byte> library, std::uintptr_t offset) {
  const TemporaryFolder folder;
  const std::string file = folder.file("kernel.so");
  const std::string output = folder.file("lines");
  write_file(file, {reinterpret_cast<const char*>(library.data()), library.size()});
  std::ostringstream address;
  address << std::hex << offset;
  if (run_program({"addr2line", "-i", "-e", file, address.str()}, output) != 0) return {};
  std::error_code ignored;
  const std::string here = fs::current_path(ignored).string() + "/";
  std::ifstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(here)) line.erase(0, here.size());
    line = line.substr(0, line.find(" (discriminator"));
    const bool is_known = !line.starts_with("?") && !line.ends_with(":?");
    if (is_known && line.find("kernels/prelude/") == line.npos) return line;
  }
  return {};
}

}  // namespace hearth::sim
