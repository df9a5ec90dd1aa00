#include "tools/lm/writer_options.h"

#include <utility>

#include "runtime/trace/timeline.h"
#include "tools/lm/chat_template_option.h"
#include "tools/lm/load_with_progress.h"

namespace hearth::tools {

void add_writer_options(Command& command, WriterArguments& arguments, bool talks) {
  add_adapter_option(command, arguments.model.adapters);
  if (talks) {
    add_chat_template_option(command, arguments.chat_template);
    add_template_arguments_option(command, arguments.template_arguments);
  }
  add_draft_options(command, arguments.drafts);
  add_cache_options(command, arguments.model.caches,
                    "Type of the cached keys and values [as --dtype]");
  add_compute_options(command, arguments.model);
  add_numerics_option(command, arguments.model);
}

LoadedWriter load_writer(const WriterArguments& arguments) {
  const double start = runtime::Timeline::now();
  const models::LoadOptions load = load_options(arguments.model, use_device(arguments.model));
  models::LoadedModel loaded = load_with_progress(arguments.model.path, load);
  set_chat_template(loaded, arguments.chat_template);
  auto draft_model = load_draft_model(arguments.drafts, load);
  return {std::move(loaded), std::move(draft_model), runtime::Timeline::now() - start};
}

void apply(const WriterArguments& arguments, models::SchedulerOptions& options) {
  options.caches = cache_types(arguments.model.caches);
  options.drafts = arguments.drafts.count();
}

}  // namespace hearth::tools
