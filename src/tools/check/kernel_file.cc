#include "tools/check/kernel_file.h"

#include <cctype>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <optional>
#include <sstream>
#include <utility>

#include "codegen/msl/entries.h"
#include "codegen/msl/preprocessor/preprocessor.h"
#include "hearth/error.h"
#include "io/text_file.h"

namespace hearth::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLastIndex = 30;                      // of threadgroup memory
constexpr std::uint64_t kMaxText = std::uint64_t{16} << 20;  // bytes of a file

[[noreturn]] void refuse_file(const std::string& what) {
  throw Error(ErrorCode::invalid_argument, "check-kernel: " + what);
}

// Nothing for what is no regular file: reading a pipe may wait for ever.
std::optional<std::string> read(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return {};
  return io::read_text(path.string(), kMaxText);
}

// What the library calls by the names of its options, the command has flags for.
constexpr std::pair<std::string_view, std::string_view> kFlags[] = {
    {"metal_kernel: ", "check-kernel: "},
    {"one in MetalOptions::function_constants", "one, such as --constant NAME=VALUE"},
    {"one in MetalOptions::threadgroup_bytes", "one, such as --threadgroup INDEX=BYTES"},
    {"a text that has one",
     "a text that has one, or for the dialect --parameter for each parameter"},
    {"it among the files given", "it beside the text, or in a folder of --include"}};

template <class Function>
auto with_flags(const Function& function) {
  try {
    return function();
  } catch (const Error& error) {
    std::string text = error.what();
    for (const auto& [option, flag] : kFlags) {
      const std::size_t at = text.find(option);
      if (at != std::string::npos) text.replace(at, option.size(), flag);
    }
    throw Error(error.code(), text);
  }
}

// NAME=VALUE; the value is `missing` where there is no =, if that is allowed.
std::pair<std::string, std::string> split(const std::string& text, const std::string& option,
                                          const char* missing = nullptr) {
  const std::size_t at = text.find('=');
  if (at == 0 || (at == std::string::npos && (missing == nullptr || text.empty()))) {
    refuse_file(option + " has another form; got \"" + text + "\", expected NAME=VALUE");
  }
  if (at == std::string::npos) return {text, missing};
  return {text.substr(0, at), text.substr(at + 1)};
}

std::int64_t integer(const std::string& text, const std::string& option) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    refuse_file(option + " needs a number; got \"" + text + "\", expected digits");
  }
  return value;
}

runtime::KernelParameter parameter_of(const std::string& text) {
  using Kind = runtime::KernelParameter::Kind;
  std::istringstream in(text);
  const std::vector<std::string> words{std::istream_iterator<std::string>(in), {}};
  constexpr std::pair<std::string_view, Kind> kKinds[] = {{"read", Kind::read},
                                                          {"write", Kind::write},
                                                          {"read_write", Kind::read_write},
                                                          {"constant", Kind::constant},
                                                          {"threadgroup", Kind::threadgroup}};
  for (const auto& [name, kind] : kKinds) {
    if (words.empty() || words[0] != name) continue;
    const bool is_array = kind == Kind::threadgroup;
    if (words.size() != (is_array ? 4u : 3u)) break;
    return {kind, words[1], words[2], is_array ? integer(words[3], "--parameter") : 0};
  }
  refuse_file(
      "--parameter has another form; got \"" + text +
      "\", expected read, write, read_write or constant with a type and a name, or threadgroup "
      "with a type, a name and a count");
}

// What stands in quotes or angle brackets after #include in a line, or nothing.
std::string included(std::string_view line) {
  const auto skip_blanks = [&line] {
    while (!line.empty() && (line[0] == ' ' || line[0] == '\t')) line.remove_prefix(1);
  };
  skip_blanks();
  if (!line.starts_with('#')) return {};
  line.remove_prefix(1);
  skip_blanks();
  if (!line.starts_with("include") && !line.starts_with("import")) return {};
  const std::size_t begin = line.find_first_of("\"<");
  const std::size_t end = line.find_first_of("\">", begin + 1);
  return end == std::string_view::npos ? "" : std::string(line.substr(begin + 1, end - begin - 1));
}

}  // namespace

