#include "io/safetensors.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace hearth::io {
namespace {

namespace fs = std::filesystem;
using std::string_literals::operator""s;

std::string file_of(const std::string& json, const std::string& data = {}) {
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>(json.size() >> (8 * i));
  return file + json + data;
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

SafetensorsFile parse(const std::string& file) { return SafetensorsFile::parse(bytes_of(file)); }

// Parsing `file` fails with `code` and a message that contains `part` and a byte offset.
void expect_error(const std::string& file, const std::string& part,
                  ErrorCode code = ErrorCode::corrupt_file) {
  try {
    parse(file);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("at byte "), std::string::npos) << error.what();
    return;
  }
  ADD_FAILURE() << "accepted; expected: " << part;
}

void expect_bad_json(const std::string& json, const std::string& part,
                     const std::string& data = {}) {
  expect_error(file_of(json, data), part);
}

std::string small_file() {
  return file_of(
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
      R"("a":{"dtype":"U8","shape":[3],"data_offsets":[8,11]},)"
      R"("s":{"dtype":"BOOL","shape":[],"data_offsets":[11,12]}}   )",
      std::string("\0\0\x80\x3f\0\0\0\x40"
                  "xyz\x01",
                  12));
}

TEST(SafetensorsReader, ReadsAFile) {
  const std::string bytes = small_file();
  const SafetensorsFile file = parse(bytes);
  ASSERT_EQ(file.tensors().size(), 3u);
  EXPECT_EQ(file.tensors()[0].name, "a");
  EXPECT_EQ(file.metadata(), (SafetensorsMetadata{{"format", "pt"}}));
  const SafetensorsView* b = file.find("b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->dtype, DType::f32);
  EXPECT_EQ(b->shape, Shape({2, 1}));
  float values[2];
  std::memcpy(values, b->bytes.data(), 8);
  EXPECT_EQ(values[0], 1.0f);
  EXPECT_EQ(values[1], 2.0f);
  EXPECT_EQ(file.find("s")->shape.rank(), 0);
  EXPECT_EQ(file.find("s")->bytes.size(), 1u);
  EXPECT_EQ(file.find("c"), nullptr);
  EXPECT_EQ(file.find(""), nullptr);
}

TEST(SafetensorsReader, ReadsEmptyFiles) {
  for (const char* json : {"{}", "{ \n}\t "}) {
    const SafetensorsFile none = parse(file_of(json));
    EXPECT_TRUE(none.tensors().empty());
  }
  const std::string empty =
      file_of(R"({"e":{"dtype":"F64","shape":[0,5],"data_offsets":[0,0]},)"
              R"("f":{"dtype":"F16","shape":[0,4611686018427387904],"data_offsets":[0,0]}})");
  const SafetensorsFile file = parse(empty);
  EXPECT_TRUE(file.find("e")->bytes.empty());
  EXPECT_EQ(file.find("e")->shape, Shape({0, 5}));
}

TEST(SafetensorsReader, RefusesEveryTruncation) {
  const std::string file = small_file();
  for (std::size_t size = 0; size < file.size(); ++size) expect_error(file.substr(0, size), "");
  expect_error(file + "x", "data that belongs to no tensor");
}

TEST(SafetensorsReader, SurvivesEveryChangedByte) {
  const std::string file = small_file();
  for (std::size_t i = 0; i < file.size(); ++i) {
    for (int value = 0; value < 256; ++value) {
      std::string changed = file;
      changed[i] = static_cast<char>(value);
      try {
        const SafetensorsFile parsed = parse(changed);
        for (const SafetensorsView& view : parsed.tensors()) {
          EXPECT_GE(reinterpret_cast<const char*>(view.bytes.data()), changed.data());
          EXPECT_LE(reinterpret_cast<const char*>(view.bytes.data()) + view.bytes.size(),
                    changed.data() + changed.size());
        }
      } catch (const Error& error) {
        EXPECT_TRUE(error.code() == ErrorCode::corrupt_file ||
                    error.code() == ErrorCode::unsupported)
            << error.what();
      }
    }
  }
}

TEST(SafetensorsReader, RefusesHostileHeaderLengths) {
  expect_error(std::string(8, '\xff'), "header too long");
  expect_error(std::string(8, '\xff') + "{}", "header too long");
  expect_error(std::string("\x01\xe1\xf5\x05\0\0\0\0", 8), "header too long");
  expect_error(std::string("\0\xe1\xf5\x05\0\0\0\0{}", 10), "header cut off");
  expect_error(std::string(8, '\0'), "does not begin with '{'");
  expect_error("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
               "git-lfs has not fetched the file; got its pointer");
}

TEST(SafetensorsReader, RefusesHostileNesting) {
  const std::size_t depth = 1'000'000;
  expect_bad_json(std::string(depth, '['), "does not begin with '{'");
  expect_bad_json("{\"a\":" + std::string(depth, '['), "expected '{'");
  expect_bad_json("{\"a\":{\"shape\":" + std::string(depth, '['), "expected an integer");
  std::string objects;
  for (std::size_t i = 0; i < depth; ++i) objects += "{\"a\":";
  expect_bad_json(objects, "has the key");
}

TEST(SafetensorsReader, RefusesBrokenJson) {
  for (const char* json :
       {"{", "{\"a\"", "{\"a\":", "{a:1}", "{\"a\":1}", "{,}", "{\"a\":null}", "{\"a\":[]}", "{} x",
        "{}}", "[]", "null", " {}", "{\"a\":{},}", "{\"a\" {}}", "{'a':{}}", "\xef\xbb\xbf{}"}) {
    expect_bad_json(json, "");
  }
  expect_error(file_of(std::string("{}\0\0", 4)), "bytes after the JSON object");
  expect_error(file_of(std::string("{\"a\":\0}", 7)), "expected '{'");
  expect_bad_json("{\"\xff\":{}}", "UTF-8");
  expect_bad_json("{//\n}", "broken JSON");
  expect_bad_json("{/**/}", "broken JSON");
}

TEST(SafetensorsReader, ReadsStrings) {
  const auto read = [](const std::string& json) {
    const SafetensorsFile file = parse(file_of("{\"__metadata__\":{\"\":" + json + "}}"));
    return file.metadata().at("");
  };
  EXPECT_EQ(read("\"\""), "");
  EXPECT_EQ(read(R"("\"\\\/\b\f\n\r\t")"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(read(R"("\u0041\u00e9\u20AC\ud83d\ude00")"), "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(read(R"("\u0000")"), std::string(1, '\0'));
  EXPECT_EQ(read("\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\x7f\""),
            "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\x7f");
}

TEST(SafetensorsReader, RefusesBrokenStrings) {
  for (const std::string& text : {"\""s,
                                  "\"abc"s,
                                  "abc"s,
                                  ""s,
                                  "\"\\"s,
                                  "\"\\\""s,
                                  "\"\\x\""s,
                                  "\"\\u12\""s,
                                  "\"\\u12g4\""s,
                                  "\"\\ud800\""s,
                                  "\"\\ud800\\u0041\""s,
                                  "\"\\udc00\""s,
                                  "\"\\u123"s,
                                  "\"\n\""s,
                                  "\"\0\""s,
                                  "\"\x1f\""s,
                                  "\"\x80\""s,
                                  "\"\xc0\x80\""s,
                                  "\"\xc3\""s,
                                  "\"\xe0\x80\x80\""s,
                                  "\"\xed\xa0\x80\""s,
                                  "\"\xf0\x80\x80\x80\""s,
                                  "\"\xf4\x90\x80\x80\""s,
                                  "\"\xf5\x80\x80\x80\""s,
                                  "\"\xe2\x82"s,
                                  "\"\xff\""s}) {
    for (const char* end : {"", "}}"}) {
      expect_bad_json("{\"__metadata__\":{\"a\":" + text + end, "broken JSON: value");
      if (text.empty()) continue;
      expect_bad_json("{\"__metadata__\":{" + text + end, "broken JSON: object key");
    }
  }
}

TEST(SafetensorsReader, SaysWhereTheFaultIs) {
  const auto expect_at = [](const std::string& json, std::size_t at) {
    expect_bad_json(json, "; at byte " + std::to_string(8 + at), "12345678");
  };
  const std::string start = R"({ "t" : {"dtype": "U8" , "data_offsets":[0,8],)";
  for (const char* value : {"null", "{}", "3", "3}", "\"3\"", "false", "-1"}) {
    expect_at(start + " \"shape\" :\n " + value, start.size() + 12);
  }
  for (const char* value : {"null", "{}", "[]", "\"3\"", "-1", "0.5", "1e999", "x"}) {
    expect_at(start + "\"shape\":[ 1, 2 ,3," + value + "]}}", start.size() + 18);
  }
  expect_at(start + "\"shape\":[1,2,3]x", start.size() + 15);  // the byte itself
  expect_at(start + "\"shape\":[1,", start.size() + 11);       // where the header ends
  expect_at(start + "\"shape\":[1,\"\xff\"", start.size() + 12);
  expect_at(start + "\"shape\":[1, 2]  } }", start.size() + 16);  // where the description ends
  expect_at(start + "\"shape\":[8],\"x\":1}}", start.size() + 12);
  expect_at(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})", 1);
  expect_at(R"({"__metadata__":{"a":"1", "a":"2"}})", 26);
  expect_at("{}  x", 4);
}

TEST(SafetensorsReader, RefusesFloodsOfLineBreaks) {
  expect_bad_json("{\"a\":" + std::string(70'000, '\n') + "x}", "too much white space");
  const SafetensorsFile blank =
      parse(file_of("{" + std::string(60'000, '\n') + "}" + std::string(99'999, ' ')));
  EXPECT_TRUE(blank.tensors().empty());
}

TEST(SafetensorsReader, RefusesWrongMetadata) {
  for (const char* value : {"null", "1", "[]", "\"x\"", "{\"a\":1}", "{\"a\":null}", "{\"a\":{}}",
                            "{\"a\":\"1\",\"a\":\"2\"}", "{1:\"2\"}"}) {
    expect_bad_json(std::string("{\"__metadata__\":") + value + "}", "");
  }
  expect_bad_json("{\"__metadata__\":{},\"__metadata__\":{}}", "twice");
}

TEST(SafetensorsReader, RefusesWrongTensors) {
  const std::string data(8, 'x');
  const auto refuse = [&](const std::string& body, const std::string& part) {
    expect_bad_json("{\"t\":{" + body + "}}", part, data);
  };
  refuse("", "incomplete");
  refuse(R"("dtype":"F32","shape":[2])", "incomplete");
  refuse(R"("dtype":"F32","data_offsets":[0,8])", "incomplete");
  refuse(R"("shape":[2],"data_offsets":[0,8])", "incomplete");
  refuse(R"("dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1)", "has the key");
  refuse(R"("dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8])", "has the key");
  refuse(R"("dtype":"F31","shape":[2],"data_offsets":[0,8])", "does not know");
  refuse(R"("dtype":"f32","shape":[2],"data_offsets":[0,8])", "does not know");
  refuse(R"("dtype":32,"shape":[2],"data_offsets":[0,8])", "expected a string");
  refuse(R"("dtype":"F32","shape":2,"data_offsets":[0,8])", "expected '['");
  refuse(R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])", "expected an integer");
  refuse(R"("dtype":"F32","shape":[2.0],"data_offsets":[0,8])", "expected an integer");
  refuse(R"("dtype":"F32","shape":[2,],"data_offsets":[0,8])", "expected an integer");
  refuse(R"("dtype":"F32","shape":[3],"data_offsets":[0,8])", "do not fit its shape");
  refuse(R"("dtype":"F32","shape":[1],"data_offsets":[0,8])", "do not fit its shape");
  refuse(R"("dtype":"F32","shape":[2],"data_offsets":[0])", "less than two data offsets");
  refuse(R"("dtype":"F32","shape":[2],"data_offsets":[0,4,8])", "more or less than two");
  refuse(R"("dtype":"F32","shape":[2],"data_offsets":[])", "less than two data offsets");
  refuse(R"("dtype":"F32","shape":[2],"data_offsets":[0,8.0])", "expected an integer");
  refuse(R"("dtype":"F32","shape":[2],"data_offsets":[0,1e999])", "expected an integer");
  refuse(R"("dtype":"F32","shape":[1e3],"data_offsets":[0,8])", "expected an integer");
  refuse(R"("dtype":"F32","shape":[-0],"data_offsets":[0,8])", "expected an integer");
  refuse(R"("dtype":"F32","shape":["2"],"data_offsets":[0,8])", "expected an integer");
  refuse(R"("dtype":"F32","shape":[true],"data_offsets":[0,8])", "expected an integer");
  refuse(R"("dtype":"F32","shape":[99999999999999999999999999],"data_offsets":[0,8])", "integer");
  for (const char* number : {"02", "00", "+2", "2.", ".2", "2e", "0x2", "NaN", "Infinity", "-"}) {
    refuse("\"dtype\":\"F32\",\"data_offsets\":[0,8],\"shape\":[" + std::string(number) + "]",
           "broken JSON");
  }
  refuse(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])", "outside the data");
  refuse(R"("dtype":"F32","shape":[2],"data_offsets":[1,9])", "outside the data");
  refuse(R"("dtype":"F32","shape":[1],"data_offsets":[4,8])", "follows a hole");
  refuse(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])", "belongs to no tensor");
  refuse(R"("dtype":"F32","shape":[2],"data_offsets":[18446744073709551615,7])", "outside");
  refuse(R"("dtype":"F32","shape":[2],"data_offsets":[0,18446744073709551616])", "integer");
  refuse(R"("dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,8])", "63 bits");
  refuse(R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8])", "overflows");
  refuse(R"("dtype":"F64","shape":[2305843009213693953],"data_offsets":[0,8])", "overflows");
}

