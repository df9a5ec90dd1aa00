#include "tools/lm/chat_template_option.h"

#include <cstdint>

#include "io/text_file.h"
#include "tools/lm/option_file.h"

namespace hearth::tools {

void add_chat_template_option(Command& command, std::string& path) {
  command
      .option("--chat-template,--chat-template-file", path,
              "A file in the language of jinja2 in place of the model's own")
      .value_name("FILE");
}

void set_chat_template(models::LoadedModel& loaded, const std::string& path) {
  constexpr std::uint64_t kMostTemplateFileBytes = 16u << 20;
  if (path.empty()) return;
  loaded.chat_template =
      read_option_file("--chat-template", "a file in the language of jinja2",
                       [&] { return io::read_text(path, kMostTemplateFileBytes); });
}

}  // namespace hearth::tools
