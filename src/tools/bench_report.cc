#include "tools/bench_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/json_writer.h"
#include "hearth/device.h"
#include "tools/bench_training.h"

namespace hearth::tools {
namespace {

// Three significant digits, or whole numbers.
std::string number(double value) {
  char text[32];
  const double size = std::fabs(value);
  std::snprintf(text, sizeof text,
                size >= 100   ? "%.0f"
                : size >= 10  ? "%.1f"
                : size >= 1   ? "%.2f"
                : size >= 0.1 ? "%.3f"
                              : "%.4f",
                value);
  return text;
}

}  // namespace

std::string target_text(const RowSpec& spec) {
  const std::string sign = spec.rate ? ">= " : "<= ";
  std::string out;
  if (spec.most) out = sign + number(*spec.most) + " " + spec.unit;
  if (spec.ratio) out += (out.empty() ? "" : ", ") + sign + number(*spec.ratio) + "x";
  if (spec.peer) out += (out.empty() ? ">= " : ", >= ") + number(*spec.peer) + "x PyTorch";
  return out;
}

std::string bench_table(const std::vector<BenchRow>& rows) {
  std::vector<std::vector<std::string>> cells = {{"row", "median", "p10..p90", "unit", "reference",
                                                  "median", "ratio", "target", "threads",
                                                  "recording", "ok"}};
  for (const BenchRow& row : rows) {
    cells.push_back(
        {row.row, number(row.value.median), number(row.value.p10) + ".." + number(row.value.p90),
         row.unit, row.reference, row.reference_median ? number(*row.reference_median) : "",
         row.ratio ? number(*row.ratio) : "", row.target, std::to_string(row.threads),
         row.recording_included ? "included" : "", row.ok ? *row.ok ? "ok" : "MISS" : "-"});
  }
  std::vector<std::size_t> widths(cells[0].size(), 0);
  for (const auto& line : cells) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string out;
  for (std::size_t r = 0; r < cells.size(); ++r) {
    for (std::size_t i = 0; i < cells[r].size(); ++i) {
      const std::string& cell = cells[r][i];
      const std::string space(widths[i] - cell.size(), ' ');
      const bool right = i == 1 || i == 5 || i == 6 || i == 8;
      out += right ? space + cell : cell + space;
      out += "  ";
    }
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
    if (r > 0 && !rows[r - 1].note.empty()) out += "    " + rows[r - 1].note + '\n';
  }
  const auto met = std::count_if(rows.begin(), rows.end(),
                                 [](const BenchRow& row) { return row.ok && *row.ok; });
  const auto known = std::count_if(rows.begin(), rows.end(),
                                   [](const BenchRow& row) { return row.ok.has_value(); });
  return out + std::to_string(met) + " of " + std::to_string(known) + " targets met\n";
}

std::string bench_json(const Bench& bench) {
  const TrainingShape shape;
  JsonWriter json(2);
  json.begin_object();
  json.member("device", bench.device().description());
  json.key("model").begin_object();
  json.member("vocabulary", shape.vocabulary);
  json.member("dim", shape.dim);
  json.member("hidden", shape.config().resolved().hidden);
  json.member("layers", shape.layers);
  json.member("heads", shape.heads);
  json.member("kv_heads", shape.kv_heads);
  json.member("context", shape.context);
  json.member("batch", shape.batch);
  json.end_object().key("rows").begin_array();
  for (const std::string& name : bench.names()) json.value(name);
  for (const BenchRow& row : bench.rows()) {
    json.begin_object();
    json.member("row", row.row);
    json.member("unit", row.unit);
    json.member("median", row.value.median);
    json.member("p10", row.value.p10);
    json.member("p90", row.value.p90);
    json.key("reference");
    row.reference.empty() ? json.value(nullptr) : json.value(row.reference);
    json.member("reference_median", row.reference_median);
    json.member("ratio", row.ratio);
    json.member("target", row.target);
    if (!row.timing.empty()) {
      json.member("timing", row.timing);
      json.member("scale", row.scale);
      json.member("rate", row.rate);
      json.member("peer_target", row.peer);
    }
    json.member("threads", row.threads);
    json.member("recording_included", row.recording_included);
    json.member("ok", row.ok);
    if (!row.note.empty()) json.member("note", row.note);
    json.end_object();
  }
  return json.end_array().end_object().take() + "\n";
}

}  // namespace hearth::tools
