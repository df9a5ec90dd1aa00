#include "codegen/kernel_text.h"

#include <algorithm>
#include <cctype>
#include <deque>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "codegen/dialect_text.h"
#include "codegen/embedded_texts.h"
#include "codegen/entry_stub.h"
#include "codegen/msl/text.h"
#include "codegen/text/declared_functions.h"
#include "codegen/text/tokens.h"
#include "codegen/used_vocabulary.h"
#include "core/hashing.h"
#include "hearth/error.h"

namespace hearth::gpu {
namespace {

using runtime::KernelParameter;
using runtime::KernelSource;

constexpr std::string_view kFolder = "kernels/";
// Raised where assemble() makes other text of the same sources.
constexpr std::uint64_t kAssembly = 4;

// A name with template arguments: "vec<half, 4>".
bool is_template_id(std::string_view text) {
  if (text.empty() || !is_identifier(text.substr(0, 1))) return false;
  for (const char c : text) {
    if (!is_word_character(c) && std::string_view("<>,: -").find(c) == std::string_view::npos) {
      return false;
    }
  }
  return true;
}

[[noreturn]] void fail(const std::string& what) {
  throw Error(ErrorCode::invalid_argument, "kernel: " + what);
}

void check(const KernelSource& source) {
  if (!is_identifier(source.name)) {
    fail("the name is no identifier; got \"" + source.name +
         "\", expected letters, digits and underscores");
  }
  const std::string of = " of " + source.name;
  if (!source.metal && !is_template_id(source.function)) {
    fail("the function" + of + " cannot be called; got \"" + source.function +
         "\", expected its name with template arguments");
  }
  if (source.max_threads < 1 || source.max_threads > 1024) {
    fail("max_threads" + of + " is out of range; got " + std::to_string(source.max_threads) +
         ", expected 1 to 1024");
  }
  if (source.members < 0 || source.members > 4096) {
    fail("members" + of + " are out of range; got " + std::to_string(source.members) +
         ", expected 0 to 4096");
  }
  std::set<std::string_view> names;
  for (const KernelParameter& parameter : source.parameters) {
    if (!is_identifier(parameter.name)) {
      fail("a parameter's name" + of + " is no identifier; got \"" + parameter.name +
           "\", expected letters, digits and underscores");
    }
    if (!names.insert(parameter.name).second) {
      fail("two parameters" + of + " have one name; got \"" + parameter.name +
           "\" twice, expected different names");
    }
    if (!is_template_id(parameter.type)) {
      fail("parameter " + parameter.name + of + " has no type; got \"" + parameter.type +
           "\", expected one of the dialect or the text");
    }
    if (parameter.kind == KernelParameter::Kind::threadgroup && parameter.count < 1) {
      fail("threadgroup array " + parameter.name + of + " is empty; got " +
           std::to_string(parameter.count) + " elements, expected at least 1");
    }
  }
}

bool says_double(const KernelSource& source) {
  for (const KernelParameter& parameter : source.parameters) {
    if (mentions(parameter.type, "double")) return true;
  }
  return mentions(source.function, "double") || mentions(source.text, "double");
}

// The path of a line `#include "kernels/path"`, or nothing.
std::string_view included_path(std::string_view line) {
  constexpr std::string_view kInclude = "#include \"";
  if (line.substr(0, kInclude.size()) != kInclude) return {};
  line.remove_prefix(kInclude.size());
  const std::size_t end = line.find('"');
  if (end == std::string_view::npos) return {};
  return line.substr(0, end);
}

// Of these, a translation unit of several kernels has one copy; other files belong to a kernel.
bool is_header(std::string_view path) { return path.ends_with(".h"); }

// Inside metal, so that its names hide the compiler's; without names, so that kernels of one
// library do not meet and only the entry is emitted.
constexpr std::string_view kOpenNamespaces =
    "namespace metal {\nnamespace kernel_text {\nnamespace {\n";

// Puts texts one after the other, with the files they include, each once. Texts live as long as
// it.
class Assembly {
 public:
  // `name` is what compilers call the text in messages.
  void add(std::string_view text, const std::string& name) {
    int number = 1;
    start(number, name);
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size() - 1);
      const std::string_view line = text.substr(0, end + 1);
      text.remove_prefix(line.size());
      ++number;
      if (const std::string_view path = included_path(line); !path.empty()) {
        add_file(path);
        start(number, name);
      } else if (line.substr(0, 12) == "#pragma once") {
        all_ += '\n';
      } else {
        note_macro(line);
        all_ += line;
      }
    }
    if (!all_.ends_with('\n')) all_ += '\n';
  }
  // `path` is below src, or below src/kernels.
  void add_file(std::string_view path) {
    path = below_kernels(path);
    if (included_.insert(path).second) {
      add(embedded_text(path), std::string(kFolder) + std::string(path));
    }
  }
  // The headers that a text of a kernel includes; those of the kernel's other files too. Notes in
  // `functions`, if there is one, what the text declares.
  void add_headers_of(std::string_view text, std::set<std::string_view>* functions = nullptr) {
    if (functions != nullptr) functions->merge(declared_functions(text));
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size() - 1);
      const std::string_view path = below_kernels(included_path(text.substr(0, end + 1)));
      text.remove_prefix(end + 1);
      if (path.empty()) continue;
      if (is_header(path)) {
        add_file(path);
      } else {
        add_headers_of(embedded_text(path), functions);
      }
    }
  }
  // What the files that are there declare, outside of namespaces of their own.
  std::set<std::string_view> functions_of_files() const {
    std::set<std::string_view> functions;
    for (const std::string_view path : included_) {
      functions.merge(declared_functions(embedded_text(path)));
    }
    return functions;
  }
  // Nothing but headers is known to what follows. Throws Error{invalid_argument} where the kernel
  // has defined a macro of theirs anew, which it must not leave behind.
  void end_kernel(const std::string& name) {
    for (const std::string_view macro : macros_) {
      if (header_macros_.contains(macro)) {
        fail("no program is shared by " + name + "; got a macro of the headers, " +
             std::string(macro) + ", defined anew");
      }
    }
    for (const std::string_view macro : macros_) all_ += "#undef " + std::string(macro) + "\n";
    macros_.clear();
    std::erase_if(included_, [](std::string_view path) { return !is_header(path); });
  }
  void begin_kernel() {
    header_macros_.merge(macros_);
    macros_.clear();
  }
  void append(std::string_view text) { all_ += text; }
  std::string take() { return std::move(all_); }

 private:
  static std::string_view below_kernels(std::string_view path) {
    if (path.substr(0, kFolder.size()) == kFolder) path.remove_prefix(kFolder.size());
    return path;
  }
  void start(int number, const std::string& name) {
    all_ += "#line " + std::to_string(number) + " \"" + name + "\"\n";
  }
  // Of a line `#define NAME`, however it is spaced.
  void note_macro(std::string_view line) {
    const auto skip_blanks = [&line] {
      line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    };
    const auto take = [&line](std::string_view word) {
      const bool is_there = line.starts_with(word);
      if (is_there) line.remove_prefix(word.size());
      return is_there;
    };
    skip_blanks();
    if (!take("#")) return;
    skip_blanks();
    if (!take("define")) return;
    skip_blanks();
    macros_.insert(first_token(line).text);
  }

  std::set<std::string_view> included_;
  std::set<std::string_view> macros_;         // that were defined since begin_kernel()
  std::set<std::string_view> header_macros_;  // and before it, for the first kernel
  std::string all_;
};

}  // namespace

