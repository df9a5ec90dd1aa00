#include "tools/lm/context_note.h"

#include "core/counted.h"
#include "hearth/error.h"
#include "tools/output.h"

namespace hearth::tools {

void report_context(const std::string& command, std::int64_t wanted, std::int64_t got,
                    bool is_asked, const std::string& why) {
  if (is_asked) {
    throw Error(ErrorCode::invalid_argument, command + ": --context too long; got " +
                                                 std::to_string(wanted) + ", expected at most " +
                                                 std::to_string(got) + ": " + why);
  }
  write_note(command + ": " + counted(got, "token") + " of context, of the model's " +
             std::to_string(wanted) + ": " + why + "\n");
}

void warn_of_context(const std::string& command, std::int64_t context, std::int64_t trained) {
  if (context <= trained || trained == 0) return;
  write_note(command + ": warning: " + counted(context, "token") +
             " of context, and the model was made for " + std::to_string(trained) +
             ": what is beyond is worth little\n");
}

}  // namespace hearth::tools
