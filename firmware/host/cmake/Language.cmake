# Makes assets/lang_config.h from a language file of the firmware, in the build folder: texts as
# they are, sounds without content, because nothing here can play them.
function(write_language source language folder)
    set(locale ${source}/main/assets/locales/${language})
    file(READ ${locale}/language.json json)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${locale}/language.json)
    string(JSON code GET "${json}" language type)
    string(JSON count LENGTH "${json}" strings)
    math(EXPR last "${count} - 1")
    set(strings "")
    foreach(at RANGE ${last})
        string(JSON name MEMBER "${json}" strings ${at})
        string(JSON text GET "${json}" strings ${name})
        string(TOUPPER ${name} name)
        string(REPLACE "\\" "\\\\" text "${text}")
        string(REPLACE "\"" "\\\"" text "${text}")
        string(REPLACE "\n" "\\n" text "${text}")
        string(APPEND strings "constexpr const char* ${name} = \"${text}\";\n")
    endforeach()
    file(GLOB sounds ${locale}/*.ogg ${source}/main/assets/common/*.ogg)
    set(names "")
    foreach(sound ${sounds})
        get_filename_component(name ${sound} NAME_WE)
        string(TOUPPER ${name} name)
        list(APPEND names ${name})
    endforeach()
    list(REMOVE_DUPLICATES names)
    set(declarations "")
    foreach(name ${names})
        string(APPEND declarations "inline constexpr std::string_view OGG_${name}{\"OggS\"};\n")
    endforeach()
    file(CONFIGURE OUTPUT ${folder}/assets/lang_config.h @ONLY CONTENT
"#pragma once

#include <string_view>

namespace Lang {
constexpr const char* CODE = \"@code@\";
namespace Strings {
@strings@}
namespace Sounds {
@declarations@}
}
")
endfunction()
