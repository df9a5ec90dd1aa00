#include "models/quantize/importance.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>

#include "core/counted.h"
#include "core/number_text.h"
#include "core/quoted.h"
#include "io/file.h"
#include "io/gguf.h"
#include "io/untrusted.h"

namespace hearth::models {
namespace {

constexpr std::string_view kSums = ".in_sum2", kCounts = ".counts";

std::span<const float> floats_of(const io::GgufView& view, const std::string& path) {
  if (view.dtype != DType::f32) {
    throw Error(ErrorCode::corrupt_file,
                "importance: " + path + ": numbers of another dtype; got " + view.name + " of " +
                    std::string(name(view.dtype)) + ", expected f32");
  }
  return {reinterpret_cast<const float*>(view.bytes.data()), view.bytes.size() / sizeof(float)};
}

// A sum over rows or calls, as the mean of `count`; 1 of none, as of an expert that nothing went
// through. `matrix` is for messages.
float mean_of(float sum, float count, const std::string& path, std::string_view matrix) {
  const auto require = [&](bool is_right, const char* what, float value) {
    if (is_right) return;
    throw Error(ErrorCode::corrupt_file, "importance: " + path + ": " + what + "; got " +
                                             number_text(value) + " of " + hearth::quoted(matrix) +
                                             ", expected a finite number >= 0");
  };
  require(std::isfinite(sum) && sum >= 0, "a sum of squares that is none", sum);
  require(std::isfinite(count) && count >= 0, "a count that is none", count);
  const float mean = count > 0 ? sum / count : 1;
  require(std::isfinite(mean), "a mean that is too large", mean);
  return mean;
}

// Sums of squares [experts, in] and numbers of rows [experts, 1] of each matrix.
Importance of_gguf(const std::string& path) {
  const io::GgufFile file = io::GgufFile::open(path);
  Importance means;
  for (const io::GgufView& view : file.tensors()) {
    if (!view.name.ends_with(kSums)) continue;
    const std::string matrix = view.name.substr(0, view.name.size() - kSums.size());
    const io::GgufView* const rows = file.find(matrix + std::string(kCounts));
    const std::span<const float> sums = floats_of(view, path);
    const std::span<const float> counts =
        rows != nullptr ? floats_of(*rows, path) : std::span<const float>();
    if (counts.empty() || sums.size() % counts.size() != 0) {
      throw Error(ErrorCode::corrupt_file,
                  "importance: " + path + ": sums and counts that do not fit; got " +
                      counted(sums.size(), "sum") + " and " + counted(counts.size(), "count") +
                      " of " + matrix + ", expected a count for each run of sums");
    }
    std::vector<float>& mean = means[matrix];
    mean.assign(sums.begin(), sums.end());
    const std::size_t in = sums.size() / counts.size();
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean[i] = mean_of(mean[i], counts[i / in], path, matrix);
    }
  }
  return means;
}

// What is left of a file of little-endian numbers.
class NumberReader {
 public:
  NumberReader(std::span<const std::byte> bytes, const std::string& path)
      : bytes_(bytes), errors_("importance", path) {}

  std::int32_t count(const char* what) {
    std::int32_t value = 0;
    std::memcpy(&value, take(sizeof value, what).data(), sizeof value);
    if (value < 0) {
      errors_.corrupt(at_ - sizeof value,
                      std::string("negative number of ") + what + "; got " + std::to_string(value));
    }
    return value;
  }
  std::span<const std::byte> take(std::size_t bytes, const char* what) {
    if (bytes > bytes_.size() - at_) {
      errors_.corrupt(at_, std::string("ends within ") + what + "; got " +
                               counted(bytes_.size() - at_, "byte") + ", expected " +
                               std::to_string(bytes));
    }
    at_ += bytes;
    return bytes_.subspan(at_ - bytes, bytes);
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  io::FileErrors errors_;
};

// A number of entries; of each: name, calls, values, and the sums over all calls of means of
// squares.
Importance of_numbers(std::span<const std::byte> bytes, const std::string& path) {
  NumberReader reader(bytes, path);
  Importance means;
  for (std::int32_t entries = reader.count("entries"); entries > 0; --entries) {
    const auto length = static_cast<std::size_t>(reader.count("letters"));
    const auto name = reader.take(length, "a name");
    const std::int32_t calls = reader.count("calls");
    const auto values = static_cast<std::size_t>(reader.count("values"));
    const auto sums = reader.take(values * sizeof(float), "values");
    const std::string matrix(reinterpret_cast<const char*>(name.data()), name.size());
    std::vector<float>& mean = means[matrix];
    mean.resize(values);
    if (values > 0) std::memcpy(mean.data(), sums.data(), sums.size());
    for (float& value : mean) value = mean_of(value, static_cast<float>(calls), path, matrix);
  }
  return means;
}

}  // namespace

Importance read_importance(const std::string& path) {
  const io::MappedFile file = io::MappedFile::open(path);
  const std::span<const std::byte> bytes = file.bytes();
  constexpr char kMagic[] = {'G', 'G', 'U', 'F'};
  const bool is_gguf =
      bytes.size() >= sizeof kMagic && std::memcmp(bytes.data(), kMagic, sizeof kMagic) == 0;
  Importance means = is_gguf ? of_gguf(path) : of_numbers(bytes, path);
  if (means.empty()) {
    throw Error(
        ErrorCode::corrupt_file,
        "importance: " + path + ": no importance of matrices; got " +
            (is_gguf ? "no tensors named " + hearth::quoted("*" + std::string(kSums)) : "none") +
            ", expected a file of llama-imatrix");
  }
  return means;
}

}  // namespace hearth::models
