// What Apple's compiler would get: its rules that no compiler here knows, and a snapshot, so that
// no text changes unseen.
//
// HEARTH_UPDATE_GOLDEN=1 writes the snapshot anew; HEARTH_METAL_TEXTS=FOLDER writes the texts
// there, each as a file for `xcrun metal -c`.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "codegen/bfloat_text.h"
#include "codegen/dialect_types.h"
#include "codegen/embedded_texts.h"
#include "codegen/entry_stub.h"
#include "codegen/kernel_text.h"
#include "codegen/msl/preprocessor/preprocessor.h"
#include "codegen/text/tokens.h"
#include "hearth/error.h"
#include "kernels/attention/paged_parts.h"
#include "kernels/formulas/formula_ops.h"
#include "kernels/regions/region_samples.h"
#include "kernels/sample_kernels.h"
#include "runtime/commands/batched_kernel.h"
#include "runtime/compile/source_hash.h"

namespace hearth::gpu_test {
namespace {

using gpu::Target;
using gpu::Token;
using gpu::TokenKind;
using runtime::KernelSource;
using Kind = runtime::KernelParameter::Kind;

constexpr int kMaxBuffers = 31;
constexpr std::int64_t kMaxThreadgroupBytes = 32 * 1024;
// Of texts that only devices with more than Metal has are given: what the smallest of them has.
constexpr std::int64_t kMaxLargeBytes = 99 * 1024;

struct MetalText {
  KernelSource source;
  std::string text;
};

// All kernels that the tests have, by name, but those for f64, which Metal has not.
const std::map<std::string, MetalText>& metal_texts() {
  static const auto* const texts = [] {
    std::vector<KernelSource> sources;
    for (const KernelSource& kernel : sample_kernels()) sources.push_back(kernel);
    for (const KernelSource& kernel : library_kernels()) sources.push_back(kernel);
    for (const char* name : {"elements_bfloat", "rows_half"}) {
      sources.push_back(runtime::batched_kernel(sample_kernel(name), 200));
    }
    for (const FormulaType& type : kFormulaTypes) {
      sources.push_back(unary_kernel(type));
      sources.push_back(binary_kernel(type));
      sources.push_back(comparison_kernel(type));
    }
    for (gpu::BuiltKernel& kernel : region_samples()) sources.push_back(std::move(kernel.source));
    auto* const made = new std::map<std::string, MetalText>;
    for (KernelSource& source : sources) {
      try {
        std::string text = gpu::assemble(source, Target::metal);
        std::string name = source.name;
        for (int other = 2; made->contains(name); ++other) {
          name = source.name + "_" + std::to_string(other);
        }
        made->insert({std::move(name), {std::move(source), std::move(text)}});
      } catch (const Error& error) {
        if (error.code() != ErrorCode::unsupported) throw;
      }
    }
    return made;
  }();
  return *texts;
}

// As Apple's compiler reads it after its preprocessor, without comments.
std::vector<std::string> words_of(const std::string& text, const std::string& version) {
  const std::string plain = gpu::preprocess(text, "text", {}, {{"__METAL_VERSION__", version}});
  std::vector<std::string> words;
  for (const Token& token : gpu::tokens_of(plain)) {
    if (token.kind != TokenKind::literal) words.emplace_back(token.text);
  }
  return words;
}

bool is_decimal_fraction(const std::string& word) {
  if (word.find_first_of("0123456789") > (word[0] == '.' ? 1u : 0u)) return false;
  const bool hex = word.starts_with("0x") || word.starts_with("0X");
  return word.find_first_of(hex ? ".pP" : ".eE") != std::string::npos;
}

// What Metal's language leaves out of C++, and what other targets call their own.
const std::set<std::string>& foreign_words() {
  static const auto* const words = new std::set<std::string>{
      "double",    "std",      "asm",     "goto",    "register", "thread_local", "virtual",
      "typeid",    "try",      "catch",   "throw",   "new",      "delete",       "noexcept",
      "mutable",   "extern",   "malloc",  "printf",  "memcpy",   "dynamic_cast", "blockIdx",
      "threadIdx", "blockDim", "gridDim", "warpSize"};
  return *words;
}

// What structs of generated entry points have to be where they hold pointers, so that the host may
// write them as bytes: every member says where it lies, and nothing but memory of the device is
// pointed to. Empty, or the rule that is broken.
std::string broken_pointer_rule(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i + 2 < words.size(); ++i) {
    if (words[i] != "struct" || words[i + 2] != "{" || !words[i + 1].starts_with("Hearth"))
      continue;
    std::size_t end = i + 3;
    for (int depth = 1; end < words.size() && depth > 0; ++end) {
      depth += words[end] == "{" ? 1 : words[end] == "}" ? -1 : 0;
    }
    std::vector<std::string> member;
    bool has_pointers = false, is_aligned = true;
    for (std::size_t at = i + 3; at < end; ++at) {
      if (words[at] == "(" || words[at] == "{") {  // alignas, functions
        const bool is_alignas = words[at - 1] == "alignas";
        const std::string shut = words[at] == "(" ? ")" : "}";
        while (at + 1 < end && words[at] != shut) ++at;
        if (!is_alignas && shut == "}") member.clear();
        continue;
      }
      if (words[at] != ";" && at + 1 != end) {
        member.push_back(words[at]);
        continue;
      }
      const auto has = [&](const char* word) {
        return std::find(member.begin(), member.end(), word) != member.end();
      };
      if (has("&")) return "reference in a struct: " + words[i + 1];
      if (has("*")) {
        has_pointers = true;
        if (!has("device")) return "pointer that is not to memory of the device: " + words[i + 1];
      }
      if (!member.empty()) is_aligned = is_aligned && has("alignas");
      member.clear();
    }
    if (has_pointers && !is_aligned) return "member without alignment: " + words[i + 1];
  }
  return "";
}

// The first rule that the text breaks, or nothing.
std::string broken_rule(const KernelSource& source, const std::string& text,
                        const std::string& version = "310") {
  const std::vector<std::string> words = words_of(text, version);
  const std::string entry = gpu::metal_entry_name(source);
  std::set<int> buffers;
  int entries = 0;
  int entry_names = 0;
  std::int64_t threadgroup_bytes = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const auto at = [&](std::size_t k) { return i + k < words.size() ? words[i + k] : ""; };
    if (foreign_words().contains(word)) return "foreign word: " + word;
    if (version < "310" && (word == "bfloat" || word == "bfloat4")) return "type of Metal 3.1";
    if (word.starts_with("__")) return "reserved name: " + word;
    if (word.starts_with("HEARTH_")) return "macro that Metal's prelude lacks: " + word;
    // An operator of the language, of no namespace.
    if (word == ":" && at(1) == ":" && at(2) == "as_type") return "as_type in a namespace";
    if (is_decimal_fraction(word) && !word.ends_with('f') && !word.ends_with('h')) {
      return "literal without suffix: " + word;
    }
    if (word == "[" && at(1) == "=" && at(2) == "]") return "lambda";
    if (word == "[" && at(1) == "&" && at(2) == "]") return "lambda";
    if (word == "static" && at(1) != "constexpr" && at(1) != "constant" && at(1) != "inline" &&
        at(1) != "const") {
      return "static " + at(1);
    }
    entries += word == "kernel" && at(1) == "void";
    entry_names += word == entry;
    if (word == "buffer" && at(1) == "(" && at(3) == ")") {
      const int index = std::stoi(at(2));
      if (index >= kMaxBuffers) return "buffer index: " + at(2);
      if (!buffers.insert(index).second) return "buffer index twice: " + at(2);
    }
    if (word == "threadgroup" && at(3) == "[" && at(5) == "]" && at(6) == ";") {
      const std::int64_t bytes = gpu::size_of_dialect_type(at(1)) * std::stoll(at(4));
      threadgroup_bytes += (bytes + 15) / 16 * 16;
    }
  }
  if (const std::string broken = broken_pointer_rule(words); !broken.empty()) return broken;
  if (source.members > 0 && buffers != std::set<int>{0}) return "a batch in several buffers";
  if (entries != 1) return "entry points: " + std::to_string(entries);
  if (entry_names != 1) return "the entry point's name is taken: " + entry;
  const bool is_large = source.name.starts_with("paged_prompts_");
  if (threadgroup_bytes > (is_large ? kMaxLargeBytes : kMaxThreadgroupBytes)) {
    return "bytes of threadgroup arrays: " + std::to_string(threadgroup_bytes);
  }
  return "";
}

