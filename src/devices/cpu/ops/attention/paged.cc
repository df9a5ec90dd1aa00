// paged_attention: attention of ragged sequences over caches in pages.
//
// Lines are the heads of a group, row by row: all of them read the same keys. Keys are cut into
// pieces, which begin at fixed positions; a line's result of each piece is summed up alone, and
// they are joined in order. Of a sequence of few rows a task owns a piece, which it reads once for
// all lines: bound by memory. Of a sequence of more rows a task owns a chunk of lines and walks
// over the pieces, whose values are gathered for gemm(): bound by multiplying. So a row's sums
// follow from its own position: the rows beside it, what else is in the batch, where pages lie and
// how many threads there are change no bit.
#include "devices/cpu/ops/attention/paged.h"

#include <cstring>

#include "core/integer_math.h"
#include "core/packed/decode.h"
#include "core/packed/turbo.h"
#include "devices/cpu/ops/attention/paged_chunk.h"
#include "devices/cpu/ops/attention/paged_piece.h"

namespace hearth::cpu {
namespace {

constexpr std::int64_t kFewPagedRows = 4;
constexpr std::int64_t kLeastChunkLines = 96;

PagedArgs paged_args(const Launch& launch) {
  const paged::Settings settings = paged::settings_of(statics_of(launch));
  PagedArgs a{};
  a.q = input_of(launch, paged::kQ);
  a.keys = input_of(launch, paged::kKeys);
  a.values = input_of(launch, paged::kValues);
  a.pages = input_of(launch, paged::kPages);
  if (has_input(launch, paged::kSinks)) a.sinks = input_of(launch, paged::kSinks);
  a.rows = a.q.shape()[0];
  a.heads = a.q.shape()[1];
  a.kv_heads = a.keys.shape()[1];
  a.d = a.q.shape()[2];
  a.key_format = settings.key_format;
  a.value_format = settings.value_format;
  a.dv = paged::columns_of(a.value_format, a.values.shape()[2]);
  a.page_size = settings.page_size;
  a.page_count = a.keys.shape()[0] / settings.page_size;
  a.scale = settings.scale;
  a.softcap = settings.softcap;
  a.window = settings.window;
  const Operand starts = input_of(launch, paged::kStarts);
  const Operand lengths = input_of(launch, paged::kLengths);
  const std::int64_t most = a.pages.shape()[1] * a.page_size;
  const auto start = [&](std::int64_t i) {
    return std::clamp<std::int64_t>(index_at(starts, i * starts.stride(0)), 0, a.rows);
  };
  std::int64_t first = start(0);
  for (std::int64_t i = 0; i < a.pages.shape()[0]; ++i) {
    const std::int64_t end = std::max(first, start(i + 1));
    const std::int64_t length = index_at(lengths, i * lengths.stride(0));
    if (end > first) {
      a.sequences.push_back({i, first, end - first, std::clamp<std::int64_t>(length, 0, most)});
    }
    first = end;
  }
  return a;
}

// What tasks do: chunks of many rows and pieces of few.
struct PagedWork {
  std::vector<PagedChunk> chunks;
  std::vector<PagedLines> lines;
  struct Piece {
    std::size_t lines;
    PagedPiece piece;
  };
  std::vector<Piece> pieces;
  std::int64_t line_results = 0;

  explicit PagedWork(const PagedArgs& a) {
    std::int64_t count = 0;
    for (const PagedSequence& s : a.sequences) {
      if (s.count <= kFewPagedRows) {
        add_few(a, s);
        count += lines.back().pieces;
      } else {
        add_many(a, s);
      }
    }
    // All key heads, whose rows lie side by side, where there are tasks enough for the threads.
    std::int64_t heads = a.kv_heads;
    while (heads > 1 && count * ceil_div(a.kv_heads, heads) < enough_tasks()) heads /= 2;
    for (std::size_t at = 0; at < lines.size(); ++at) {
      for (std::int64_t p = 0; p < lines[at].pieces; ++p) {
        for (std::int64_t head = 0; head < a.kv_heads; head += heads) {
          pieces.push_back(
              {at, {lines[at].first_piece + p, head, std::min(heads, a.kv_heads - head)}});
        }
      }
    }
  }

