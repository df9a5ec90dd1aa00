#include <algorithm>
#include <mutex>
#include <string>

#include "c_api/objects.h"
#include "c_api/status.h"
#include "core/quoted.h"
#include "hearth/c_api.h"
#include "hearth/io.h"

namespace hearth::c_api {
namespace {

// Changed and read by several threads; an entry holds the lock for as long as it runs.
struct Archive {
  std::mutex mutex;
  NamedArrays arrays;
  Metadata texts;
};

using Archives = Handles<std::shared_ptr<Archive>, HandleKind::archive>;

std::shared_ptr<Archive> archive_of(hearth_archive archive, const char* function) {
  return *Archives::use(archive.id, function, "archive");
}

// Names and texts are C strings here. Throws Error{unsupported} for what one would cut.
void require_c_string(const std::string& text, const char* what, const std::string& name,
                      const char* path) {
  if (text.find('\0') == std::string::npos) return;
  throw Error(ErrorCode::unsupported, std::string("hearth_archive_load: a byte of zero, at which C "
                                                  "ends texts; got one in ") +
                                          what + " " + quoted(name) + " of " + quoted(path) +
                                          ", expected texts without");
}

void require_c_strings(const SafetensorsContents& contents, const char* path) {
  for (const NamedArray& each : contents.arrays) {
    require_c_string(each.name, "the name of tensor", each.name, path);
  }
  for (const auto& [name, text] : contents.metadata) {
    require_c_string(name, "the name of text", name, path);
    require_c_string(text, "the text", name, path);
  }
}

hearth_archive give_archive(SafetensorsContents contents) {
  auto made = std::make_shared<Archive>();
  made->arrays = std::move(contents.arrays);
  made->texts = std::move(contents.metadata);
  return {Archives::give(std::move(made))};
}

// Null where there is none.
const NamedArray* find(const Archive& archive, const char* name) {
  const auto at = std::find_if(archive.arrays.begin(), archive.arrays.end(),
                               [&](const NamedArray& one) { return one.name == name; });
  return at == archive.arrays.end() ? nullptr : &*at;
}

}  // namespace

std::int64_t archive_handles() noexcept { return Archives::count(); }

}  // namespace hearth::c_api

namespace c_api = hearth::c_api;
using c_api::guarded;
using c_api::require_pointer;

extern "C" {

hearth_status hearth_archive_new(hearth_archive* archive) {
  return guarded(__func__, [&, function = __func__] {
    require_pointer(archive, function, "archive");
    *archive = c_api::give_archive({});
  });
}

hearth_status hearth_archive_load(const char* path, hearth_device device, hearth_archive* archive) {
  return guarded(__func__, [&, function = __func__] {
    require_pointer(path, function, "path");
    require_pointer(archive, function, "archive");
    auto contents = hearth::map_safetensors(path, c_api::device_of(device, function));
    c_api::require_c_strings(contents, path);
    *archive = c_api::give_archive(std::move(contents));
  });
}

hearth_status hearth_archive_save(hearth_archive archive, const char* path) {
  return guarded(__func__, [&, function = __func__] {
    require_pointer(path, function, "path");
    const auto used = c_api::archive_of(archive, function);
    const std::lock_guard lock(used->mutex);
    hearth::save_safetensors(path, used->arrays, used->texts);
  });
}

hearth_status hearth_archive_count(hearth_archive archive, size_t* count) {
  return guarded(__func__, [&, function = __func__] {
    require_pointer(count, function, "count");
    const auto used = c_api::archive_of(archive, function);
    const std::lock_guard lock(used->mutex);
    *count = used->arrays.size();
  });
}

hearth_status hearth_archive_name(hearth_archive archive, size_t index, const char** name) {
  return guarded(__func__, [&, function = __func__] {
    require_pointer(name, function, "name");
    const auto used = c_api::archive_of(archive, function);
    const std::lock_guard lock(used->mutex);
    if (index >= used->arrays.size()) {
      throw hearth::Error(hearth::ErrorCode::invalid_argument,
                          std::string(function) + ": index out of range; got " +
                              std::to_string(index) + ", expected one below " +
                              std::to_string(used->arrays.size()));
    }
    *name = used->arrays[index].name.c_str();
  });
}

hearth_status hearth_archive_get(hearth_archive archive, const char* name, hearth_array* array) {
  return guarded(__func__, [&, function = __func__] {
    require_pointer(name, function, "name");
    require_pointer(array, function, "array");
    const auto used = c_api::archive_of(archive, function);
    const std::lock_guard lock(used->mutex);
    const hearth::NamedArray* const found = c_api::find(*used, name);
    if (found == nullptr) {
      throw hearth::Error(hearth::ErrorCode::invalid_argument,
                          std::string(function) + ": no array of this name; got " +
                              hearth::quoted(name) +
                              ", expected the name of one of the archive's " +
                              std::to_string(used->arrays.size()) + " arrays");
    }
    *array = c_api::give(hearth::Array(found->array));
  });
}

hearth_status hearth_archive_add(hearth_archive archive, const char* name, hearth_array array) {
  return guarded(__func__, [&, function = __func__] {
    require_pointer(name, function, "name");
    const auto used = c_api::archive_of(archive, function);
    const hearth::Array value = c_api::plain(array, function, "array").detach();
    const std::lock_guard lock(used->mutex);
    if (c_api::find(*used, name) != nullptr) {
      throw hearth::Error(hearth::ErrorCode::invalid_argument,
                          std::string(function) + ": there is an array of this name; got " +
                              hearth::quoted(name) + ", expected a name that the archive lacks");
    }
    used->arrays.push_back({name, value});
  });
}

hearth_status hearth_archive_text(hearth_archive archive, const char* name, const char** text) {
  return guarded(__func__, [&, function = __func__] {
    require_pointer(name, function, "name");
    require_pointer(text, function, "text");
    const auto used = c_api::archive_of(archive, function);
    const std::lock_guard lock(used->mutex);
    const auto at = used->texts.find(name);
    *text = at == used->texts.end() ? nullptr : at->second.c_str();
  });
}

hearth_status hearth_archive_set_text(hearth_archive archive, const char* name, const char* text) {
  return guarded(__func__, [&, function = __func__] {
    require_pointer(name, function, "name");
    require_pointer(text, function, "text");
    const auto used = c_api::archive_of(archive, function);
    const std::lock_guard lock(used->mutex);
    used->texts[name] = text;
  });
}

hearth_status hearth_archive_release(hearth_archive archive) {
  return guarded(__func__, [&, function = __func__] {
    c_api::Archives::release(archive.id, function, "archive");
  });
}

}  // extern "C"
