// `hearth check-kernel`: files, values of arguments, and what is said of a kernel.
#include <gtest/gtest.h>

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "hearth/dtype.h"
#include "hearth/error.h"
#include "tools/check/kernel_check.h"
#include "tools/check/kernel_file.h"
#include "tools/check/kernel_values.h"

namespace hearth::tools {
namespace {

namespace fs = std::filesystem;

template <class T>
T at(const std::vector<std::byte>& bytes, std::size_t offset) {
  T value{};
  EXPECT_LE(offset + sizeof(T), bytes.size());
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

TEST(KernelValues, AreAlignedAsMembersOfAStruct) {
  const std::vector<std::byte> bytes = values_of("u8:7,f32:0.5,i16:-3,i64:-9000000000", "p");
  ASSERT_EQ(bytes.size(), 24u);
  EXPECT_EQ(at<std::uint8_t>(bytes, 0), 7);
  EXPECT_EQ(at<float>(bytes, 4), 0.5f);
  EXPECT_EQ(at<std::int16_t>(bytes, 8), -3);
  EXPECT_EQ(at<std::int64_t>(bytes, 16), -9000000000);
}

TEST(KernelValues, FillArrays) {
  const std::vector<std::byte> halves = values_of("f16[3]:iota", "x");
  ASSERT_EQ(halves.size(), 6u);
  EXPECT_EQ(static_cast<float>(at<float16>(halves, 4)), 2.0f);
  EXPECT_EQ(values_of("u32[2]:poison", "x"), std::vector<std::byte>(8, kPoison));
  EXPECT_EQ(at<std::uint64_t>(values_of("u64:18446744073709551615", "x"), 0), ~std::uint64_t{0});
  const std::vector<std::byte> random = values_of("f32[1000]", "x");
  float least = 1, most = -1;
  for (std::size_t i = 0; i < 1000; ++i) {
    least = std::min(least, at<float>(random, 4 * i));
    most = std::max(most, at<float>(random, 4 * i));
  }
  EXPECT_TRUE(least >= -1 && least < -0.9f && most > 0.9f && most < 1) << least << " " << most;
}

TEST(KernelValues, RefuseOtherForms) {
  for (const char* bad : {"", "f32", "f32:", "f32:x", "f31:1", "f32[2", "f32[-1]", "f32[x]",
                          "f32[2]:some", "u32:1,", "f32[99999999999]", "u32:1.5"}) {
    EXPECT_THROW(values_of(bad, "x"), Error) << bad;
  }
  EXPECT_THROW(values_of("@no_such_file", "x"), Error);
}

class CheckKernel : public testing::Test {
 protected:
  CheckKernel() {
    const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) / ("check_kernel_" + std::string(test.name()));
    fs::create_directories(folder_ / "inner");
  }
  ~CheckKernel() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }
  KernelFileOptions file(const std::string& text) const {
    KernelFileOptions options;
    options.path = write("kernels.metal", text);
    return options;
  }

  fs::path folder_;
};

constexpr char kShift[] = R"(#include <metal_stdlib>
#include "inner/sizes.h"
using namespace metal;
kernel void shift(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                  constant uint& n [[buffer(2)]],
                  uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]]) {
  threadgroup float s[kThreads];
  s[t] = x[i];
  // here
  if (i < n) y[i] = s[(t + 1) % kThreads];
}
)";

TEST_F(CheckKernel, FindsARaceAndPassesTheMendedKernel) {
  write("inner/sizes.h", "#include \"more.h\"\n");
  write("inner/more.h", "constant uint kThreads = 64;\n");
  KernelLaunch launch;
  launch.values["n"] = "u32:256";
  const KernelFile wrong(file(kShift));
  EXPECT_EQ(wrong.names(), std::vector<std::string>{"shift"});
#if HEARTH_HAS_SIMULATOR
  const KernelCheck race = check_kernel(wrong.source("shift"), launch);
  EXPECT_FALSE(race.passed);
  EXPECT_NE(race.report.find("at shift:10"), std::string::npos) << race.report;
  std::string text = kShift;
  const std::string barrier = "threadgroup_barrier(mem_flags::mem_threadgroup);";
  text.replace(text.find("// here"), 7, barrier);
  const KernelCheck mended = check_kernel(KernelFile(file(text)).source("shift"), launch);
  EXPECT_TRUE(mended.passed) << mended.report;
  EXPECT_NE(mended.report.find("no fault in 5 schedules"), std::string::npos) << mended.report;
  // The two threads are named where one overtakes the other.
  text.replace(text.find("  s[t]"), 6, "  for (uint k = 0; k < 2; ++k) s[t]");
  text.replace(text.find(barrier), barrier.size(), barrier + " y[i] = s[t ^ 32]; s[t] = 0.0f;");
  const KernelCheck two = check_kernel(KernelFile(file(text)).source("shift"), launch);
  EXPECT_FALSE(two.passed);
  EXPECT_NE(two.report.find(", which thread ("), std::string::npos) << two.report;
  EXPECT_NE(two.report.find("without a barrier between"), std::string::npos) << two.report;

  launch.values["x"] = "f32[255]";
  const KernelCheck behind = check_kernel(KernelFile(file(kShift)).source("shift"), launch);
  EXPECT_NE(behind.report.find("kernel 'shift'"), std::string::npos) << behind.report;
  launch.values.erase("n");
  EXPECT_THROW(check_kernel(wrong.source("shift"), launch), Error);
  launch.values["n"] = "u32:256";
  launch.threads.x = 2048;
  EXPECT_THROW(check_kernel(wrong.source("shift"), launch), Error);
#endif
}

