// What boards call of LVGL: functions that take whatever they are given. Part of lvgl.h.
#pragma once

#include "kit_handle.h"

namespace kit {

/// The size of the display that was made last.
int lvgl_width();
int lvgl_height();

}  // namespace kit

#define LV_HOR_RES (kit::lvgl_width())
#define LV_VER_RES (kit::lvgl_height())
#define LV_PCT(x) (x)
#define LV_SIZE_CONTENT 0
#define LV_MIN(a, b) ((a) < (b) ? (a) : (b))
#define LV_MAX(a, b) ((a) > (b) ? (a) : (b))
#define LV_UNUSED(x) ((void)(x))
#define LV_ASSERT(x) ((void)(x))
#define LV_DRAW_BUF_ALIGN 4
#define LV_DRAW_BUF_STRIDE_ALIGN 1

// Names that are only handed on: what they are worth does not matter.
#define KIT_LV_NAMES(type, ...)   \
    typedef int type;             \
    enum { __VA_ARGS__ };
KIT_LV_NAMES(lv_align_t, LV_ALIGN_DEFAULT, LV_ALIGN_TOP_LEFT, LV_ALIGN_TOP_MID, LV_ALIGN_TOP_RIGHT,
             LV_ALIGN_BOTTOM_LEFT, LV_ALIGN_BOTTOM_MID, LV_ALIGN_BOTTOM_RIGHT, LV_ALIGN_LEFT_MID,
             LV_ALIGN_RIGHT_MID, LV_ALIGN_CENTER, LV_ALIGN_OUT_TOP_MID, LV_ALIGN_OUT_BOTTOM_MID)
KIT_LV_NAMES(lv_obj_flag_t, LV_OBJ_FLAG_HIDDEN = 1, LV_OBJ_FLAG_CLICKABLE = 2,
             LV_OBJ_FLAG_SCROLLABLE = 16, LV_OBJ_FLAG_IGNORE_LAYOUT = 1 << 17,
             LV_OBJ_FLAG_FLOATING = 1 << 18, LV_OBJ_FLAG_OVERFLOW_VISIBLE = 1 << 20)
KIT_LV_NAMES(lv_event_code_t, LV_EVENT_ALL, LV_EVENT_PRESSED, LV_EVENT_CLICKED, LV_EVENT_RELEASED,
             LV_EVENT_VALUE_CHANGED, LV_EVENT_DELETE, LV_EVENT_INVALIDATE_AREA, LV_EVENT_FLUSH_START,
             LV_EVENT_FLUSH_FINISH, LV_EVENT_RENDER_START, LV_EVENT_RENDER_READY,
             LV_EVENT_REFR_READY)
KIT_LV_NAMES(lv_label_long_mode_t, LV_LABEL_LONG_WRAP, LV_LABEL_LONG_DOT, LV_LABEL_LONG_SCROLL,
             LV_LABEL_LONG_SCROLL_CIRCULAR, LV_LABEL_LONG_CLIP)
KIT_LV_NAMES(lv_text_align_t, LV_TEXT_ALIGN_AUTO, LV_TEXT_ALIGN_LEFT, LV_TEXT_ALIGN_CENTER,
             LV_TEXT_ALIGN_RIGHT)
KIT_LV_NAMES(lv_scrollbar_mode_t, LV_SCROLLBAR_MODE_OFF, LV_SCROLLBAR_MODE_ON, LV_SCROLLBAR_MODE_AUTO)
KIT_LV_NAMES(lv_layout_t, LV_LAYOUT_NONE, LV_LAYOUT_FLEX, LV_LAYOUT_GRID)
KIT_LV_NAMES(lv_flex_flow_t, LV_FLEX_FLOW_ROW, LV_FLEX_FLOW_COLUMN, LV_FLEX_FLOW_ROW_WRAP)
KIT_LV_NAMES(lv_flex_align_t, LV_FLEX_ALIGN_START, LV_FLEX_ALIGN_END, LV_FLEX_ALIGN_CENTER,
             LV_FLEX_ALIGN_SPACE_EVENLY, LV_FLEX_ALIGN_SPACE_AROUND, LV_FLEX_ALIGN_SPACE_BETWEEN)
