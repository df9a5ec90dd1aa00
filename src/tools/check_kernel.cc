// `hearth check-kernel`: what a kernel's text does wrong, found on the simulator.
#include <charconv>
#include <memory>
#include <set>
#include <string>

#include "codegen/kernel_text.h"
#include "hearth/error.h"
#include "tools/check/kernel_check.h"
#include "tools/check/kernel_file.h"
#include "tools/commands.h"
#include "tools/output.h"

namespace hearth::tools {
namespace {

struct Arguments {
  KernelFileOptions file;
  std::vector<std::string> kernels;
  std::vector<std::string> values;
  std::string grid = "256";
  std::string threads = "64";
  std::string text;
  double timeout = CheckedLaunch().time_limit;
  bool list = false;
};

// "X", "X,Y" or "X,Y,Z".
runtime::Size3 size_of(const std::string& text, const std::string& option) {
  runtime::Size3 size;
  std::uint32_t* const extents[] = {&size.x, &size.y, &size.z};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::uint32_t* const extent : extents) {
    const auto [next, error] = std::from_chars(at, end, *extent);
    if (error != std::errc() || *extent == 0) break;
    if (next == end) return size;
    if (*next != ',') break;
    at = next + 1;
  }
  throw Error(ErrorCode::invalid_argument, "check-kernel: " + option + " has another form; got \"" +
                                               text + "\", expected X, X,Y or X,Y,Z from 1 on");
}

gpu::Target target_of(const std::string& name) {
  return name == "cuda"    ? gpu::Target::cuda
         : name == "metal" ? gpu::Target::metal
                           : gpu::Target::host;
}

// A value must be some kernel's.
void check_name(const std::string& name, const std::vector<runtime::KernelSource>& sources) {
  std::set<std::string> known;
  for (const runtime::KernelSource& source : sources) {
    for (const runtime::KernelParameter& parameter : source.parameters) {
      const bool is_grid = source.metal && parameter.name == kGridParameter;
      if (parameter.kind != runtime::KernelParameter::Kind::threadgroup && !is_grid) {
        known.insert(parameter.name);
      }
    }
  }
  if (known.count(name) > 0) return;
  std::string all;
  for (const std::string& each : known) {
    all += (all.empty() ? "" : ", ") + each;
  }
  throw Error(ErrorCode::invalid_argument, "check-kernel: no kernel has such a parameter; got " +
                                               name + ", expected " +
                                               (all.empty() ? "no value" : "one of " + all));
}

void run(const Arguments& arguments) {
  const KernelFile file(arguments.file);
  std::vector<std::string> names = arguments.kernels;
  if (names.empty()) names = file.names();
  if (names.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "check-kernel: no kernel to check; got '" + arguments.file.path +
                    "' without entry points, expected a text of Metal's own, or --kernel with the "
                    "function of a text of the dialect and --parameter for each parameter");
  }
  if (arguments.list) {
    std::string all;
    const std::vector<std::string> functions = arguments.kernels.empty() ? file.functions() : names;
    for (std::size_t i = 0; i < names.size(); ++i) all += names[i] + "\t" + functions[i] + "\n";
    return write_out(all);
  }
  if (!arguments.text.empty()) {
    for (const std::string& name : names) {
      write_out(gpu::assemble(file.source(name), target_of(arguments.text)));
    }
    return;
  }
  CheckedLaunch launch;
  launch.time_limit = arguments.timeout;
  launch.grid = size_of(arguments.grid, "--grid");
  launch.threads = size_of(arguments.threads, "--threads");
  for (const std::string& value : arguments.values) {
    const std::size_t at = value.find('=');
    if (at == std::string::npos || at == 0) {
      throw Error(ErrorCode::invalid_argument, "check-kernel: --value has another form; got \"" +
                                                   value + "\", expected NAME=DESCRIPTION");
    }
    launch.values[value.substr(0, at)] = value.substr(at + 1);
  }
  std::vector<runtime::KernelSource> sources;
  for (const std::string& name : names) sources.push_back(file.source(name));
  for (const auto& [name, value] : launch.values) check_name(name, sources);
  int failed = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    const KernelCheck check = check_kernel(sources[i], launch);
    write_out(name + ": " + check.report);
    failed += check.passed ? 0 : 1;
  }
  if (failed > 0) {
    throw CommandFailed(std::to_string(failed) + " of " + std::to_string(names.size()) +
                        (names.size() == 1 ? " kernel" : " kernels") + " failed");
  }
}

}  // namespace

void add_check_kernel(CommandLine& line) {
  auto arguments = std::make_shared<Arguments>();
  Command command =
      line.add_command("check-kernel", "Find data races and accesses out of bounds in GPU kernels");
  command
      .option("file", arguments->file.path,
              "The kernel's source, in Metal's language or in Hearth's dialect of it")
      .required()
      .value_name("FILE");
  command
      .option("--kernel", arguments->kernels,
              "Check only the entry point or function of this name; may be given several times")
      .value_name("NAME");
  command.flag("--list", arguments->list, "List the kernels and their functions, check nothing");
  command.option("--grid", arguments->grid, "Threads of the whole grid")
      .value_name("X,Y,Z")
      .show_default();
  command.option("--threads", arguments->threads, "Threads of a threadgroup")
      .value_name("X,Y,Z")
      .show_default();
  command
      .option("--value", arguments->values,
              "Value of a parameter: x=f32[1024], y=f16[64]:zeros, n=u32:1024, p=u32:4,f32:0.5, "
              "w=@FILE")
      .value_name("NAME=DESCRIPTION");
  command.option("--constant", arguments->file.constants, "A function constant")
      .value_name("NAME=VALUE");
  command.option("--threadgroup", arguments->file.threadgroup, "Size of a threadgroup parameter")
      .value_name("INDEX=BYTES");
  command.option("--define", arguments->file.defines, "A macro").value_name("NAME=VALUE");
  command
      .option("--include", arguments->file.folders,
              "Folder of included files; may be given several times")
      .value_name("FOLDER");
  command
      .option(
          "--parameter", arguments->file.parameters,
          "For the dialect: \"read float x\", \"constant Params p\", \"threadgroup float s 64\"")
      .value_name("TEXT");
  command
      .option("--timeout", arguments->timeout,
              "Give up compiling, or running a kernel, after this many seconds")
      .value_name("SECONDS")
      .range(1e-3, 86400.0)
      .show_default();
  command.option("--text", arguments->text, "Print what the target's compiler gets, check nothing")
      .one_of({"host", "cuda", "metal"});
  command.action([arguments] { run(*arguments); });
}

}  // namespace hearth::tools
