#include "devices/sim/host_compiler.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <sstream>
#include <string_view>

#include "devices/sim/checker/access_hooks.h"
#include "devices/sim/threads/fiber.h"
#include "hearth/error.h"
#include "runtime/device/environment.h"

extern char** environ;

namespace hearth::sim {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxName = 64;  // of a file: systems refuse names of 256

// What compilers call by themselves is left to the process; of the rest a library has to have all
// (-z defs), so that no kernel calls the system's functions, which nothing could interrupt.
constexpr std::string_view kLeftToTheProcess =
    "asm(\".weak memcpy, memmove, memset, memcmp, __stack_chk_fail\");\n";

// A folder that is gone when the object is.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string path = (fs::temp_directory_path() / "hearth_sim_XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) {
      throw Error(ErrorCode::io, "sim: no temporary folder; got " + path);
    }
    path_ = path;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const std::string& path, std::string_view text) {
  std::ofstream out(path, std::ios::binary);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  if (!out) throw Error(ErrorCode::io, "sim: cannot write " + path);
}

// Runs a program with its output in a file; its exit status, or -1.
int run(const std::vector<std::string>& words, const std::string& output) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int failed =
      posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return -1;
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

struct Compiler {
  std::string command;
  std::string version;                    // the first line that it says of itself
  std::vector<std::string> float16 = {};  // options for its _Float16; empty where it has none
};

// Empty where the command does not run.
std::string version_of(const std::string& command) {
  const TemporaryFolder folder;
  const std::string output = folder.file("version");
  if (run({command, "--version"}, output) != 0) return {};
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
  if (run({compiler.command, "-std=c++20", option, "-fsyntax-only", source},
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
      "-fstack-clash-protection", "-Wl,-z,defs"};
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
  if (run(words, messages) == 0) return;
  throw Error(ErrorCode::device,
              "sim: kernel '" + kernel + "' does not compile: " + read_file(messages));
}

// The same for all libraries, and slower to compile than most kernels.
const std::string& hooks_object() {
  static const std::string object = [] {
    const TemporaryFolder folder;
    const std::string source = folder.file("hooks.cc");
    const std::string made = folder.file("hooks.o");
    write_file(source, std::string(kLeftToTheProcess) + kAccessHooks);
    std::vector<std::string> words = options({true, false});
    words.insert(words.end(), {"-c", "-o", made, source});
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

}  // namespace

std::vector<std::byte> compile_for_host(const std::string& kernel, const std::string& text,
                                        HostOptions asked) {
  const TemporaryFolder folder;
  const std::string source = folder.file(kernel.substr(0, kMaxName) + ".cc");
  const std::string library = folder.file("kernel.so");
  write_file(source, std::string(kLeftToTheProcess) + text);
  std::vector<std::string> words = options(asked);
  words.insert(words.end(), {"-shared", "-nostdlib", "-o", library, source});
  if (asked.checked) {
    words.push_back(folder.file("hooks.o"));
    write_file(words.back(), hooks_object());
  }
  words.insert(words.end(), {"-lm", "-lgcc"});
  compile(kernel, words, folder, asked.time_limit);
  const std::string bytes = read_file(library);
  std::vector<std::byte> made(bytes.size());
  std::memcpy(made.data(), bytes.data(), bytes.size());
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
  if (run({"addr2line", "-i", "-e", file, address.str()}, output) != 0) return {};
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
