#include "codegen/msl/preprocessor/preprocessor.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>
#include <vector>

#include "codegen/msl/preprocessor/constant_expression.h"
#include "codegen/msl/preprocessor/language_version.h"
#include "codegen/msl/preprocessor/macros.h"
#include "hearth/error.h"

namespace hearth::gpu {
namespace {

constexpr int kMaxNested = 100;  // files
// Of all files, each as often as it is included.
constexpr std::size_t kMaxBytes = std::size_t{1} << 28;
constexpr std::size_t kBytesOfFile = 4096;  // what an empty one counts as

// A line without comments, joined with those that a backslash or a comment continues.
struct Line {
  std::string text;
  int newlines = 0;
};

Line take_line(std::string_view& text) {
  Line line;
  while (!text.empty()) {
    if (text[0] == '\n') {
      text.remove_prefix(1);
      ++line.newlines;
      break;
    }
    const bool carriage = text.substr(0, 3) == "\\\r\n";
    if (carriage || text.substr(0, 2) == "\\\n") {
      text.remove_prefix(carriage ? 3 : 2);
      ++line.newlines;
      continue;
    }
    const Token token = first_token(text);
    std::string_view part = token.text;
    if (token.kind == TokenKind::comment) {
      line.newlines += static_cast<int>(std::count(part.begin(), part.end(), '\n'));
      line.text += ' ';
    } else if (token.kind == TokenKind::space) {
      part = part.substr(0, part.find('\n'));
      line.text += ' ';
    } else {
      line.text += part;
    }
    text.remove_prefix(part.size());
  }
  return line;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

// "a/../b" is "b".
std::string normal(const std::string& path) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string part = path.substr(at, end - at);
    if (part == ".." && !parts.empty()) {
      parts.pop_back();
    } else if (!part.empty() && part != ".") {
      parts.push_back(part);
    }
    at = end + 1;
  }
  std::string all;
  for (const std::string& part : parts) all += (all.empty() ? "" : "/") + part;
  return all;
}

class Preprocessor {
 public:
  explicit Preprocessor(const std::map<std::string, std::string>& files) : files_(files) {}
  Macros& macros() { return macros_; }
  std::string take() { return std::move(made_); }

  void read(std::string_view text, const std::string& name) {
    const std::size_t outer = conditions_.size();
    const std::string outer_name = name_;
    const int outer_line = line_;
    name_ = name;
    line_ = 1;
    while (!text.empty()) {
      Line line = take_line(text);
      const std::size_t first = line.text.find_first_not_of(' ');
      if (first != std::string::npos && line.text[first] == '#') {
        flush();
        directive(std::string_view(line.text).substr(first + 1));
        made_.append(static_cast<std::size_t>(line.newlines), '\n');
      } else {
        if (chunk_.empty()) chunk_line_ = line_;
        if (is_active()) {
          Pieces pieces = pieces_of(line.text);
          chunk_.insert(chunk_.end(), pieces.begin(), pieces.end());
        }
        const std::string breaks(static_cast<std::size_t>(line.newlines), '\n');
        if (!breaks.empty()) chunk_.push_back({TokenKind::space, breaks, false, 0});
      }
      line_ += line.newlines;
    }
    flush();
    if (conditions_.size() != outer) fail("a condition has no end; got no #endif, expected one");
    name_ = outer_name;
    line_ = outer_line;
  }

