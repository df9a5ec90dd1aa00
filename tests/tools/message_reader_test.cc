// Messages of `hearth chat`, from the bytes of a terminal or of a file.
#include "tools/lm/message_reader.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

namespace hearth::tools {
namespace {

struct Read {
  std::vector<std::string> texts;
  std::string asks;   // '>' before a first line, '.' before a later one
  std::string lines;  // 'l' of each message that is one line, else 'b'
};

Read read(const std::string& bytes, bool is_terminal = true) {
  std::istringstream input(bytes);
  MessageReader reader(input, is_terminal);
  Read all;
  while (const auto message =
             reader.next([&](bool is_later) { all.asks += is_later ? '.' : '>'; })) {
    all.texts.push_back(message->text);
    all.lines += message->is_line ? 'l' : 'b';
  }
  return all;
}

using Texts = std::vector<std::string>;

TEST(MessageReader, LinesAreMessages) {
  const Read all = read("hello\n\n/help\nlast");
  EXPECT_EQ(all.texts, (Texts{"hello", "", "/help", "last"}));
  EXPECT_EQ(all.lines, "llll");
  EXPECT_EQ(all.asks, ">>>>>");
}

TEST(MessageReader, QuotesHoldSeveralLines) {
  const Read all =
      read("\"\"\"\none\n\n/exit \\\n\"\"\"\n\"\"\"two\nthree\"\"\"\n\"\"\"four\"\"\"\nfive\n");
  EXPECT_EQ(all.texts, (Texts{"one\n\n/exit \\", "two\nthree", "four", "five"}));
  EXPECT_EQ(all.lines, "bbbl");
  EXPECT_EQ(all.asks, ">....>.>>>");
  EXPECT_EQ(read("say \"\"\"\n\"\"\"\"\"\"\n").texts, (Texts{"say \"\"\"", ""}));
  EXPECT_EQ(read("\"\"\"\nnever closed\n").texts, Texts{});
}

TEST(MessageReader, BackslashesGoOnWithTheNextLine) {
  const Read all = read("a \\\nb\\\n\nc\\d\n/reset\\\nx\n");
  EXPECT_EQ(all.texts, (Texts{"a \nb\n", "c\\d", "/reset\nx"}));
  EXPECT_EQ(all.lines, "blb");
  EXPECT_EQ(all.asks, ">..>>.>");
  EXPECT_EQ(read("a\\").texts, Texts{});
}

TEST(MessageReader, PastedTextIsOneMessage) {
  const Read all = read("look: \033[200~def f():\n  \"\"\"\"\"\"\n  x \\\n\033[201~\nnext\n");
  EXPECT_EQ(all.texts, (Texts{"look: def f():\n  \"\"\"\"\"\"\n  x \\", "next"}));
  EXPECT_EQ(all.lines, "bl");
  EXPECT_EQ(all.asks, ">>>");
  // What is typed beside it has its marks, what is pasted has none.
  EXPECT_EQ(read("\"\"\"\033[200~a\nb\"\"\"\033[201~\nc\"\"\"\n").texts, Texts{"a\nb\"\"\"\nc"});
  EXPECT_EQ(read("\033[200~\"\"\"\033[201~\nb\n").texts, (Texts{"\"\"\"", "b"}));
  EXPECT_EQ(read("\033[200~a\\\033[201~\nb\n").texts, (Texts{"a\\", "b"}));
  EXPECT_EQ(read("\033[200~a\033[201~\\\nb\n").texts, Texts{"a\nb"});
  EXPECT_EQ(read("\033[200~a\nb\033[201~ c\033[200~d\ne\033[201~!\n").texts, Texts{"a\nb cd\ne!"});
  EXPECT_EQ(read("\033[200~/help\033[201~\n").lines, "l");
  EXPECT_EQ(read("\033[200~a\nb\n").texts, Texts{});
}

TEST(MessageReader, KeysAreNoText) {
  EXPECT_EQ(read("a\033[A\033[1;5Cb\033OPc\033d\033[\n").texts, Texts{"abcd"});
  EXPECT_EQ(read("\033[D\n\033").texts, (Texts{"", ""}));
}

TEST(MessageReader, LinesOfFilesStayAsTheyAre) {
  const std::string bytes = "\"\"\"\na\\\n\033[200~b\033[A\n";
  const Read all = read(bytes, false);
  EXPECT_EQ(all.texts, (Texts{"\"\"\"", "a\\", "\033[200~b\033[A"}));
  EXPECT_EQ(all.lines, "lll");
}

}  // namespace
}  // namespace hearth::tools