KernelFile::KernelFile(const KernelFileOptions& options) : folders_(options.folders) {
  std::optional<std::string> text = read(options.path);
  if (!text) {
    throw Error(ErrorCode::io, "check-kernel: cannot read the kernels; got '" + options.path +
                                   "', expected a regular file");
  }
  text_ = std::move(*text);
  for (const std::string& each : options.defines) {
    metal_.defines.insert_or_assign(split(each, "--define", "1").first,
                                    split(each, "--define", "1").second);
  }
  for (const std::string& each : options.constants) {
    auto [name, value] = split(each, "--constant");
    metal_.function_constants.insert_or_assign(std::move(name), std::move(value));
  }
  for (const std::string& each : options.threadgroup) {
    const auto [index, bytes] = split(each, "--threadgroup");
    const std::int64_t number = integer(index, "--threadgroup");
    if (number > kLastIndex) {
      refuse_file("--threadgroup has no such index; got \"" + each + "\", expected 0 to " +
                  std::to_string(kLastIndex));
    }
    metal_.threadgroup_bytes[static_cast<int>(number)] = integer(bytes, "--threadgroup");
  }
  for (const std::string& each : options.parameters) parameters_.push_back(parameter_of(each));
  add_includes(fs::path(options.path).parent_path().string());
}

// Reads what the text includes, and what that does, under the paths that the preprocessor looks
// for. A missing file may be included under a condition that does not hold.
void KernelFile::add_includes(const std::string& folder) {
  struct Text {
    const std::string* text;
    std::string folder;  // where it lies
    std::string key;     // its own path
  };
  std::vector<Text> left = {{&text_, folder, ""}};
  while (!left.empty()) {
    const Text now = std::move(left.back());
    left.pop_back();
    std::istringstream lines(*now.text);
    for (std::string line; std::getline(lines, line);) {
      const std::string path = included(line);
      if (path.empty()) continue;
      const auto take = [&](const fs::path& file, const std::string& as) {
        if (metal_.files.count(as) > 0) return true;
        std::optional<std::string> found = read(file);
        if (!found) return false;
        const std::string& kept = metal_.files.emplace(as, std::move(*found)).first->second;
        left.push_back({&kept, file.parent_path().string(), as});
        return true;
      };
      const std::string beside =
          (fs::path(now.key).parent_path() / path).lexically_normal().generic_string();
      if (take(fs::path(now.folder) / path, beside)) continue;
      for (const std::string& each : folders_) {
        if (take(fs::path(each) / path, path)) break;
      }
    }
  }
}

std::vector<std::string> KernelFile::names() const {
  if (is_dialect()) return {};
  return with_flags([&] { return runtime::metal_kernel_names(text_, metal_); });
}

std::vector<std::string> KernelFile::functions() const {
  const std::string read =
      with_flags([&] { return gpu::preprocess(text_, "text", metal_.files, metal_.defines); });
  const gpu::MetalText text(read);
  std::vector<std::string> all;
  for (const gpu::MetalInstance& instance : text.instances) {
    all.push_back(instance.function.substr(0, instance.function.find('<')));
  }
  for (const gpu::MetalEntry& entry : text.entries) {
    if (!entry.is_template && !entry.body.empty()) all.push_back(entry.name);
  }
  return all;
}

runtime::KernelSource KernelFile::source(const std::string& name) const {
  if (!is_dialect()) {
    return with_flags([&] { return runtime::metal_kernel(text_, name, metal_); });
  }
  runtime::KernelSource made;
  made.name = name.substr(0, name.find('<'));
  made.text = text_;
  made.function = name;
  made.parameters = parameters_;
  return made;
}

}  // namespace hearth::tools
