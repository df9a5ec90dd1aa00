// Macros, conditions and included files of kernel texts.
#include "codegen/msl/preprocessor/preprocessor.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "check.h"
#include "codegen/msl/preprocessor/constant_expression.h"
#include "codegen/msl/preprocessor/language_version.h"
#include "error_text.h"
#include "sanitizers.h"

namespace hearth::gpu {
namespace {

std::string read(const std::string& text, const std::map<std::string, std::string>& files = {}) {
  return preprocess(text, "text", files, {{"GIVEN", "7"}});
}

// Without blanks.
std::string words(const std::string& text) {
  const std::string made = read(text);
  std::string all;
  for (const Token& token : tokens_of(made)) all += std::string(token.text) + " ";
  return all;
}

TEST(Preprocessor, ExpandsMacros) {
  EXPECT_EQ(words("#define A 1 + B\n#define B A\nA B"), "1 + A 1 + B ");
  EXPECT_EQ(words("#define F(x, y) x + (y)\nF((1, 2), F(3, 4)) F"), "( 1 , 2 ) + ( 3 + ( 4 ) ) F ");
  EXPECT_EQ(words("#define N(a, b) a##_##b\nN(x, 1) N(, y) N(x, )"), "x_1 _y x_ ");
  EXPECT_EQ(words("#define S(x) #x\nS(a  \"b\\n\" c)"), "\"a \\\"b\\\\n\\\" c\" ");
  EXPECT_EQ(words("#define V(f, ...) f(__VA_ARGS__)\nV(g, 1, 2) V(g)"), "g ( 1 , 2 ) g ( ) ");
  EXPECT_EQ(words("#define V(f, ...) f(0, ##__VA_ARGS__)\nV(g, 1, 2) V(g)"),
            "g ( 0 , 1 , 2 ) g ( 0 ) ");
  EXPECT_EQ(words("#define E()\n#define G(x) [x]\n#define H G\nE() H(2) G\n(3)"), "[ 2 ] [ 3 ] ");
  EXPECT_EQ(words("#define T(t) void f_##t(t x)\n#define U(t) T(t)\nU(float)"),
            "void f_float ( float x ) ");
  EXPECT_EQ(words("#define A 1\n#undef A\nA GIVEN __METAL__"), "A 7 1 ");
  EXPECT_EQ(words("#define LONG a \\\n  b // c\nLONG /* LONG */ \"LONG\""), "a b \"LONG\" ");
}

TEST(Preprocessor, KeepsLinesWhereTheyAre) {
  EXPECT_EQ(read("a\n#define M(x) \\\n  x\nM(1\n2)").find("a\n"), 0u);
  const std::string made = read("#if 0\nx\ny\n#endif\n#define M(x, y) x y\nM(1,\n2)\nz");
  EXPECT_EQ(
      std::count(made.begin(), made.begin() + static_cast<std::ptrdiff_t>(made.find('z')), '\n'),
      7);
}

TEST(Preprocessor, ReadsConditions) {
  EXPECT_EQ(words("#if defined(GIVEN) && GIVEN > 6 && !defined NONE\na\n#else\nb\n#endif"), "a ");
  EXPECT_EQ(words("#ifdef NONE\na\n#elif NONE == 0\nb\n#elif 1\nc\n#else\nd\n#endif"), "b ");
  EXPECT_EQ(words("#ifndef GIVEN\n#if 1/0\n#endif\n#error no\n#else\nx\n#endif"), "x ");
  EXPECT_EQ(
      words(
          "#if __has_include(<metal_tensor>)\na\n#endif\n#if __METAL_VERSION__ >= 310\nb\n#endif"),
      "b ");
}

// C11, 6.10.1: intmax_t, and uintmax_t where an operand has a u or is too large for the other.
TEST(Preprocessor, ComputesConditionsSignedAndUnsigned) {
  for (const char* holds : {"-1 > 0u",
                            "0u - 1 > 0",
                            "-1 < 0",
                            "~0u == 0xffffffffffffffff",
                            "~0u > 0",
                            "0xffffffffffffffff > 0",
                            "18446744073709551615 > 0",
                            "9223372036854775808 / 2 > 0",
                            "-9223372036854775807 - 1 < 0",
                            "-1 / 2u == 9223372036854775807",
                            "-1 % 10u == 5",
                            "~0u >> 63 == 1",
                            "-1 >> 63 == -1",
                            "-1 >> 63u == -1",
                            "(1 ? -1 : 0u) > 0",
                            "(0 ? 0u : -1) > 0",
                            "(1 ? -1 : (1 / 0u)) > 0",
                            "(1 ? -1 : (1 / 0)) < 0",
                            "(-1 < 0u) - 1 < 0",
                            "(1u && 1) - 2 < 0",
                            "!0u - 2 < 0",
                            "-(1u) > 0",
                            "(-1 | 0u) > 0",
                            "(1 ? -1 : (1 / 0 < 1u)) < 0",
                            "(1 ? -1 : (1 / 0 << 1u)) < 0",
                            "-1 == ~0u",
                            "0u + GIVEN - 8 > 0",
                            "GIVEN - 8 < 0"}) {
    EXPECT_EQ(words("#if " + std::string(holds) + "\nyes\n#endif"), "yes ") << holds;
  }
}

TEST(Preprocessor, DefinesWhatApplesCompilerDoes) {
  EXPECT_EQ(words("#if defined(__APPLE__) && defined(__METAL_MACOS__) && __METAL__\na\n#endif"),
            "a ");
  EXPECT_EQ(words("#ifdef __FAST_MATH__\na\n#endif\n__HALF_MAX__ __FLT_MAX__ __INT_MAX__"),
            "65504.0h 3.40282347e+38F 2147483647 ");
  // The system's version of the language, and that of the user before it.
  EXPECT_EQ(language_version(13), 300);
  EXPECT_EQ(language_version(14), 310);
  EXPECT_EQ(language_version(15), 320);
  EXPECT_EQ(language_version(26), 400);
  const std::string told = std::to_string(told_language_version());
  EXPECT_EQ(words("__METAL_VERSION__"), told + " ");
#if !defined(__APPLE__)
  EXPECT_EQ(told, "310");
#endif
  const auto bfloat = [](const char* version) {
    return preprocess("#if __HAVE_BFLOAT__\nyes\n#endif\n__METAL_VERSION__", "text", {},
                      {{"__METAL_VERSION__", version}});
  };
  EXPECT_EQ(bfloat("300").find("yes"), std::string::npos);
  EXPECT_NE(bfloat("320").find("yes"), std::string::npos);
  EXPECT_NE(bfloat("320").find("320"), std::string::npos);
}

TEST(Preprocessor, IncludesFiles) {
  const std::map<std::string, std::string> files = {
      {"lib/a.h", "#pragma once\n#include \"b.h\"\nA\n"},
      {"lib/b.h", "#include \"../lib/a.h\"\n#define A in_a\nin_b\n"}};
  std::string all;
  const std::string made = read(
      "#include <metal_stdlib>\n#include <lib/a.h>\n#include \"lib/a.h\"\n"
      "#include \"kernels/blocks/strided.h\"\nend\n",
      files);
  for (const Token& token : tokens_of(made)) all += std::string(token.text) + " ";
  EXPECT_EQ(all, "in_b in_a end ");
  EXPECT_NE(made.find("#include <metal_stdlib>"), std::string::npos);
  EXPECT_NE(made.find("#include \"kernels/blocks/strided.h\""), std::string::npos);
  EXPECT_NE(made.find("#line 1 \"lib/b.h\""), std::string::npos);
}

TEST(Preprocessor, RefusesWhatItCannotRead) {
  for (const char* text :
       {"#if 1\n", "#endif\n", "#else\n", "#if 1 +\n#endif\n", "#include \"none.h\"\n",
        "#error x\n", "#define\n", "#define F(x) x\nF(1, 2)", "#define F(x) x\nF(1",
        "#define F(x\n", "#nonsense\n", "#if ((((((1)\n#endif\n"}) {
    check::expect_error(ErrorCode::invalid_argument, [&] { read(text); });
  }
  const std::map<std::string, std::string> endless = {{"a.h", "#include \"a.h\"\n"}};
  check::expect_error(ErrorCode::invalid_argument, [&] { read("#include \"a.h\"", endless); });
  std::string growing = "#define A0 x x\n";
  for (int i = 1; i < 40; ++i) {
    const std::string before = "A" + std::to_string(i - 1);
    growing += "#define A" + std::to_string(i) + " " + before + " " + before + "\n";
  }
  check::expect_error(ErrorCode::invalid_argument, [&] { read(growing + "A39"); });
}

std::string refusal(const std::string& text, const std::map<std::string, std::string>& files = {}) {
  return check::error_of(ErrorCode::invalid_argument, [&] { read(text, files); });
}

TEST(Preprocessor, NamesMacroAndLine) {
  EXPECT_EQ(refusal("\n#define F(x) x\na\n\nb F(1,\n2)"),
            "kernel text: text, line 5: macro F has other arguments; got 2, expected 1");
  EXPECT_EQ(refusal("#define F(x) x\n\nF(1\n\n"),
            "kernel text: text, line 3: macro F is called without an end; got no \")\", expected "
            "one");
  EXPECT_EQ(refusal("#define F(x) x\nF(1\n)\n#if F(1, 2)\n#endif"),
            "kernel text: text, line 4: macro F has other arguments; got 2, expected 1");
  EXPECT_EQ(refusal("\n#define F(x"),
            "kernel text: text, line 2: macro F has no end of its parameters; expected \")\"");
  EXPECT_EQ(refusal("#include \"a.h\"\n", {{"a.h", "\n\n#define\n"}}),
            "kernel text: a.h, line 3: macro of #define has no name; got \"\", expected one");
}

std::string nested(int depth, const std::string& call, const std::string& inner) {
  std::string text;
  for (int i = 0; i < depth; ++i) text += call + "(";
  return text + inner + std::string(static_cast<std::size_t>(depth), ')');
}

// The largest memory that this process has had, in kilobytes; 0 where the system does not say.
std::int64_t peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::int64_t value = 0;
    if (word == "VmHWM:" && status >> value) return value;
  }
  return 0;
}

