# Headers of drivers that differ in their name only: panels by how they are connected, touch panels
# with the address they have. What is behind the names is in parts/ and include/kit_panel.h.

set(spi_panels gc9107 gc9309na gc9a01 gc9d01n ili9341 ili9486 ili9488 jd9853 nv3023 nv3030b st7735 st7796)
set(qspi_panels co5300 gc9b71 icna3311 rm690b0 sh8601 spd2010 st77916 st77922)
set(dsi_panels hi8561 hx8394 ili9881c jd9365 rm69a10 st7102 st7123 st7703)
set(three_wire_panels gc9503 st7701)
set(touch_panels
    cst226:0x5A cst816s:0x15 cst820:0x15 cst9217:0x5A ft5x06:0x38 gt1151:0x14 gt911:0x5D spd2010:0x53
    st7123:0x55 st77922:0x55 tt21100:0x24)

# Writes the header of one driver; one that has not changed keeps its time.
function(write_driver folder header text)
    file(CONFIGURE OUTPUT ${folder}/${header} CONTENT "#pragma once\n${text}" @ONLY)
endfunction()

function(write_panels folder include macros)
    foreach(name ${ARGN})
        string(TOUPPER ${name} upper)
        string(REPLACE "NAME" "${upper}" defined "${macros}")
        set(driver KIT_PANEL_DRIVER)
        if(name STREQUAL gc9503)
            set(driver KIT_PANEL_DRIVER_RGB_FIRST)
        endif()
        write_driver(${folder} esp_lcd_${name}.h
            "#include \"kit_panel.h\"\n#include \"${include}\"\n${driver}(${name})\n${defined}")
    endforeach()
endfunction()

function(write_drivers folder)
    write_panels(${folder} kit_panel.h
        "#define NAME_PANEL_BUS_SPI_CONFIG(...) KIT_PANEL_SPI_BUS(__VA_ARGS__)
#define NAME_PANEL_IO_SPI_CONFIG(...) KIT_PANEL_SPI_IO(__VA_ARGS__)
" ${spi_panels})
    write_panels(${folder} kit_panel.h
        "#define NAME_PANEL_BUS_QSPI_CONFIG(...) KIT_PANEL_QSPI_BUS(__VA_ARGS__)
#define NAME_PANEL_IO_QSPI_CONFIG(...) KIT_PANEL_QSPI_IO(__VA_ARGS__)
" ${qspi_panels})
    write_panels(${folder} esp_lcd_mipi_dsi.h
        "#define NAME_PANEL_BUS_DSI_2CH_CONFIG() KIT_PANEL_DSI_BUS
#define NAME_PANEL_IO_DBI_CONFIG() KIT_PANEL_DBI_IO
" ${dsi_panels})
    write_panels(${folder} esp_lcd_panel_io_additions.h
        "#include \"esp_lcd_panel_rgb.h\"
#define NAME_PANEL_IO_3WIRE_SPI_CONFIG(...) KIT_PANEL_3WIRE_IO(__VA_ARGS__)
" ${three_wire_panels})
    foreach(entry ${touch_panels})
        string(REPLACE ":" ";" entry ${entry})
        list(GET entry 0 name)
        list(GET entry 1 address)
        string(TOUPPER ${name} upper)
        # One driver writes its own name so.
        string(REPLACE FT5X06 FT5x06 upper ${upper})
        write_driver(${folder} esp_lcd_touch_${name}.h "#include \"esp_lcd_touch.h\"
KIT_TOUCH(${name})
#define ESP_LCD_TOUCH_IO_I2C_${upper}_ADDRESS ${address}
#define ESP_LCD_TOUCH_IO_I2C_${upper}_ADDRESS_BACKUP 0x14
#define ESP_LCD_TOUCH_IO_I2C_${upper}_CONFIG() KIT_TOUCH_IO(${address})
")
    endforeach()
endfunction()
