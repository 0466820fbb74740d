#pragma once
#include "esp_efuse.h"