std::string_view embedded_text(std::string_view path) {
  for (const EmbeddedText& embedded : embedded_texts()) {
    if (embedded.path == path) return embedded.text;
  }
  fail("no such text is built in; got \"" + std::string(path) +
       "\", expected a path below src/kernels");
}

std::uint64_t embedded_revision() {
  static const std::uint64_t revision = [] {
    std::uint64_t hash = kFnvBasis + kAssembly;
    for (const EmbeddedText& embedded : embedded_texts()) {
      for (const std::string_view part : {embedded.path, embedded.text}) {
        hash = fnv1a(std::as_bytes(std::span(part)), hash);
        hash = fnv1a(hash, 0x100);
      }
    }
    return hash;
  }();
  return revision;
}

bool has_f64(Target target) noexcept { return target == Target::cuda || target == Target::host; }

std::string assemble(const KernelSource& source, Target target) {
  check(source);
  if (source.metal && target == Target::metal) return metal_text(source);
  if (source.metal && target == Target::lint) {
    throw Error(ErrorCode::unsupported,
                "kernel: texts of Metal are not checked as the dialect; got " + source.name +
                    ", expected a kernel of the dialect");
  }
  if (!source.metal) check_dialect(source.text, source.name);
  const bool f64 = says_double(source);
  if (f64 && target == Target::metal) {
    throw Error(ErrorCode::unsupported,
                "kernel: Metal has no f64; got " + source.name +
                    ", which says double, expected float (sums of f32 keep " +
                    "48 bits with Numerics::precise_sums)");
  }
  Assembly assembly;
  assembly.append(has_f64(target) || f64 ? "#define HEARTH_HAS_F64 1\n"
                                         : "#define HEARTH_HAS_F64 0\n");
  switch (target) {
    case Target::cuda:
      assembly.add_file("prelude/cuda.h");
      break;
    case Target::host:
      assembly.add_file("prelude/host.h");
      break;
    case Target::lint:
      assembly.add_file("prelude/lint.h");
      break;
    case Target::metal:
      assembly.add_file("prelude/metal.h");
      break;
  }
  const std::string stub = entry_stub(source, target);
  if (target == Target::lint || target == Target::metal) {
    assembly.add_file("prelude/ctx.h");
    assembly.add(source.text, source.name);
    assembly.add(stub, source.name + " (entry)");
    return assembly.take();
  }
  assembly.append("namespace metal {\n");
  if (source.metal) {
    for (const std::string_view part :
         {"prelude/msl/traits.h", "prelude/msl/operators.h", "prelude/msl/threads.h",
          "prelude/msl/functions.h", "prelude/msl/textures.h"}) {
      assembly.add_file(part);
    }
  }
  assembly.append("namespace kernel_text {\nnamespace {\n");
  assembly.add_file("prelude/overloads.h");
  if (source.metal) assembly.add_file("prelude/msl/entry.h");
  const std::string own = source.metal ? plain_text(source, target) : source.text;
  const std::string text = f64 ? own : with_float_literals(own);
  if (target == Target::host) {
    assembly.add_headers_of(text);
    assembly.append("}\n}\n}\n");
    assembly.append(kOwnText);
    assembly.append(kOpenNamespaces);
  }
  assembly.add(text, source.name);
  assembly.append("}\n");
  assembly.add(stub, source.name + " (entry)");
  assembly.append("}\n}\n");
  const bool is_read_slowly = target == Target::cuda && !source.metal;
  return is_read_slowly ? with_used_vocabulary(assembly.take()) : assembly.take();
}

