// Lines of a .jsonl file as texts to train on.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "models/chat/chat_format.h"
#include "models/loading/load_model.h"
#include "tools/lm/training_texts.h"

namespace hearth::tools {

// Reads by what members an object has:
//   {"messages": [...], "tools": [...]}  a conversation as OpenAI's API has it, which the model's
//       template writes: what assistants say counts, their calls of tools and reasoning too, with
//       what ends it
//   {"prompt": "...", "completion": "..."}  both as they are, one behind the other; of these the
//       completion counts, with the token that ends a text
//   {"text": "..."}  a text as it is, all of which counts, with the token that ends it
// Texts of control tokens in the last two are these tokens; the token that the model wants before a
// text goes before them, unless it is there.
class TrainingLines {
 public:
  // `loaded` must outlive this. Needs a chat template once a conversation is read.
  explicit TrainingLines(const models::LoadedModel& loaded) : loaded_(loaded) {}

  struct Line {
    TrainingTexts::Text text;
    bool has_windows = false;  // any part of it is as good as its beginning
  };
  // Throws Error{invalid_argument} with the number of the line for what is none of these, and for
  // tools, calls and reasoning that the template leaves out; Error{unsupported} for a model without
  // a template, and where its template writes an answer otherwise than behind the prompt for it.
  Line read(const std::string& line, std::size_t number);

 private:
  Line read_object(const std::string& line);
  const models::ChatFormat& format();

  const models::LoadedModel& loaded_;
  std::optional<models::ChatFormat> format_;  // once it is wanted
};

}  // namespace hearth::tools
