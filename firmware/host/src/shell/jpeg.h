#pragma once

#include <string>

namespace kit {

/// A grey picture of this size, as baseline JPEG.
std::string grey_jpeg(int width, int height);

}  // namespace kit
