#pragma once
#include "freertos/task.h"
