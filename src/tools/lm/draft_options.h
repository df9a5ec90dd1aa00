// The options of commands that write with a language model: what guesses tokens ahead.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "models/loading/load_model.h"
#include "models/serving/scheduler.h"
#include "tools/command_line.h"

namespace hearth::tools {

struct DraftArguments {
  std::string model;         // a smaller model of the same tokens; empty: tokens are looked up
  std::int64_t drafts = -1;  // tokens that are guessed ahead; -1: kDrafts with a model, else none

  static constexpr std::int64_t kDrafts = 8;
  std::int64_t count() const { return drafts >= 0 ? drafts : model.empty() ? 0 : kDrafts; }
};

// Declares --draft-model and --drafts; `arguments` must live as long as the variables of other
// options.
void add_draft_options(Command& command, DraftArguments& arguments);

// The model that guesses, loaded as the one whose texts it guesses, but without adapters; null
// where none is asked for, or no guesses are.
std::unique_ptr<const models::LoadedModel> load_draft_model(const DraftArguments& arguments,
                                                            models::LoadOptions options);

// "37 of 80 guesses held (46 %)".
std::string held_text(std::int64_t held, std::int64_t guessed);

}  // namespace hearth::tools
