#include "tools/training/loss_curve.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/integer_math.h"
#include "io/file.h"
#include "tools/output.h"

namespace hearth::tools {
namespace {

constexpr double kWidth = 860;
constexpr double kHeight = 480;
constexpr double kLeft = 64;
constexpr double kRight = 140;  // room for labels of the curves and baselines
constexpr double kTop = 48;
constexpr double kBottom = 52;
constexpr double kLabelHeight = 15;
constexpr std::size_t kMaxPoints = 400;

// No custom properties: several renderers outside browsers do not know them.
constexpr const char* kStyle =
    "<style>\n"
    "text{font:12px system-ui,sans-serif;fill:#59636e}\n"
    ".title{font-size:15px;font-weight:600;fill:#1f2328}\n"
    ".paper{fill:#ffffff} .grid{stroke:#e4e7eb} .axis{stroke:#59636e}\n"
    ".line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}\n"
    ".train{stroke:#2f6fde} .label-train,.band{fill:#2f6fde}\n"
    ".held{stroke:#d1570a} .label-held,.dot{fill:#d1570a}\n"
    ".band{opacity:.16} .base{stroke:#6e7781;stroke-dasharray:6 5}\n"
    "@media (prefers-color-scheme:dark){\n"
    "text{fill:#9198a1} .title{fill:#e6edf3}\n"
    ".paper{fill:#0d1117} .grid{stroke:#2a313c} .axis{stroke:#9198a1}\n"
    ".train{stroke:#6ea8ff} .label-train,.band{fill:#6ea8ff}\n"
    ".held{stroke:#ff9d57} .label-held,.dot{fill:#ff9d57} .base{stroke:#8b949e}}\n"
    "</style>\n";

std::string pixel(double value) { return decimal(value, 1); }

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

// The least of 1, 2, 5 times a power of ten that cuts `span` into at most `parts` parts.
double tick_distance(double span, int parts) {
  const double raw = span / parts;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

int decimals_of(double distance) {
  return std::clamp(static_cast<int>(std::ceil(-std::log10(distance) - 1e-9)), 0, 12);
}

// Several neighbouring points as one. `count` is 0 where a point was not finite.
struct Bucket {
  double step = 0.0;
  double mean = 0.0;
  double low = 0.0;
  double high = 0.0;
  int count = 0;
};

std::vector<Bucket> thin(const std::vector<LossPoint>& points) {
  const std::size_t size = ceil_div(points.size(), kMaxPoints);
  std::vector<Bucket> buckets;
  for (std::size_t first = 0; first < points.size(); first += size) {
    Bucket bucket;
    const std::size_t end = std::min(first + size, points.size());
    for (std::size_t i = first; i < end; ++i) {
      const double loss = points[i].loss;
      if (!std::isfinite(loss)) continue;
      bucket.low = bucket.count == 0 ? loss : std::min(bucket.low, loss);
      bucket.high = bucket.count == 0 ? loss : std::max(bucket.high, loss);
      ++bucket.count;
      bucket.mean += (loss - bucket.mean) / bucket.count;
      bucket.step += (static_cast<double>(points[i].step) - bucket.step) / bucket.count;
    }
    buckets.push_back(bucket);
  }
  return buckets;
}

class Picture {
 public:
  explicit Picture(const LossCurve& curve)
      : curve_(curve), train_(thin(curve.train)), held_out_(thin(curve.held_out)) {
    choose_ranges();
  }

  std::string draw() {
    out_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + decimal(kWidth, 0) + " " +
           decimal(kHeight, 0) + "\" role=\"img\" aria-label=\"" + escaped(curve_.title) + "\">\n";
    out_ += kStyle;
    out_ += "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n";
    text(kLeft, 28, "title", "start", curve_.title);
    draw_axes();
    for (const LossBaseline& baseline : curve_.baselines) {
      if (!std::isfinite(baseline.loss)) continue;
      line(kLeft, y(baseline.loss), kWidth - kRight, y(baseline.loss), "base");
      labels_.push_back(
          {y(baseline.loss), "label-base", baseline.label + " " + decimal(baseline.loss, 3)});
    }
    draw_band();
    draw_series(train_, "train", "train");
    draw_series(held_out_, "held", "held-out");
    for (const Bucket& bucket : held_out_) {
      if (bucket.count == 0 || held_out_.size() > 60) continue;
      out_ += "<circle class=\"dot\" r=\"3\" cx=\"" + pixel(x(bucket.step)) + "\" cy=\"" +
              pixel(y(bucket.mean)) + "\"/>\n";
    }
    draw_labels();
    return out_ + "</svg>\n";
  }

 private:
  struct Label {
    double y;
    const char* style;
    std::string text;
  };

  void choose_ranges() {
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    double last_step = 0;
    const auto include = [&](double loss) {
      low = std::min(low, loss);
      high = std::max(high, loss);
    };
    for (const std::vector<Bucket>* series : {&train_, &held_out_}) {
      for (const Bucket& bucket : *series) {
        if (bucket.count == 0) continue;
        include(bucket.low);
        include(bucket.high);
        last_step = std::max(last_step, bucket.step);
      }
    }
    for (const LossBaseline& baseline : curve_.baselines) {
      if (std::isfinite(baseline.loss)) include(baseline.loss);
    }
    if (!(low <= high)) {  // nothing to draw
      low = 0;
      high = 1;
    }
    const double margin = std::max((high - low) * 0.04, std::max(std::abs(high), 1e-3) * 1e-3);
    low -= margin;
    high += margin;
    y_tick_ = tick_distance(high - low, 8);
    y_low_ = std::floor(low / y_tick_) * y_tick_;
    y_high_ = std::ceil(high / y_tick_) * y_tick_;
    x_high_ = std::max(last_step, 1.0);
    x_tick_ = std::max(tick_distance(x_high_, 8), 1.0);
  }

  double x(double step) const { return kLeft + step / x_high_ * (kWidth - kLeft - kRight); }
  double y(double loss) const {
    const double from_top = (y_high_ - loss) / (y_high_ - y_low_);
    return kTop + from_top * (kHeight - kTop - kBottom);
  }

  void line(double x1, double y1, double x2, double y2, const char* style) {
    out_ += std::string("<line class=\"") + style + "\" x1=\"" + pixel(x1) + "\" y1=\"" +
            pixel(y1) + "\" x2=\"" + pixel(x2) + "\" y2=\"" + pixel(y2) + "\"/>\n";
  }

  void text(double at_x, double at_y, const char* style, const char* anchor,
            const std::string& content) {
    out_ += std::string("<text class=\"") + style + "\" text-anchor=\"" + anchor + "\" x=\"" +
            pixel(at_x) + "\" y=\"" + pixel(at_y) + "\">" + escaped(content) + "</text>\n";
  }

  void draw_axes() {
    const double bottom = kHeight - kBottom;
    const double right = kWidth - kRight;
    const int y_ticks = static_cast<int>(std::lround((y_high_ - y_low_) / y_tick_));
    for (int i = 0; i <= y_ticks; ++i) {
      const double loss = y_low_ + i * y_tick_;
      line(kLeft, y(loss), right, y(loss), "grid");
      text(kLeft - 8, y(loss) + 4, "tick", "end", decimal(loss, decimals_of(y_tick_)));
    }
    for (int i = 0; i * x_tick_ <= x_high_; ++i) {
      const double step = i * x_tick_;
      line(x(step), bottom, x(step), bottom + 5, "axis");
      text(x(step), bottom + 20, "tick", "middle", decimal(step, 0));
    }
    line(kLeft, bottom, right, bottom, "axis");
    line(kLeft, kTop, kLeft, bottom, "axis");
    text((kLeft + right) / 2, kHeight - 10, "name", "middle", "step");
    const std::string middle = pixel((kTop + bottom) / 2);
    out_ += "<text text-anchor=\"middle\" x=\"16\" y=\"" + middle +
            "\" transform=\"rotate(-90 16 " + middle + ")\">" + escaped(curve_.unit) + "</text>\n";
  }

  void draw_band() {
    std::string there;
    std::string back;
    bool wide = false;
    for (const Bucket& bucket : train_) {
      if (bucket.count == 0) continue;
      wide |= bucket.count > 1;
      there += pixel(x(bucket.step)) + "," + pixel(y(bucket.high)) + " ";
      back = pixel(x(bucket.step)) + "," + pixel(y(bucket.low)) + " " + back;
    }
    if (wide) out_ += "<polygon class=\"band\" points=\"" + there + back + "\"/>\n";
  }

  void draw_series(const std::vector<Bucket>& series, const std::string& style, const char* label) {
    std::string points;
    int drawn = 0;
    const Bucket* last = nullptr;
    const auto flush = [&] {
      if (drawn == 1) points += points;  // a lone point shows as a round cap
      if (drawn > 0) {
        out_ += "<polyline class=\"line " + style + "\" points=\"" + points + "\"/>\n";
      }
      points.clear();
      drawn = 0;
    };
    for (const Bucket& bucket : series) {
      if (bucket.count == 0) {
        flush();
        continue;
      }
      points += pixel(x(bucket.step)) + "," + pixel(y(bucket.mean)) + " ";
      ++drawn;
      last = &bucket;
    }
    flush();
    if (last != nullptr) {
      labels_.push_back({y(last->mean), style == "train" ? "label-train" : "label-held",
                         std::string(label) + " " + decimal(last->mean, 3)});
    }
  }

  // The legend: each line's name and last value at its right end, moved apart where they would
  // collide.
  void draw_labels() {
    std::sort(labels_.begin(), labels_.end(),
              [](const Label& a, const Label& b) { return a.y < b.y; });
    for (std::size_t i = 1; i < labels_.size(); ++i) {
      labels_[i].y = std::max(labels_[i].y, labels_[i - 1].y + kLabelHeight);
    }
    double limit = kHeight - kBottom;
    for (std::size_t i = labels_.size(); i-- > 0;) {
      labels_[i].y = std::min(labels_[i].y, limit);
      limit = labels_[i].y - kLabelHeight;
    }
    for (const Label& label : labels_) {
      text(kWidth - kRight + 10, label.y + 4, label.style, "start", label.text);
    }
  }

  const LossCurve& curve_;
  std::vector<Bucket> train_;
  std::vector<Bucket> held_out_;
  std::vector<Label> labels_;
  double y_low_ = 0, y_high_ = 1, y_tick_ = 1, x_high_ = 1, x_tick_ = 1;
  std::string out_;
};

}  // namespace

std::string loss_curve_svg(const LossCurve& curve) { return Picture(curve).draw(); }

void write_loss_curve(const std::string& path, const LossCurve& curve) {
  io::replace_file(path, loss_curve_svg(curve));
}

}  // namespace hearth::tools
