#include "runtime/tune/cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <fstream>

#include "core/json.h"
#include "runtime/compile/atomic_write.h"
#include "runtime/compile/source_hash.h"

namespace hearth {
inline namespace v0 {
namespace runtime {
namespace {

constexpr std::int64_t kFormat = 1;
// Of a line and of a file that can be this file.
constexpr std::size_t kMaxLineLength = 16 * 1024;
constexpr std::uintmax_t kMaxFileLength = TuningFile::kMax * kMaxLineLength;
// The last of them, some of which may make no sense or be of one class.
constexpr std::size_t kMaxLines = 4 * TuningFile::kMax;

// Held by whoever reads the file to write it again. File systems without locks lose only what
// another process keeps at the same moment.
class FileLock {
 public:
  explicit FileLock(const std::string& path)
      // Opening a pipe that nobody reads would wait for ever.
      : descriptor_(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666)) {
    while (descriptor_ >= 0 && ::flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~FileLock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  const int descriptor_;
};

std::string file_name(const std::string& device, const std::string& compiler) {
  std::string name = "choices_";
  for (const char c : device) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (plain || name.back() != '_') name += plain ? c : '_';
  }
  const std::string all = device + '\n' + compiler;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx",
                static_cast<unsigned long long>(checksum(all.data(), all.size())));
  return name + "_" + digits + ".jsonl";
}

const JsonValue* member(const JsonObject& object, const char* key) {
  for (const auto& [name, value] : object) {
    if (name == key) return &value;
  }
  return nullptr;
}

bool read_text(const JsonObject& object, const char* key, std::string& text) {
  const JsonValue* const value = member(object, key);
  const auto* const found = value == nullptr ? nullptr : std::get_if<std::string>(value);
  if (found == nullptr) return false;
  text = *found;
  return true;
}

// Microseconds, at least 0.
bool read_time(const JsonValue& value, CandidateTime& time) {
  double microseconds = -1;
  if (std::holds_alternative<std::nullptr_t>(value)) return true;
  if (const auto* const whole = std::get_if<std::int64_t>(&value)) {
    microseconds = static_cast<double>(*whole);
  }
  if (const auto* const number = std::get_if<double>(&value)) microseconds = *number;
  if (!std::isfinite(microseconds) || microseconds < 0) return false;
  time.seconds = microseconds * 1e-6;
  return true;
}

std::optional<KeptSelection> choice_of(const std::string& line) {
  const std::optional<JsonValue> value = parse_json(line);
  const auto* const object = value ? std::get_if<JsonObject>(&*value) : nullptr;
  KeptSelection choice;
  if (object == nullptr || !read_text(*object, "op", choice.op) ||
      !read_text(*object, "class", choice.problem) ||
      !read_text(*object, "chosen", choice.chosen)) {
    return std::nullopt;
  }
  const JsonValue* const times = member(*object, "microseconds");
  const auto* const list = times == nullptr ? nullptr : std::get_if<JsonObject>(times);
  if (list == nullptr) return std::nullopt;
  bool has_chosen = false;
  for (const auto& [name, time] : *list) {
    CandidateTime& each = choice.times.emplace_back();
    each.name = name;
    if (!read_time(time, each)) return std::nullopt;
    // What could not be measured is not known to work.
    has_chosen = has_chosen || (name == choice.chosen && each.seconds.has_value());
  }
  return has_chosen ? std::optional(std::move(choice)) : std::nullopt;
}

std::string line_of(const KeptSelection& choice) {
  JsonObject times;
  for (const CandidateTime& time : choice.times) {
    // In steps of a nanosecond, so that lines stay short.
    const auto rounded = [](double seconds) { return std::round(seconds * 1e9) * 1e-3; };
    times.emplace_back(time.name, time.seconds ? JsonValue(rounded(*time.seconds)) : JsonValue());
  }
  return json_text(JsonObject{{"op", choice.op},
                              {"class", choice.problem},
                              {"chosen", choice.chosen},
                              {"microseconds", std::move(times)}});
}

bool is_between(const KeptSelection& choice, const std::vector<std::string>& names) {
  return choice.times.size() == names.size() &&
         std::all_of(choice.times.begin(), choice.times.end(), [&](const CandidateTime& time) {
           return std::find(names.begin(), names.end(), time.name) != names.end();
         });
}

std::vector<std::string> names_of(const KeptSelection& choice) {
  std::vector<std::string> names;
  for (const CandidateTime& time : choice.times) names.push_back(time.name);
  return names;
}

}  // namespace

TuningFile::TuningFile(const std::string& folder, std::string device, std::string compiler)
    : device_(std::move(device)), compiler_(std::move(compiler)) {
  if (!folder.empty()) path_ = folder + "/" + file_name(device_, compiler_);
}

std::string TuningFile::heading() const {
  return json_text(
      JsonObject{{"hearth_choices", kFormat}, {"device", device_}, {"compiler", compiler_}});
}

std::vector<KeptSelection> TuningFile::read() const noexcept try {
  std::vector<KeptSelection> choices;
  std::error_code error;
  if (path_.empty()) return choices;
  const std::uintmax_t bytes = std::filesystem::file_size(path_, error);
  if (error || bytes > kMaxFileLength) return choices;
  std::ifstream file(path_, std::ios::binary);
  std::string line;
  if (!std::getline(file, line) || line != heading()) return choices;
  std::deque<std::string> lines;
  while (std::getline(file, line)) {
    if (line.size() > kMaxLineLength) continue;
    lines.push_back(std::move(line));
    if (lines.size() > kMaxLines) lines.pop_front();
  }
  for (const std::string& each : lines) {
    auto choice = choice_of(each);
    if (!choice) continue;
    std::erase_if(choices, [&](const KeptSelection& other) {
      return other.op == choice->op && other.problem == choice->problem;
    });
    choices.push_back(std::move(*choice));
  }
  return choices;
} catch (const std::exception&) {
  return {};
}

bool TuningFile::write(const std::vector<KeptSelection>& choices) const noexcept try {
  std::string text = heading() + "\n";
  for (const KeptSelection& choice : choices) text += line_of(choice) + "\n";
  return write_whole_file(path_, {std::as_bytes(std::span(text))});
} catch (const std::exception&) {
  return false;
}

std::optional<KeptSelection> TuningFile::find(const std::string& op, const std::string& problem,
                                              const std::vector<std::string>& names) {
  if (!known_) known_ = read();
  for (const KeptSelection& choice : *known_) {
    if (choice.op == op && choice.problem == problem &&
        (names.empty() || is_between(choice, names))) {
      return choice;
    }
  }
  return std::nullopt;
}

KeptSelection TuningFile::keep(KeptSelection choice) {
  std::error_code error;
  if (!path_.empty()) {
    std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), error);
  }
  const FileLock lock(path_.empty() ? "" : path_ + ".lock");
  if (!path_.empty()) known_ = read();
  if (auto first = find(choice.op, choice.problem, names_of(choice))) return *first;
  std::vector<KeptSelection>& all = *known_;
  std::erase_if(all, [&](const KeptSelection& other) {
    return other.op == choice.op && other.problem == choice.problem;
  });
  all.push_back(choice);
  if (all.size() > kMax) all.erase(all.begin(), all.end() - kMax);
  if (!path_.empty()) write(all);
  return choice;
}

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
