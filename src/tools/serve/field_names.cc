#include "tools/serve/field_names.h"

namespace hearth::tools::serve {

std::string FieldNames::name_of(const std::string& read) const {
  for (std::size_t end = read.size(); end != 0 && end != std::string::npos;
       end = read.find_last_of(".[", end - 1)) {
    const auto found = given_.find(read.substr(0, end));
    if (found != given_.end()) return found->second + read.substr(end);
  }
  return read;
}

}  // namespace hearth::tools::serve
