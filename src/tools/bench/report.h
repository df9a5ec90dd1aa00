// What a bench prints: a table for people, JSON for programs.
#pragma once

#include <string>
#include <vector>

#include "tools/bench/bench.h"

namespace hearth::tools {

// The target of a row: ">= 0.9x", "<= 60 us", both, or empty.
std::string target_text(const RowSpec& spec);

std::string bench_table(const std::vector<BenchRow>& rows);
// {"device": ..., "model": {...}, "rows": [...]}; where listing, the rows are names.
std::string bench_json(const Bench& bench);

}  // namespace hearth::tools
