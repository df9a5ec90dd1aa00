#include "models/tokenizer/spm.h"

#include <algorithm>

#include "models/tokenizer/unicode.h"

namespace hearth::models::tokens {
Spm::Spm(const StringTable& texts, std::vector<float> scores, std::vector<std::int32_t> of_bytes,
         std::int32_t unknown)
    : texts_(texts),
      cuts_(texts_),
      scores_(std::move(scores)),
      of_bytes_(std::move(of_bytes)),
      unknown_(unknown) {}

void Spm::encode(std::string_view piece, EncodeBudget& budget,
                 std::vector<std::int32_t>& out) const {
  Scratch scratch;
  cuts_.split(piece, [&](std::string_view part) { encode_part(part, scratch, budget, out); });
}

std::size_t Spm::widest() const {
  return unknown_ >= 0 || has_all_bytes(of_bytes_) ? widest_of(texts_.longest()) : 0;
}

void Spm::encode_part(std::string_view piece, Scratch& scratch, EncodeBudget& budget,
                      std::vector<std::int32_t>& out) const {
  auto& [parts, heap] = scratch;
  parts.clear();
  for (std::size_t at = 0; at < piece.size();) {
    const std::size_t size = decode_one(piece, at).size;
    const auto index = static_cast<std::int32_t>(parts.size());
    parts.push_back({at, size, index - 1, index + 1});
    at += size;
  }
  parts.back().next = -1;
  // The top of the heap is the one that no other is before.
  const auto is_behind = [](const Pair& a, const Pair& b) {
    return a.score != b.score ? a.score < b.score : a.left > b.left;
  };
  const auto look = [&](std::int32_t left, std::int32_t right) {
    if (left < 0 || right < 0) return;
    const Part& first = scratch.parts[static_cast<std::size_t>(left)];
    const std::size_t size = first.size + scratch.parts[static_cast<std::size_t>(right)].size;
    const std::int32_t token = texts_.find(piece.substr(first.begin, size));
    if (token < 0) return;
    scratch.heap.push_back({scores_[static_cast<std::size_t>(token)], left, right, size});
    std::push_heap(scratch.heap.begin(), scratch.heap.end(), is_behind);
  };
  for (std::int32_t i = 1; i < static_cast<std::int32_t>(parts.size()); ++i) {
    budget.work(1);
    look(i - 1, i);
  }
  while (!heap.empty()) {
    budget.work(1);
    std::pop_heap(heap.begin(), heap.end(), is_behind);
    const Pair best = heap.back();
    heap.pop_back();
    Part& left = parts[static_cast<std::size_t>(best.left)];
    Part& right = parts[static_cast<std::size_t>(best.right)];
    if (left.size == 0 || right.size == 0 || left.size + right.size != best.size) continue;
    left.size = best.size;
    left.next = right.next;
    right.size = 0;
    if (left.next >= 0) parts[static_cast<std::size_t>(left.next)].previous = best.left;
    look(left.previous, best.left);
    look(best.left, left.next);
  }
  for (std::int32_t i = 0; i >= 0; i = parts[static_cast<std::size_t>(i)].next) {
    const Part& part = parts[static_cast<std::size_t>(i)];
    const std::string_view text = piece.substr(part.begin, part.size);
    const std::int32_t token = texts_.find(text);
    if (token >= 0) {
      out.push_back(token);
      continue;
    }
    for (const char c : text) {
      const std::int32_t byte = of_bytes_[static_cast<std::uint8_t>(c)];
      if (byte >= 0) {
        out.push_back(byte);
      } else if (unknown_ >= 0) {
        out.push_back(unknown_);
        break;
      }
    }
  }
}

}  // namespace hearth::models::tokens
