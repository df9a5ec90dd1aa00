// The page that `hearth serve` shows a browser.
#pragma once

#include <string_view>

namespace hearth::tools::serve {

// One file of HTML that needs nothing else: src/tools/serve/page/chat.html.
std::string_view chat_page() noexcept;

}  // namespace hearth::tools::serve
