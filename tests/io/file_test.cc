#include "io/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "error_text.h"

namespace hearth::io {
namespace {

using check::error_of;

namespace fs = std::filesystem;

class FileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "hearth_file_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string text(const std::string& file) const {
    const std::vector<std::byte> bytes = read_file(file, 1 << 30);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  int entries() const {
    return static_cast<int>(std::distance(fs::directory_iterator(folder_), {}));
  }

  fs::path folder_;
};

// Lets this process write files of at most `bytes` bytes while it lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    old_handler_ = ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &old_limit_);
    rlimit limit = old_limit_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_limit_);
    ::signal(SIGXFSZ, old_handler_);
  }

 private:
  rlimit old_limit_{};
  void (*old_handler_)(int);
};

TEST_F(FileTest, MapsTheBytes) {
  replace_file(path("a"), "hello");
  const MappedFile file = MappedFile::open(path("a"));
  ASSERT_EQ(file.bytes().size(), 5u);
  EXPECT_EQ(std::memcmp(file.bytes().data(), "hello", 5), 0);
}

TEST_F(FileTest, MapsAnEmptyFile) {
  replace_file(path("a"), "");
  EXPECT_TRUE(MappedFile::open(path("a")).bytes().empty());
  EXPECT_TRUE(read_file(path("a"), 0).empty());
}

TEST_F(FileTest, MappingSurvivesReplacement) {
  replace_file(path("a"), "old");
  const MappedFile file = MappedFile::open(path("a"));
  replace_file(path("a"), "a new version");
  EXPECT_EQ(std::memcmp(file.bytes().data(), "old", 3), 0);
  EXPECT_EQ(text(path("a")), "a new version");
}

TEST_F(FileTest, ErrorsNameThePathAndTheReason) {
  const std::string missing = error_of(ErrorCode::io, [&] { MappedFile::open(path("no")); });
  EXPECT_NE(missing.find(path("no")), std::string::npos) << missing;
  EXPECT_NE(missing.find("No such file"), std::string::npos) << missing;
  error_of(ErrorCode::io, [&] { read_file(path("no"), 10); });
  error_of(ErrorCode::io, [&] { MappedFile::open(folder_.string()); });
  error_of(ErrorCode::io, [&] { read_file(folder_.string(), 10); });
  error_of(ErrorCode::io, [&] { MappedFile::open(path("no/such/folder")); });
}

TEST_F(FileTest, MappingAPipeDoesNotHang) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  error_of(ErrorCode::io, [&] { MappedFile::open(path("pipe")); });
}

TEST_F(FileTest, ReadsAPipe) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const std::string sent(1'000'000, 'x');
  std::thread writer([&] {
    const int descriptor = ::open(path("pipe").c_str(), O_WRONLY);
    write_all(descriptor, std::as_bytes(std::span(sent)), "pipe");
    ::close(descriptor);
  });
  EXPECT_EQ(text(path("pipe")), sent);
  writer.join();
}

TEST_F(FileTest, ReadRespectsTheLimit) {
  replace_file(path("a"), "12345");
  EXPECT_EQ(read_file(path("a"), 5).size(), 5u);
  error_of(ErrorCode::io, [&] { read_file(path("a"), 4); });
  error_of(ErrorCode::io, [&] { read_file("/dev/zero", 1'000'000); });
  error_of(ErrorCode::io, [&] { read_file("/dev/null", 1'000'000); });
}

// The descriptor 0 as another one, while it lives.
class InputFrom {
 public:
  explicit InputFrom(int descriptor) : before_(::dup(0)) { ::dup2(descriptor, 0); }
  InputFrom(const InputFrom&) = delete;
  InputFrom& operator=(const InputFrom&) = delete;
  ~InputFrom() {
    if (before_ < 0) {
      ::close(0);
      return;
    }
    ::dup2(before_, 0);
    ::close(before_);
  }

 private:
  int before_;
};

