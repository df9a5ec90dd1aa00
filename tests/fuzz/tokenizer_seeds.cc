// Writes the seed corpus of tokenizer_fuzz: `tokenizer_seeds FOLDER`.

#include <string>

#include "seeds.h"

int main(int argc, char** argv) {
  const std::string pairs = R"("model": {"type": "BPE", "unk_token": "<s>", "byte_fallback": true,
    "vocab": {"<s>": 0, "a": 1, "b": 2, "ab": 3, "<0x41>": 4}, "merges": ["a b"]})";
  return hearth::testing::write_seeds(
      argc, argv,
      {
          "1a ab <s></s>\n\n\xc3\xa9\xff\xe2\x96\x81 1234",
          "1" + std::string(100, ' ') + "\xf0\x9f\xa6",
          "0{" + pairs + R"(, "added_tokens": [{"id": 5, "content": "<s>", "special": true,
            "lstrip": true, "rstrip": true, "single_word": true, "normalized": true}]})",
          "0{" + pairs + R"(, "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "NFC"}, {"type": "NFKD"}, {"type": "Lowercase"}, {"type": "StripAccents"},
            {"type": "Strip"}, {"type": "Prepend", "prepend": "x"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "_"},
            {"type": "Replace", "pattern": {"Regex": "a+"}, "content": ""},
            {"type": "BertNormalizer"},
            {"type": "Precompiled", "precompiled_charsmap": "BAAAAAAAAAAA"}]}})",
          "0{" + pairs + R"(, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "behavior": "MergedWithNext", "invert": true,
             "pattern": {"Regex": "(?i:'s)|[^\\r\\n\\p{L}]?\\p{L}+|\\p{N}{1,3}|\\s+(?!\\S)|\\s"}},
            {"type": "Metaspace"}, {"type": "Digits"}, {"type": "Punctuation"},
            {"type": "Whitespace"}, {"type": "ByteLevel"}]}})",
          "0{" + pairs + R"(, "decoder": {"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "_"}, "content": " "},
            {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Metaspace"},
            {"type": "WordPiece"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
            "post_processor": {"type": "TemplateProcessing", "single": [
              {"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}],
              "special_tokens": {"<s>": {"ids": [0]}}}})",
          R"(0{"model": {"type": "Unigram", "unk_id": 0, "byte_fallback": true,
            "vocab": [["<u>", 0], ["a", -1.5], ["ab", -2]]}})",
          R"(0{"model": {"type": "WordPiece", "unk_token": "u", "vocab": {"u": 0, "a": 1, "##b": 2},
            "max_input_chars_per_word": 9}, "pre_tokenizer": {"type": "BertPreTokenizer"}})",
          "0{" + pairs + "}" + std::string(1, '\0') + R"({"bos_token": {"content": "<s>"},
            "eos_token": "b", "chat_template": [{"name": "default", "template": "x"}]})",
          R"(0{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "\u0120": 3,
            "\u0120a": 4}, "merges": [["a", "b"], ["\u0120", "a"]], "ignore_merges": true},
            "normalizer": {"type": "NFC"}, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "behavior": "Isolated", "invert": false, "pattern": {"Regex":
            "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
            {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]},
            "decoder": {"type": "ByteLevel"}, "post_processor": {"type": "ByteLevel"}})",
      });
}
