#include "tools/training/progress.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace hearth::tools {
namespace {

TrainingStatus status(std::int64_t step) {
  TrainingStatus s;
  s.step = step;
  s.total_steps = 400;
  s.loss = 2.3104;
  s.rate = 12345;
  s.memory_bytes = 410'000'000;
  return s;
}

TEST(Progress, LineHoldsTheNumbers) {
  TrainingStatus s = status(100);
  s.held_out_loss = 2.4;
  EXPECT_EQ(progress_line(s, 70.0, 120),
            "train [=======>                      ] 100/400 loss 2.310 held-out 2.400 "
            "12.3k tok/s 410 MB eta 1:10");
  EXPECT_EQ(progress_line(s, 70.0, 58),
            "train 100/400 loss 2.310 held-out 2.400 12.3k tok/s 410 MB");
  for (int width = 0; width < 200; ++width) {
    EXPECT_LE(progress_line(s, 70.0, width).size(), static_cast<std::size_t>(width));
  }
}

TEST(Progress, LineCountsOtherUnitsAndAccuracy) {
  TrainingStatus s = status(100);
  s.held_out_loss = 0.25;
  s.accuracy = 0.9714;
  s.unit = "img";
  s.rate = 321;
  EXPECT_EQ(progress_line(s, std::nullopt, 70),
            "train 100/400 loss 2.310 held-out 0.250 right 97.1 % 321 img/s 410 MB");
}

TEST(Progress, LineTakesOddValues) {
  TrainingStatus s;
  s.loss = std::nan("");
  s.rate = std::nan("");
  EXPECT_NE(progress_line(s, std::nan(""), 120).find("loss nan"), std::string::npos);
  s.loss = 1e300;
  s.total_steps = 1;
  s.step = 5;
  EXPECT_NE(progress_line(s, -1.0, 120).find("5/1"), std::string::npos);
}

TEST(Progress, FormatsDurationsAndSizes) {
  EXPECT_EQ(format_duration(7.2), "0:07");
  EXPECT_EQ(format_duration(754), "12:34");
  EXPECT_EQ(format_duration(12300), "3:25:00");
  EXPECT_EQ(format_duration(3599.7), "1:00:00");
  EXPECT_EQ(format_duration(-1), "?");
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(41'000), "41 kB");
  EXPECT_EQ(format_bytes(410'000'000), "410 MB");
  EXPECT_EQ(format_bytes(999'900'000), "1.00 GB");
  EXPECT_EQ(format_bytes(1'250'000'000), "1.25 GB");
}

// What a run of 400 steps, 0.05 s each, writes.
std::string run(bool terminal) {
  std::FILE* file = std::tmpfile();
  double now = 100.0;
  {
    Progress progress(file, terminal, [&] { return now; });
    for (std::int64_t step = 1; step <= 400; ++step) {
      now += 0.05;
      progress.update(status(step));
      if (step == 200) progress.note("saved");
    }
  }
  std::string text(static_cast<std::size_t>(std::ftell(file)), '\0');
  std::rewind(file);
  EXPECT_EQ(std::fread(text.data(), 1, text.size(), file), text.size());
  std::fclose(file);
  return text;
}

TEST(Progress, RedrawsOneLineOnATerminal) {
  const std::string text = run(true);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);  // the note and the end
  EXPECT_NEAR(static_cast<double>(std::count(text.begin(), text.end(), '\r')), 200, 70);
  EXPECT_NE(text.find("saved\n"), std::string::npos);
  EXPECT_EQ(text.back(), '\n');
}

TEST(Progress, WritesFewLinesElsewhere) {
  const std::string text = run(false);
  EXPECT_EQ(text.find('\r'), std::string::npos);
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 5);
  EXPECT_NE(text.find("400/400"), std::string::npos);
  EXPECT_NE(text.find("eta 0:10"), std::string::npos) << text;
}

}  // namespace
}  // namespace hearth::tools