TEST(Preprocessor, ExpandsCallsThatNestDeeplyInLittleMemory) {
  const std::int64_t before = peak_memory();
  EXPECT_EQ(words("#define F(x) x\n" + nested(3000, "F", "1")), "1 ");
  EXPECT_EQ(words("#define F(x) (x)\n" + nested(1500, "F", "")).size(), 6000u);
  EXPECT_EQ(
      words("#define P(x) a##x\n#define F(x) x\nP(" + nested(1000, "F", "1") + ")").substr(0, 3),
      "aF ");
  if (!HEARTH_KEEPS_FREED_MEMORY) {
    EXPECT_LT(peak_memory() - before, 512 * 1024);
  }
}

TEST(Preprocessor, RefusesTextsThatAreTooMuchWork) {
  const std::string deep = refusal("#define F(x) x\n\n" + nested(100000, "F", "1"));
  EXPECT_NE(deep.find("line 3: macro F makes too much work"), std::string::npos) << deep;
  std::string growing = "#define A0 x x\n", chain = "#define A0 1\n";
  for (int i = 1; i < 20000; ++i) {
    const std::string line = "#define A" + std::to_string(i) + " A" + std::to_string(i - 1);
    if (i < 40) growing += line + " A" + std::to_string(i - 1) + "\n";
    chain += line + "\n";
  }
  const std::string wide = refusal(growing + "a\nA39");
  EXPECT_NE(wide.find("line 42: macro A"), std::string::npos) << wide;
  EXPECT_NE(wide.find("makes too much text"), std::string::npos) << wide;
  // Each macro of the chain hides all before it.
  const std::string linked = refusal(chain + "A19999");
  EXPECT_NE(linked.find("makes too much work"), std::string::npos) << linked;
  // One macro whose argument comes often, or whose word grows.
  std::string often_used = "#define F(x)", glued = "#define D(x) x##x\n#define E(x) D(x)\n";
  for (int i = 0; i < 10000; ++i) often_used += " x";
  EXPECT_NE(refusal(often_used + "\nF(" + often_used.substr(12) + ")").find("too much text"),
            std::string::npos);
  EXPECT_NE(refusal(glued + nested(60, "E", "x")).find("macro D makes too much"),
            std::string::npos);
  std::map<std::string, std::string> twice = {{"0.h", "x\n"}};
  for (int i = 1; i < 60; ++i) {
    const std::string line = "#include \"" + std::to_string(i - 1) + ".h\"\n";
    twice[std::to_string(i) + ".h"] = line + line;
  }
  const std::string repeated = refusal("#include \"59.h\"\n", twice);
  EXPECT_NE(repeated.find("files are included too often"), std::string::npos) << repeated;
}

