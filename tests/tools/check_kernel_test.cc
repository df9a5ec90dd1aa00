// `hearth check-kernel`: files, values of arguments, and what is said of a kernel.
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "error_text.h"
#include "hearth/dtype.h"
#include "tools/check/kernel_check.h"
#include "tools/check/kernel_file.h"
#include "tools/check/kernel_values.h"

namespace hearth::tools {
namespace {

namespace fs = std::filesystem;
using check::error_of;

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

TEST(KernelValues, AreNumbersOfTheirDtype) {
  for (const char* bad : {"u32:-1", "u8:256", "i8:-129", "i16:32768", "u32:4294967296", "f16:70000",
                          "f32:1e39", "bf16:3.4e38", "bool:2", "i64:9223372036854775808"}) {
    EXPECT_THROW(values_of(bad, "x"), Error) << bad;
  }
  for (const char* good : {"u8:255", "i8:-128", "i32:-2147483648", "f16:65504", "bool:1", "f32:inf",
                           "i64:-9223372036854775808", "bf16:3e38", "f64:1e300"}) {
    EXPECT_NO_THROW(values_of(good, "x")) << good;
  }
}

TEST(KernelValues, AreOfTheTypeOfTheirParameter) {
  const auto says = [](const char* description, const char* type) {
    return error_of([&] { values_of(description, "x", type); });
  };
  EXPECT_EQ(says("f16[64]:zeros", "float"),
            "check-kernel: the value of x has another dtype; got \"f16[64]:zeros\" for float, "
            "expected f32");
  for (const auto& [description, type] :
       {std::pair("f32:1", "uint"), std::pair("u32:1", "float4"), std::pair("i64:1", "int"),
        std::pair("bf16[2]", "half2"), std::pair("f32[4]", "atomic_uint"),
        std::pair("u8[2]", "packed_float3"), std::pair("u32:1,f32:1", "uint2"),
        std::pair("f64[4]", "metal::float2x2")}) {
    EXPECT_THROW(values_of(description, "x", type), Error) << description << " " << type;
  }
  for (const auto& [description, type] :
       {std::pair("f32[16]", "float4x4"), std::pair("i32:-1", "uint"), std::pair("u8:1", "bool"),
        std::pair("f16[4]", "half"), std::pair("u32:1,f32:1", "Params"), std::pair("f32:1", "T"),
        std::pair("i32[4]", "atomic<int>"), std::pair("bf16[8]", "bfloat4"),
        std::pair("u32:1,u32:2", "uint2"), std::pair("f32[3]", "packed_float3")}) {
    EXPECT_NO_THROW(values_of(description, "x", type)) << description << " " << type;
  }
}

// Reading a pipe that nobody writes waits for ever.
TEST(KernelValues, AreReadFromRegularFilesOnly) {
  const std::string pipe = testing::TempDir() + "/values_pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THROW(values_of("@" + pipe, "x"), Error);
  EXPECT_THROW(values_of("@/dev/zero", "x"), Error);
  EXPECT_THROW(values_of("@" + testing::TempDir(), "x"), Error);
  for (const std::string& path : {pipe, std::string("/dev/zero")}) {
    KernelFileOptions options;
    options.path = path;
    EXPECT_THROW(KernelFile{options}, Error);
  }
  fs::remove(pipe);
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
  CheckedLaunch launch;
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

// The command's flags, not the library's options.
TEST_F(CheckKernel, NamesFlagsInMessages) {
  const auto says = [&](const std::string& text) {
    const KernelFile read(file("#include <metal_stdlib>\nusing namespace metal;\n" + text));
    return error_of([&] { read.source("f"); });
  };
  EXPECT_EQ(says("constant bool c [[function_constant(0)]];\n"
                 "kernel void f(device float* y) { if (c) y[0] = 1; }\n"),
            "check-kernel: a function constant has no value; got none for bool c, expected one, "
            "such as --constant NAME=VALUE");
  EXPECT_EQ(says("kernel void f(device float* y, threadgroup float* s [[threadgroup(1)]]) {}\n"),
            "check-kernel: f: threadgroup memory has no size; got none for s [[threadgroup(1)]], "
            "expected one, such as --threadgroup INDEX=BYTES");
  EXPECT_EQ(says("template <typename T> void f(device T* y, Ctx ctx) {}\n"),
            "check-kernel: no such entry point; got f, expected a text that has one, or for the "
            "dialect --parameter for each parameter");
  EXPECT_EQ(says("#include \"none.h\"\nkernel void f(device float* y) {}\n"),
            "kernel text: f, line 3: an included file is not there; got \"none.h\", expected it "
            "beside the text, or in a folder of --include");
}

TEST_F(CheckKernel, RefusesParametersThatCannotBeToldApart) {
  const auto read = [&](const std::string& text) {
    KernelFile(file("#include <metal_stdlib>\nusing namespace metal;\n" + text)).source("f");
  };
  const auto says = [&](const std::string& text) { return error_of([&] { read(text); }); };
  EXPECT_EQ(says("kernel void f(device const float* x [[buffer(1)]],\n"
                 "              device float* y [[buffer(1)]]) {}\n"),
            "kernel: f: two parameters have one index; got x and y at 1, expected different "
            "indices");
  EXPECT_EQ(says("kernel void f(device const float* x, device float* x) {}\n"),
            "kernel: f: two parameters have one name; got \"x\" twice, expected different names");
  EXPECT_NO_THROW(
      read("constant bool c = true;\n"
           "kernel void f(device const float* x [[buffer(1), function_constant(c)]],\n"
           "              device float* y [[buffer(0)]],\n"
           "              uint2 [[thread_position_in_grid]], uint2 "
           "[[threads_per_grid]]) {}\n"));
  EXPECT_NO_THROW(
      read("constant bool c = false;\n"
           "kernel void f(device const float* x [[buffer(1), function_constant(c)]],\n"
           "              device float* y [[buffer(1)]]) {}\n"));
}

TEST_F(CheckKernel, RefusesConstraintsByTheNameOfTheKernel) {
  for (const char* declared :
       {"template <class T> requires(sizeof(T) == 4) kernel void f(device T* y) {}\n",
        "template <class T> requires(sizeof(T) == 4) [[kernel]] void f(device T* y) {}\n",
        "template <class T> kernel void f(device T* y) requires(sizeof(T) == 4) {}\n"}) {
    const KernelFile read(file(declared));
    EXPECT_EQ(error_of([&] { read.names(); }),
              "kernel: f: an entry point has constraints; got a requires clause, expected none: "
              "Metal's C++ does not have them");
  }
}

#if HEARTH_HAS_SIMULATOR
TEST_F(CheckKernel, NamesTheParameterThatIsEmpty) {
  const KernelFile read(
      file("kernel void f(device float* x, uint i [[thread_position_in_grid]]) { x[i] = 1; }\n"));
  CheckedLaunch launch;
  launch.values["x"] = "f32[0]";
  const KernelCheck check = check_kernel(read.source("f"), launch);
  EXPECT_FALSE(check.passed);
  EXPECT_NE(check.report.find("writes 4 bytes at offset 0 of parameter 'x' of 0 bytes"),
            std::string::npos)
      << check.report;
}

TEST_F(CheckKernel, TakesValuesOfTheParametersTypes) {
  const KernelFile read(
      file("#include <metal_stdlib>\nusing namespace metal;\nstruct P { uint n; };\n"
           "template <typename T, int N> kernel void f(device const T* x [[buffer(0)]],\n"
           "  device atomic_uint* y, constant uint& n, constant P& p,\n"
           "  uint i [[thread_position_in_grid]]) {\n"
           "  if (i < n) atomic_fetch_add_explicit(&y[i], uint(x[i]) + p.n, "
           "memory_order_relaxed);\n}\n"
           "template [[host_name(\"f_half\")]] kernel void f<half, 4>(device const half*, "
           "device atomic_uint*, constant uint&, constant P&, uint);\n"));
  const runtime::KernelSource source = read.source("f_half");
  const std::map<std::string, std::string> values = {
      {"x", "f16[256]:ones"}, {"y", "u32[256]:zeros"}, {"n", "u32:256"}, {"p", "u32:3"}};
  CheckedLaunch launch;
  launch.values = values;
  EXPECT_TRUE(check_kernel(source, launch).passed);
  for (const auto& [name, wrong] :
       {std::pair("x", "f32[256]"), std::pair("y", "f32[256]"), std::pair("n", "f32:256")}) {
    launch.values = values;
    launch.values[name] = wrong;
    EXPECT_NE(error_of([&] { check_kernel(source, launch); }).find("has another dtype; got"),
              std::string::npos)
        << name;
  }
  launch.values.erase("n");
  EXPECT_NE(error_of([&] { check_kernel(source, launch); }).find("--value n=u32:256"),
            std::string::npos);
}

TEST_F(CheckKernel, NamesMayBeLongerThanThoseOfFiles) {
  const std::string name(300, 'f');
  const KernelFile read(file("kernel void " + name + "(device float* y) {}\n"));
  EXPECT_TRUE(check_kernel(read.source(name), {}).passed);
}

TEST_F(CheckKernel, RefusesGridsThatAreTooLarge) {
  const KernelFile read(file("kernel void f(device float* y) {}\n"));
  CheckedLaunch launch;
  launch.values["y"] = "f32[4]";
  for (const runtime::Size3 grid :
       {runtime::Size3{4294967295u, 4294967295u, 4294967295u}, runtime::Size3{4294967295u, 1, 1},
        runtime::Size3{65536, 65536, 1}}) {
    launch.grid = grid;
    EXPECT_NE(error_of([&] { check_kernel(read.source("f"), launch); }).find("--grid is too"),
              std::string::npos);
  }
  launch.grid = {256, 1, 1};
  launch.threads = {65536, 65536, 2};
  EXPECT_NE(error_of([&] { check_kernel(read.source("f"), launch); }).find("--threads are"),
            std::string::npos);
}

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
  CheckedLaunch launch;
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

// What sleeps there could not be interrupted, and what ends the process would end the check.
TEST_F(CheckKernel, RefusesFunctionsOfTheSystem) {
  const auto report_of = [&](const std::string& declared, const std::string& call) {
    const KernelFile text(file(declared +
                               "kernel void calls(device float* y,\n"
                               "                  uint i [[thread_position_in_grid]]) {\n  " +
                               call + ";\n  y[i] = 1.0f;\n}\n"));
    const KernelCheck check = check_kernel(text.source("calls"), CheckedLaunch());
    EXPECT_FALSE(check.passed) << call;
    EXPECT_NE(check.report.find("kernel 'calls' does not compile"), std::string::npos)
        << check.report;
    return check.report;
  };
  const std::string sleeps = report_of("extern \"C\" uint sleep(uint);\n", "sleep(100)");
  EXPECT_NE(sleeps.find("calls:4: undefined reference to `sleep'"), std::string::npos) << sleeps;
  const std::string exits = report_of("extern \"C\" void exit(int);\n", "exit(0)");
  EXPECT_NE(exits.find("undefined reference to `exit'"), std::string::npos) << exits;
  const std::string absent = report_of("uint absent(uint);\n", "absent(1)");
  EXPECT_NE(absent.find("absent(unsigned int)'"), std::string::npos) << absent;
  report_of("", "__builtin_exit(0)");
  // Nor does a kernel call it without its library.
  for (const char* word : {"asm", "__asm", "__asm__", "__as\\\nm__"}) {
    const std::string assembly =
        report_of("", std::string(word) + " volatile(\"mov $231, %eax; syscall\")");
    EXPECT_NE(assembly.find("Metal has no inline assembly"), std::string::npos) << assembly;
    EXPECT_NE(assembly.find("calls:3"), std::string::npos) << assembly;
  }
}

TEST_F(CheckKernel, RefusesWhatWouldRunBeforeTheLaunch) {
  const std::string kernel =
      "kernel void f(device float* y, uint i [[thread_position_in_grid]]) { y[i] = 1.0f; }\n";
  const auto report_of = [&](const std::string& before) {
    return check_kernel(KernelFile(file(before + kernel)).source("f"), CheckedLaunch());
  };
  for (const char* before :
       {"struct S { S() { for (;;); } };\nstatic S s;\n",
        "struct S { S() { *(volatile int*)16 = 1; } };\nstatic S s;\n",
        "__attribute__((constructor)) static void early() { *(volatile int*)16 = 1; }\n",
        "__attribute__((destructor)) static void late() { *(volatile int*)16 = 1; }\n",
        "extern \"C\" __attribute__((used)) void _init() { *(volatile int*)16 = 1; }\n",
        "static void one() {}\n"
        "extern \"C\" __attribute__((used)) void (*choose())() { return one; }\n"
        "extern \"C\" __attribute__((ifunc(\"choose\"), used)) void chosen();\n"}) {
    const KernelCheck check = report_of(before);
    EXPECT_FALSE(check.passed) << before;
    EXPECT_NE(check.report.find("kernel 'f': its text runs code before any launch; got 1 function"),
              std::string::npos)
        << before << check.report;
  }
  for (const char* before :
       {"struct S { int n = 3; };\nstatic S s;\n", "constant float4 k = float4(1) * 2;\n",
        "constant float3 k = 1.0f - float3(1, 2, 3) / float3(float2(4), 5);\n",
        "constant half4 k = -(half4(1.5h) + half(2));\n",
        "constant int2 k[] = {~(int2(3) << 2) | 5, int2(float2(1.5f))};\n",
        "constant bool3 k = !(float3(1) < float3(2)) && float3(1) == 1.0f;\n",
        "constant packed_float3 k = packed_float3(float3(1, 2, 3) * 2);\n",
        "constant float3 k = packed_float3(1, 2, 3) + packed_float3(4, 5, 6);\n",
        "constant float2 k = float4(1, 2, 3, 4).wx * 2;\n",
        "constant float4x4 k = float4x4(2.0f) * float4x4(1.0f) - 3.0f * float4x4(1.0f);\n",
        "constant float2 k = float2x2(1, 2, 3, 4) * float2(5, 6);\n"}) {
    const KernelCheck constants = report_of(before);
    EXPECT_TRUE(constants.passed) << before << constants.report;
  }
}
#endif

#if HEARTH_HAS_SIMULATOR && defined(HEARTH_TOOL)
// 0 where all kernels pass, 1 where one does not, 2 where none is checked.
TEST_F(CheckKernel, TheExitStatusOfTheProgramTells) {
  const auto status = [&](const std::string& file, const std::string& before = "",
                          const std::string& behind = "") {
    const std::string line = before + "'" + HEARTH_TOOL + "' check-kernel '" + file + "'" + behind +
                             " > '" + (folder_ / "said").string() + "' 2>&1";
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
  // A loop without an end, in the kernel or in what compiles it.
  const std::string loop = write("loop.metal", kernel("loop", "while (y[i] != 1.5f) y[i] = 2.0f;"));
  EXPECT_EQ(status(loop, "", " --timeout 1"), 1) << said();
  EXPECT_NE(said().find("kernel 'loop', threadgroup (0, 0, 0), thread (0, 0, 0): still runs after "
                        "1 s; expected the grid to have ended, at loop:2"),
            std::string::npos)
      << said();
  const std::string endless =
      write("endless.metal",
            "template <int N, int M> struct F { enum { v = F<N - 1, M>::v + F<N - 1, M + "
            "(1 << N)>::v }; };\ntemplate <int M> struct F<0, M> { enum { v = M }; };\n" +
                kernel("endless", "y[i] = F<26, 0>::v;"));
  EXPECT_EQ(status(endless, "", " --timeout 1"), 1) << said();
  EXPECT_NE(said().find("kernel 'endless' does not compile"), std::string::npos) << said();
  const std::string pipe = (folder_ / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(status(pipe), 2) << said();
  EXPECT_NE(said().find("expected a regular file"), std::string::npos) << said();
  // A variable that nobody knows is named once.
  EXPECT_EQ(status(good, "HEARTH_SCHEDULES=3 "), 0) << said();
  const std::size_t named =
      said().find("got HEARTH_SCHEDULES, expected one of docs/environment.md");
  EXPECT_NE(named, std::string::npos) << said();
  EXPECT_EQ(said().find("HEARTH_SCHEDULES", named + 20), std::string::npos) << said();
  EXPECT_EQ(status(good, "HEARTH_HOST_COMPILER=no_such_compiler "), 2) << said();
  EXPECT_NE(said().find("got HEARTH_HOST_COMPILER=no_such_compiler"), std::string::npos) << said();
  // One that does not work is no fault of the kernel.
  EXPECT_EQ(status(good, "HEARTH_HOST_COMPILER=cat "), 2) << said();
  EXPECT_NE(said().find("got cat, expected a g++ or clang++ that works"), std::string::npos)
      << said();
}
#endif

TEST_F(CheckKernel, FindsFilesInAngleBracketsInTheFoldersGiven) {
  write("inner/name.h", "#define NAME found\n");
  KernelFileOptions options =
      file("#include <metal_stdlib>\n#include <name.h>\nkernel void NAME(device float* y) {}\n");
  options.folders = {(folder_ / "inner").string()};
  EXPECT_EQ(KernelFile(options).names(), std::vector<std::string>{"found"});
}

TEST_F(CheckKernel, RefusesLongChainsOfFiles) {
  const int last = 20000;
  for (int i = 0; i < last; ++i) {
    write("c" + std::to_string(i) + ".h", "#include \"c" + std::to_string(i + 1) + ".h\"\n");
  }
  const KernelFile read(file("#include \"c0.h\"\nkernel void f(device float* y) {}\n"));
  EXPECT_NE(error_of([&] { read.names(); }).find("files include each other without end"),
            std::string::npos);
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
  refused([](KernelFileOptions& o) { o.threadgroup = {"4294967296=16"}; });
  refused([](KernelFileOptions& o) { o.parameters = {"reads float x"}; });
  refused([](KernelFileOptions& o) { o.parameters = {"threadgroup float s"}; });
}

}  // namespace
}  // namespace hearth::tools
