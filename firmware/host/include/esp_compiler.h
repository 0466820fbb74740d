#pragma once

#ifndef likely
#define likely(x) (x)
#define unlikely(x) (x)
#endif
