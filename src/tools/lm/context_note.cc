#include "tools/lm/context_note.h"

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
  write_note(command + ": " + std::to_string(got) + " tokens of context, of the model's " +
             std::to_string(wanted) + ": " + why + "\n");
}

}  // namespace hearth::tools
