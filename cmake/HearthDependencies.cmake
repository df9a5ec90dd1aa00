# What Hearth is compiled against: the system's libraries. Where one is missing and
# HEARTH_FETCH_DEPENDENCIES is on, the sources of a release take its place, known by their hash.
option(HEARTH_FETCH_DEPENDENCIES "Fetch the libraries that the system lacks" OFF)
set(_required REQUIRED)
if(HEARTH_FETCH_DEPENDENCIES)
  set(_required "")
endif()

find_package(Threads REQUIRED)
find_package(Hwy 1.0.3 ${_required})
find_package(nlohmann_json 3.11 ${_required})
find_path(HEARTH_XXHASH xxhash.h ${_required} DOC "Folder of xxhash.h (header only)")

include(FetchContent)
FetchContent_Declare(highway SYSTEM
  URL https://github.com/google/highway/archive/refs/tags/1.2.0.tar.gz
  URL_HASH SHA256=7e0be78b8318e8bdbf6fa545d2ecb4c90f947df03f7aadc42c1967f019e63343)
FetchContent_Declare(nlohmann_json SYSTEM
  URL https://github.com/nlohmann/json/releases/download/v3.11.3/json.tar.xz
  URL_HASH SHA256=d6c65aca6b1ed68e7a182f4757257b107ae403032760ed6ef121c9d55e81757d)
# No target of its own is wanted: a folder that is not there adds none.
FetchContent_Declare(xxhash SOURCE_SUBDIR none
  URL https://github.com/Cyan4973/xxHash/archive/refs/tags/v0.8.2.tar.gz
  URL_HASH SHA256=baee0c6afd4f03165de7a4e67988d16f0f2b257b51d0e3cb91909302a26a79c4)

if(NOT TARGET hwy::hwy)
  # Cached: the policies of Highway's own CMakeLists.txt let no other variable pass.
  foreach(_part IN ITEMS CONTRIB EXAMPLES TESTS)
    set(HWY_ENABLE_${_part} OFF CACHE INTERNAL "")
  endforeach()
  set(HWY_FORCE_STATIC_LIBS ON CACHE INTERNAL "")
  FetchContent_MakeAvailable(highway)
  set_target_properties(hwy PROPERTIES POSITION_INDEPENDENT_CODE ON)
  add_library(hwy::hwy ALIAS hwy)
endif()
if(NOT TARGET nlohmann_json::nlohmann_json)
  FetchContent_MakeAvailable(nlohmann_json)
endif()
if(NOT HEARTH_XXHASH)
  FetchContent_MakeAvailable(xxhash)
  set(HEARTH_XXHASH "${xxhash_SOURCE_DIR}")
endif()
