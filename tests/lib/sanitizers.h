/* SPDX-License-Identifier: MIT */
#ifndef TEST_SANITIZERS_H
#define TEST_SANITIZERS_H

/* ThreadSanitizer ends a forked child that starts threads. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SANITIZES_THREADS 1
#endif
#endif
#ifdef __SANITIZE_THREAD__
#define SANITIZES_THREADS 1
#endif
#ifndef SANITIZES_THREADS
#define SANITIZES_THREADS 0
#endif

#endif
