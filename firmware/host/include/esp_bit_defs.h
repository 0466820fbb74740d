#pragma once

#ifndef BIT
#define BIT(n) (1UL << (n))
#endif
#ifndef BIT64
#define BIT64(n) (1ULL << (n))
#endif
#ifndef BIT0
#define BIT0 0x1
#define BIT1 0x2
#define BIT2 0x4
#define BIT3 0x8
#define BIT4 0x10
#define BIT5 0x20
#define BIT6 0x40
#define BIT7 0x80
#endif
