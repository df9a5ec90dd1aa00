// Lines edited by libedit. Its texts are of the thread's locale, which is one of UTF-8 meanwhile.
// It reads through TypedCharacters: keys that it does not know would leave the ends of their
// sequences in the line, and it knows no marks of pasted text.
#include "tools/lm/line_editor.h"

#include <histedit.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <optional>
#include <streambuf>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>
#ifdef __APPLE__
#include <xlocale.h>
#endif

#include "models/tokenizer/unicode.h"
#include "tools/lm/paste_marks.h"
#include "tools/lm/prompt_terminal.h"
#include "tools/lm/typed_characters.h"

namespace hearth::tools {
namespace {

constexpr int kHistoryLines = 1000;
constexpr const char* kInsertPaste = "insert-paste";

struct Key {
  std::string_view bytes;
  const char* command;  // of libedit
};

// What keys send; all others that send sequences do nothing.
constexpr Key kKeys[] = {
    {"\033[A", "ed-prev-history"},
    {"\033OA", "ed-prev-history"},
    {"\033[B", "ed-next-history"},
    {"\033OB", "ed-next-history"},
    {"\033[C", "ed-next-char"},
    {"\033OC", "ed-next-char"},
    {"\033[D", "ed-prev-char"},
    {"\033OD", "ed-prev-char"},
    {"\033[H", "ed-move-to-beg"},
    {"\033OH", "ed-move-to-beg"},
    {"\033[1~", "ed-move-to-beg"},
    {"\033[7~", "ed-move-to-beg"},
    {"\033[F", "ed-move-to-end"},
    {"\033OF", "ed-move-to-end"},
    {"\033[4~", "ed-move-to-end"},
    {"\033[8~", "ed-move-to-end"},
    {"\033[3~", "ed-delete-next-char"},
    {kPasteBegins, kInsertPaste},
    {"\033[1;5C", "em-next-word"},
    {"\033[1;5D", "ed-prev-word"},
    {"\033[1;3C", "em-next-word"},
    {"\033[1;3D", "ed-prev-word"},
    {"\t", "ed-insert"},
    {"^R", "em-inc-search-prev"},
    {"^@", "em-delete-or-list"},  // a Ctrl-D that was typed before the line was asked for
};

using Locale = std::unique_ptr<std::remove_pointer_t<locale_t>, void (*)(locale_t)>;

Locale locale_named(const char* name) {
  return {newlocale(LC_CTYPE_MASK, name, nullptr), [](locale_t locale) { freelocale(locale); }};
}

std::string_view codeset(const Locale& locale) {
  return locale ? nl_langinfo_l(CODESET, locale.get()) : "";
}

// The user's, where it is one of UTF-8. One of ASCII, or that is not installed, says nothing of the
// terminal, which is then taken for one of UTF-8 as nearly all are. Null: it is another, or none is
// here.
Locale utf8_locale() {
  Locale own = locale_named("");
  const std::string_view set = codeset(own);
  if (set == "UTF-8") return own;
  if (own && set != "ANSI_X3.4-1968" && set != "US-ASCII") return locale_named(nullptr);
  for (const char* name : {"C.UTF-8", "en_US.UTF-8", "UTF-8"}) {
    Locale other = locale_named(name);
    if (codeset(other) == "UTF-8") return other;
  }
  return {nullptr, [](locale_t) {}};
}

// The calling thread's, while it lives.
class ThreadLocale {
 public:
  explicit ThreadLocale(const Locale& locale) : before_(uselocale(locale.get())) {}
  ThreadLocale(const ThreadLocale&) = delete;
  ThreadLocale& operator=(const ThreadLocale&) = delete;
  ~ThreadLocale() { uselocale(before_); }

