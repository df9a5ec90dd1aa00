#include "devices/cuda/driver/library.h"

#include <dlfcn.h>
#include <glob.h>
#include <unistd.h>
#if defined(__linux__)
#include <link.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "runtime/device/environment.h"

namespace hearth::cuda {
namespace {

std::string variable(const char* name) {
  const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return text == nullptr ? "" : text;
}

// The parts between the colons, without empty ones.
std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(':', at), text.size());
    if (end > at) parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

// Where the Python packages below `prefix` keep CUDA's libraries.
void add_packages(const std::string& prefix, std::vector<std::string>& folders) {
  for (const char* packages : {"site-packages", "dist-packages"}) {
    folders.push_back(prefix + "/lib/python3*/" + packages + "/nvidia/*/lib");
  }
}

// The folders above python3's own: as PATH has it, and where its links lead.
std::vector<std::string> python_prefixes(const std::string& path) {
  for (const std::string& folder : split(path)) {
    const std::string program = folder + "/python3";
    if (access(program.c_str(), X_OK) != 0) continue;
    std::error_code error;
    const auto real = std::filesystem::canonical(program, error);
    std::vector<std::string> prefixes{std::filesystem::path(folder).parent_path()};
    if (!error) prefixes.push_back(real.parent_path().parent_path());
    return prefixes;
  }
  return {};
}

// Files that match, newest version first; the pattern itself where none does.
std::vector<std::string> matches(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), GLOB_NOCHECK, nullptr, &found) == 0) {
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  globfree(&found);
  std::sort(paths.begin(), paths.end(), std::greater<>());
  return paths;
}

std::string opened_path(void* handle, const std::string& path) {
#if defined(__linux__)
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr && *map->l_name != '\0') {
    return map->l_name;
  }
#else
  (void)handle;
#endif
  return path;
}

Library open(const std::string& path, std::vector<std::string>& notes) {
  if (path.find('/') != std::string::npos && access(path.c_str(), F_OK) != 0) {
    notes.push_back(path + ": no such file");
    return {};
  }
  if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    const std::string real = opened_path(handle, path);
    notes.push_back(real + ": opened");
    return {handle, real};
  }
  const char* reason = dlerror();  // NOLINT(concurrency-mt-unsafe): kept for each thread
  const std::string text = reason == nullptr ? "cannot be opened" : reason;
  notes.push_back(text.rfind(path + ":", 0) == 0 ? text : path + ": " + text);
  return {};
}

}  // namespace

Places Places::from_environment() {
  Places places;
  places.hearth_path = runtime::environment().cuda_path;
  places.cuda_home = variable("CUDA_HOME");
  if (places.cuda_home.empty()) places.cuda_home = variable("CUDA_PATH");
  places.virtual_env = variable("VIRTUAL_ENV");
  places.conda_prefix = variable("CONDA_PREFIX");
  places.path = variable("PATH");
  places.home = variable("HOME");
  return places;
}

std::vector<std::string> search_folders(const Places& places) {
  std::vector<std::string> folders = split(places.hearth_path);
  if (places.system) folders.emplace_back();
  if (!places.cuda_home.empty()) {
    for (const char* below : {"/lib64", "/lib", "/targets/*/lib"}) {
      folders.push_back(places.cuda_home + below);
    }
  }
  if (places.system) {
    folders.insert(folders.end(),
                   {"/usr/local/cuda/lib64", "/usr/local/cuda-*/lib64", "/opt/cuda/lib64",
                    "/usr/local/nvidia/lib64", "/usr/lib/wsl/lib"});
  }
  if (!places.virtual_env.empty()) add_packages(places.virtual_env, folders);
  if (!places.conda_prefix.empty()) {
    folders.push_back(places.conda_prefix + "/lib");
    add_packages(places.conda_prefix, folders);
  }
  for (const std::string& prefix : python_prefixes(places.path)) add_packages(prefix, folders);
  if (!places.home.empty()) add_packages(places.home + "/.local", folders);

  // A folder may follow from several variables.
  std::vector<std::string> distinct;
  for (std::string& folder : folders) {
    if (std::find(distinct.begin(), distinct.end(), folder) == distinct.end()) {
      distinct.push_back(std::move(folder));
    }
  }
  return distinct;
}

void* Library::symbol(const char* name) const noexcept {
  return handle_ == nullptr ? nullptr : dlsym(handle_, name);
}

ToolkitNames::ToolkitNames(const std::string& name, int driver_version, int behind) {
  constexpr int kNewest = 13, kOldest = 12;
  for (int major = kNewest; major >= kOldest; --major) {
    (major * 1000 <= driver_version ? fitting : newer)
        .push_back(name + ".so." + std::to_string(major - behind));
  }
}

Library open_library(std::span<const std::string> names, const std::vector<std::string>& folders,
                     std::vector<std::string>& notes) {
  for (const std::string& folder : folders) {
    for (const std::string& name : names) {
      const auto paths = folder.empty() ? std::vector{name} : matches(folder + "/" + name);
      for (const std::string& path : paths) {
        if (Library library = open(path, notes)) return library;
      }
    }
  }
  return {};
}

}  // namespace hearth::cuda