// A file that no kernel of the tests includes is seen by no compiler here.
TEST(MetalText, IsMadeOfEveryFile) {
  std::string all;
  for (const auto& [name, kernel] : metal_texts()) all += kernel.text;
  for (const gpu::EmbeddedText& file : gpu::embedded_texts()) {
    if (file.path.starts_with("prelude/")) continue;
    EXPECT_NE(all.find("#line 1 \"kernels/" + std::string(file.path) + "\""), std::string::npos)
        << file.path;
  }
}

TEST(MetalText, KeepsMetalsRules) {
  EXPECT_GT(metal_texts().size(), 100u);
  for (const auto& [name, kernel] : metal_texts()) {
    EXPECT_EQ(broken_rule(kernel.source, kernel.text), "") << name;
  }
}

// Their texts are above, but no Metal device is given them.
TEST(MetalText, TilesOfPromptsFitNoMetalDevice) {
  const auto dense = [](DType dtype, const Shape& shape) {
    return TensorSpec{dtype, shape, contiguous_strides(shape), false};
  };
  const auto tile = [&](std::int64_t columns, std::int64_t bytes) {
    runtime::DeviceTraits device;
    device.threadgroup_memory = kMaxThreadgroupBytes;
    device.large_threadgroup_memory = bytes;
    Signature signature;
    signature.inputs = {dense(DType::f16, {64, 4, columns}), dense(DType::f16, {512, 2, columns}),
                        dense(DType::f16, {512, 2, columns}), dense(DType::i32, {1, 32})};
    signature.output = signature.inputs[0];
    signature.device = &device;
    return gpu::prompt_tile(signature);
  };
  for (const std::int64_t columns : {8, 64, 96, 128, 192, 256}) {
    EXPECT_EQ(tile(columns, 0), 0) << columns;
    EXPECT_GT(tile(columns, kMaxLargeBytes), 0) << columns;
  }
}

