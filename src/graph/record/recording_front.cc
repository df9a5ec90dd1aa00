#include "graph/record/recording_front.h"

#include <algorithm>
#include <unordered_map>

#include "graph/outputs.h"

namespace hearth {
namespace {

void set_operand_ref(std::uint64_t* words, std::uint32_t i, OperandRef ref) {
  std::uint64_t& pair = words[1 + (i + 1) / 2];
  const int shift = (i + 1) % 2 == 1 ? 32 : 0;
  pair &= ~(std::uint64_t{0xffffffff} << shift);
  pair |= std::uint64_t{ref.word} << shift;
}

void append_from(WordStream& target, const WordStream& source, std::size_t from) {
  std::uint64_t* const out = target.reserve(source.size() - from);
  target.set_end(std::copy(source.begin() + from, source.end(), out));
}

}  // namespace

RecordingFront front_of(const Recording& recording, std::uint32_t last) noexcept {
  RecordingFront front;
  for (std::size_t i = 0; i < recording.nodes.size(); ++i) {
    if (i > last && recording.nodes[i]->op != &output_op) break;
    const std::uint64_t* const words = recording.words.data() + front.words;
    const DescriptorCounts counts = counts_of(words);
    for (std::uint32_t input = 0; input < counts.inputs; ++input) {
      const OperandRef ref = operand_ref(words, input);
      // Slots are numbered in the order of first uses.
      if (ref.tag() == OperandRef::external) {
        front.externals = std::max<std::size_t>(front.externals, ref.payload() + 1);
      }
    }
    ++front.nodes;
    front.words += counts.words();
    front.dynamics += counts.dynamics;
  }
  return front;
}

Recording behind(const Recording& recording, const RecordingFront& front) {
  Recording rest;
  const auto first = static_cast<std::uint32_t>(front.nodes);
  rest.nodes.assign(recording.nodes.begin() + first, recording.nodes.end());
  append_from(rest.words, recording.words, front.words);
  append_from(rest.dynamics, recording.dynamics, front.dynamics);
  for (const auto& [key, node] : recording.shared) {
    if (node->index >= first) rest.shared.emplace_back(key, node);
  }
  std::unordered_map<const Node*, std::uint32_t> slots;
  const auto external = [&](Node* node) {
    const auto [found, is_new] =
        slots.emplace(node, static_cast<std::uint32_t>(rest.externals.size()));
    if (is_new) rest.externals.push_back(node);
    return OperandRef::make(OperandRef::external, found->second);
  };
  std::uint64_t* words = rest.words.data();
  for (std::size_t i = 0; i < rest.nodes.size(); ++i) {
    const DescriptorCounts counts = counts_of(words);
    for (std::uint32_t input = 0; input < counts.inputs; ++input) {
      const OperandRef ref = operand_ref(words, input);
      const std::uint32_t at = ref.payload();
      if (ref.tag() == OperandRef::external) {
        set_operand_ref(words, input, external(recording.externals[at]));
      } else if (ref.tag() == OperandRef::local && at < first) {
        set_operand_ref(words, input, external(recording.nodes[at]));
      } else if (ref.tag() == OperandRef::local) {
        set_operand_ref(words, input, OperandRef::make(OperandRef::local, at - first));
      }
    }
    words += counts.words();
  }
  return rest;
}

}  // namespace hearth
