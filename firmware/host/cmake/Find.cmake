# Finds the firmware and its components, and says what to do where they are missing.

# Sets `out` to the full names of those files that exist.
function(existing out folder)
    set(found "")
    foreach(name ${ARGN})
        if(EXISTS ${folder}/${name})
            list(APPEND found ${folder}/${name})
        endif()
    endforeach()
    set(${out} ${found} PARENT_SCOPE)
endfunction()

macro(find_firmware)
    if(XIAOZHI_SOURCE STREQUAL "")
        message(FATAL_ERROR "XIAOZHI_SOURCE is not set.\n"
            "Set it to a checkout of the firmware: cmake -DXIAOZHI_SOURCE=/path/to/xiaozhi-esp32")
    endif()
    get_filename_component(XIAOZHI_SOURCE "${XIAOZHI_SOURCE}" ABSOLUTE BASE_DIR "${CMAKE_BINARY_DIR}")
    foreach(needed CMakeLists.txt main/mcp_server.cc main/application.cc)
        if(NOT EXISTS ${XIAOZHI_SOURCE}/${needed})
            message(FATAL_ERROR "${XIAOZHI_SOURCE} has no ${needed}: this is no checkout of the "
                "xiaozhi firmware in C++.\n"
                "Get one: git clone https://github.com/78/xiaozhi-esp32")
        endif()
    endforeach()
    file(READ ${XIAOZHI_SOURCE}/CMakeLists.txt project_text)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${XIAOZHI_SOURCE}/CMakeLists.txt)
    # Forks count versions of their own: the partition tables of 2.x tell what they came from.
    set(XIAOZHI_VERSION "0.0.0")
    set(major 0)
    if(project_text MATCHES "PROJECT_VER[ \t]+\"?v?([0-9]+)(\\.[0-9A-Za-z.+-]*)")
        set(XIAOZHI_VERSION "${CMAKE_MATCH_1}${CMAKE_MATCH_2}")
        set(major ${CMAKE_MATCH_1})
    endif()
    if(major LESS 2 AND NOT EXISTS ${XIAOZHI_SOURCE}/partitions/v2)
        message(FATAL_ERROR "${XIAOZHI_SOURCE} is version ${XIAOZHI_VERSION}, and has no partitions/v2: this kit "
            "builds 2.0 and later, and forks of these.")
    endif()
endmacro()

# Sets `out` to the folder of a component: the first of these names, in the folders to search, that
# holds the given file.
function(find_component out file registry)
    set(folders ${XIAOZHI_COMPONENTS} ${XIAOZHI_SOURCE}/managed_components ${XIAOZHI_SOURCE}/components)
    # ESP-IDF 5 brings two of the components itself.
    if(DEFINED ENV{IDF_PATH})
        list(APPEND folders $ENV{IDF_PATH}/components)
    endif()
    set(looked "")
    foreach(folder ${folders})
        get_filename_component(folder "${folder}" ABSOLUTE BASE_DIR "${CMAKE_BINARY_DIR}")
        foreach(name ${ARGN})
            if(EXISTS ${folder}/${name}/${file})
                set(${out} ${folder}/${name} PARENT_SCOPE)
                return()
            endif()
        endforeach()
        string(APPEND looked "  ${folder}\n")
    endforeach()
    list(JOIN ARGN ", " names)
    message(FATAL_ERROR "the component ${registry} is missing: expected ${file} in a folder named "
        "${names}. Looked in\n${looked}"
        "`idf.py reconfigure` in ${XIAOZHI_SOURCE} fetches the components into managed_components. "
        "Or clone them and pass the folder: -DXIAOZHI_COMPONENTS=/path/to/folder")
endfunction()
