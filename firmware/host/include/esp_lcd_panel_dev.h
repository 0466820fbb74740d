#pragma once
#include "kit_panel.h"
