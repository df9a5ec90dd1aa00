// Files as bytes: mapped reads, bounded whole reads, and atomic writes.
//
// Every failure of the operating system is Error{io} whose text names the path and the reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hearth/error.h"

namespace hearth::io {

// A regular file mapped read-only. The bytes live as long as the object and are shared with the
// page cache. The file must not be truncated meanwhile: the system answers that with SIGBUS. Files
// written by AtomicFileWriter are safe, since replacing one leaves the mapped bytes alone.
class MappedFile {
 public:
  // Throws Error{io} when the path is missing, unreadable or not a regular file.
  static MappedFile open(const std::string& path);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

// All bytes of a file or pipe; of no device, which may have no end. Throws Error{io} when it cannot
// be read or holds more than `limit` bytes, and Error{out_of_memory} when the bytes do not fit in
// memory.
std::vector<std::byte> read_file(const std::string& path, std::uint64_t limit);
// The same of what is left of the standard input, whatever it is: a terminal, too.
std::vector<std::byte> read_standard_input(std::uint64_t limit);

// Replaces the file at `path` with `bytes`: afterwards the path holds either the old contents or
// all of the new ones, whatever happens meanwhile. See AtomicFileWriter.
void replace_file(const std::string& path, std::span<const std::byte> bytes);
void replace_file(const std::string& path, const std::string& text);

// Writes `bytes` to an open descriptor, retrying short and interrupted writes. `path` is for the
// message of the Error{io}.
void write_all(int descriptor, std::span<const std::byte> bytes, const std::string& path);

// Writes a new version of a file in parts. Bytes go to a file in the same folder, which commit()
// syncs and renames over the path. It has no name until then, where the system and the file system
// can do that, else a hidden one. Until commit() the old file is untouched; a writer destroyed
// before, or one whose write failed, leaves nothing behind. After a SIGKILL a hidden file stays,
// which the next writer of the same path takes over or removes.
//
// A path that is a symbolic link keeps being one: its target is replaced. An existing file keeps
// its permissions. Not to be used by two threads at once; several writers of one path are fine, and
// the last commit stands.
class AtomicFileWriter {
 public:
  // Throws Error{io} when the folder cannot be written or the path is not a regular file.
  explicit AtomicFileWriter(const std::string& path);
  AtomicFileWriter(const AtomicFileWriter&) = delete;
  AtomicFileWriter& operator=(const AtomicFileWriter&) = delete;
  ~AtomicFileWriter();

  // Appends. After an Error{io} the writer is closed and further calls throw Error{io}.
  void write(std::span<const std::byte> bytes);
  void write(const std::string& text);

  // Makes the bytes durable and visible under the path. The one failure after which the path
  // already holds the new contents is that of syncing the folder, which throws Error{io} too.
  void commit();

 private:
  std::string temporary_name(int index) const;  // of those that hidden files have
  void open_temporary();
  void remove_remains() const;
  void name_temporary();
  void require_open() const;
  void flush();
  void discard() noexcept;
  [[noreturn]] void fail(const char* what, int reason);

  std::string path_;       // as given, for messages
  std::string target_;     // with symbolic links resolved
  std::string temporary_;  // in the folder of target_; empty while the file has no name
  std::vector<std::byte> buffer_;
  int descriptor_ = -1;
};

}  // namespace hearth::io
