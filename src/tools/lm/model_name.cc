#include "tools/lm/model_name.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "core/quoted.h"

namespace hearth::tools {
namespace {

bool exists(std::string_view path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  for (char& c : small) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return small;
}

// "OWNER/NAME:TAG" of a page's address, or of what stands for one.
std::string_view without_host(std::string_view value) {
  for (const std::string_view begin : {"https://", "http://", "huggingface.co/", "hf.co/"}) {
    if (value.starts_with(begin)) value.remove_prefix(begin.size());
  }
  return value;
}

bool looks_like_name(std::string_view name) {
  constexpr std::array<std::string_view, 6> kFileEndings = {".gguf", ".safetensors", ".json",
                                                            ".bin",  ".pt",          ".jinja"};
  const bool is_plain = std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.' ||
           c == ':' || c == '/';
  });
  if (name.empty() || !is_plain || name.front() == '.' || name.front() == '/') return false;
  if (name.back() == '/' || std::count(name.begin(), name.end(), '/') > 1) return false;
  return std::none_of(kFileEndings.begin(), kFileEndings.end(),
                      [&](std::string_view ending) { return name.ends_with(ending); });
}

}  // namespace

std::string model_name_fault(const std::string& value) {
  const std::string_view name = without_host(value);
  if (exists(value) || !looks_like_name(name)) return {};
  const std::size_t slash = name.find('/');
  const std::string begin = "no such file or folder; got " + hearth::quoted(value) +
                            ", expected the path of a model: Hearth fetches none, but ";
  if (slash == std::string_view::npos) {
    return begin +
           "`hf download OWNER/NAME --local-dir NAME` does, from https://huggingface.co/models, "
           "and "
           "NAME is the path then";
  }
  if (exists(name.substr(0, slash))) return {};
  const std::size_t colon = std::min(name.find(':'), name.size());
  const std::string repository(name.substr(0, colon));
  const std::string folder = repository.substr(slash + 1);
  const bool has_tag = colon + 1 < name.size();
  if (!has_tag && in_small_letters(folder).find("gguf") == std::string::npos) {
    return begin + "`hf download " + repository + " --local-dir " + folder + "` does, and " +
           folder + " is the path then";
  }
  const std::string type(has_tag ? name.substr(colon + 1) : std::string_view("Q4_K_M"));
  return begin + "`hf download " + repository + " --include '*" + type + "*' --local-dir " +
         folder + "` does, and the file in " + folder + " is the path then";
}

}  // namespace hearth::tools
