// The patterns that the pre-tokenizers of models are made of, as their tokenizer.json has them, or
// llama.cpp where that is not known.
#pragma once

namespace hearth::models::tokens {

extern const char kGpt2Pattern[];
extern const char kLlama3Pattern[];
extern const char kQwen2Pattern[];
extern const char kQwen35Pattern[];
extern const char kGpt4oPattern[];
extern const char kTekkenPattern[];
extern const char kDeepseekPattern[];
extern const char kJais2Pattern[];
extern const char kBailingPattern[];
extern const char kSeedCoderPattern[];
extern const char kUfakzekaPattern[];
extern const char kExaoneMoePattern[];
extern const char kMinicpm5Pattern[];
extern const char kSparkPattern[];
extern const char kYoutuScripts[];
extern const char kYoutuPattern[];
extern const char kKimiPattern[];
extern const char kDeepseekLetters[];
extern const char kIdeographsAndKana[];
extern const char kDeepseekMarks[];
extern const char kDeepseekAsian[];
extern const char kDigitsFromRight[];
extern const char kDigitsOfWords[];
extern const char kBeforeThreeDigits[];
extern const char kAfmoeAsian[];
extern const char kBloomPattern[];
extern const char kLinesApart[];

}  // namespace hearth::models::tokens
