// The subcommands of `hearth`: each adds itself, with its flags and what it does, to the command
// line.
//
// A command that cannot do what was asked throws hearth::Error, which ends the program with status
// 2 and one line. CommandFailed ends it with status 1 and its text as the last line of stdout: the
// command ran, and its result is bad.
#pragma once

#include <stdexcept>

#include "tools/command_line.h"

namespace hearth::tools {

class CommandFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

void add_train(CommandLine& line);
void add_train_images(CommandLine& line);
void add_finetune(CommandLine& line);
void add_generate(CommandLine& line);
void add_demo(CommandLine& line);
void add_devices(CommandLine& line);
void add_ops(CommandLine& line);
void add_info(CommandLine& line);
void add_quantize(CommandLine& line);
void add_chat(CommandLine& line);
void add_embed(CommandLine& line);
void add_serve(CommandLine& line);
void add_tokenize(CommandLine& line);
void add_render_template(CommandLine& line);
void add_bench(CommandLine& line);
void add_bench_model(CommandLine& line);
void add_perplexity(CommandLine& line);
void add_check_kernel(CommandLine& line);

}  // namespace hearth::tools
