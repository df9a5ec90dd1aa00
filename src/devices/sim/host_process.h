// Programs of this machine, and the files that they read and write.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::sim {

// A folder that is gone when the object is; in processes that were forked since, it stays.
class TemporaryFolder {
 public:
  // Throws Error{io}.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
  int process_;
};

std::string read_file(const std::string& path);
// Throws Error{io}.
void write_file(const std::string& path, std::string_view text);

// Runs a program with its output in a file; its exit status, or -1.
int run_program(const std::vector<std::string>& words, const std::string& output);

}  // namespace hearth::sim
