// Shared libraries that are opened at run time, and where CUDA's may lie. Nothing of CUDA is needed
// to build Hearth, and a machine without it runs the same program.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hearth::cuda {

// What decides where libraries are looked for.
struct Places {
  std::string hearth_path;   // HEARTH_CUDA_PATH: folders with colons between, before all others
  std::string cuda_home;     // CUDA_HOME or CUDA_PATH: a toolkit
  std::string virtual_env;   // VIRTUAL_ENV
  std::string conda_prefix;  // CONDA_PREFIX
  std::string path;          // PATH, where python3 is looked for: its packages bring NVRTC
  std::string home;          // HOME
  bool system = true;        // also what the loader finds by itself, and the usual folders

  static Places from_environment();
};

// Folders to look in, in this order; "" is the loader's own search. They may hold the
// wildcards of glob(7). Each attempt with a file is one line that open_library() notes.
std::vector<std::string> search_folders(const Places& places);

// An open library, or none. It stays open as long as the process: CUDA's keep threads and exit
// handlers of their own.
class Library {
 public:
  Library() = default;
  Library(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  explicit operator bool() const noexcept { return handle_ != nullptr; }
  // Its file, as far as the loader tells.
  const std::string& path() const noexcept { return path_; }
  // Null where the library has no such symbol.
  void* symbol(const char* name) const noexcept;

 private:
  void* handle_ = nullptr;
  std::string path_;
};

// Looks functions up by name, and remembers which are missing.
class FunctionLookup {
 public:
  explicit FunctionLookup(const Library& library) : library_(library) {}
  // Null where it is missing, which is not remembered.
  template <class Function>
  void optional(const char* name, Function*& function) const {
    function = reinterpret_cast<Function*>(library_.symbol(name));
  }
  template <class Function>
  void operator()(const char* name, Function*& function) {
    optional(name, function);
    if (function == nullptr) missing_ += (missing_.empty() ? "" : " ") + std::string(name);
  }
  // "a b", or empty.
  const std::string& missing() const noexcept { return missing_; }

 private:
  const Library& library_;
  std::string missing_;
};

// The functions of an open library, which Api::look_up() finds. Null where some are missing, as
// `notes` says then: of `name`, "cuDNN".
template <class Api>
std::shared_ptr<Api> load_functions(const Library& library, const char* name,
                                    std::vector<std::string>& notes) {
  auto api = std::make_shared<Api>();
  FunctionLookup find(library);
  api->look_up(find);
  if (find.missing().empty()) return api;
  notes.push_back(std::string(name) + " is left alone: " + library.path() + " has no " +
                  find.missing());
  return nullptr;
}

// File names of a library of the toolkit, "libnvrtc.so.13", newest first: of those versions that a
// driver of `driver_version`, as cuDriverGetVersion says it, runs, and of newer ones. The number of
// the name is `behind` less than the toolkit's.
struct ToolkitNames {
  ToolkitNames(const std::string& name, int driver_version, int behind = 0);
  std::vector<std::string> fitting, newer;
};

// The first library of one of these names, folder by folder. Adds a line for each attempt to
// `notes`: its path and what came of it.
Library open_library(std::span<const std::string> names, const std::vector<std::string>& folders,
                     std::vector<std::string>& notes);

}  // namespace hearth::cuda