TEST(SafetensorsReader, RefusesOverlapsHolesAndDuplicates) {
  const std::string data(8, 'x');
  const auto tensor = [](const std::string& name, int begin, int end) {
    return "\"" + name + R"(":{"dtype":"U8","shape":[)" + std::to_string(end - begin) +
           R"(],"data_offsets":[)" + std::to_string(begin) + "," + std::to_string(end) + "]}";
  };
  expect_bad_json("{" + tensor("a", 0, 5) + "," + tensor("b", 4, 8) + "}", "overlaps", data);
  expect_bad_json("{" + tensor("a", 0, 8) + "," + tensor("b", 0, 8) + "}", "overlaps", data);
  expect_bad_json("{" + tensor("a", 0, 8) + "," + tensor("b", 4, 4) + "}", "overlaps", data);
  expect_bad_json("{" + tensor("a", 0, 3) + "," + tensor("b", 4, 8) + "}", "hole", data);
  expect_bad_json("{" + tensor("a", 0, 4) + "," + tensor("a", 4, 8) + "}", "two tensors", data);
  expect_bad_json("{" + tensor("a", 0, 4) + "," + tensor("\\u0061", 4, 8) + "}", "two tensors",
                  data);
  const SafetensorsFile file =
      parse(file_of("{" + tensor("b", 4, 8) + "," + tensor("a", 0, 4) + "}", data));
  EXPECT_EQ(file.tensors().size(), 2u);
}

TEST(SafetensorsReader, GivesEightBitFloatsAsBytesToThoseWhoAsk) {
  const std::string data = "abcd";
  std::vector<SafetensorsView> views = {
      {"a", DType::u8, {2}, bytes_of(data).first(2), Float8::e4m3},
      {"b", DType::u8, {1, 1}, bytes_of(data).subspan(2, 1), Float8::e5m2},
      {"c", DType::u8, {}, bytes_of(data).subspan(3), Float8::e8m0}};
  const std::string file = safetensors_header(views, {}) + data;
  const auto read = SafetensorsFile::parse(bytes_of(file), "test", Float8Tensors::as_bytes);
  ASSERT_EQ(read.tensors().size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    const SafetensorsView& tensor = read.tensors()[i];
    EXPECT_EQ(tensor.dtype, DType::u8);
    EXPECT_EQ(tensor.float8, views[i].float8);
    EXPECT_EQ(tensor.shape, views[i].shape);
    EXPECT_TRUE(std::equal(tensor.bytes.begin(), tensor.bytes.end(), views[i].bytes.begin(),
                           views[i].bytes.end()));
  }
  expect_error(file, "\"F8_E4M3\", which has no counterpart", ErrorCode::unsupported);
  const std::string four = file_of(R"({"t":{"dtype":"F4","shape":[2],"data_offsets":[0,1]}})", "x");
  EXPECT_THROW(SafetensorsFile::parse(bytes_of(four), "test", Float8Tensors::as_bytes), Error);
}

TEST(SafetensorsReader, NamesWhatHearthLacks) {
  expect_error(file_of(R"({"t":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})", "x"),
               "no counterpart", ErrorCode::unsupported);
  expect_error(
      file_of(R"({"t":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]}})", "x"),
      "too many axes", ErrorCode::unsupported);
}

TEST(SafetensorsReader, MessagesAreFitToPrint) {
  const std::string name = std::string(1000, 'n') + "\\n";
  try {
    parse(file_of("{\"" + name + "\":{}}"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_LT(std::string(error.what()).size(), 300u);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
  }
}

class SafetensorsWriter : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "hearth_safetensors_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    path_ = (folder_ / "model.safetensors").string();
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
  std::string path_;
};

TEST_F(SafetensorsWriter, RoundTripsEveryDType) {
  std::vector<std::string> data;
  for (int i = 0; i < kDTypeCount; ++i) {
    data.emplace_back(static_cast<std::size_t>(6 * size_of(static_cast<DType>(i))),
                      static_cast<char>(i));
  }
  std::vector<SafetensorsView> tensors;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    tensors.push_back({"t." + std::string(name(dtype)),
                       dtype,
                       {2, 3},
                       bytes_of(data[static_cast<std::size_t>(i)])});
  }
  const std::string scalar(4, 's');
  tensors.push_back({"", DType::i32, {}, bytes_of(scalar)});
  tensors.push_back({"\xe2\x82\xac \"\\\n", DType::f32, {4, 0, 2}, {}});
  const SafetensorsMetadata metadata = {{"format", "pt"}, {"quote\"", "line\n\xc3\xa9"}};
  write_safetensors(path_, tensors, metadata);

  const SafetensorsFile file = SafetensorsFile::open(path_);
  EXPECT_EQ(file.metadata(), metadata);
  ASSERT_EQ(file.tensors().size(), tensors.size());
  const std::byte* start = file.find("t.u64")->bytes.data();
  for (const SafetensorsView& tensor : tensors) {
    const SafetensorsView* read = file.find(tensor.name);
    ASSERT_NE(read, nullptr) << tensor.name;
    EXPECT_EQ(read->dtype, tensor.dtype);
    EXPECT_EQ(read->shape, tensor.shape);
    EXPECT_TRUE(std::equal(read->bytes.begin(), read->bytes.end(), tensor.bytes.begin(),
                           tensor.bytes.end()));
    EXPECT_EQ((read->bytes.data() - start) % size_of(read->dtype), 0) << tensor.name;
  }
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(start) % 8, 0u);
}