KIT_LV_NAMES(lv_part_t, LV_PART_MAIN, LV_PART_SCROLLBAR, LV_PART_INDICATOR, LV_PART_KNOB)
KIT_LV_NAMES(lv_state_t, LV_STATE_DEFAULT, LV_STATE_PRESSED, LV_STATE_CHECKED)
KIT_LV_NAMES(lv_dir_t, LV_DIR_NONE, LV_DIR_LEFT, LV_DIR_RIGHT, LV_DIR_TOP, LV_DIR_BOTTOM, LV_DIR_ALL)
KIT_LV_NAMES(lv_indev_type_t, LV_INDEV_TYPE_NONE, LV_INDEV_TYPE_POINTER, LV_INDEV_TYPE_KEYPAD,
             LV_INDEV_TYPE_BUTTON, LV_INDEV_TYPE_ENCODER)
KIT_LV_NAMES(lv_display_render_mode_t, LV_DISPLAY_RENDER_MODE_PARTIAL, LV_DISPLAY_RENDER_MODE_DIRECT,
             LV_DISPLAY_RENDER_MODE_FULL)
KIT_LV_NAMES(lv_palette_t, LV_PALETTE_RED, LV_PALETTE_PINK, LV_PALETTE_BLUE, LV_PALETTE_GREEN,
             LV_PALETTE_YELLOW, LV_PALETTE_ORANGE, LV_PALETTE_GREY)
typedef enum {
    LV_DISPLAY_ROTATION_0,
    LV_DISPLAY_ROTATION_90,
    LV_DISPLAY_ROTATION_180,
    LV_DISPLAY_ROTATION_270
} lv_display_rotation_t;
typedef lv_display_rotation_t lv_disp_rotation_t;
enum { LV_OPA_TRANSP = 0, LV_OPA_50 = 127, LV_OPA_COVER = 255, LV_RADIUS_CIRCLE = 0x7fff };

#define KIT_LV_NOTHING(name)    \
    template <class... Arguments> \
    inline void name(Arguments&&...) {}
#define KIT_LV_THING(type, name) \
    template <class... Arguments> \
    inline type* name(Arguments&&...) { return static_cast<type*>(kit_handle()); }
#define KIT_LV_NUMBER(name, value) \
    template <class... Arguments> \
    inline int32_t name(Arguments&&...) { return value; }
#define KIT_LV_COLOR(name)      \
    template <class... Arguments> \
    inline lv_color_t name(Arguments&&...) { return {}; }

#include "kit_lvgl_names.h"

inline int32_t lv_area_get_width(const lv_area_t* area) { return area->x2 - area->x1 + 1; }
inline int32_t lv_area_get_height(const lv_area_t* area) { return area->y2 - area->y1 + 1; }
inline uint32_t lv_area_get_size(const lv_area_t* area) {
    return static_cast<uint32_t>(lv_area_get_width(area) * lv_area_get_height(area));
}
inline uint8_t lv_color_format_get_size(lv_color_format_t format) {
    return static_cast<uint8_t>(LV_COLOR_FORMAT_GET_SIZE(format));
}
inline uint32_t lv_draw_buf_width_to_stride(uint32_t width, lv_color_format_t format) {
    return width * lv_color_format_get_size(format);
}
inline int32_t lv_display_get_horizontal_resolution(const lv_display_t*) { return kit::lvgl_width(); }
inline int32_t lv_display_get_vertical_resolution(const lv_display_t*) { return kit::lvgl_height(); }
inline lv_display_rotation_t lv_display_get_rotation(const lv_display_t*) {
    return LV_DISPLAY_ROTATION_0;
}
inline lv_color_format_t lv_display_get_color_format(const lv_display_t*) {
    return LV_COLOR_FORMAT_RGB565;
}
template <class... Arguments>
inline bool lv_obj_has_flag(Arguments&&...) { return false; }
