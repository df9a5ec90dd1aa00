// Which files a command reads, so that it writes over none of them, and whether they stay as they
// are.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hearth::models {

// What is read of the paths: of a GGUF file of a split model all parts, of a folder its files but
// those of GGUF, which no folder's reader opens; else the path itself.
std::vector<std::string> read_files(const std::vector<std::string>& paths);

// Throws Error{invalid_argument} where one of `written` is one of `read`, under whatever name.
// `command` begins what it says.
void require_other_files(const std::string& command, const std::vector<std::string>& written,
                         const std::vector<std::string>& read);

// What the files of the paths are when this is made, of folders those with weights: sizes and times
// of writing. The rest of a folder is read at once, and may change afterwards.
class FileStates {
 public:
  explicit FileStates(const std::vector<std::string>& paths);

  // Throws Error{io} for a file that is not what it was, as parts of it may be that were read.
  // `command` begins what it says.
  void require_unchanged(const std::string& command) const;

 private:
  struct State {
    std::uintmax_t bytes;
    std::filesystem::file_time_type written;
    bool operator==(const State&) const = default;
  };
  static std::optional<State> state_of(const std::string& path);  // nothing where it is not there

  std::map<std::string, std::optional<State>> states_;
};

}  // namespace hearth::models