TEST_F(SafetensorsWriter, HeaderIsCompactOrderedAndPadded) {
  const std::string data(8, 'x');
  std::vector<SafetensorsView> tensors = {
      {"a", DType::u8, {8}, bytes_of(data)},
      {"c", DType::f32, {2}, bytes_of(data)},
      {"b", DType::f32, {1, 2}, bytes_of(data)},
  };
  const std::string header = safetensors_header(tensors, {});
  EXPECT_EQ(header.size() % 8, 0u);
  EXPECT_EQ(header.substr(8, header.find_last_not_of(' ') - 7),
            R"({"b":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},)"
            R"("c":{"dtype":"F32","shape":[2],"data_offsets":[8,16]},)"
            R"("a":{"dtype":"U8","shape":[8],"data_offsets":[16,24]}})");
}

TEST_F(SafetensorsWriter, EscapesOnlyWhatItMust) {
  std::vector<SafetensorsView> none;
  const std::string header =
      safetensors_header(none, {{"\x01\x1f\b\t\n\f\r\"\\/", "\x7f\xc3\xa9\xf0\x9f\x98\x80"}});
  EXPECT_EQ(header.substr(8, header.find_last_not_of(' ') - 7),
            R"({"__metadata__":{"\u0001\u001f\b\t\n\f\r\"\\/":")"
            "\x7f\xc3\xa9\xf0\x9f\x98\x80\"}}");
  std::string all;
  for (int c = 0; c < 128; ++c) all += static_cast<char>(c);
  all += "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80";
  const SafetensorsFile file = parse(safetensors_header(none, {{all, all}}));
  EXPECT_EQ(file.metadata(), (SafetensorsMetadata{{all, all}}));
}

