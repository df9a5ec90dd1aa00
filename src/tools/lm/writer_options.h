// Loading the model of commands that write texts: with its chat template and what guesses ahead.
#pragma once

#include <memory>
#include <string>

#include "models/loading/load_model.h"
#include "models/serving/scheduler.h"
#include "tools/lm/draft_options.h"
#include "tools/lm/model_options.h"

namespace hearth::tools {

struct WriterArguments {
  ModelArguments model;
  std::string chat_template;       // a file or a text in place of the model's own; empty: that
  std::string template_arguments;  // of template_arguments_of()
  DraftArguments drafts;
};

// Declares --lora, the options of chat templates where the command `talks`, drafts, caches and
// where it all runs.
void add_writer_options(Command& command, WriterArguments& arguments, bool talks);

struct LoadedWriter {
  models::LoadedModel loaded;
  std::unique_ptr<const models::LoadedModel> draft_model;  // null: none
  double seconds = 0;                                      // that loading took
};

// Makes the device the default one and loads, with a bar on the terminal.
LoadedWriter load_writer(const WriterArguments& arguments);

// Takes the caches' types and the number of drafts, not the model that guesses.
void apply(const WriterArguments& arguments, models::SchedulerOptions& options);

}  // namespace hearth::tools
