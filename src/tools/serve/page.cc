#include "tools/serve/page.h"

#include <span>

#include "codegen/embedded_texts.h"

namespace hearth::tools::serve {

// Made by the build from the files of page/.
std::span<const gpu::EmbeddedText> embedded_texts() noexcept;

std::string_view chat_page() noexcept {
  for (const gpu::EmbeddedText& each : embedded_texts()) {
    if (each.path == "chat.html") return each.text;
  }
  return {};
}

}  // namespace hearth::tools::serve