#if HEARTH_HAS_SIMULATOR
TEST_F(CheckKernel, NoticesResultsThatDependOnTheOrder) {
  const KernelFile order(
      file("#include <metal_stdlib>\nusing namespace metal;\n"
           "kernel void last(device atomic_uint* y [[buffer(0)]], uint i "
           "[[thread_position_in_grid]]) {\n"
           "  atomic_store_explicit(y, i, memory_order_relaxed);\n}\n"));
  const KernelCheck check = check_kernel(order.source("last"), {});
  EXPECT_FALSE(check.passed);
  EXPECT_NE(check.report.find("depend on the order of threads: byte 0 of y differs"),
            std::string::npos)
      << check.report;
}

TEST_F(CheckKernel, ChecksTextsOfTheDialect) {
  KernelFileOptions options = file(
      "struct P { uint n; };\ntemplate <typename T>\n"
      "void twice(device const T* x, device T* y, constant P& p, threadgroup T* s, Ctx ctx) {\n"
      "  s[ctx.tid.x] = x[ctx.gid.x];\n  if (ctx.gid.x < p.n) y[ctx.gid.x] = s[ctx.tid.x] * "
      "T(2);\n}\n");
  options.parameters = {"read float x", "write float y", "constant P p", "threadgroup float s 64"};
  KernelLaunch launch;
  launch.values["p"] = "u32:256";
  const KernelFile dialect(options);
  EXPECT_TRUE(check_kernel(dialect.source("twice<float>"), launch).passed);
  launch.values["y"] = "f32[255]:poison";
  const KernelCheck check = check_kernel(dialect.source("twice<float>"), launch);
  EXPECT_NE(check.report.find("writes 4 bytes at offset 1020 of parameter 'y' of 1020 bytes, at "
                              "twice:5"),
            std::string::npos)
      << check.report;
}
#endif

#if HEARTH_HAS_SIMULATOR && defined(HEARTH_TOOL)
// 0 where all kernels pass, 1 where one does not, 2 where none is checked.
TEST_F(CheckKernel, TheExitStatusOfTheProgramTells) {
  const auto status = [&](const std::string& file, const std::string& before = "") {
    const std::string line = before + "'" + HEARTH_TOOL + "' check-kernel '" + file + "' > '" +
                             (folder_ / "said").string() + "' 2>&1";
    const int code = std::system(line.c_str());  // NOLINT(concurrency-mt-unsafe,cert-env33-c)
    return WIFEXITED(code) ? WEXITSTATUS(code) : -1;
  };
  const auto said = [&] {
    std::ifstream in(folder_ / "said");
    return std::string{std::istreambuf_iterator<char>(in), {}};
  };
  const auto kernel = [](const std::string& name, const std::string& body) {
    return "kernel void " + name + "(device float* y, uint i [[thread_position_in_grid]]) {\n  " +
           body + "\n}\n";
  };
  const std::string good = write("good.metal", kernel("good", "y[i] = 2.0f;"));
  EXPECT_EQ(status(good), 0) << said();
  EXPECT_NE(said().find("good: no fault"), std::string::npos) << said();
  const std::string beyond =
      write("beyond.metal", kernel("good", "y[i] = 2.0f;") + kernel("beyond", "y[i + 1] = 2.0f;"));
  EXPECT_EQ(status(beyond), 1) << said();
  EXPECT_NE(said().find("1 of 2 kernels failed"), std::string::npos) << said();
  EXPECT_EQ(status(write("wrong.metal", kernel("wrong", "y[i] = nothing;"))), 1) << said();
  EXPECT_EQ(status(write("none.metal", "float f(float x) { return x; }\n")), 2) << said();
  EXPECT_EQ(status((folder_ / "absent.metal").string()), 2) << said();
  EXPECT_EQ(status(good, "HEARTH_HOST_COMPILER=no_such_compiler "), 2) << said();
  EXPECT_NE(said().find("got HEARTH_HOST_COMPILER=no_such_compiler"), std::string::npos) << said();
}
#endif

TEST_F(CheckKernel, FindsFilesInAngleBracketsInTheFoldersGiven) {
  write("inner/name.h", "#define NAME found\n");
  KernelFileOptions options =
      file("#include <metal_stdlib>\n#include <name.h>\nkernel void NAME(device float* y) {}\n");
  options.folders = {(folder_ / "inner").string()};
  EXPECT_EQ(KernelFile(options).names(), std::vector<std::string>{"found"});
}

TEST_F(CheckKernel, RefusesFilesAndOptionsThatAreWrong) {
  KernelFileOptions options;
  options.path = (folder_ / "none.metal").string();
  EXPECT_THROW(KernelFile{options}, Error);
  const auto refused = [&](auto change) {
    KernelFileOptions wrong = file("");
    change(wrong);
    EXPECT_THROW(KernelFile{wrong}, Error);
  };
  refused([](KernelFileOptions& o) { o.constants = {"a"}; });
  refused([](KernelFileOptions& o) { o.defines = {"=1"}; });
  refused([](KernelFileOptions& o) { o.threadgroup = {"0=x"}; });
  refused([](KernelFileOptions& o) { o.parameters = {"reads float x"}; });
  refused([](KernelFileOptions& o) { o.parameters = {"threadgroup float s"}; });
}

}  // namespace
}  // namespace hearth::tools
