#pragma once
#include "../emote_display.h"
