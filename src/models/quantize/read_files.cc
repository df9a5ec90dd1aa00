#include "models/quantize/read_files.h"

#include <sys/stat.h>

#include <map>
#include <utility>

#include "core/counted.h"
#include "core/quoted.h"
#include "hearth/error.h"
#include "io/gguf_split.h"

namespace hearth::models {
namespace {

using FileIdentity = std::pair<dev_t, ino_t>;

// Nothing of what is not there.
std::optional<FileIdentity> identity_of(const std::string& path) {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) return std::nullopt;
  return FileIdentity{found.st_dev, found.st_ino};
}

}  // namespace

std::vector<std::string> read_files(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code none;
    if (std::filesystem::is_directory(path, none)) {
      for (const auto& each : std::filesystem::directory_iterator(path, none)) {
        if (each.path().extension() != ".gguf") files.push_back(each.path().string());
      }
    } else if (std::optional<io::GgufPartName> part = io::gguf_part_name(path)) {
      for (part->number = 1; part->number <= part->count; ++part->number) {
        files.push_back(io::gguf_part_path(*part));
      }
    } else {
      files.push_back(path);
    }
  }
  return files;
}

void require_other_files(const std::string& command, const std::vector<std::string>& written,
                         const std::vector<std::string>& read) {
  std::map<FileIdentity, std::string> known;
  for (const std::string& path : read) {
    if (const auto identity = identity_of(path)) known.emplace(*identity, path);
  }
  for (const std::string& path : written) {
    const auto identity = identity_of(path);
    const auto found = identity ? known.find(*identity) : known.end();
    if (found == known.end()) continue;
    throw Error(ErrorCode::invalid_argument,
                command + ": a file that is read would be written over; got " +
                    hearth::quoted(path) + " to write and " + hearth::quoted(found->second) +
                    " to read, expected another name to write");
  }
}

FileStates::FileStates(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    std::error_code none;
    const bool is_folder = std::filesystem::is_directory(path, none);
    for (const std::string& file : read_files({path})) {
      if (!is_folder || file.ends_with(".safetensors")) states_[file] = state_of(file);
    }
  }
}

std::optional<FileStates::State> FileStates::state_of(const std::string& path) {
  std::error_code fault;
  const std::uintmax_t bytes = std::filesystem::file_size(path, fault);
  if (fault) return std::nullopt;
  const auto written = std::filesystem::last_write_time(path, fault);
  if (fault) return std::nullopt;
  return State{bytes, written};
}

void FileStates::require_unchanged(const std::string& command) const {
  const auto shown = [](const std::optional<State>& state) {
    return state ? counted(state->bytes, "byte") : std::string("no file");
  };
  for (const auto& [path, before] : states_) {
    const std::optional<State> now = state_of(path);
    if (now == before) continue;
    const bool is_as_long = now && before && now->bytes == before->bytes;
    throw Error(ErrorCode::io, command + ": a file changed while it was read; got " +
                                   (is_as_long ? "other " : "") + shown(now) + " in " +
                                   hearth::quoted(path) + ", expected the " + shown(before) +
                                   " of the beginning");
  }
}

}  // namespace hearth::models
