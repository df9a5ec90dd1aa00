#include "runtime/compile/atomic_write.h"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>

namespace hearth {
inline namespace v0 {
namespace runtime {
namespace {

// No two writers, in this process or another, choose the same name.
std::string unique_suffix() {
  static std::atomic<std::uint64_t> count{std::random_device{}()};
  std::random_device device;
  return "." + std::to_string(device()) + "." + std::to_string(count.fetch_add(1)) + ".new";
}

}  // namespace

bool write_whole_file(const std::string& path,
                      std::initializer_list<std::span<const std::byte>> pieces) noexcept try {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (error) return false;
  const std::string fresh = path + unique_suffix();
  {
    std::ofstream file(fresh, std::ios::binary);
    for (const std::span<const std::byte> piece : pieces) {
      file.write(reinterpret_cast<const char*>(piece.data()),
                 static_cast<std::streamsize>(piece.size()));
    }
    file.close();
    if (!file) {
      std::filesystem::remove(fresh, error);
      return false;
    }
  }
  std::filesystem::rename(fresh, path, error);
  if (!error) return true;
  std::filesystem::remove(fresh, error);
  return false;
} catch (const std::exception&) {
  return false;
}

bool link_whole_file(const std::string& existing, const std::string& path) noexcept try {
  std::error_code error;
  const std::string fresh = path + unique_suffix();
  std::filesystem::create_hard_link(existing, fresh, error);
  if (error) return false;
  std::filesystem::rename(fresh, path, error);
  const bool is_linked = !error;
  // Renaming one name of a file to another of its names leaves both.
  std::filesystem::remove(fresh, error);
  return is_linked;
} catch (const std::exception&) {
  return false;
}

}  // namespace runtime
}  // namespace v0
}  // namespace hearth
