// The options of commands that write with a language model: how tokens are drawn.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/grammar/grammar.h"
#include "models/sampling/sampling_options.h"
#include "models/tokenizer/tokenizer.h"
#include "tools/command_line.h"

namespace hearth::tools {

// What the command line gives; `values` holds the command's defaults before the options are
// declared.
struct SamplingArguments {
  models::SamplingOptions values;
  std::string steps;
  std::vector<std::string> dry_breakers = {"\n", ":", "\"", "*"};
  std::vector<std::string> logit_bias;
  std::int64_t mirostat = 0;
  std::string grammar;  // files; at most one of both
  std::string json_schema;
};

// Declares them; `arguments` must live as long as the variables of other options.
void add_sampling_options(Command& command, SamplingArguments& arguments);

// What the arguments ask for. Throws Error{invalid_argument} with the option for what cannot be
// read; ranges are checked where the values are used.
models::SamplingOptions sampling_options(const SamplingArguments& arguments,
                                         const models::Tokenizer& tokenizer);
// The grammar over the tokenizer's vocabulary; null where none is asked for. Throws what reading a
// file and parsing it throw, with the file's name.
std::shared_ptr<models::grammar::Constraint> sampling_constraint(
    const SamplingArguments& arguments, const models::Tokenizer& tokenizer);

// The same of a model whose tokens are bytes.
models::SamplingOptions byte_sampling_options(const SamplingArguments& arguments);
std::shared_ptr<models::grammar::Constraint> byte_sampling_constraint(
    const SamplingArguments& arguments);

}  // namespace hearth::tools