 private:
  void add_few(const PagedArgs& a, const PagedSequence& s) {
    const std::int64_t first = a.hidden(s, 0) / kPagedPieceKeys;
    const std::int64_t end = ceil_div(a.visible(s, s.count - 1), kPagedPieceKeys);
    const std::int64_t count = std::max<std::int64_t>(end - first, 0);
    lines.push_back({&s, s.count * a.group(), first, count, line_results});
    line_results += count * a.kv_heads * lines.back().count;
  }
  // The last rows see most keys: they go first.
  void add_many(const PagedArgs& a, const PagedSequence& s) {
    const std::int64_t all = s.count * a.group();
    std::int64_t size = kPagedChunkLines;
    while (size > kLeastChunkLines && a.kv_heads * ceil_div(all, size) < enough_tasks()) size /= 2;
    for (std::int64_t i = ceil_div(all, size) - 1; i >= 0; --i) {
      for (std::int64_t head = 0; head < a.kv_heads; ++head) {
        chunks.push_back({&s, head, i * size, std::min(size, all - i * size)});
      }
    }
  }
};

template <class T>
void attend_pages(const PagedArgs& a, const Operand& output) {
  const PagedWork work(a);
  T* const results = scratch<T>(9, work.line_results * a.dv);
  Running<T>* const running = scratch<Running<T>>(10, work.line_results);
  const auto chunks = std::ssize(work.chunks), pieces = std::ssize(work.pieces);
  const std::int64_t lines = work.lines.empty() ? 1 : work.lines.front().count;
  const std::int64_t heads = pieces > 0 ? work.pieces.front().piece.heads : 1;
  const std::int64_t cost =
      chunks > 0 ? kChunkElements : kPagedPieceKeys * heads * (a.d + a.dv) * (1 + lines / 4);
  for_chunks(chunks + pieces, cost, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      if (i < chunks) {
        attend_paged_chunk<T>(a, output, work.chunks[static_cast<std::size_t>(i)]);
        continue;
      }
      const auto& [at, piece] = work.pieces[static_cast<std::size_t>(i - chunks)];
      const PagedLines& own = work.lines[at];
      const std::int64_t before = (piece.piece - own.first_piece) * a.kv_heads + piece.first_head;
      const std::int64_t first = own.first_line + before * own.count;
      attend_piece(a, own, piece, running + first, results + first * a.dv);
    }
  });
  const std::int64_t sums = std::ssize(work.lines) * a.kv_heads;
  for_chunks(sums, lines * a.dv * 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin; at < end; ++at) {
      const PagedLines& own = work.lines[static_cast<std::size_t>(at / a.kv_heads)];
      for (std::int64_t i = 0; i < own.count; ++i) {
        combine_pieces(a, output, own, at % a.kv_heads, i, running + own.first_line,
                       results + own.first_line * a.dv);
      }
    }
  });
}

// Rows that belong to no sequence.
void clear_rows(const PagedArgs& a, const Operand& output) {
  const std::int64_t row_bytes = a.heads * a.dv * size_of(output.dtype());
  const auto clear = [&](std::int64_t begin, std::int64_t end) {
    std::memset(output.data + begin * row_bytes, 0,
                static_cast<std::size_t>((end - begin) * row_bytes));
  };
  std::int64_t done = 0;
  for (const PagedSequence& s : a.sequences) {
    clear(done, s.first);
    done = s.first + s.count;
  }
  clear(done, a.rows);
}

}  // namespace

void decode_cache_row(paged::CacheFormat format, const std::byte* codes, std::int64_t n,
                      float* to) {
  if (is_turbo_bits(format)) return decode_turbo(format, codes, n, to);
  decode(static_cast<DType>(format), codes, n, to);
}

void decode_cache_row(paged::CacheFormat format, const std::byte* codes, std::int64_t n,
                      double* to) {
  float* const narrow = scratch<float>(15, n);
  decode_cache_row(format, codes, n, narrow);
  std::copy_n(narrow, n, to);
}

void launch_paged_attention(const Launch& launch) {
  const Operand output = output_of(launch);
  if (element_count(output.shape()) == 0) return;
  const PagedArgs args = paged_args(launch);
  clear_rows(args, output);
  with_compute_type(output.dtype(), [&]<class T>() { attend_pages<T>(args, output); });
}

}  // namespace hearth::cpu
