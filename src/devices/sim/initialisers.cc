#include "devices/sim/initialisers.h"

#if defined(__ELF__)
#include <elf.h>
#include <link.h>

#include <cstring>

#include "hearth/error.h"

namespace hearth::sim {
namespace {

class Library {
 public:
  Library(const std::string& kernel, std::span<const std::byte> bytes)
      : kernel_(kernel), bytes_(bytes), header_(at<ElfW(Ehdr)>(0)) {
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0) corrupt();
  }

  std::size_t called_by_the_loader() const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < header_.e_phnum; ++i) {
      const auto segment = at<ElfW(Phdr)>(header_.e_phoff + i * sizeof(ElfW(Phdr)));
      if (segment.p_type == PT_DYNAMIC) count += named_by(segment);
    }
    for (std::size_t i = 0; i < header_.e_shnum; ++i) {
      const auto section = at<ElfW(Shdr)>(header_.e_shoff + i * sizeof(ElfW(Shdr)));
      if (section.sh_type == SHT_SYMTAB) count += resolvers_of(section);
    }
    return count;
  }

 private:
  [[noreturn]] void corrupt() const {
    throw Error(ErrorCode::corrupt_file,
                "sim: the library of kernel '" + kernel_ + "' cannot be read; got " +
                    std::to_string(bytes_.size()) + " bytes, expected a shared library");
  }

  template <class T>
  T at(std::size_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) corrupt();
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }

  std::size_t named_by(const ElfW(Phdr) & dynamic) const {
    std::size_t count = 0;
    for (std::size_t offset = 0; offset < dynamic.p_filesz; offset += sizeof(ElfW(Dyn))) {
      const auto entry = at<ElfW(Dyn)>(dynamic.p_offset + offset);
      if (entry.d_tag == DT_NULL) break;
      if (entry.d_tag == DT_INIT || entry.d_tag == DT_FINI) ++count;
      if (entry.d_tag == DT_INIT_ARRAYSZ || entry.d_tag == DT_FINI_ARRAYSZ) {
        count += entry.d_un.d_val / sizeof(void*);
      }
    }
    return count;
  }

  // Of indirect functions that the library itself defines.
  std::size_t resolvers_of(const ElfW(Shdr) & symbols) const {
    std::size_t count = 0;
    for (std::size_t offset = 0; offset < symbols.sh_size; offset += sizeof(ElfW(Sym))) {
      const auto symbol = at<ElfW(Sym)>(symbols.sh_offset + offset);
      const bool is_indirect = ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC;
      if (is_indirect && symbol.st_shndx != SHN_UNDEF) ++count;
    }
    return count;
  }

  const std::string& kernel_;
  std::span<const std::byte> bytes_;
  ElfW(Ehdr) header_;
};

}  // namespace

void refuse_initialisers(const std::string& kernel, std::span<const std::byte> library,
                         std::size_t allowed) {
  const std::size_t count = Library(kernel, library).called_by_the_loader();
  if (count <= allowed) return;
  const std::size_t got = count - allowed;
  throw Error(ErrorCode::device,
              "sim: kernel '" + kernel + "': its text runs code before any launch; got " +
                  std::to_string(got) + (got == 1 ? " function that" : " functions that") +
                  " the loader calls, expected variables whose values the compiler knows: Metal "
                  "has no dynamic initialisers");
}

}  // namespace hearth::sim
#else
namespace hearth::sim {

void refuse_initialisers(const std::string&, std::span<const std::byte>, std::size_t) {}

}  // namespace hearth::sim
#endif
