#include "io/cifar.h"

#include <utility>

#include "io/untrusted.h"

namespace hearth::io {
namespace {

constexpr std::int64_t kCoarseClasses = 20;

}  // namespace

std::int64_t cifar_classes(CifarKind kind) { return kind == CifarKind::cifar10 ? 10 : 100; }

CifarFile CifarFile::open(const std::string& path, CifarKind kind) {
  MappedFile file = MappedFile::open(path);
  CifarFile out = parse(file.bytes(), kind, path);
  out.file_ = std::move(file);
  return out;
}

CifarFile CifarFile::parse(std::span<const std::byte> bytes, CifarKind kind,
                           const std::string& source) {
  const FileErrors errors("cifar", source);
  CifarFile out;
  out.bytes_ = bytes;
  out.labels_ = kind == CifarKind::cifar10 ? 1 : 2;
  const std::size_t record = out.labels_ + kCifarPixels;
  out.count_ = bytes.size() / record;
  if (bytes.empty() || bytes.size() % record != 0) {
    errors.corrupt(out.count_ * record, "ends in a record; got " +
                                            std::to_string(bytes.size() % record) +
                                            " bytes, expected " + std::to_string(record));
  }
  const auto check = [&](std::size_t at, std::int64_t classes, const char* what) {
    const auto label = std::to_integer<std::int64_t>(bytes[at]);
    if (label >= classes) {
      errors.corrupt(at, std::string(what) + " out of range; got " + std::to_string(label) +
                             ", expected 0 to " + std::to_string(classes - 1));
    }
  };
  for (std::size_t i = 0; i < out.count_; ++i) {
    if (kind == CifarKind::cifar100) check(i * record, kCoarseClasses, "coarse label");
    check(i * record + out.labels_ - 1, cifar_classes(kind), "label");
  }
  return out;
}

std::uint8_t CifarFile::label(std::size_t record) const {
  return std::to_integer<std::uint8_t>(bytes_[record * (labels_ + kCifarPixels) + labels_ - 1]);
}

std::span<const std::byte> CifarFile::pixels(std::size_t record) const {
  return bytes_.subspan(record * (labels_ + kCifarPixels) + labels_, kCifarPixels);
}

}  // namespace hearth::io
