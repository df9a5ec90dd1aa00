#include "models/tokenizer/pattern.h"

#include <map>

#include "core/quoted.h"
#include "hearth/error.h"
#include "models/tokenizer/code_classes.h"
#include "models/tokenizer/pattern_assertions.h"
#include "models/tokenizer/pattern_program.h"

namespace hearth::models::tokens {
namespace {

constexpr std::size_t kMaxTable = std::size_t{1} << 21;  // entries
constexpr std::size_t kMaxClasses = 255;
constexpr std::size_t kMaxWork = std::size_t{1} << 26;    // steps followed while building
constexpr std::size_t kMaxPlaces = std::size_t{1} << 22;  // of all states together

}  // namespace

// Builds the tables of a pattern from its program: each state is the list of the program's places,
// in the order of their rights, that a prefix of a match leads to.
class PatternTables {
 public:
  PatternTables(std::string_view text, const std::string& source, PatternProgram program)
      : text_(text), source_(source), program_(std::move(program)) {
    reached_.resize(program_.steps.size());
  }

  Pattern build() {
    classify();
    read_assertions();
    explore();
    return std::move(out_);
  }

 private:
  using Places = std::vector<std::uint32_t>;

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::unsupported, source_ + ": a pattern that " + what + "; got " +
                                            hearth::quoted(text_, 300) +
                                            ", expected one of fewer sets, counts and look aheads");
  }

  void classify() {
    auto classes = code_classes(program_.sets, kMaxClasses);
    if (!classes) fail("has too many sets");
    contents_ = std::move(classes->contents);
    out_.classes_ = static_cast<std::uint32_t>(contents_.size() + 1);
    lay_out(classes->runs);
    for (std::uint32_t code = 0; code < out_.ascii_.size(); ++code) {
      out_.ascii_[code] = static_cast<std::uint8_t>(out_.class_of(code));
    }
  }

  // Tables of blocks of code points. Most blocks are of one class, and found by it.
  void lay_out(const std::vector<CodeClasses::Run>& runs) {
    constexpr std::uint32_t kBlock = 256;
    constexpr std::int32_t kNone = -1;
    std::vector<std::int32_t> of_class(out_.classes_, kNone);
    std::map<std::string, std::int32_t> mixed;
    std::size_t run = 0;  // that the block begins in
    for (std::uint32_t first = 0; first < kCodePoints; first += kBlock) {
      const auto goes_on = [&](std::size_t at, std::uint32_t code) {
        return at + 1 == runs.size() || runs[at + 1].begin > code;
      };
      while (!goes_on(run, first)) ++run;
      std::string block;
      std::int32_t* index = &of_class[runs[run].kind];
      if (!goes_on(run, first + kBlock - 1)) {
        block.resize(kBlock);
        std::size_t at = run;
        for (std::uint32_t i = 0; i < kBlock; ++i) {
          if (!goes_on(at, first + i)) ++at;
          block[i] = static_cast<char>(runs[at].kind);
        }
        index = &mixed.try_emplace(block, kNone).first->second;
      } else if (*index == kNone) {
        block.assign(kBlock, static_cast<char>(runs[run].kind));
      }
      if (*index == kNone) {
        *index = static_cast<std::int32_t>(out_.blocks_.size() / kBlock);
        out_.blocks_.insert(out_.blocks_.end(), block.begin(), block.end());
      }
      out_.block_of_.push_back(static_cast<std::uint16_t>(*index));
    }
  }

  void read_assertions() {
    for (std::size_t i = 0; i < program_.assertions.size(); ++i) {
      if (program_.assertions[i].steps.empty()) {
        out_.assertions_.emplace_back();
        continue;
      }
      auto table = assertion_table(program_, i, contents_);
      if (!table) fail("needs too many states");
      out_.assertions_.push_back(std::move(*table));
    }
    out_.symbols_ = out_.classes_ << static_cast<std::uint32_t>(program_.assertions.size());
    for (const std::vector<bool>& sets : contents_) {
      out_.makes_words_.push_back(program_.word < sets.size() && sets[program_.word]);
    }
    out_.makes_words_.push_back(false);
  }

  std::uint32_t state_of(const Places& places) {
    const auto [found, is_new] =
        states_.try_emplace(places, static_cast<std::uint32_t>(states_.size()));
    if (is_new) {
      pending_.push_back(places);
      stored_ += places.size();
    }
    return found->second;
  }

  void explore() {
    state_of({});
    state_of({0});
    for (std::size_t state = 0; state < pending_.size(); ++state) {
      const Places places = pending_[state];
      for (std::uint32_t symbol = 0; symbol < out_.symbols_; ++symbol) {
        if (out_.table_.size() >= kMaxTable || work_ > kMaxWork || stored_ > kMaxPlaces) {
          fail("needs too many states");
        }
        next_.clear();
        ++round_;
        matched_ = false;
        for (const std::uint32_t place : places) {
          if (!follow(place, symbol)) break;
        }
        out_.table_.push_back(state_of(next_) << 1 | (matched_ ? 1u : 0u));
      }
    }
  }

  // Goes where a place leads before and over a code point of the class, with the bits of the
  // assertions that hold before it; false: a match ends here, and places with less right are of no
  // matter.
  bool follow(std::uint32_t from, std::uint32_t symbol) {
    const std::uint32_t kind = symbol % out_.classes_, bits = symbol / out_.classes_;
    stack_.assign(1, from);
    const bool at_end = kind + 1 == out_.classes_;
    while (!stack_.empty()) {
      const std::uint32_t place = stack_.back();
      stack_.pop_back();
      ++work_;
      if (reached_[place] == round_) continue;
      reached_[place] = round_;
      const PatternStep& step = program_.steps[place];
      const auto holds = [&] { return !at_end && contents_[kind][step.a]; };
      switch (step.kind) {
        case PatternStep::Kind::code:
          if (holds()) next_.push_back(place + 1);
          break;
        case PatternStep::Kind::fork:
          stack_.push_back(step.b);
          stack_.push_back(step.a);
          break;
        case PatternStep::Kind::jump:
          stack_.push_back(step.a);
          break;
        case PatternStep::Kind::next_is:
          if (holds()) stack_.push_back(place + 1);
          break;
        case PatternStep::Kind::next_not:
          if (!holds()) stack_.push_back(place + 1);
          break;
        case PatternStep::Kind::holds:
          if ((bits >> step.a & 1) != 0) stack_.push_back(place + 1);
          break;
        case PatternStep::Kind::fails:
          if ((bits >> step.a & 1) == 0) stack_.push_back(place + 1);
          break;
        case PatternStep::Kind::match:
          matched_ = true;
          return false;
      }
    }
    return true;
  }

  std::string_view text_;
  const std::string& source_;
  PatternProgram program_;
  Pattern out_;
  std::vector<std::vector<bool>> contents_;  // [class, set]
  std::map<Places, std::uint32_t> states_;
  std::vector<Places> pending_;
  std::vector<std::uint64_t> reached_;  // [place]: the last round that got there
  std::uint64_t round_ = 0;
  std::size_t work_ = 0, stored_ = 0;
  Places next_, stack_;
  bool matched_ = false;
};

Pattern::Pattern(std::string_view text, const std::string& source)
    : Pattern(PatternTables(text, source, parse_pattern(text, source)).build()) {}

Pattern Pattern::literal(std::string_view text) {
  PatternProgram program;
  for (std::size_t at = 0; at < text.size();) {
    const Decoded one = decode_one(text, at);
    at += one.size;
    program.steps.push_back(
        {PatternStep::Kind::code, static_cast<std::uint32_t>(program.sets.size()), 0});
    program.sets.push_back({{one.code, one.code}});
  }
  program.steps.push_back({PatternStep::Kind::match, 0, 0});
  return PatternTables(text, "literal", std::move(program)).build();
}

}  // namespace hearth::models::tokens
