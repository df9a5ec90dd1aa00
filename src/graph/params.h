// The parameters of a recorded op, in the order of its OpDef::params.
//
// Static parameters (axes, shapes, flags) are part of a plan's identity; dynamic ones (scalars,
// positions, seeds) are read anew at every launch. A static list is stored as its length followed
// by its items; every other parameter is one word.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "hearth/dtype.h"
#include "hearth/shape.h"

namespace hearth {

enum class ParamType : std::uint8_t { boolean, i64, f64, dtype, i64_list };

struct ParamSpec {
  const char* name;
  ParamType type;
  bool dynamic = false;
  bool optional = false;
  double default_value = 0;
  const char* range = nullptr;  // of values that the op takes: "[0, rank)"; null: any of the type
};

// Words held in place up to a few, on the heap beyond.
template <int kInline>
class WordList {
 public:
  WordList() = default;
  WordList(const WordList& other) { append(other.span()); }
  WordList(WordList&& other) noexcept { *this = static_cast<WordList&&>(other); }
  WordList& operator=(const WordList& other) {
    if (this != &other) {
      size_ = 0;
      append(other.span());
    }
    return *this;
  }
  WordList& operator=(WordList&& other) noexcept {
    if (this == &other) return *this;
    delete[] heap_;
    size_ = other.size_;
    capacity_ = other.capacity_;
    heap_ = other.heap_;
    for (int i = 0; heap_ == nullptr && i < size_; ++i) inline_[i] = other.inline_[i];
    other.heap_ = nullptr;
    other.size_ = 0;
    other.capacity_ = kInline;
    return *this;
  }
  ~WordList() { delete[] heap_; }

  int size() const noexcept { return size_; }
  const std::uint64_t* data() const noexcept { return heap_ != nullptr ? heap_ : inline_; }
  std::uint64_t* data() noexcept { return heap_ != nullptr ? heap_ : inline_; }
  std::uint64_t operator[](int i) const noexcept { return data()[i]; }
  std::span<const std::uint64_t> span() const noexcept {
    return {data(), static_cast<std::size_t>(size_)};
  }
  void push_back(std::uint64_t word) {
    if (size_ == capacity_) grow(size_ + 1);
    data()[size_++] = word;
  }
  void append(std::span<const std::uint64_t> words) {
    for (const std::uint64_t word : words) push_back(word);
  }
  void clear() noexcept { size_ = 0; }

 private:
  void grow(int needed) {
    int capacity = capacity_ * 2;
    if (capacity < needed) capacity = needed;
    auto* bigger = new std::uint64_t[static_cast<std::size_t>(capacity)];
    for (int i = 0; i < size_; ++i) bigger[i] = data()[i];
    delete[] heap_;
    heap_ = bigger;
    capacity_ = capacity;
  }

  int size_ = 0;
  int capacity_ = kInline;
  std::uint64_t* heap_ = nullptr;
  std::uint64_t inline_[kInline];
};

class Params {
 public:
  // Writing, in the order of OpDef::params.
  Params& boolean(bool value) { return word(value ? 1 : 0); }
  Params& i64(std::int64_t value) { return word(static_cast<std::uint64_t>(value)); }
  Params& f64(double value) { return word(std::bit_cast<std::uint64_t>(value)); }
  Params& dtype(DType value) { return word(static_cast<std::uint64_t>(value)); }
  Params& list(std::span<const std::int64_t> values) {
    word(values.size());
    for (const std::int64_t value : values) word(static_cast<std::uint64_t>(value));
    return *this;
  }
  Params& list(const Dims& values) { return list(values.span()); }
  Params& dynamic_i64(std::int64_t value) {
    dynamics_.push_back(static_cast<std::uint64_t>(value));
    return *this;
  }
  Params& dynamic_f64(double value) {
    dynamics_.push_back(std::bit_cast<std::uint64_t>(value));
    return *this;
  }

  void clear() noexcept {
    statics_.clear();
    dynamics_.clear();
  }

  const WordList<12>& statics() const noexcept { return statics_; }
  const WordList<8>& dynamics() const noexcept { return dynamics_; }

 private:
  Params& word(std::uint64_t value) {
    statics_.push_back(value);
    return *this;
  }
  WordList<12> statics_;
  WordList<8> dynamics_;
};

// Reads static parameters one after the other.
class ParamReader {
 public:
  explicit ParamReader(std::span<const std::uint64_t> words) : words_(words) {}
  bool boolean() { return next() != 0; }
  std::int64_t i64() { return static_cast<std::int64_t>(next()); }
  double f64() { return std::bit_cast<double>(next()); }
  DType dtype() { return static_cast<DType>(next()); }
  Dims list() {
    Dims dims;
    for (auto count = static_cast<int>(next()); count > 0; --count) dims.push_back(i64());
    return dims;
  }

 private:
  std::uint64_t next() { return words_[position_++]; }
  std::span<const std::uint64_t> words_;
  std::size_t position_ = 0;
};

inline double dynamic_f64(std::uint64_t word) { return std::bit_cast<double>(word); }
inline std::int64_t dynamic_i64(std::uint64_t word) { return static_cast<std::int64_t>(word); }

}  // namespace hearth
