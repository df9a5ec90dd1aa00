#include "tools/images/drawn_images.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "hearth/error.h"
#include "tools/training/draw.h"

namespace hearth::tools {
namespace {

constexpr int kSide = 32;
constexpr int kChannels = 3;
constexpr std::int64_t kMaxImages = std::int64_t{1} << 24;
constexpr double kNoise = 30;        // deviation, of 255
constexpr double kMinContrast = 90;  // distance of the colours of shape and ground

class Random {
 public:
  explicit Random(std::uint64_t key) : key_(key) {}

  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(next() >> 11) * 0x1p-53;
  }
  // Near to normal, of deviation 1: the sum of four 16-bit draws.
  double noise() {
    const std::uint64_t bits = next();
    double sum = 0;
    for (int i = 0; i < 4; ++i) sum += static_cast<double>(bits >> (16 * i) & 0xffff);
    constexpr double kDeviation = 65536 * 0.57735026918962576;  // sqrt(4 / 12) of the range
    return (sum - 4 * 32767.5) / kDeviation;
  }

 private:
  std::uint64_t next() { return draw(key_, 0, count_++); }

  std::uint64_t key_;
  std::uint64_t count_ = 0;
};

using Colour = std::array<double, kChannels>;

Colour colour(Random& random) {
  Colour out{};
  for (double& value : out) value = random.uniform(0, 255);
  return out;
}

double distance(const Colour& a, const Colour& b) {
  double squares = 0;
  for (std::size_t i = 0; i < kChannels; ++i) squares += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(squares);
}

// Whether (u, v) lies in a shape that fills the square from -1 to 1. Each is its own mirror image,
// or that of one of its class.
using Shape2d = bool (*)(double u, double v);
double larger(double u, double v) { return std::max(std::abs(u), std::abs(v)); }
double smaller(double u, double v) { return std::min(std::abs(u), std::abs(v)); }
// Every other of five bands across [-1, 1].
bool in_band(double t) { return static_cast<int>((t + 1) * 2.5) % 2 == 0; }

constexpr Shape2d kShapes[] = {
    [](double u, double v) { return u * u + v * v < 1; },                               // disc
    [](double u, double v) { return u * u + v * v < 1 && u * u + v * v > 0.36; },       // ring
    [](double u, double v) { return larger(u, v) < 0.9; },                              // square
    [](double u, double v) { return larger(u, v) < 0.9 && larger(u, v) > 0.55; },       // frame
    [](double u, double v) { return std::abs(v) < 0.9 && 2 * std::abs(u) < v + 0.9; },  // triangle
    [](double u, double v) { return smaller(u, v) < 0.28 && larger(u, v) < 1; },        // plus
    [](double u, double v) {  // diagonal cross
      return smaller(u + v, u - v) < 0.4 && larger(u, v) < 0.9;
    },
    [](double u, double v) { return larger(u, v) < 1 && in_band(u); },    // upright bars
    [](double u, double v) { return larger(u, v) < 1 && in_band(v); },    // level bars
    [](double u, double v) { return larger(u, v) < 0.95 && u * v > 0; },  // two opposite squares
};
constexpr std::int64_t kClasses = std::size(kShapes);

void append_image(std::uint64_t key, Shape2d shape, std::vector<std::uint8_t>& out) {
  Random random(key);
  const Colour ground = colour(random);
  Colour ink = colour(random);
  while (distance(ground, ink) < kMinContrast) ink = colour(random);
  const double radius = random.uniform(6, 11);
  const double x0 = random.uniform(radius, kSide - radius);
  const double y0 = random.uniform(radius, kSide - radius);
  // Cosine and sine of up to 15 degrees from the tangent of half the angle.
  const double half = random.uniform(-0.13, 0.13);
  const double cosine = (1 - half * half) / (1 + half * half);
  const double sine = 2 * half / (1 + half * half);
  const double slope_x = random.uniform(-1.5, 1.5);  // of the light
  const double slope_y = random.uniform(-1.5, 1.5);
  std::array<std::uint8_t, kChannels * kSide * kSide> pixels{};
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      int covered = 0;  // of four points
      for (int point = 0; point < 4; ++point) {
        const double dx = (x + 0.25 + 0.5 * (point % 2) - x0) / radius;
        const double dy = (y + 0.25 + 0.5 * (point / 2) - y0) / radius;
        covered += shape(dx * cosine + dy * sine, dy * cosine - dx * sine) ? 1 : 0;
      }
      const double light = slope_x * (x - kSide / 2) + slope_y * (y - kSide / 2);
      for (int channel = 0; channel < kChannels; ++channel) {
        const auto c = static_cast<std::size_t>(channel);
        const double value = ground[c] + (ink[c] - ground[c]) * covered / 4 + light;
        pixels[static_cast<std::size_t>((channel * kSide + y) * kSide + x)] =
            static_cast<std::uint8_t>(std::clamp(value + kNoise * random.noise(), 0.0, 255.0));
      }
    }
  }
  out.insert(out.end(), pixels.begin(), pixels.end());
}

ImageSet drawn(std::uint64_t seed, std::uint64_t part, std::int64_t count) {
  ImageSet out;
  out.pixels.reserve(static_cast<std::size_t>(count * kChannels * kSide * kSide));
  out.labels.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t label = i % kClasses;
    append_image(draw(seed, part, static_cast<std::uint64_t>(i)), kShapes[label], out.pixels);
    out.labels.push_back(static_cast<std::uint8_t>(label));
  }
  return out;
}

}  // namespace

ImageData draw_images(std::uint64_t seed, std::int64_t train, std::int64_t held_out) {
  for (const std::int64_t count : {train, held_out}) {
    if (count < 1 || count > kMaxImages) {
      throw Error(ErrorCode::invalid_argument, "images: number to draw out of range; got " +
                                                   std::to_string(count) + ", expected 1 to 2^24");
    }
  }
  ImageData out;
  out.name = "drawn shapes";
  out.channels = kChannels;
  out.height = kSide;
  out.width = kSide;
  out.classes = kClasses;
  out.train = drawn(seed, 0, train);
  out.held_out = drawn(seed, 1, held_out);
  return out;
}

}  // namespace hearth::tools
