// The options of commands that write with a language model: how tokens are drawn.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "models/grammar/grammar.h"
#include "models/loading/load_model.h"
#include "models/sampling/dry_penalty.h"
#include "models/sampling/sampling_options.h"
#include "models/tokenizer/tokenizer.h"
#include "tools/command_line.h"
#include "tools/lm/escapes.h"

namespace hearth::tools {

// How tokens are drawn.
struct AskedSampling {
  models::SamplingOptions options;
  bool has_drawn_seed = false;  // no seed was given, or -1
};

// What the command line gives; `values` holds the command's defaults before the options are
// declared.
struct SamplingArguments {
  models::SamplingOptions values;
  std::string steps, step_letters;  // at most one of both
  std::vector<std::string> dry_breakers = models::default_dry_breakers();
  EscapeOption escapes;  // of breakers, and of what other texts the command takes
  std::vector<std::string> logit_bias;
  std::int64_t mirostat = 0;
  std::int64_t seed = -1;
  bool ignores_end = false;  // tokens that end texts are never drawn
  std::string grammar;       // files or the texts themselves; at most one of both
  std::string json_schema;
  // Each takes the value of one option over where that was given; filled in by the declaration.
  std::vector<std::function<void(AskedSampling&)>> given = {};
};

// Declares them, of models::sampling_fields() and others; `arguments` must live, where they are, as
// long as the variables of other options.
void add_sampling_options(Command& command, SamplingArguments& arguments);

// What the arguments ask for: options that were given, else what the model's makers recommend, else
// the command's defaults; a seed that was not given, or is -1, is drawn. Throws
// Error{invalid_argument} with the option for what cannot be read; ranges are checked where the
// values are used.
AskedSampling asked_sampling(const SamplingArguments& arguments, const models::LoadedModel& loaded);
// The grammar over the tokenizer's vocabulary; null where none is asked for. Throws what reading a
// file and parsing it throw, with the file's name.
std::shared_ptr<models::grammar::Constraint> sampling_constraint(
    const SamplingArguments& arguments, const models::Tokenizer& tokenizer);

// How to have the same draws again; empty where the seed was given, or nothing is left to chance.
std::string seed_text(const AskedSampling& sampling);

}  // namespace hearth::tools