TEST(ConstantExpression, HasTheOperatorsOfC) {
  const auto value = [](const std::string& text) {
    return evaluate(tokens_of(text), [](std::string_view name) {
      return name == "four" ? std::optional<std::int64_t>(4) : std::nullopt;
    });
  };
  EXPECT_EQ(value("1 + 2 * 3 - -4"), 11);
  EXPECT_EQ(value("(0x10 | 0b1) << 2 == 68u && true"), 1);
  EXPECT_EQ(value("four > 3 ? four % 3 : none"), 1);
  EXPECT_EQ(value("false && none"), 0);
  EXPECT_EQ(value("none || 1"), std::nullopt);
  EXPECT_EQ(value("!four + ~0 + 010"), 7);
  EXPECT_EQ(value("1 / 0"), std::nullopt);
  EXPECT_EQ(value("-9223372036854775807 - 1"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(value("(-9223372036854775807 - 1) / -1"), std::nullopt);
  EXPECT_EQ(value("7ull + 1LU + 2lu"), 10);
  for (const char* suffix : {"uu", "lul", "lL", "ulul"}) {
    EXPECT_EQ(value(std::string("1") + suffix), std::nullopt) << suffix;
  }
  for (const char* text : {"", "1 2", "(1", "1 +", "f(1)", "1.5", "\"a\"", "? 1"}) {
    EXPECT_EQ(value(text), std::nullopt) << text;
  }
  std::string deep = "1";
  deep.insert(0, 100000, '(');
  EXPECT_EQ(value(deep), std::nullopt);
  std::string choices = "1";
  for (int i = 0; i < 100000; ++i) choices.insert(0, "0?1:");
  EXPECT_EQ(value(choices), std::nullopt);
}

}  // namespace
}  // namespace hearth::gpu
