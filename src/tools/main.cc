#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "hearth/version.h"
#include "tools/commands.h"
#include "tools/shutdown_signal.h"

namespace {

constexpr int kBadResult = 1;
constexpr int kRefused = 2;

// One line, whatever the message holds.
int refuse(std::string message) {
  while (!message.empty() && message.back() == '\n') message.pop_back();
  for (char& c : message) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  std::fflush(stdout);
  std::fprintf(stderr, "hearth: %s\n", message.c_str());
  return kRefused;
}

// Ends as a program does that catches no signals, which is what shells look for.
int end_by(int signal) {
  std::fflush(stdout);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
  return 128 + signal;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    hearth::tools::CommandLine line("hearth",
                                    "Trains and runs language models; trains networks on images.",
                                    "hearth " HEARTH_VERSION);
    hearth::tools::add_train(line);
    hearth::tools::add_train_images(line);
    hearth::tools::add_finetune(line);
    hearth::tools::add_generate(line);
    hearth::tools::add_chat(line);
    hearth::tools::add_embed(line);
    hearth::tools::add_serve(line);
    hearth::tools::add_demo(line);
    hearth::tools::add_devices(line);
    hearth::tools::add_ops(line);
    hearth::tools::add_info(line);
    hearth::tools::add_quantize(line);
    hearth::tools::add_tokenize(line);
    hearth::tools::add_render_template(line);
    hearth::tools::add_bench(line);
    hearth::tools::add_bench_model(line);
    hearth::tools::add_perplexity(line);
    hearth::tools::add_check_kernel(line);
    line.run(argc, argv);
  } catch (const hearth::tools::CommandFailed& failure) {
    std::printf("%s\n", failure.what());
    return kBadResult;
  } catch (const hearth::tools::Interrupted& interrupted) {
    return end_by(interrupted.signal);
  } catch (const std::bad_alloc&) {
    return refuse("out of memory");
  } catch (const std::exception& error) {
    return refuse(error.what());
  }
  return 0;
}