 private:
  struct Condition {
    bool outer = true;   // whether what is around it is read
    bool active = true;  // whether this part is
    bool done = false;   // whether this or an earlier part is
  };

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::invalid_argument,
                "kernel text: " + name_ + ", line " + std::to_string(line_) + ": " + what);
  }
  bool is_active() const { return conditions_.empty() || conditions_.back().active; }

  void flush() {
    macros_.set_place(name_, chunk_line_);
    for (const Piece& piece : macros_.expand(std::move(chunk_))) {
      if (piece.blank) made_ += ' ';
      made_ += piece.text;
    }
    chunk_.clear();
  }

  void directive(std::string_view text) {
    const auto skip_blanks = [&text] {
      text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    };
    skip_blanks();
    if (text.empty()) return;
    const std::string what(first_token(text).text);
    text.remove_prefix(what.size());
    skip_blanks();
    if (conditional(what, text) || !is_active()) return;
    if (what == "define") {
      macros_.set_place(name_, line_);
      macros_.define(text);
    } else if (what == "undef") {
      if (!text.empty()) macros_.remove(std::string(first_token(text).text));
    } else if (what == "include" || what == "import") {
      include(text);
    } else if (what == "pragma") {
      if (text.substr(0, 4) == "once") {
        once_.insert(name_);
      } else {
        made_ += "#pragma " + std::string(text);
      }
    } else if (what == "error") {
      fail("the text refuses; got #error " + std::string(text));
    } else if (what != "warning" && what != "line") {
      fail("no such directive; got #" + what);
    }
  }

  bool conditional(const std::string& what, std::string_view text) {
    if (what == "if" || what == "ifdef" || what == "ifndef") {
      Condition made;
      made.outer = is_active();
      if (made.outer) {
        const bool is_defined =
            what != "if" && !text.empty() && macros_.has(std::string(first_token(text).text));
        made.done = what == "if" ? holds(text) : is_defined == (what == "ifdef");
      }
      made.active = made.done;
      conditions_.push_back(made);
      return true;
    }
    if (what != "elif" && what != "else" && what != "endif") return false;
    if (conditions_.empty()) fail("no condition is open; got #" + what);
    Condition& open = conditions_.back();
    if (what == "endif") {
      conditions_.pop_back();
    } else {
      open.active = open.outer && !open.done && (what == "else" || holds(text));
      open.done |= open.active;
    }
    return true;
  }

  bool holds(std::string_view text) {
    Pieces condition;
    const Pieces all = pieces_of(text);
    const auto is = [&](std::size_t at, std::string_view what) {
      return at < all.size() && all[at].text == what;
    };
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool asks = all[i].text.substr(0, 6) == "__has_";
      if (all[i].text != "defined" && !asks) {
        condition.push_back(all[i]);
        continue;
      }
      const bool enclosed = is(i + 1, "(");
      const std::size_t name = i + (enclosed ? 2 : 1);
      const bool yes = !asks && name < all.size() && macros_.has(all[name].text);
      condition.push_back({TokenKind::number, yes ? "1" : "0", true, 0});
      i = name;
      while (enclosed && i < all.size() && !is(i, ")")) ++i;
    }
    macros_.set_place(name_, line_);
    const Pieces expanded = macros_.expand(std::move(condition));
    std::vector<Token> tokens;
    for (const Piece& piece : expanded) tokens.push_back({piece.kind, piece.text});
    const auto value = evaluate(tokens, [](std::string_view) { return 0; });
    if (!value) fail("a condition is no integer; got " + std::string(text));
    return *value != 0;
  }

  void include(std::string_view text) {
    const bool quoted = !text.empty() && text[0] == '"';
    const std::string path(text.empty() ? ""
                                        : text.substr(1, text.find(quoted ? '"' : '>', 1) - 1));
    const std::string candidates[] = {path, normal(folder_of(name_) + path), normal(path)};
    const auto found = std::find_if(std::begin(candidates), std::end(candidates),
                                    [&](const std::string& each) { return files_.count(each); });
    if (found == std::end(candidates) && (!quoted || path.substr(0, 8) == "kernels/")) {
      made_ += "#include " + std::string(text);
      return;
    }
    if (found == std::end(candidates)) {
      fail("an included file is not there; got \"" + path +
           "\", expected it among the files given");
    }
    if (once_.count(*found) > 0) return;
    if (++nested_ > kMaxNested) fail("files include each other without end; got " + path);
    bytes_ += files_.at(*found).size() + kBytesOfFile;
    if (bytes_ > kMaxBytes) {
      fail("files are included too often; got " + path + ", expected at most " +
           std::to_string(kMaxBytes >> 20) + " MB of all included files");
    }
    made_ += "#line 1 \"" + *found + "\"\n";
    const std::string file = *found;
    read(files_.at(file), file);
    --nested_;
    if (!made_.ends_with('\n')) made_ += '\n';
    made_ += "#line " + std::to_string(line_) + " \"" + name_ + "\"\n";
  }

  const std::map<std::string, std::string>& files_;
  Macros macros_;
  std::string made_;
  Pieces chunk_;        // of text between two directives
  int chunk_line_ = 1;  // where it begins
  std::vector<Condition> conditions_;
  std::set<std::string> once_;
  std::string name_;
  int line_ = 1;
  int nested_ = 0;
  std::size_t bytes_ = 0;
};

// As Apple's compiler has them for macOS. Not __FAST_MATH__: kernels are compiled without.
constexpr const char* kPredefined[] = {
    "__METAL__ 1",
    "__METAL_MACOS__ 1",
    "__APPLE__ 1",
    "__CHAR_BIT__ 8",
    "__SCHAR_MAX__ 127",
    "__SHRT_MAX__ 32767",
    "__INT_MAX__ 2147483647",
    "__LONG_MAX__ 9223372036854775807L",
    "__FLT_MAX__ 3.40282347e+38F",
    "__FLT_MIN__ 1.17549435e-38F",
    "__FLT_EPSILON__ 1.19209290e-7F",
    "__FLT_DIG__ 6",
    "__FLT_MANT_DIG__ 24",
    "__HALF_MAX__ 65504.0h",
    "__HALF_MIN__ 6.103515625e-5h",
    "__HALF_EPSILON__ 9.765625e-4h",
    "__FLT16_MAX__ 65504.0h",
    "__FLT16_MIN__ 6.103515625e-5h",
    "__FLT16_EPSILON__ 9.765625e-4h",
};

}  // namespace

std::string preprocess(const std::string& text, const std::string& name,
                       const std::map<std::string, std::string>& files,
                       const std::map<std::string, std::string>& defines) {
  Preprocessor preprocessor(files);
  preprocessor.macros().set_place("a definition given", 0);
  for (const char* macro : kPredefined) preprocessor.macros().define(macro);
  const auto given = defines.find("__METAL_VERSION__");
  const std::string version =
      given == defines.end() ? std::to_string(told_language_version()) : given->second;
  preprocessor.macros().define("__METAL_VERSION__ " + version);
  if (version >= "310") preprocessor.macros().define("__HAVE_BFLOAT__ 1");
  for (const auto& [macro, value] : defines) preprocessor.macros().define(macro + " " + value);
  preprocessor.read(text, name);
  return preprocessor.take();
}

}  // namespace hearth::gpu
