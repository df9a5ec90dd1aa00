// The subcommands of `hearth`: each adds itself, with its flags and what it does, to the
// application.
//
// A command that cannot do what was asked throws hearth::Error, which ends the program with status
// 2 and one line. CommandFailed ends it with status 1 and its text as the last line of stdout: the
// command ran, and its result is bad.
#pragma once

#include <CLI/CLI.hpp>
#include <stdexcept>

namespace hearth::tools {

class CommandFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

void add_train(CLI::App& app);
void add_generate(CLI::App& app);
void add_demo(CLI::App& app);
void add_devices(CLI::App& app);
void add_ops(CLI::App& app);
void add_bench(CLI::App& app);

// Writes to stdout now. Throws Error{io} where that fails, for instance on a full disk.
void write_out(std::string_view text);

}  // namespace hearth::tools
