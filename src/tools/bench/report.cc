#include "tools/bench/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/json.h"
#include "hearth/device.h"
#include "tools/bench/training.h"
#include "tools/lm/text_trainer.h"

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
  JsonArray rows;
  for (const std::string& name : bench.names()) rows.emplace_back(name);
  for (const BenchRow& row : bench.rows()) {
    const bool has_reference = !row.reference.empty();
    JsonObject out = {
        {"row", row.row},
        {"unit", row.unit},
        {"median", row.value.median},
        {"p10", row.value.p10},
        {"p90", row.value.p90},
        {"reference", has_reference ? std::optional(row.reference) : std::nullopt},
        {"reference_median", row.reference_median},
        {"ratio", row.ratio},
        {"target", row.target},
    };
    if (!row.timing.empty()) {
      out.insert(out.end(), {{"timing", row.timing}, {"scale", row.scale}, {"rate", row.rate}});
    }
    if (!row.timing.empty() || row.peer) out.emplace_back("peer_target", row.peer);
    out.insert(
        out.end(),
        {{"threads", row.threads}, {"recording_included", row.recording_included}, {"ok", row.ok}});
    if (!row.note.empty()) out.emplace_back("note", row.note);
    rows.emplace_back(std::move(out));
  }
  const TrainingShape shape = TrainingShape::of_train();
  const JsonObject model = {
      {"vocabulary", shape.vocabulary},
      {"dim", shape.dim},
      {"hidden", shape.config().resolved().hidden},
      {"layers", shape.layers},
      {"heads", shape.heads},
      {"kv_heads", shape.kv_heads},
      {"context", shape.context},
      {"batch", shape.batch},
      {"steps_a_read", kReadEvery},
  };
  const JsonObject all = {
      {"device", bench.device().description()}, {"model", model}, {"rows", std::move(rows)}};
  return json_text(all, 2) + "\n";
}

}  // namespace hearth::tools