TEST(MetalText, KeepsTheRulesOfMetalBefore31) {
  for (const auto& [name, kernel] : metal_texts()) {
    const std::string text = gpu::bfloat_prelude(kernel.source) + kernel.text;
    EXPECT_EQ(broken_rule(kernel.source, text, "300"), "") << name;
  }
  const MetalText& bfloats = metal_texts().at("elements_bfloat");
  EXPECT_EQ(broken_rule(bfloats.source, bfloats.text, "300"), "type of Metal 3.1");
}

TEST(MetalText, BrokenRulesAreFound) {
  const auto check = [](const std::string& body, const std::string& helpers = "",
                        std::int64_t count = 4) {
    const KernelSource kernel{.name = "mistake",
                              .text = helpers +
                                      "inline void f(device const float* x, device float* y, "
                                      "threadgroup float* sums, Ctx ctx) {\n" +
                                      body + "\n}\n",
                              .function = "f",
                              .parameters = {{Kind::read, "float", "x"},
                                             {Kind::write, "float", "y"},
                                             {Kind::threadgroup, "float", "sums", count}}};
    return broken_rule(kernel, gpu::assemble(kernel, Target::metal));
  };
  EXPECT_EQ(check("y[0] = x[0] * 1.5f + 0x1.8p3f + 2; // 1.5, double"), "");
  EXPECT_EQ(check("y[0] = x[0] * 1.5;"), "literal without suffix: 1.5");
  EXPECT_EQ(check("y[0] = x[0] * 1e-3;"), "literal without suffix: 1e-3");
  EXPECT_EQ(check("y[0] = __fdividef(x[0], 3.0f);"), "reserved name: __fdividef");
  EXPECT_EQ(check("y[0] = HEARTH_UNHEARD;"), "macro that Metal's prelude lacks: HEARTH_UNHEARD");
  EXPECT_EQ(check("y[0] = std::max(x[0], 3.0f);"), "foreign word: std");
  EXPECT_EQ(check("y[0] = float(threadIdx.x);"), "foreign word: threadIdx");
  EXPECT_EQ(check("y[0] = float(as_type<uint>(x[0]));"), "");
  EXPECT_EQ(check("y[0] = float(metal::as_type<uint>(x[0]));"), "as_type in a namespace");
  EXPECT_EQ(check("auto g = [&](float v) { return v; }; y[0] = g(x[0]);"), "lambda");
  EXPECT_EQ(check("static float last = 0.0f;"), "static float");
  EXPECT_EQ(check("", "inline void mistake(float v) {}\n"),
            "the entry point's name is taken: mistake");
  EXPECT_EQ(check("", "", 8192), "");
  EXPECT_EQ(check("", "", 8196), "bytes of threadgroup arrays: 32784");
  EXPECT_EQ(check("", "struct HearthS { alignas(8) device float* x; alignas(8) uint n; };\n"), "");
  EXPECT_EQ(check("", "struct HearthS { alignas(8) device float* x; uint n; };\n"),
            "member without alignment: HearthS");
  EXPECT_EQ(check("", "struct HearthS { alignas(8) threadgroup float* x; };\n"),
            "pointer that is not to memory of the device: HearthS");
  EXPECT_EQ(check("", "struct HearthS { alignas(8) device float& x; };\n"),
            "reference in a struct: HearthS");
  std::vector<runtime::KernelParameter> many;
  for (int i = 0; i < 32; ++i) many.push_back({Kind::read, "float", "x" + std::to_string(i)});
  const KernelSource wide{.name = "wide", .text = "", .function = "f", .parameters = many};
  EXPECT_EQ(broken_rule(wide, gpu::assemble(wide, Target::metal)), "buffer index: 31");
}

