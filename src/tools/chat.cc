// `hearth chat`: a conversation with a language model, line by line.
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hearth/device.h"
#include "models/chat/chat_format.h"
#include "models/chat/conversation.h"
#include "models/language/cache.h"
#include "models/language/load_model.h"
#include "models/serving/scheduler.h"
#include "tools/commands.h"
#include "tools/lm/adapter_options.h"
#include "tools/lm/chat_template_option.h"
#include "tools/lm/draft_options.h"
#include "tools/lm/load_with_progress.h"
#include "tools/lm/sampling_options.h"
#include "tools/output.h"

namespace hearth::tools {
namespace {

constexpr std::string_view kDim = "\033[2m", kUndim = "\033[0m";
constexpr std::string_view kResetHint = " (/reset begins the conversation anew)";

struct ChatArguments {
  std::string model;
  std::string system;
  std::string chat_template;
  std::int64_t tokens = 2048;
  std::int64_t context = 0;
  std::string dtype = "f32";
  std::string device;
  std::vector<std::string> adapters;
  std::vector<std::string> stops;
  SamplingArguments sampling;
  DraftArguments drafts;
};

volatile std::sig_atomic_t is_interrupted = 0;

void interrupt(int) { is_interrupted = 1; }

// While it lives, Ctrl-C ends an answer and not the program.
class AnswerInterrupts {
 public:
  AnswerInterrupts() : before_(std::signal(SIGINT, interrupt)) { is_interrupted = 0; }
  AnswerInterrupts(const AnswerInterrupts&) = delete;
  AnswerInterrupts& operator=(const AnswerInterrupts&) = delete;
  ~AnswerInterrupts() { std::signal(SIGINT, before_); }

 private:
  void (*before_)(int);
};

// The caches of one conversation that fills the context.
models::SchedulerOptions options_for(const models::LoadedModel& loaded, std::int64_t context) {
  constexpr std::int64_t kMostRows = 8192;
  models::SchedulerOptions options{.most_running = 1};
  const std::int64_t longest = loaded.model.config.context;
  const std::int64_t rows = context > 0 ? std::min(context, longest) : std::min(kMostRows, longest);
  options.pages = models::pages_of(rows, options.page_size);
  return options;
}

void run_chat(const ChatArguments& arguments) {
  const Device device = arguments.device.empty() ? Device() : Device::named(arguments.device);
  Device::set_default(device);
  const models::LoadOptions load{.device = device,
                                 .compute = dtype_from_name(arguments.dtype),
                                 .context = arguments.context,
                                 .adapters = adapter_files(arguments.adapters)};
  models::LoadedModel loaded = load_with_progress(arguments.model, load);
  set_chat_template(loaded, arguments.chat_template);
  const auto draft_model = load_draft_model(arguments.drafts, load);
  models::ChatFormat format(loaded);
  models::SchedulerOptions options = options_for(loaded, arguments.context);
  options.drafts = arguments.drafts.count();
  options.draft_model = draft_model.get();
  models::Scheduler scheduler(loaded, options);
  models::Conversation session(
      scheduler, std::move(format),
      {.system = arguments.system,
       .most_tokens = arguments.tokens,
       .sampling = sampling_options(arguments.sampling, loaded),
       .stops = arguments.stops,
       .constraint = sampling_constraint(arguments.sampling, loaded.tokenizer)});
  const bool is_asking = isatty(STDIN_FILENO) != 0, is_shown = isatty(STDOUT_FILENO) != 0;
  models::AnswerWriter writer;
  writer.content = [](std::string_view text) { write_out(text); };
  writer.is_stopped = [] { return is_interrupted != 0; };
  // Only people want to see it.
  if (is_shown) {
    writer.reasoning = [](std::string_view text) {
      write_out(std::string(kDim) + std::string(text) + std::string(kUndim));
    };
  }
  std::string line;
  std::int64_t lines = 0, unanswered = 0;
  while (true) {
    if (is_asking) write_out("> ");
    if (!std::getline(std::cin, line) || line == "/exit") break;
    ++lines;
    if (line.empty()) continue;
    if (line == "/reset") {
      session.reset();
      continue;
    }
    try {
      const AnswerInterrupts interrupts;
      session.say(line, writer);
    } catch (const Error& error) {
      // Others go on failing.
      if (!is_asking && error.code() != ErrorCode::invalid_argument) throw;
      const std::string what = error.what() + std::string(kResetHint);
      if (is_asking) {
        write_out(what);
      } else {
        write_note("chat: line " + std::to_string(lines) + ": " + what + "\n");
      }
      ++unanswered;
    }
    write_out("\n");
  }
  if (is_asking && std::cin.eof()) write_out("\n");
  if (options.drafts > 0) {
    const models::SchedulerStats stats = scheduler.stats();
    write_note("chat: " + held_text(stats.guesses_held, stats.tokens_guessed) + "\n");
  }
  if (unanswered > 0 && !is_asking) {
    throw Error(ErrorCode::invalid_argument, "chat: lines without an answer; got " +
                                                 std::to_string(unanswered) + ", expected none");
  }
}

}  // namespace

void add_chat(CommandLine& line) {
  auto arguments = std::make_shared<ChatArguments>();
  arguments->sampling.values.temperature = 0.8;
  arguments->sampling.values.top_k = 40;
  arguments->sampling.values.top_p = 0.95;
  arguments->sampling.values.min_p = 0.05;
  Command command = line.add_command(
      "chat", "Talk with a language model, a line at a time; /reset begins anew, /exit ends");
  command.option("--model,model", arguments->model, "GGUF file or folder of Hugging Face or MLX")
      .required();
  command.option("--system", arguments->system, "What the model is told before all else");
  add_chat_template_option(command, arguments->chat_template);
  command.option("--tokens", arguments->tokens, "Of an answer at most")
      .range(1, std::int64_t{1} << 40)
      .show_default();
  command
      .option("--context", arguments->context,
              "Tokens of the conversation at most [the model's, 8192 at most]")
      .range(0, std::int64_t{1} << 30);
  add_adapter_option(command, arguments->adapters);
  command.option("--stop", arguments->stops,
                 "An answer ends before this; may be given several times");
  add_sampling_options(command, arguments->sampling);
  add_draft_options(command, arguments->drafts);
  command.option("--dtype", arguments->dtype, "What activations are computed in")
      .one_of({"f32", "bf16"})
      .show_default();
  command.option("--device", arguments->device, "See `hearth devices`");
  command.action([arguments] { run_chat(*arguments); });
}

}  // namespace hearth::tools
