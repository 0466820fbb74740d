// The C library's lists, with the traversals that newlib adds to them.
#pragma once

#include_next <sys/queue.h>

#ifndef STAILQ_FOREACH_SAFE
#define STAILQ_FOREACH_SAFE(var, head, field, next_one)                              \
    for ((var) = STAILQ_FIRST(head); (var) && ((next_one) = STAILQ_NEXT(var, field), 1); \
         (var) = (next_one))
#endif
#ifndef STAILQ_LAST
#define STAILQ_LAST(head, type, field)                                        \
    (STAILQ_EMPTY(head) ? NULL                                                \
                        : (struct type *)((char *)(head)->stqh_last - offsetof(struct type, field)))
#endif
