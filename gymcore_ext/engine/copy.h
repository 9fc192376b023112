/* Copying rows of kilobytes.
 *
 * On AMD's Zen processors `rep movsb`, by which glibc's memcpy copies from 2 KiB on, takes twelve times as long where the
 * target lies a few bytes behind the source within a page: 9.5 us instead of 0.8 for 28 KiB and a distance of 16 bytes.
 * Where arrays lie is chance, so that the same program was fast one day and slow the next. */
#ifndef GYMCORE_COPY_H
#define GYMCORE_COPY_H

#include "../include/gymcore/platform.h"

#define GYMCORE_COPY_LEAST 1024        /* from here on memcpy may be slow */
#define GYMCORE_COPY_MOST (4 << 20) /* from here on it writes past the caches, as this does not */

static inline void gymcore_copy(void *GYMCORE_RESTRICT target, const void *GYMCORE_RESTRICT source, size_t bytes)
{
#if defined(__SSE2__)
    if (bytes >= GYMCORE_COPY_LEAST && bytes < GYMCORE_COPY_MOST) {
        char *to = (char *)target;
        const char *from = (const char *)source, *end = from + (bytes & ~(size_t)63);
        for (; from < end; from += 64, to += 64) {
            __m128i one = _mm_loadu_si128((const __m128i *)from), two = _mm_loadu_si128((const __m128i *)(from + 16));
            __m128i three = _mm_loadu_si128((const __m128i *)(from + 32));
            __m128i four = _mm_loadu_si128((const __m128i *)(from + 48));
            _mm_storeu_si128((__m128i *)to, one);
            _mm_storeu_si128((__m128i *)(to + 16), two);
            _mm_storeu_si128((__m128i *)(to + 32), three);
            _mm_storeu_si128((__m128i *)(to + 48), four);
        }
        memcpy(to, from, bytes & 63);
        return;
    }
#endif
    memcpy(target, source, bytes);
}

#endif
