#pragma once
#include "../../emoji_collection.h"
