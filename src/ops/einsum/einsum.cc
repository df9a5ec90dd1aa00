// einsum: the subscripts are read once; then the two arrays whose product is cheapest are joined by
// one matrix product, until one is left. What only one array has is summed before.
#include "hearth/ops/einsum.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>

#include "core/quoted.h"
#include "core/throw_as.h"
#include "hearth/ops.h"
#include "ops/definition/rules.h"

namespace hearth {
namespace einstein {
namespace {

// An axis by number: 0 to 51 are letters, the others axes of an ellipsis, counted from the last.
using Label = int;
using Labels = std::vector<Label>;
constexpr Label kEllipsis = -1;
constexpr Label kFirstUnnamed = 52;
constexpr int kLabelCount = kFirstUnnamed + kMaxRank;

[[noreturn]] void fail(ErrorCode code, std::string_view subscripts, const std::string& text) {
  throw Error(code, "einsum: in " + quoted(subscripts) + " " + text);
}

Label label_of(char letter) {
  if (letter >= 'a' && letter <= 'z') return letter - 'a' + 26;
  if (letter >= 'A' && letter <= 'Z') return letter - 'A';
  return kEllipsis;
}
std::string text_of(Label label) {
  if (label >= kFirstUnnamed) return "an axis of the ellipsis";
  return std::string(1, static_cast<char>(label < 26 ? 'A' + label : 'a' + label - 26));
}

struct Subscripts {
  std::string_view text;
  std::vector<Labels> inputs;
  Labels result;
  bool has_result = false;
};

Labels parse_term(std::string_view text, std::string_view term) {
  Labels labels;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (term[i] == ' ') continue;
    if (label_of(term[i]) != kEllipsis) {
      labels.push_back(label_of(term[i]));
    } else if (term.substr(i, 3) == "...") {
      if (std::find(labels.begin(), labels.end(), kEllipsis) != labels.end()) {
        fail(ErrorCode::invalid_argument, text,
             "a term has two ellipses; got " + quoted(term) + ", expected one at most");
      }
      labels.push_back(kEllipsis);
      i += 2;
    } else {
      fail(ErrorCode::invalid_argument, text,
           "there is no such letter; got " + quoted(term.substr(i, 1)) +
               ", expected a-z, A-Z, \"...\", ',' or \"->\"");
    }
  }
  return labels;
}

Subscripts parse(std::string_view text) {
  Subscripts out;
  out.text = text;
  const std::size_t arrow = text.find("->");
  std::string_view left = text.substr(0, arrow);
  for (;;) {
    const std::size_t comma = left.find(',');
    out.inputs.push_back(parse_term(text, left.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    left.remove_prefix(comma + 1);
  }
  out.has_result = arrow != std::string_view::npos;
  if (out.has_result) out.result = parse_term(text, text.substr(arrow + 2));
  return out;
}

// An array, one label for each axis, all different.
struct Term {
  Array array;
  Labels labels;

  bool has(Label label) const {
    return std::find(labels.begin(), labels.end(), label) != labels.end();
  }
  int axis(Label label) const {
    return static_cast<int>(std::find(labels.begin(), labels.end(), label) - labels.begin());
  }
};

struct Problem {
  std::vector<Term> terms;
  Labels result;
  std::array<std::int64_t, kLabelCount> extents;  // -1 where nothing has the label
};

// The axes that an ellipsis stands for, of `count` of them.
void expand_ellipsis(Labels& labels, int count) {
  const auto at = std::find(labels.begin(), labels.end(), kEllipsis);
  if (at == labels.end()) return;
  Labels axes;
  for (int i = count - 1; i >= 0; --i) axes.push_back(kFirstUnnamed + i);
  labels.insert(labels.erase(at), axes.begin(), axes.end());
}

// Axes that share a letter become one, their diagonal.
void take_diagonals(Term& term) {
  for (std::size_t i = 0; i < term.labels.size(); ++i) {
    for (std::size_t j = i + 1; j < term.labels.size();) {
      if (term.labels[j] != term.labels[i]) {
        ++j;
        continue;
      }
      const Label label = term.labels[i];
      term.array =
          diagonal(term.array, 0, static_cast<std::int64_t>(i), static_cast<std::int64_t>(j));
      term.labels.erase(term.labels.begin() + static_cast<std::ptrdiff_t>(j));
      term.labels.erase(term.labels.begin() + static_cast<std::ptrdiff_t>(i));
      term.labels.push_back(label);
      i = static_cast<std::size_t>(-1);  // again from the start
      break;
    }
  }
}

void note_extents(const Subscripts& subscripts, const Term& term,
                  std::array<std::int64_t, kLabelCount>& extents) {
  for (std::size_t i = 0; i < term.labels.size(); ++i) {
    const std::int64_t extent = term.array.shape(static_cast<int>(i));
    std::int64_t& known = extents[static_cast<std::size_t>(term.labels[i])];
    if (known == -1 || known == 1) {
      known = extent;
    } else if (extent != known && extent != 1) {
      fail(ErrorCode::shape, subscripts.text,
           "extents of " + text_of(term.labels[i]) + " differ; got " + std::to_string(known) +
               " and " + std::to_string(extent) + ", expected one extent, or 1");
    }
  }
}

Labels implied_result(const std::vector<Labels>& written, int unnamed) {
  std::array<int, kLabelCount> counts{};
  for (const Labels& labels : written) {
    for (const Label label : labels) ++counts[static_cast<std::size_t>(label)];
  }
  Labels result;
  for (int i = unnamed - 1; i >= 0; --i) result.push_back(kFirstUnnamed + i);
  for (Label label = 0; label < kFirstUnnamed; ++label) {
    if (counts[static_cast<std::size_t>(label)] == 1) result.push_back(label);
  }
  return result;
}

void check_result(const Subscripts& subscripts, const Problem& problem) {
  const Labels& result = problem.result;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (std::find(result.begin(), result.begin() + static_cast<std::ptrdiff_t>(i), result[i]) !=
        result.begin() + static_cast<std::ptrdiff_t>(i)) {
      fail(ErrorCode::invalid_argument, subscripts.text,
           "the result names " + text_of(result[i]) + " twice; got it again, expected it once");
    }
    if (problem.extents[static_cast<std::size_t>(result[i])] == -1) {
      fail(ErrorCode::invalid_argument, subscripts.text,
           "no array has what the result names; got " + text_of(result[i]) +
               ", expected a letter of an array");
    }
  }
}

Problem make_problem(const Subscripts& subscripts, const std::vector<Array>& arrays) {
  if (arrays.size() != subscripts.inputs.size()) {
    fail(ErrorCode::invalid_argument, subscripts.text,
         "terms and arrays do not match; got " + std::to_string(arrays.size()) +
             " arrays, expected " + std::to_string(subscripts.inputs.size()));
  }
  Problem problem;
  problem.extents.fill(-1);
  std::vector<Labels> written;
  int unnamed = 0;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    Labels labels = subscripts.inputs[i];
    const bool open = std::find(labels.begin(), labels.end(), kEllipsis) != labels.end();
    const int named = static_cast<int>(labels.size()) - (open ? 1 : 0);
    const int rank = arrays[i].rank();
    if (open ? rank < named : rank != named) {
      fail(ErrorCode::shape, subscripts.text,
           "term " + std::to_string(i) + " does not fit; got an array " +
               to_string(arrays[i].shape()) + ", expected " + std::to_string(named) +
               (open ? " axes or more" : " axes"));
    }
    if (is_bool(arrays[i].dtype())) {
      fail(ErrorCode::dtype, subscripts.text,
           "bool has no products; got bool, expected a numeric dtype");
    }
    if (open) unnamed = std::max(unnamed, rank - named);
    expand_ellipsis(labels, rank - named);
    written.push_back(labels);
    Term term = {arrays[i], labels};
    // An extent of 1 stretches to that of the same letter.
    for (std::size_t a = 0; a < labels.size(); ++a) {
      for (std::size_t b = 0; b < labels.size(); ++b) {
        if (labels[a] != labels[b]) continue;
        const std::int64_t own = term.array.shape(static_cast<int>(a));
        const std::int64_t other = term.array.shape(static_cast<int>(b));
        if (own == other || own == 1 || other == 1) continue;
        fail(ErrorCode::shape, subscripts.text,
             "extents of " + text_of(labels[a]) + " differ; got " + std::to_string(own) + " and " +
                 std::to_string(other) + ", expected one extent, or 1");
      }
    }
    Shape stretched = term.array.shape();
    for (std::size_t a = 0; a < labels.size(); ++a) {
      for (std::size_t b = 0; b < labels.size(); ++b) {
        if (labels[a] != labels[b] || stretched[static_cast<int>(a)] != 1) continue;
        stretched[static_cast<int>(a)] = term.array.shape(static_cast<int>(b));
      }
    }
    if (stretched != term.array.shape()) term.array = expand(term.array, stretched);
    take_diagonals(term);
    note_extents(subscripts, term, problem.extents);
    problem.terms.push_back(std::move(term));
  }
  problem.result = subscripts.result;
  expand_ellipsis(problem.result, unnamed);
  if (!subscripts.has_result) problem.result = implied_result(written, unnamed);
  check_result(subscripts, problem);
  if (static_cast<int>(problem.result.size()) > kMaxRank) {
    fail(ErrorCode::shape, subscripts.text,
         "the result has too many axes; got " + std::to_string(problem.result.size()) +
             ", expected " + std::to_string(kMaxRank) + " at most");
  }
  return problem;
}

std::int64_t extent_of(const Problem& problem, Label label) {
  return problem.extents[static_cast<std::size_t>(label)];
}

bool is_needed(const Problem& problem, Label label, std::size_t except_a, std::size_t except_b) {
  if (std::find(problem.result.begin(), problem.result.end(), label) != problem.result.end()) {
    return true;
  }
  for (std::size_t i = 0; i < problem.terms.size(); ++i) {
    if (i != except_a && i != except_b && problem.terms[i].has(label)) return true;
  }
  return false;
}

// An axis of 1 that those of other terms stretch goes: it is what those others have.
void drop_stretched(const Problem& problem, Term& term) {
  Dims dropped;
  Labels kept;
  for (std::size_t i = 0; i < term.labels.size(); ++i) {
    const Label label = term.labels[i];
    if (term.array.shape(static_cast<int>(i)) == 1 && extent_of(problem, label) != 1) {
      dropped.push_back(static_cast<std::int64_t>(i));
    } else {
      kept.push_back(label);
    }
  }
  if (dropped.rank() > 0) term.array = squeeze(term.array, dropped);
  term.labels = std::move(kept);
}

// Sums over what only this term has.
void reduce_term(Problem& problem, std::size_t at) {
  Term& term = problem.terms[at];
  Dims summed;
  Labels kept;
  for (std::size_t i = 0; i < term.labels.size(); ++i) {
    if (is_needed(problem, term.labels[i], at, at)) {
      kept.push_back(term.labels[i]);
    } else {
      summed.push_back(static_cast<std::int64_t>(i));
    }
  }
  if (summed.rank() > 0) term.array = sum(term.array, summed);
  term.labels = std::move(kept);
}

double size_of_labels(const Problem& problem, const Labels& labels) {
  double size = 1;
  for (const Label label : labels) size *= static_cast<double>(extent_of(problem, label));
  return size;
}

// The axes of `term` in this order, merged into groups.
Array in_groups(const Problem& problem, const Term& term, const Labels& batch, const Labels& rows,
                const Labels& columns) {
  Dims order;
  Shape shape;
  for (const Labels* group : {&batch, &rows, &columns}) {
    std::int64_t product = 1;
    for (const Label label : *group) {
      order.push_back(term.axis(label));
      if (__builtin_mul_overflow(product, extent_of(problem, label), &product)) {
        throw Error(ErrorCode::shape,
                    "einsum: result too large; got extents whose product is "
                    "beyond 2^63, expected one below 2^60");
      }
    }
    shape.push_back(product);
  }
  return reshape(permute(term.array, order), shape);
}

// The product of two terms, summed over what nothing else needs.
Term join(const Problem& problem, std::size_t a, std::size_t b) {
  const Term &left = problem.terms[a], &right = problem.terms[b];
  Labels batch, inner, rows, columns;
  for (const Label label : left.labels) {
    const bool shared = right.has(label);
    if (!shared) {
      rows.push_back(label);
    } else if (is_needed(problem, label, a, b)) {
      batch.push_back(label);
    } else {
      inner.push_back(label);
    }
  }
  for (const Label label : right.labels) {
    if (!left.has(label)) columns.push_back(label);
  }
  Term joined;
  Shape shape;
  for (const Labels* group : {&batch, &rows, &columns}) {
    for (const Label label : *group) {
      joined.labels.push_back(label);
      if (shape.rank() == kMaxRank) {
        throw Error(ErrorCode::shape,
                    "einsum: a product of two arrays has too many axes; got "
                    "more, expected " +
                        std::to_string(kMaxRank) + " at most");
      }
      shape.push_back(extent_of(problem, label));
    }
  }
  const Array product = matmul(in_groups(problem, left, batch, rows, inner),
                               in_groups(problem, right, batch, inner, columns));
  joined.array = reshape(product, shape);
  return joined;
}

// How much larger the result of a product is than what it is made of; then its work.
std::pair<double, double> cost_of(const Problem& problem, std::size_t a, std::size_t b) {
  const Term &left = problem.terms[a], &right = problem.terms[b];
  Labels all = left.labels, kept;
  for (const Label label : right.labels) {
    if (!left.has(label)) all.push_back(label);
  }
  for (const Label label : all) {
    if (is_needed(problem, label, a, b)) kept.push_back(label);
  }
  const double growth = size_of_labels(problem, kept) - size_of_labels(problem, left.labels) -
                        size_of_labels(problem, right.labels);
  return {growth, size_of_labels(problem, all)};
}

Array contract(Problem& problem) {
  for (Term& term : problem.terms) drop_stretched(problem, term);
  for (std::size_t i = 0; i < problem.terms.size(); ++i) reduce_term(problem, i);
  while (problem.terms.size() > 1) {
    std::size_t first = 0, second = 1;
    std::pair<double, double> least = {std::numeric_limits<double>::infinity(), 0};
    for (std::size_t a = 0; a < problem.terms.size(); ++a) {
      for (std::size_t b = a + 1; b < problem.terms.size(); ++b) {
        const auto cost = cost_of(problem, a, b);
        if (!(cost < least)) continue;
        least = cost;
        first = a;
        second = b;
      }
    }
    Term joined = join(problem, first, second);
    problem.terms.erase(problem.terms.begin() + static_cast<std::ptrdiff_t>(second));
    problem.terms[first] = std::move(joined);
  }
  const Term& last = problem.terms.front();
  Dims order;
  Shape shape;
  for (const Label label : problem.result) {
    shape.push_back(extent_of(problem, label));
    if (last.has(label)) order.push_back(last.axis(label));
  }
  return reshape(permute(last.array, order), shape);
}

}  // namespace
}  // namespace einstein

inline namespace v0 {

Array einsum(std::string_view subscripts, const std::vector<Array>& arrays) try {
  for (const Array& array : arrays) require_defined("einsum", array);
  einstein::Problem problem = einstein::make_problem(einstein::parse(subscripts), arrays);
  for (const Array& array : arrays) {
    if (array.dtype() == arrays.front().dtype()) continue;
    throw Error(ErrorCode::dtype, "einsum: arrays differ in dtype; got " +
                                      std::string(name(arrays.front().dtype())) + " and " +
                                      std::string(name(array.dtype())) + ", expected one dtype");
  }
  return einstein::contract(problem);
} catch (const Error& error) {
  throw_as("einsum", error);
}

}  // namespace v0
}  // namespace hearth
