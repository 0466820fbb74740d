// 78/esp-wifi-connect: there is no configuration mode.
#pragma once

#include "ssid_manager.h"
#include "wifi_station.h"
