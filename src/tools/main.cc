#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "hearth/error.h"
#include "tools/commands.h"

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

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Trains and runs language models.", "hearth"};
  app.set_version_flag("--version", "hearth " HEARTH_VERSION);
  app.require_subcommand(1);
  hearth::tools::add_train(app);
  hearth::tools::add_generate(app);
  hearth::tools::add_demo(app);
  hearth::tools::add_devices(app);
  hearth::tools::add_ops(app);
  hearth::tools::add_bench(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    return refuse(std::string(error.what()) + " (hearth --help lists what there is)");
  } catch (const hearth::tools::CommandFailed& failure) {
    std::printf("%s\n", failure.what());
    return kBadResult;
  } catch (const std::bad_alloc&) {
    return refuse("out of memory");
  } catch (const std::exception& error) {
    return refuse(error.what());
  }
  return 0;
}
