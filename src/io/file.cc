#include "io/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace hearth::io {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 18;
// The most that one read or write call may ask for everywhere.
constexpr std::size_t kCallBytes = std::size_t{1} << 30;
constexpr int kTemporaryNames = 1000;

[[noreturn]] void throw_io(const char* what, const std::string& path, int reason) {
  throw Error(ErrorCode::io, std::string("file: cannot ") + what + " \"" + path +
                                 "\": " + std::generic_category().message(reason));
}

[[noreturn]] void throw_io(const char* what, const std::string& path, const std::string& reason) {
  throw Error(ErrorCode::io, std::string("file: cannot ") + what + " \"" + path + "\": " + reason);
}

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  int get() const noexcept { return value_; }

 private:
  int value_;
};

int open_file(const std::string& path, int flags, mode_t mode = 0) {
  int descriptor = -1;
  do {
    descriptor = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

std::string link_to(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

// A new file in the folder that has no name until it is given one, and is gone with the process
// before; -1 where the file system or the system has none such.
int open_nameless(const std::string& folder) {
#ifdef O_TMPFILE
  const int descriptor = open_file(folder, O_WRONLY | O_TMPFILE, 0666);
  if (descriptor < 0 || ::access(link_to(descriptor).c_str(), F_OK) == 0) return descriptor;
  ::close(descriptor);
#else
  static_cast<void>(folder);
#endif
  return -1;
}

enum class Lock { taken, busy, none };  // none: the file system has no locks

Lock lock(int descriptor) {
  int result = 0;
  do {
    result = ::flock(descriptor, LOCK_EX | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  if (result == 0) return Lock::taken;
  return errno == EWOULDBLOCK ? Lock::busy : Lock::none;
}

// Whether the regular file still has that name.
bool has_name(int descriptor, const std::string& name) {
  struct stat opened{};
  struct stat named{};
  return ::fstat(descriptor, &opened) == 0 && S_ISREG(opened.st_mode) &&
         ::lstat(name.c_str(), &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

int sync_descriptor(int descriptor) {
  int result = 0;
  do {
    result = ::fsync(descriptor);
  } while (result < 0 && errno == EINTR);
  return result < 0 ? errno : 0;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return "./";
  return path.substr(0, slash + 1);
}

// Where a write to `path` ends up: the path itself, or the end of its chain of symbolic links.
std::string resolve_target(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) return path;
  std::unique_ptr<char, decltype(&std::free)> resolved(::realpath(path.c_str(), nullptr),
                                                       &std::free);
  if (!resolved) throw_io("write", path, errno);
  return resolved.get();
}

}  // namespace

MappedFile MappedFile::open(const std::string& path) {
  // Without O_NONBLOCK, opening a pipe that nobody writes would wait for ever.
  const Descriptor file(open_file(path, O_RDONLY | O_NONBLOCK));
  if (file.get() < 0) throw_io("open", path, errno);
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) throw_io("open", path, errno);
  if (!S_ISREG(status.st_mode)) throw_io("open", path, std::string("not a regular file"));
  MappedFile mapped;
  if (status.st_size == 0) return mapped;
  if (static_cast<std::uintmax_t>(status.st_size) > std::numeric_limits<std::size_t>::max()) {
    throw_io("map", path, EFBIG);
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  // Shared, as Metal is known to read mapped files.
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (address == MAP_FAILED) throw_io("map", path, errno);
  mapped.bytes_ = {static_cast<const std::byte*>(address), size};
  return mapped;
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

namespace {

struct stat status_of(int descriptor, const std::string& path) {
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) throw_io("open", path, errno);
  return status;
}

// From where the descriptor stands. `path` is for messages.
std::vector<std::byte> read_to_end(int descriptor, const struct stat& status,
                                   const std::string& path, std::uint64_t limit) {
  const auto too_large = [&] {
    throw_io("read", path, "larger than the limit of " + std::to_string(limit) + " bytes");
  };
  std::uint64_t expected = 0;
  if (S_ISREG(status.st_mode)) expected = static_cast<std::uint64_t>(status.st_size);
  if (expected > limit) too_large();
  try {
    std::vector<std::byte> bytes;
    std::size_t used = 0;
    // One byte more than expected, so that the end shows without growing the buffer.
    bytes.resize(expected > 0 ? static_cast<std::size_t>(expected) + 1 : kBufferBytes);
    while (true) {
      if (used == bytes.size()) bytes.resize(bytes.size() * 2);
      const std::size_t wanted = std::min(bytes.size() - used, kCallBytes);
      const ssize_t got = ::read(descriptor, bytes.data() + used, wanted);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw_io("read", path, errno);
      if (got == 0) break;
      used += static_cast<std::size_t>(got);
      if (used > limit) too_large();
    }
    bytes.resize(used);
    return bytes;
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  throw Error(ErrorCode::out_of_memory, "file: cannot read \"" + path + "\": no memory for its " +
                                            std::to_string(expected) + " bytes");
}

}  // namespace

std::vector<std::byte> read_file(const std::string& path, std::uint64_t limit) {
  const Descriptor file(open_file(path, O_RDONLY));
  if (file.get() < 0) throw_io("open", path, errno);
  const struct stat status = status_of(file.get(), path);
  // Some, such as /dev/zero, have no end.
  if (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)) {
    throw_io("read", path, std::string("a device, not a file or a pipe"));
  }
  return read_to_end(file.get(), status, path, limit);
}

std::vector<std::byte> read_standard_input(std::uint64_t limit) {
  const std::string path = "standard input";
  return read_to_end(STDIN_FILENO, status_of(STDIN_FILENO, path), path, limit);
}

void write_all(int descriptor, std::span<const std::byte> bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(descriptor, bytes.data(), std::min(bytes.size(), kCallBytes));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) throw_io("write", path, errno);
    if (put == 0) throw_io("write", path, ENOSPC);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

void replace_file(const std::string& path, std::span<const std::byte> bytes) {
  AtomicFileWriter writer(path);
  writer.write(bytes);
  writer.commit();
}

void replace_file(const std::string& path, const std::string& text) {
  replace_file(path, std::as_bytes(std::span(text)));
}

AtomicFileWriter::AtomicFileWriter(const std::string& path)
    : path_(path), target_(resolve_target(path)) {
  if (target_.empty() || target_.back() == '/') {
    throw_io("write", path_, std::string("not the name of a file"));
  }
  struct stat status{};
  const bool exists = ::stat(target_.c_str(), &status) == 0;
  if (!exists && errno != ENOENT) throw_io("write", path_, errno);
  if (exists && !S_ISREG(status.st_mode)) {
    throw_io("write", path_, std::string("not a regular file"));
  }
  buffer_.reserve(kBufferBytes);
  open_temporary();
  if (exists && ::fchmod(descriptor_, status.st_mode & 07777) != 0) {
    fail("set the permissions of", errno);
  }
}

std::string AtomicFileWriter::temporary_name(int index) const {
  const std::size_t slash = target_.rfind('/');
  const std::string base = slash == std::string::npos ? target_ : target_.substr(slash + 1);
  return folder_of(target_) + "." + base + (index == 0 ? "" : "." + std::to_string(index)) + ".tmp";
}

// A name depends on the target alone, so a file left by a killed process is found again instead of
// piling up. Its owner holds a lock; a lock counts only while the name still leads to the locked
// file, since the previous owner may have renamed or removed it in between.
void AtomicFileWriter::open_temporary() {
  descriptor_ = open_nameless(folder_of(target_));
  if (descriptor_ >= 0) {
    lock(descriptor_);
    remove_remains();
    return;
  }
  for (int i = 0; i < kTemporaryNames; ++i) {
    temporary_ = temporary_name(i);
    descriptor_ = open_file(temporary_, O_WRONLY | O_CREAT | O_NOFOLLOW, 0666);
    if (descriptor_ < 0) throw_io("write", path_, errno);
    // File systems without locks lose only the protection of two writers from each other.
    if (lock(descriptor_) != Lock::busy && has_name(descriptor_, temporary_)) {
      if (::ftruncate(descriptor_, 0) != 0) fail("write", errno);
      return;
    }
    ::close(descriptor_);
    descriptor_ = -1;
  }
  throw_io("write", path_, std::string("too many unfinished writes of the same file"));
}

// Where locks do not tell whether somebody writes them still, they stay.
void AtomicFileWriter::remove_remains() const {
  for (int i = 0; i < kTemporaryNames; ++i) {
    const std::string name = temporary_name(i);
    const Descriptor file(open_file(name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK));
    if (file.get() < 0) return;
    if (lock(file.get()) == Lock::taken && has_name(file.get(), name)) ::unlink(name.c_str());
  }
}

// Only renaming replaces a file, for which it takes a name.
void AtomicFileWriter::name_temporary() {
  for (int i = 0; i < kTemporaryNames; ++i) {
    const std::string name = temporary_name(i);
    if (::linkat(AT_FDCWD, link_to(descriptor_).c_str(), AT_FDCWD, name.c_str(),
                 AT_SYMLINK_FOLLOW) == 0) {
      temporary_ = name;
      return;
    }
    if (errno != EEXIST) fail("write", errno);
  }
  discard();
  throw_io("write", path_, std::string("too many unfinished writes of the same file"));
}

AtomicFileWriter::~AtomicFileWriter() { discard(); }

void AtomicFileWriter::require_open() const {
  if (descriptor_ < 0) throw_io("write", path_, std::string("the writer is closed"));
}

void AtomicFileWriter::write(std::span<const std::byte> bytes) {
  require_open();
  if (buffer_.size() + bytes.size() > kBufferBytes) flush();
  if (bytes.size() >= kBufferBytes) {
    try {
      write_all(descriptor_, bytes, path_);
    } catch (...) {
      discard();
      throw;
    }
    return;
  }
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

void AtomicFileWriter::write(const std::string& text) { write(std::as_bytes(std::span(text))); }

void AtomicFileWriter::flush() {
  try {
    write_all(descriptor_, buffer_, path_);
  } catch (...) {
    discard();
    throw;
  }
  buffer_.clear();
}

void AtomicFileWriter::commit() {
  require_open();
  flush();
  if (const int reason = sync_descriptor(descriptor_)) fail("write", reason);
  if (temporary_.empty()) name_temporary();
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("replace", errno);
  // Closing gives up the lock, which must hold until the rename is done.
  ::close(std::exchange(descriptor_, -1));
  const Descriptor folder(open_file(folder_of(target_), O_RDONLY | O_DIRECTORY));
  if (folder.get() < 0) {
    // A folder may be writable and not readable; then it cannot be synced.
    if (errno == EACCES) return;
    throw_io("sync the folder of", path_, errno);
  }
  const int reason = sync_descriptor(folder.get());
  if (reason != 0 && reason != EINVAL && reason != ENOTSUP) {
    throw_io("sync the folder of", path_, reason);
  }
}

void AtomicFileWriter::discard() noexcept {
  if (descriptor_ < 0) return;
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  ::close(std::exchange(descriptor_, -1));
}

void AtomicFileWriter::fail(const char* what, int reason) {
  discard();
  throw_io(what, path_, reason);
}

}  // namespace hearth::io
