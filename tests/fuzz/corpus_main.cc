// Runs one fuzz target without libFuzzer: `<target>_corpus DIR` feeds it the empty input, every
// file of DIR, truncations of each and copies with bytes changed. Deterministic; bounded by kCalls
// a file.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr std::size_t kCalls = 2000;

using Bytes = std::vector<std::uint8_t>;

void feed(const Bytes& bytes) {
  // A copy of the exact size, so that reading past the end is seen by tools that watch the heap.
  Bytes exact(bytes.begin(), bytes.end());
  exact.shrink_to_fit();
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

void feed_truncations(const Bytes& bytes) {
  const std::size_t step = std::max<std::size_t>(1, bytes.size() / kCalls);
  for (std::size_t size = 0; size < bytes.size(); size += step) {
    feed(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)));
  }
}

void feed_changes(const Bytes& bytes) {
  if (bytes.empty()) return;
  std::mt19937 random(1);
  for (std::size_t call = 0; call < kCalls; ++call) {
    Bytes changed = bytes;
    for (int change = 0; change < 1 + static_cast<int>(call % 3); ++change) {
      // Headers matter more than payload: half of the changes fall into the first 256 bytes.
      const std::size_t reach =
          random() % 2 == 0 ? std::min<std::size_t>(256, bytes.size()) : bytes.size();
      changed[random() % reach] = static_cast<std::uint8_t>(random());
    }
    feed(changed);
  }
}

}  // namespace

int main(int argc, char** argv) {
  feed({});
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    if (!std::filesystem::is_directory(argv[i])) continue;
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  for (const auto& path : files) {
    std::ifstream stream(path, std::ios::binary);
    const Bytes bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
    feed(bytes);
    feed_truncations(bytes);
    feed_changes(bytes);
  }
  std::printf("%zu corpus files\n", files.size());
  return 0;
}
