#include "tools/training/loss_curve.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace hearth::tools {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

LossCurve falling(int steps) {
  LossCurve curve{
      .title = "loss", .unit = "nats < bits", .train = {}, .held_out = {}, .baselines = {}};
  for (int step = 1; step <= steps; ++step) {
    curve.train.push_back({step, 1.5 + 4 * std::exp(-step / 100.0)});
    if (step % 50 == 0) curve.held_out.push_back({step, 1.6 + 4 * std::exp(-step / 100.0)});
  }
  curve.baselines = {{"trigram", 1.99}, {"5-gram", 1.54}};
  return curve;
}

void expect_well_formed(const std::string& svg) {
  EXPECT_EQ(svg.rfind("<svg ", 0), 0u);
  EXPECT_EQ(count(svg, "<svg "), count(svg, "</svg>"));
  EXPECT_EQ(count(svg, "<text "), count(svg, "</text>"));
  for (const char* bad : {"nan", "inf", "\"-\""}) EXPECT_EQ(count(svg, bad), 0u) << bad;
}

TEST(LossCurve, DrawsEverySeriesAndBaseline) {
  const std::string svg = loss_curve_svg(falling(300));
  expect_well_formed(svg);
  EXPECT_EQ(count(svg, "<polyline class=\"line train\""), 1u);
  EXPECT_EQ(count(svg, "<polyline class=\"line held\""), 1u);
  EXPECT_EQ(count(svg, "<line class=\"base\""), 2u);
  EXPECT_EQ(count(svg, "<circle"), 6u);
  EXPECT_NE(svg.find("trigram 1.990"), std::string::npos);
  EXPECT_NE(svg.find(">nats &lt; bits<"), std::string::npos);
  EXPECT_NE(svg.find("prefers-color-scheme:dark"), std::string::npos);
  EXPECT_EQ(count(svg, "<polygon"), 0u);
}

TEST(LossCurve, ThinsLongSeries) {
  const std::string svg = loss_curve_svg(falling(100'000));
  expect_well_formed(svg);
  EXPECT_LT(svg.size(), 40'000u);
  EXPECT_EQ(count(svg, "<polygon"), 1u);
}

TEST(LossCurve, TakesEmptyAndOddSeries) {
  expect_well_formed(loss_curve_svg({}));
  LossCurve one;
  one.train = {{0, 2.0}};
  expect_well_formed(loss_curve_svg(one));
  one.train = {{0, std::nan("")}, {1, std::numeric_limits<double>::infinity()}};
  expect_well_formed(loss_curve_svg(one));
  one.train = {{1, 2.0}, {2, std::nan("")}, {3, 2.5}, {4, 2.0}};
  EXPECT_EQ(count(loss_curve_svg(one), "<polyline"), 2u);
  one.train = {{1, 1e300}, {2, -1e300}};
  loss_curve_svg(one);
  one.train = {{1, 0.0}, {2, 0.0}};
  expect_well_formed(loss_curve_svg(one));
}

TEST(LossCurve, EscapesText) {
  LossCurve curve = falling(10);
  curve.title = "<a & \"b\">";
  const std::string svg = loss_curve_svg(curve);
  EXPECT_NE(svg.find("&lt;a &amp; &quot;b&quot;&gt;"), std::string::npos);
}

TEST(LossCurve, UnwritablePathIsAnError) {
  try {
    write_loss_curve("/nonexistent/curve.svg", falling(10));
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io);
  }
}

}  // namespace
}  // namespace hearth::tools