// "kernel void name(its parameters)", those that say where a thread is left out.
std::string declaration(const std::string& text) {
  std::istringstream from(text.substr(text.rfind("kernel void ")));
  std::string all;
  for (std::string part; std::getline(from, part) && part != ") {";) {
    part.erase(0, part.find_first_not_of(' '));
    if (const std::size_t place = part.find("uint3 hearth_tg"); place != std::string::npos) {
      part.erase(place);
      all += part;
      break;
    }
    all += part + (part.ends_with('(') ? "" : " ");
  }
  all.erase(all.find_last_not_of(" ,") + 1);
  return all + ")";
}

// Name and lines: a hash of the text, and its entry point's declaration.
std::map<std::string, std::string> snapshot() {
  std::map<std::string, std::string> made;
  for (const auto& [name, kernel] : metal_texts()) {
    std::ostringstream hash;
    hash << std::hex << runtime::checksum(kernel.text.data(), kernel.text.size());
    made[name] = hash.str() + "\n  " + declaration(kernel.text) + "\n";
  }
  return made;
}

std::filesystem::path golden_path() {
  const char* source = std::getenv("HEARTH_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  return std::filesystem::path(source != nullptr ? source : ".") / "tests/golden/metal_kernels.txt";
}

std::map<std::string, std::string> read_golden() {
  std::ifstream file(golden_path());
  std::map<std::string, std::string> read;
  for (std::string name, hash, line; file >> name >> hash && std::getline(file, line);) {
    if (std::getline(file, line)) read[name] = hash + "\n" + line + "\n";
  }
  return read;
}

TEST(MetalText, IsTheSnapshots) {
  const std::map<std::string, std::string> now = snapshot();
  if (const char* folder = std::getenv("HEARTH_METAL_TEXTS")) {  // NOLINT(concurrency-mt-unsafe)
    std::filesystem::create_directories(folder);
    for (const auto& [name, kernel] : metal_texts()) {
      std::ofstream(std::filesystem::path(folder) / (name + ".metal")) << kernel.text;
    }
  }
  if (std::getenv("HEARTH_UPDATE_GOLDEN") != nullptr) {  // NOLINT(concurrency-mt-unsafe)
    std::ofstream file(golden_path());
    for (const auto& [name, lines] : now) file << name << " " << lines;
  }
  const std::map<std::string, std::string> before = read_golden();
  std::string changes;
  for (const auto& [name, lines] : now) {
    const auto known = before.find(name);
    if (known == before.end()) {
      changes += "new: " + name + "\n";
    } else if (known->second != lines) {
      changes += "changed: " + name + "\n";
    }
  }
  for (const auto& [name, lines] : before) {
    if (!now.contains(name)) changes += "gone: " + name + "\n";
  }
  EXPECT_EQ(changes, "") << "The Metal text of these kernels is no longer the one of "
                         << golden_path()
                         << ".\nIf that is what the change is for:\n"
                            "  HEARTH_UPDATE_GOLDEN=1 build/release/bin/kernels_tests "
                            "--gtest_filter='MetalText.*'\n"
                            "To see texts, set HEARTH_METAL_TEXTS to a folder before and after.";
}

}  // namespace
}  // namespace hearth::gpu_test
