#pragma once
#define SOC_WIFI_SUPPORTED 1
