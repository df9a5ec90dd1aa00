// Options of llama.cpp that ask for what is done anyhow.
#include "tools/idle_options.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tools/signs_model.h"
#include "tools/tool_folder.h"

namespace hearth::tools {
namespace {

TEST(IdleOptions, AskForWhatIsDone) {
  const struct {
    const char* option;
    const char* next;
    const char* command;
    int words;
  } cases[] = {
      {"-fa", "on", "generate", 2},
      {"-fa", "1", "bench-model", 2},
      {"--flash-attn", "auto", "serve", 2},
      {"-fa", "model.gguf", "generate", 1},
      {"-fa", "", "generate", 1},
      {"--flash-attn=on", "off", "generate", 1},
      {"--flash-attn=off", "", "generate", 0},
      {"-fa", "off", "generate", 0},
      {"-fa", "0,1", "bench-model", 0},
      {"-fa", "on", "quantize", 0},
      {"--mlock", "on", "generate", 1},
      {"--no-mmap", "", "chat", 1},
      {"--log-disable", "", "serve", 1},
      {"--no-warmup", "", "serve", 1},
      {"--no-warmup", "", "bench-model", 0},
      {"-no-cnv", "", "generate", 1},
      {"-no-cnv", "", "chat", 0},
      {"-cnv", "", "chat", 1},
      {"-cnv", "", "generate", 0},
      {"--jinja", "", "serve", 1},
      {"--jinja", "", "generate", 0},
      {"--mlock=1", "", "generate", 0},
      {"-ngl", "99", "generate", 0},
      {"--mlock --mmap", "", "generate", 0},
      {"", "", "generate", 0},
  };
  for (const auto& each : cases) {
    const IdleOption idle = idle_option(each.option, each.next, each.command);
    EXPECT_EQ(idle.words, each.words) << each.option << " " << each.next << " " << each.command;
    EXPECT_EQ(idle.why != nullptr, each.words > 0) << each.option;
  }
}

#ifdef HEARTH_TOOL

class IdleOptionsOfCommands : public ToolFolder {};

TEST_F(IdleOptionsOfCommands, AreWarnedOf) {
  const std::string model = path("m.gguf");
  write_signs_model(model, "qwen3", kSignsTemplate);
  const std::vector<std::string> base = {"generate", model, "-p",     sign(5),
                                         "-n",       "3",   "--temp", "0"};
  const Outcome plain = run(base);
  ASSERT_EQ(plain.status, 0) << plain.err;
  ASSERT_EQ(plain.err, "");
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{"-fa", "on"},
                                             {"-fa"},
                                             {"--flash-attn=on"},
                                             {"--no-mmap"},
                                             {"--mlock"},
                                             {"--log-disable"},
                                             {"-no-cnv"},
                                             {"--no-warmup"}}) {
    // In front of the model, too.
    for (const std::size_t at : {std::size_t{1}, base.size()}) {
      auto arguments = base;
      arguments.insert(arguments.begin() + static_cast<std::ptrdiff_t>(at), more.begin(),
                       more.end());
      const Outcome outcome = run(arguments);
      EXPECT_EQ(outcome.status, 0) << outcome.err;
      EXPECT_EQ(outcome.out, plain.out);
      EXPECT_EQ(outcome.err.rfind("generate: warning: " + more[0] + " has no effect: ", 0), 0u)
          << outcome.err;
    }
  }
  // A value that looks like one is a value, and so is what stands behind --.
  const Outcome said = run({"generate", model, "-n", "0", "-p", "--mlock"});
  EXPECT_EQ(said.out, "--mlock\n");
  EXPECT_EQ(said.err.find("effect"), std::string::npos) << said.err;
  const Outcome behind = run({"generate", "-p", "x", "--", "--mlock"});
  EXPECT_EQ(behind.err.find("effect"), std::string::npos) << behind.err;
  // What would be done otherwise is refused.
  auto off = base;
  off.insert(off.end(), {"-fa", "off"});
  const Outcome refused = run(off);
  expect_refused(refused);
  EXPECT_NE(refused.err.find("got -fa, expected the command without it: attention"),
            std::string::npos)
      << refused.err;
}

#endif

}  // namespace
}  // namespace hearth::tools
