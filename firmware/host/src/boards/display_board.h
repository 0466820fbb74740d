#pragma once

#include "backlight.h"
#include "host_board.h"
#include "lcd_display.h"

/// A board with a colour display and a backlight that fades: the firmware's own PwmBacklight.
class DisplayBoard : public HostBoard {
public:
    DisplayBoard() { GetBacklight()->RestoreBrightness(); }

    Display* GetDisplay() override {
        static SpiLcdDisplay screen(nullptr, nullptr, 320, 240);
        return &screen;
    }

    Backlight* GetBacklight() override {
        static PwmBacklight backlight(GPIO_NUM_48);
        return &backlight;
    }
};