 private:
  locale_t before_;
};

std::string to_utf8(const std::wstring& text) {
  std::string bytes;
  for (const wchar_t c : text) models::tokens::append_utf8(bytes, static_cast<std::uint32_t>(c));
  return bytes;
}

std::vector<std::string_view> sequences_of_keys() {
  std::vector<std::string_view> all;
  for (const Key& key : kKeys) all.push_back(key.bytes);
  return all;
}

class EditedTerminal final : public LineEditor, private std::streambuf {
 public:
  explicit EditedTerminal(Locale locale)
      : locale_(std::move(locale)),
        history_(history_init(), history_end),
        typed_([this] { return read_byte(); }, sequences_of_keys()),
        lines_(this) {
    const ThreadLocale utf8(locale_);
    editor_.reset(el_init("hearth", stdin, stdout, stderr));
    if (!editor_ || !history_) return;
    HistEvent event;
    history(history_.get(), &event, H_SETSIZE, kHistoryLines);
    history(history_.get(), &event, H_SETUNIQUE, 1);
    EditLine* const editor = editor_.get();
    el_set(editor, EL_CLIENTDATA, static_cast<void*>(this));
    el_set(editor, EL_SIGNAL, 0);  // PromptTerminal has them
    el_set(editor, EL_EDITOR, "emacs");
    el_set(editor, EL_HIST, history, history_.get());
    el_set(editor, EL_PROMPT, &EditedTerminal::prompt);
    el_set(editor, EL_ADDFN, kInsertPaste, "Insert pasted text", &EditedTerminal::insert_paste);
    for (const Key& key : kKeys) {
      el_set(editor, EL_BIND, std::string(key.bytes).c_str(), key.command, nullptr);
    }
    // The wide call: of the other, versions differ in what the function writes to.
    el_wset(editor, EL_GETCFN, &EditedTerminal::read_character);
  }

  bool is_ready() const { return editor_ && history_; }
  void set_prompt(std::string_view prompt) override { prompt_ = prompt; }
  std::istream& lines() override { return lines_; }

 private:
  static EditedTerminal& of(EditLine* editor) {
    void* self = nullptr;
    el_get(editor, EL_CLIENTDATA, &self);
    return *static_cast<EditedTerminal*>(self);
  }

  // Of the terminal.
  std::optional<char> read_byte() {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    char byte = 0;
    for (;;) {
      if (PromptTerminal::was_stopped()) el_set(editor_.get(), EL_REFRESH);
      if (::poll(&input, 1, -1) < 0) {
        if (errno != EINTR) return std::nullopt;
        continue;
      }
      const ssize_t size = ::read(STDIN_FILENO, &byte, 1);
      if (size == 1) break;
      if (size == 0 || (errno != EINTR && errno != EAGAIN)) return std::nullopt;
    }
    el_resize(editor_.get());
    return byte;
  }

  static char* prompt(EditLine* editor) { return of(editor).prompt_.data(); }

  static int read_character(EditLine* editor, wchar_t* c) {
    const std::optional<wchar_t> next = of(editor).typed_.next();
    if (next) *c = *next;
    return next ? 1 : 0;
  }

  static unsigned char insert_paste(EditLine* editor, wint_t) {
    EditedTerminal& self = of(editor);
    const std::wstring text = self.typed_.pasted();
    if (text.empty() || el_winsertstr(editor, text.c_str()) != 0) return CC_ERROR;
    self.pasted_.push_back(to_utf8(text));
    return CC_REFRESH;
  }

  int_type underflow() override {
    const ThreadLocale utf8(locale_);
    pasted_.clear();
    // By itself it does so behind the prompt, when what is typed at once has been echoed.
    el_set(editor_.get(), EL_PREP_TERM, 1);
    int size = 0;
    const char* const typed = el_gets(editor_.get(), &size);
    if (typed == nullptr || size <= 0) return traits_type::eof();
    std::string line = typed;
    if (line.ends_with('\n')) line.pop_back();
    if (!line.empty()) {
      HistEvent event;
      history(history_.get(), &event, H_ENTER, line.c_str());
    }
    bytes_ = with_paste_marks(line, pasted_) + '\n';
    setg(bytes_.data(), bytes_.data(), bytes_.data() + bytes_.size());
    return traits_type::to_int_type(bytes_.front());
  }

  Locale locale_;
  std::unique_ptr<History, void (*)(History*)> history_;
  std::unique_ptr<EditLine, void (*)(EditLine*)> editor_{nullptr, el_end};
  TypedCharacters typed_;
  std::string prompt_, bytes_;
  std::vector<std::string> pasted_;  // into the line that is edited
  std::istream lines_;
};

}  // namespace

std::unique_ptr<LineEditor> make_line_editor() {
  const char* const terminal = std::getenv("TERM");
  const std::string_view kind = terminal == nullptr ? "" : terminal;
  if (kind.empty() || kind == "dumb") return nullptr;
  if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0) return nullptr;
  Locale locale = utf8_locale();
  if (!locale) return nullptr;
  auto editor = std::make_unique<EditedTerminal>(std::move(locale));
  if (!editor->is_ready()) return nullptr;
  return editor;
}

}  // namespace hearth::tools