std::string assemble_together(std::span<const KernelSource* const> sources) {
  std::deque<std::string> texts;  // an Assembly refers to them
  const auto keep = [&](std::string text) -> const std::string& {
    return texts.emplace_back(std::move(text));
  };
  Assembly assembly;
  assembly.add("#define HEARTH_HAS_F64 1\n", "program");
  assembly.add_file("prelude/cuda.h");
  assembly.append(kOpenNamespaces);
  const std::string_view overloads = embedded_text("prelude/overloads.h");
  assembly.append(overloads);
  struct Kernel {
    const std::string &text, &stub, &name;
    std::set<std::string_view> functions;
  };
  std::vector<Kernel> kernels;
  for (const KernelSource* source : sources) {
    check(*source);
    if (source->metal) fail("no program is shared by " + source->name + "; got a text of Metal");
    check_dialect(source->text, source->name);
    Kernel& kernel = kernels.emplace_back(
        Kernel{keep(says_double(*source) ? source->text : with_float_literals(source->text)),
               keep(entry_stub(*source, Target::cuda)),
               source->name,
               {}});
    assembly.add_headers_of(kernel.text, &kernel.functions);
    assembly.add_headers_of(kernel.stub, &kernel.functions);
  }
  assembly.append("}\n");
  const std::set<std::string_view> shared = assembly.functions_of_files();
  for (const Kernel& kernel : kernels) {
    assembly.begin_kernel();
    assembly.append("namespace " + kernel.name + "_text {\nnamespace {\n");
    assembly.append(overloads);
    for (const std::string_view function : kernel.functions) {
      if (!shared.contains(function)) continue;
      // So that overloads of it do not hide it.
      assembly.append("using kernel_text::" + std::string(function) + ";\n");
    }
    assembly.add(kernel.text, kernel.name);
    assembly.append("}\n");
    assembly.add(kernel.stub, kernel.name + " (entry)");
    assembly.append("}\n");
    assembly.end_kernel(kernel.name);
  }
  assembly.append("}\n}\n");
  return with_used_vocabulary(assembly.take());
}

}  // namespace hearth::gpu
