// `hearth serve`: a model behind OpenAI's API.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/counted.h"
#include "core/json.h"
#include "core/trimmed.h"
#include "hearth/device.h"
#include "io/text_file.h"
#include "models/loading/load_model.h"
#include "models/serving/cache_plan.h"
#include "tools/commands.h"
#include "tools/lm/chat_template_option.h"
#include "tools/lm/context_note.h"
#include "tools/lm/option_file.h"
#include "tools/lm/pooling_option.h"
#include "tools/lm/writer_options.h"
#include "tools/output.h"
#include "tools/serve/api.h"
#include "tools/serve/connections.h"
#include "tools/serve/http_transport.h"
#include "tools/serve/loaded_service.h"
#include "tools/shutdown_signal.h"

namespace hearth::tools {
namespace {

constexpr std::uint64_t kMostKeyBytes = 1 << 20;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr std::chrono::hours kWhile{1};

struct ServeArguments {
  WriterArguments writer;
  std::string name, host = "127.0.0.1", key_file, pooling;
  std::vector<std::string> keys, origins;
  std::int64_t port = 8080, grace = 5, body = 8, memory = 1024;
  bool hides_page = false, hides_metrics = false;
  models::SchedulerOptions scheduler;
};

// A server whose output nobody takes serves all the same.
void announce(const std::string& text) {
  try {
    write_out("serve: " + text + "\n");
  } catch (const Error&) {
  }
}

// Those of the file without the blanks around them.
std::vector<std::string> keys_of(const ServeArguments& arguments) {
  std::vector<std::string> keys = arguments.keys;
  if (!arguments.key_file.empty()) {
    const std::string text = read_option_file("--api-key-file", "a text with a key a line", [&] {
      return io::read_text(arguments.key_file, kMostKeyBytes);
    });
    for (std::size_t at = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
         at < text.size();) {
      const std::size_t end = std::min(text.find_first_of("\r\n", at), text.size());
      const std::string_view key = trimmed(std::string_view(text).substr(at, end - at), " \t");
      if (!key.empty()) keys.emplace_back(key);
      at = end + 1;
    }
    if (keys.empty()) {
      throw Error(ErrorCode::invalid_argument, "serve: the file of keys is empty; got " +
                                                   arguments.key_file +
                                                   ", expected one key a line");
    }
  }
  return keys;
}

std::string name_of(const ServeArguments& arguments) {
  if (!arguments.name.empty()) return arguments.name;
  std::filesystem::path path = arguments.writer.model.path;
  if (!path.has_filename()) path = path.parent_path();
  return path.extension() == ".gguf" ? path.stem().string() : path.filename().string();
}

// Says, or refuses where --context asked for it, that --memory holds less than a whole text.
// `memory_for` gives the MiB that hold a text of so many tokens.
void check_context(const ServeArguments& arguments, std::int64_t wanted, std::int64_t trained,
                   std::int64_t got, const std::function<std::int64_t(std::int64_t)>& memory_for) {
  const bool is_asked = arguments.writer.model.context > 0;
  if (got >= std::max(wanted, arguments.writer.model.context)) return;
  const std::string memory = "--memory " + std::to_string(arguments.memory) + " MiB holds no more";
  // More than the model was made for is nothing to advise.
  const std::int64_t whole = std::min(wanted, trained);
  const std::string why = got < whole ? memory + "; --memory " + std::to_string(memory_for(whole)) +
                                            " holds a whole text"
                          : got < wanted ? memory
                                         : "the model has no more positions";
  report_context("serve", is_asked ? arguments.writer.model.context : wanted, got, is_asked, why);
}

// Refuses a --memory that has no room for texts of the model.
void require_memory(const models::LanguageModel& model, const models::SchedulerOptions& options) {
  if (!model.config.gives_scores()) return;
  if (models::fitting_caches(model.config, model.compute, options)) return;
  const std::int64_t least =
      models::least_cache_bytes(model.config, model.compute, options, options.page_size);
  throw Error(ErrorCode::invalid_argument,
              "serve: --memory too small; got " + std::to_string(options.cache_bytes >> 20) +
                  " MiB, expected at least " + std::to_string(least >> 20) + " for --parallel " +
                  std::to_string(options.parallel));
}

// Says that chats will be refused, which nobody would see before the first one.
void note_chats(const serve::LoadedService& service) {
  if (!service.card().writes || service.has_chat()) return;
  write_note("serve: the model has no chat template, so that chats are refused; " +
             std::string(kTemplateRemedy) + "\n");
}

std::shared_ptr<serve::ServedModel> load_service(const ServeArguments& arguments, JsonObject told) {
  LoadedWriter writer = load_writer(arguments.writer);
  set_pooling(writer.loaded.model.config, arguments.pooling, "serve");
  models::SchedulerOptions options = arguments.scheduler;
  options.cache_bytes = arguments.memory << 20;
  apply(arguments.writer, options);
  const models::LanguageConfig config = writer.loaded.model.config;
  const DType compute = writer.loaded.model.compute;
  const std::int64_t context = config.context;
  const std::int64_t trained = writer.loaded.model.trained_context;
  require_memory(writer.loaded.model, options);
  if (writer.draft_model) {
    models::SchedulerOptions own = options;
    own.drafts = 0;
    try {
      require_memory(writer.draft_model->model, own);
    } catch (const Error& error) {
      throw Error(error.code(), "--draft-model: " + std::string(error.what()));
    }
  }
  auto service =
      std::make_shared<serve::LoadedService>(std::move(writer.loaded), name_of(arguments), options,
                                             std::move(writer.draft_model), std::move(told));
  check_context(arguments, context, trained, service->card().context, [&](std::int64_t tokens) {
    return models::least_cache_bytes(config, compute, options, tokens) >> 20;
  });
  warn_of_context("serve", context, trained);
  note_chats(*service);
  return service;
}

void run_serve(const ServeArguments& arguments) {
  JsonObject told = template_arguments_of(arguments.writer.template_arguments);
  serve::Api api({.keys = keys_of(arguments),
                  .origins = arguments.origins,
                  .has_page = !arguments.hides_page,
                  .has_metrics = !arguments.hides_metrics});
  ShutdownSignal signal("serve");
  const std::size_t connections =
      serve::connections_for(arguments.scheduler.parallel + arguments.scheduler.most_waiting);
  serve::allow_connections(connections);
  serve::HttpTransport transport(
      {.host = arguments.host,
       .port = static_cast<int>(arguments.port),
       .threads = connections,
       .most_body_bytes = static_cast<std::size_t>(arguments.body) << 20},
      [&](const serve::ApiRequest& request) { return api.answer(request); });
  const int port = transport.start();
  const auto model = load_service(arguments, std::move(told));
  api.set_model(model);
  const bool is_v6 = arguments.host.find(':') != std::string::npos;
  // Said now: who waits for it may ask at once.
  announce("listening on http://" + (is_v6 ? "[" + arguments.host + "]" : arguments.host) + ":" +
           std::to_string(port));
  const serve::ModelCard& card = model->card();
  announce(card.id + " is ready, " + counted(card.context, "token") + " of context");
  while (!signal.wait_for(kWhile)) {
  }
  announce("stopping");
  transport.stop();
  transport.wait_until_idle(std::chrono::seconds(arguments.grace));
  api.stop();
}

}  // namespace

void add_serve(CommandLine& line) {
  auto arguments = std::make_shared<ServeArguments>();
  Command command =
      line.add_command("serve", "Answer OpenAI's API over HTTP, and show a page to chat with");
  add_model_option(command, arguments->writer.model.path,
                   "GGUF file, or folder as Hugging Face or MLX has it")
      .required();
  command.option("-a,--name,--alias", arguments->name,
                 "Name by which clients ask for the model [the file's]");
  command.option("--host", arguments->host, "Address to listen on; 0.0.0.0: all of this machine's")
      .show_default();
  command.option("--port", arguments->port, "Port to listen on; 0: any that is free")
      .range(std::int64_t{0}, std::int64_t{65535})
      .show_default();
  command.option("--api-key", arguments->keys,
                 "A key that clients must send; may be given several times [none]");
  command.option("--api-key-file", arguments->key_file, "A file with one such key a line")
      .value_name("FILE");
  command.option(
      "--cors", arguments->origins,
      "Origin of web pages that may send requests (CORS), or *; may be given several times [none]");
  command.flag("--no-page,--no-ui,--no-webui", arguments->hides_page,
               "No page to chat with: / is answered by status 404");
  command.flag("--no-metrics", arguments->hides_metrics,
               "No counters for Prometheus: /metrics is answered by status 404");
  command.option("-np,--parallel", arguments->scheduler.parallel, "Texts that are written at once")
      .range(std::int64_t{1}, std::int64_t{256})
      .show_default();
  command
      .option("--queue", arguments->scheduler.most_waiting,
              "Texts that may wait; requests beyond that are answered by status 429")
      .range(std::int64_t{1}, serve::kMostWaiting)
      .show_default();
  add_context_option(
      command, arguments->writer.model.context,
      "Most tokens of a text, its prompt included [as many as the model and --memory have]");
  command
      .option("--memory", arguments->memory,
              "MiB for the cached keys and values of all texts together")
      .range(std::int64_t{1}, std::int64_t{1} << 30)
      .show_default();
  add_pooling_option(command, arguments->pooling);
  command
      .option("--prefill", arguments->scheduler.prefill,
              "Tokens of prompts that are read in one step, beside the answers")
      .range(std::int64_t{1}, std::int64_t{1} << 20)
      .show_default();
  command.option("--max-body", arguments->body, "Most MiB of a request")
      .range(std::int64_t{1}, std::int64_t{1024})
      .show_default();
  command
      .option("--grace", arguments->grace, "Seconds that answers may go on after SIGTERM or SIGINT")
      .range(std::int64_t{0}, std::int64_t{3600})
      .show_default();
  add_writer_options(command, arguments->writer, true);
  command.action([arguments] { run_serve(*arguments); });
}

}  // namespace hearth::tools
