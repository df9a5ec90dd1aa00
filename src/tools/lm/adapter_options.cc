#include "tools/lm/adapter_options.h"

#include <charconv>
#include <cmath>

#include "core/quoted.h"
#include "hearth/error.h"

namespace hearth::tools {

void add_adapter_option(Command& command, std::vector<std::string>& values) {
  command
      .option("--lora", values,
              "Add a low-rank adapter, a GGUF file or a folder of PEFT, by this much [1]; may be "
              "given again")
      .value_name("FILE[:SCALE]");
}

std::vector<AdapterFile> adapter_files(const std::vector<std::string>& values) {
  std::vector<AdapterFile> files;
  for (const std::string& value : values) {
    AdapterFile& file = files.emplace_back();
    file.path = value;
    const std::size_t colon = value.rfind(':');
    if (colon != std::string::npos && colon + 1 < value.size()) {
      const char* const end = value.data() + value.size();
      double scale = 0;
      const auto read = std::from_chars(value.data() + colon + 1, end, scale);
      if (read.ec == std::errc() && read.ptr == end && std::isfinite(scale)) {
        file = {value.substr(0, colon), scale};
      }
    }
    if (file.path.empty()) {
      throw Error(ErrorCode::invalid_argument, "--lora: no file; got " + hearth::quoted(value) +
                                                   ", expected FILE or FILE:SCALE");
    }
  }
  return files;
}

}  // namespace hearth::tools