TEST_F(SafetensorsWriter, RefusesWhatCannotBeWritten) {
  const std::string data(8, 'x');
  const auto refuse = [&](std::vector<SafetensorsView> tensors,
                          const SafetensorsMetadata& metadata = {}) {
    try {
      write_safetensors(path_, std::move(tensors), metadata);
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
    }
    EXPECT_TRUE(fs::is_empty(folder_));
  };
  const SafetensorsView good = {"a", DType::u8, {8}, bytes_of(data)};
  refuse({good, good});
  refuse({good, {"a", DType::f32, {2}, bytes_of(data)}});
  refuse({{"__metadata__", DType::u8, {8}, bytes_of(data)}});
  refuse({{"\xff", DType::u8, {8}, bytes_of(data)}});
  refuse({{"a", DType::u8, {7}, bytes_of(data)}});
  refuse({{"a", DType::u8, {-2, -4}, bytes_of(data)}});
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  refuse({{"a", DType::f64, {kHuge, kHuge}, bytes_of(data)}});
  refuse({good}, {{"key", "\xff"}});
  refuse({good}, {{"\xe2\x82", "value"}});
  refuse({good}, {{"\xed\xa0\x80", "value"}});
  try {
    write_safetensors(path_, {{"w\xff\n", DType::u8, {8}, bytes_of(data)}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(R"(not UTF-8; got "w\ufffd\n")"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace hearth::io