TEST_F(FileTest, ReadsTheStandardInputWhateverItIs) {
  const auto input = [](int descriptor) {
    const InputFrom from(descriptor);
    const std::vector<std::byte> bytes = read_standard_input(20);
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  const int null = ::open("/dev/null", O_RDONLY);
  EXPECT_EQ(input(null), "");
  ::close(null);
  replace_file(path("a"), "a text");
  const int file = ::open(path("a").c_str(), O_RDONLY);
  EXPECT_EQ(input(file), "a text");
  EXPECT_EQ(input(file), "") << "it was read";
  ::close(file);
  const int endless = ::open("/dev/zero", O_RDONLY);
  EXPECT_TRUE(check::contains(error_of(ErrorCode::io, [&] { input(endless); }), "larger than"));
  ::close(endless);
  const int keyboard = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (keyboard < 0 || ::grantpt(keyboard) != 0 || ::unlockpt(keyboard) != 0) {
    GTEST_SKIP() << "no terminals";
  }
  const int terminal = ::open(::ptsname(keyboard), O_RDWR | O_NOCTTY);
  write_all(keyboard, std::as_bytes(std::span("typed\n\x04", 7)), "keyboard");
  EXPECT_EQ(input(terminal), "typed\n");
  ::close(terminal);
  ::close(keyboard);
}

TEST_F(FileTest, WritesPiecesOfAllSizes) {
  std::string expected;
  AtomicFileWriter writer(path("a"));
  for (const std::size_t size : {0, 1, 1000, 300'000, 5, 262'144, 262'143, 1, 2'000'000}) {
    const std::string piece(size, static_cast<char>('a' + size % 26));
    writer.write(piece);
    expected += piece;
  }
  EXPECT_FALSE(fs::exists(path("a")));
  writer.commit();
  EXPECT_EQ(text(path("a")), expected);
  EXPECT_EQ(entries(), 1);
}

TEST_F(FileTest, AbandonedWriterLeavesTheOldFile) {
  replace_file(path("a"), "old");
  {
    AtomicFileWriter writer(path("a"));
    writer.write(std::string(1'000'000, 'n'));
  }
  EXPECT_EQ(text(path("a")), "old");
  EXPECT_EQ(entries(), 1);
}

TEST_F(FileTest, FullDiskLeavesTheOldFile) {
  replace_file(path("a"), "old");
  for (const std::size_t piece : {100u, 5'000'000u}) {
    const FileSizeLimit limit(65536);
    AtomicFileWriter writer(path("a"));
    error_of(ErrorCode::io, [&] {
      for (int i = 0; i < 1000; ++i) writer.write(std::string(piece, 'n'));
      writer.commit();
    });
    error_of(ErrorCode::io, [&] { writer.write("more"); });
    error_of(ErrorCode::io, [&] { writer.commit(); });
  }
  EXPECT_EQ(text(path("a")), "old");
  EXPECT_EQ(entries(), 1);
}

TEST_F(FileTest, FullDiskAtCommitLeavesTheOldFile) {
  replace_file(path("a"), "old");
  const FileSizeLimit limit(10);
  error_of(ErrorCode::io, [&] { replace_file(path("a"), "longer than ten bytes"); });
  EXPECT_EQ(text(path("a")), "old");
  EXPECT_EQ(entries(), 1);
}

TEST_F(FileTest, FullDeviceIsAnError) {
  const int descriptor = ::open("/dev/full", O_WRONLY);
  if (descriptor < 0) GTEST_SKIP() << "no /dev/full";
  const std::string text = "x";
  const std::string message = error_of(
      ErrorCode::io, [&] { write_all(descriptor, std::as_bytes(std::span(text)), "/dev/full"); });
  EXPECT_NE(message.find("No space left"), std::string::npos) << message;
  ::close(descriptor);
}

TEST_F(FileTest, RefusesWhatIsNoRegularFile) {
  error_of(ErrorCode::io, [&] { AtomicFileWriter writer("/dev/null"); });
  error_of(ErrorCode::io, [&] { AtomicFileWriter writer(folder_.string()); });
  error_of(ErrorCode::io, [&] { AtomicFileWriter writer(path("missing/a")); });
  error_of(ErrorCode::io, [&] { AtomicFileWriter writer(path("missing/")); });
  error_of(ErrorCode::io, [&] { AtomicFileWriter writer(""); });
}

TEST_F(FileTest, KilledWriterLeavesTheOldFileAndItsRemainsAreTakenOver) {
  replace_file(path("a"), "old");
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    AtomicFileWriter writer(path("a"));
    writer.write(std::string(1'000'000, 'n'));
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(text(path("a")), "old");
#ifdef O_TMPFILE
  const int nameless = ::open(folder_.c_str(), O_WRONLY | O_TMPFILE, 0600);
#else
  const int nameless = -1;
#endif
  EXPECT_EQ(entries(), nameless < 0 ? 2 : 1);
  if (nameless >= 0) ::close(nameless);
  replace_file(path("a"), "new");
  EXPECT_EQ(text(path("a")), "new");
  EXPECT_EQ(entries(), 1);
}

TEST_F(FileTest, TheNextWriterRemovesWhatKilledOnesLeft) {
  for (const char* name : {".a.tmp", ".a.1.tmp"}) {
    const int left = ::open(path(name).c_str(), O_WRONLY | O_CREAT, 0600);
    ASSERT_GE(left, 0);
    ::close(left);
  }
  {
    AtomicFileWriter abandoned(path("a"));
    abandoned.write("x");
  }
  replace_file(path("a"), "new");
  EXPECT_EQ(text(path("a")), "new");
  EXPECT_LE(entries(), 2);  // a second one stays where hidden files are taken over
  EXPECT_FALSE(std::filesystem::exists(path(".a.tmp")));
}

// Names that others hold are left to them.
TEST_F(FileTest, UnfinishedFilesOfOthersStay) {
  const int held = ::open(path(".a.tmp").c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_GE(held, 0);
  ASSERT_EQ(::flock(held, LOCK_EX | LOCK_NB), 0);
  replace_file(path("a"), "new");
  EXPECT_EQ(text(path("a")), "new");
  EXPECT_EQ(entries(), 2);
  ::close(held);
}

TEST_F(FileTest, SeveralWritersOfOnePathDoNotMix) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        replace_file(path("a"), std::string(100'000, static_cast<char>('a' + t)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string last = text(path("a"));
  EXPECT_EQ(last, std::string(100'000, last[0]));
  EXPECT_EQ(entries(), 1);
}

TEST_F(FileTest, KeepsLinksAndPermissions) {
  replace_file(path("target"), "old");
  ASSERT_EQ(::chmod(path("target").c_str(), 0640), 0);
  fs::create_symlink("target", path("link"));
  replace_file(path("link"), "new");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(text(path("target")), "new");
  struct stat status{};
  ASSERT_EQ(::stat(path("target").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640u);
}

}  // namespace
}  // namespace hearth::io
