#pragma once

#include <map>
#include <memory>
#include <string>

#include "display.h"
#include "emoji_collection.h"

class LvglTheme : public Theme {
public:
    using Theme::Theme;
};

// Knows `light` and `dark`, as on boards with a colour display.
class LvglThemeManager {
public:
    static LvglThemeManager& GetInstance();
    void RegisterTheme(const std::string& name, LvglTheme* theme) { themes_[name] = theme; }
    LvglTheme* GetTheme(const std::string& name);

private:
    LvglThemeManager();
    std::map<std::string, LvglTheme*> themes_;
};
