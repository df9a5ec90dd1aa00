#include "io/cifar.h"

#include <gtest/gtest.h>

#include <string>

namespace hearth::io {
namespace {

constexpr std::size_t kRecord10 = 1 + kCifarPixels;
constexpr std::size_t kRecord100 = 2 + kCifarPixels;

std::span<const std::byte> record_bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string record(const std::string& labels, char pixel) {
  return labels + std::string(kCifarPixels, pixel);
}

void expect_cifar_error(const std::string& file, CifarKind kind, const std::string& part,
                        std::size_t position) {
  try {
    CifarFile::parse(record_bytes(file), kind, "batch");
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.code(), ErrorCode::corrupt_file) << text;
    EXPECT_EQ(text.rfind("cifar: batch: ", 0), 0u) << text;
    EXPECT_NE(text.find(part), std::string::npos) << text;
    EXPECT_TRUE(text.ends_with("; at byte " + std::to_string(position))) << text;
    return;
  }
  ADD_FAILURE() << "accepted; expected: " << part;
}

TEST(CifarReader, ReadsRecordsOfBothKinds) {
  const std::string ten = record("\x09", 'a') + record("\x03", 'b');
  const CifarFile file = CifarFile::parse(record_bytes(ten), CifarKind::cifar10);
  ASSERT_EQ(file.count(), 2u);
  EXPECT_EQ(file.label(0), 9);
  EXPECT_EQ(file.label(1), 3);
  EXPECT_EQ(file.pixels(1).data(), record_bytes(ten).data() + kRecord10 + 1);
  EXPECT_EQ(file.pixels(1).size(), kCifarPixels);

  const std::string hundred = record("\x13\x63", 'a');
  const CifarFile other = CifarFile::parse(record_bytes(hundred), CifarKind::cifar100);
  ASSERT_EQ(other.count(), 1u);
  EXPECT_EQ(other.label(0), 99);
  EXPECT_EQ(other.pixels(0)[0], std::byte{'a'});
}

TEST(CifarReader, RefusesWhatBreaksTheFormat) {
  const std::string good = record("\x09", 'a') + record("\x03", 'b');
  expect_cifar_error("", CifarKind::cifar10, "ends in a record; got 0 bytes", 0);
  for (const std::size_t size : {std::size_t{1}, kRecord10 - 1, kRecord10 + 1, 2 * kRecord10 - 1}) {
    expect_cifar_error(good.substr(0, size), CifarKind::cifar10, "ends in a record",
                       size / kRecord10 * kRecord10);
  }
  expect_cifar_error(good, CifarKind::cifar100, "ends in a record",
                     2 * kRecord10 / kRecord100 * kRecord100);
  expect_cifar_error(record("\x01", 'a') + record("\x0a", 'b'), CifarKind::cifar10,
                     "label out of range; got 10, expected 0 to 9", kRecord10);
  expect_cifar_error(record("\x14\x01", 'a'), CifarKind::cifar100,
                     "coarse label out of range; got 20, expected 0 to 19", 0);
  expect_cifar_error(record("\x13\x64", 'a'), CifarKind::cifar100,
                     "label out of range; got 100, expected 0 to 99", 1);
}

}  // namespace
}  // namespace hearth::io
