#include "devices/metal/driver/compile/compiler.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "codegen/msl/preprocessor/language_version.h"
#include "hearth/error.h"
#include "runtime/compile/source_hash.h"

namespace hearth::metal {
namespace {

constexpr Integer kSafeMath = 0;     // MTLMathModeSafe
constexpr Integer kPreciseMath = 1;  // MTLMathFloatingPointFunctionsPrecise
constexpr SystemVersion kMathModes{15, 0, 0};
constexpr SystemVersion kConcurrentCompilation{13, 3, 0};

constexpr char kMark[8] = {'h', 'e', 'a', 'r', 't', 'h', 'm', '2'};
// In front of an image; the text and the archive follow.
struct Seal {
  char mark[8];
  std::uint64_t text_bytes;
  std::uint64_t archive_bytes;
  std::uint64_t checksum;  // of both
};

std::string version_text(UInteger language, const std::string& system) {
  return "metal " + std::to_string(language >> 16) + "." + std::to_string(language & 0xffff) +
         " safe, " + system;
}

}  // namespace

UInteger language_version(SystemVersion system) {
  const auto version = static_cast<UInteger>(gpu::language_version(system.major));
  return (version / 100 << 16) + version / 10 % 10;
}

Compiler::Compiler(const ObjectiveC& objc, Id device, const Pipelines& pipelines,
                   SystemVersion system)
    : objc_(objc),
      device_(device),
      pipelines_(pipelines),
      system_(system),
      version_(version_text(language_version(system), objc.system_name())) {
  // Kernels are compiled by several threads.
  if (system >= kConcurrentCompilation) {
    objc.send(device, messages::set_concurrent_compilation, Bool{1});
  }
}

Owned Compiler::library(const std::string& kernel, const std::string& text) const {
  const AutoreleasePool pool(objc_);
  const Owned options =
      objc_.send(objc_.type_named("MTLCompileOptions"), messages::new_compile_options);
  if (system_ >= kMathModes) {
    objc_.send(options.get(), messages::set_math_mode, kSafeMath);
    objc_.send(options.get(), messages::set_math_functions, kPreciseMath);
  } else {
    objc_.send(options.get(), messages::set_fast_math, Bool{0});
  }
  objc_.send(options.get(), messages::set_language_version, language_version(system_));
  Id error = nullptr;
  Owned made =
      objc_.send(device_, messages::new_library, objc_.string(text), options.get(), &error);
  if (made) return made;  // with an error where there are only warnings
  const std::string said = objc_.error_text(error);
  throw Error(ErrorCode::device, "metal: kernel " + kernel + " does not compile: " +
                                     (said.empty() ? "no reason is given" : said));
}

std::vector<std::byte> Compiler::compile(const runtime::KernelSource& source,
                                         const std::string& text) {
  Owned made = library(source.name, text);
  std::vector<std::byte> archive;
  if (makes_archives_) {
    archive = pipelines_.archive_of(pipeline_descriptor(objc_, source, made.get()).get());
  }
  {
    const std::lock_guard lock(mutex_);
    if (fresh_.size() == kFresh) fresh_.pop_front();
    fresh_.emplace_back(text, std::move(made));
  }
  Seal seal{};
  std::memcpy(seal.mark, kMark, sizeof kMark);
  seal.text_bytes = text.size();
  seal.archive_bytes = archive.size();
  std::vector<std::byte> image(sizeof seal + text.size() + archive.size());
  std::byte* const body = image.data() + sizeof seal;
  std::memcpy(body, text.data(), text.size());
  std::copy(archive.begin(), archive.end(), body + text.size());
  seal.checksum = runtime::checksum(body, text.size() + archive.size());
  std::memcpy(image.data(), &seal, sizeof seal);
  return image;
}

CompiledText Compiler::load(const std::string& kernel, std::span<const std::byte> image) {
  Seal seal{};
  std::span<const std::byte> body;
  if (image.size() >= sizeof seal) {
    std::memcpy(&seal, image.data(), sizeof seal);
    body = image.subspan(sizeof seal);
  }
  if (std::memcmp(seal.mark, kMark, sizeof kMark) != 0 || seal.text_bytes > body.size() ||
      seal.archive_bytes != body.size() - seal.text_bytes ||
      seal.checksum != runtime::checksum(body.data(), body.size())) {
    throw Error(ErrorCode::corrupt_file,
                "metal: the image of kernel " + kernel + " cannot be loaded; got " +
                    std::to_string(image.size()) +
                    " bytes that are damaged, expected those of compile()");
  }
  const std::string text(reinterpret_cast<const char*>(body.data()),
                         static_cast<std::size_t>(seal.text_bytes));
  const auto archive = body.subspan(text.size());
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(fresh_.begin(), fresh_.end(),
                                    [&](const auto& item) { return item.first == text; });
    if (found != fresh_.end()) {
      Owned made = std::move(found->second);
      fresh_.erase(found);
      return {std::move(made), archive};
    }
  }
  return {library(kernel, text), archive};
}

}  // namespace hearth::metal
