#include "machines/sim/host_compiler.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string_view>

#include "hearth/error.h"
#include "machines/sim/access_hooks.h"
#include "machines/sim/fiber.h"

extern char** environ;

namespace hearth::sim {
namespace {

namespace fs = std::filesystem;

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

// The first line that the compiler says of itself.
const std::string& compiler_name() {
  static const std::string name = [] {
    const TemporaryFolder folder;
    const std::string output = folder.file("version");
    run({HEARTH_SIM_COMPILER, "--version"}, output);
    const std::string text = read_file(output);
    return text.substr(0, text.find('\n'));
  }();
  return name;
}

std::vector<std::string> options(bool checked) {
  // As the prelude asks (kernels/prelude/host.h). Kernels read floats as vectors of floats.
  std::vector<std::string> words = {
      "-std=c++20", "-O1", "-w", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-fwrapv",
      "-fsigned-char", "-fno-strict-aliasing", "-fno-exceptions", "-fno-rtti", "-fno-math-errno",
      // Large frames touch the page below the stack.
      "-fstack-clash-protection"};
#if defined(__x86_64__)
  // An fma is one instruction, with the same result as the function.
  if (__builtin_cpu_supports("fma")) words.push_back("-mfma");
#endif
  const bool clang = compiler_name().find("clang") != std::string::npos;
  if (!clang) {
    // Calls of one simd operation stay one call: the simulator tells operations apart by that.
    words.push_back("-fno-thread-jumps");
    words.push_back("-fno-gnu-unique");
  }
  if (checked) {
    words.push_back("-fsanitize=thread");
    words.push_back("-DHEARTH_SIM_STACK_BYTES=" + std::to_string(Fiber::kStackBytes));
    if (clang) {
      // Else the read of x[i] += 1 goes unnoticed.
      words.insert(words.end(), {"-mllvm", "-tsan-instrument-read-before-write=1"});
    }
  }
  return words;
}

void compile(const std::string& kernel, std::vector<std::string> words,
             const TemporaryFolder& folder) {
  words.insert(words.begin(), HEARTH_SIM_COMPILER);
  const std::string messages = folder.file("messages");
  if (run(words, messages) == 0) return;
  const std::string said = read_file(messages);
  throw Error(ErrorCode::device,
              "sim: kernel '" + kernel + "' does not compile: " +
                  (said.empty() ? std::string(HEARTH_SIM_COMPILER) + " does not run" : said));
}

// The same for all libraries, and slower to compile than most kernels.
const std::string& hooks_object() {
  static const std::string object = [] {
    const TemporaryFolder folder;
    const std::string source = folder.file("hooks.cc");
    const std::string made = folder.file("hooks.o");
    write_file(source, kAccessHooks);
    std::vector<std::string> words = options(true);
    words.insert(words.end(), {"-c", "-o", made, source});
    compile("access hooks", words, folder);
    return read_file(made);
  }();
  return object;
}

}  // namespace

std::vector<std::byte> compile_for_host(const std::string& kernel, const std::string& text,
                                        bool checked) {
  const TemporaryFolder folder;
  const std::string source = folder.file(kernel + ".cc");
  const std::string library = folder.file(kernel + ".so");
  write_file(source, text);
  std::vector<std::string> words = options(checked);
  words.insert(words.end(), {"-shared", "-nostdlib", "-o", library, source});
  if (checked) {
    words.push_back(folder.file("hooks.o"));
    write_file(words.back(), hooks_object());
  }
  words.push_back("-lm");
  compile(kernel, words, folder);
  const std::string bytes = read_file(library);
  std::vector<std::byte> made(bytes.size());
  std::memcpy(made.data(), bytes.data(), bytes.size());
  return made;
}

std::string host_compiler_version(bool checked) {
  std::string all = compiler_name();
  for (const std::string& option : options(checked)) all += " " + option;
  if (checked) all += " hooks " + std::to_string(std::hash<std::string_view>()(kAccessHooks));
  return all;
}

}  // namespace hearth::sim
