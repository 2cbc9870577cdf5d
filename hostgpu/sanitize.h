/* sanitize.h - what AddressSanitizer and ThreadSanitizer must be told about fibers. Nothing without
 * them. HOSTGPU_ASAN and HOSTGPU_TSAN come from the build: the executor itself is instrumented for
 * neither, since its own memory traffic is no part of a kernel. */
#ifndef HOSTGPU_SANITIZE_H
#define HOSTGPU_SANITIZE_H

#include <stdbool.h>

#if defined(__SANITIZE_ADDRESS__)
#define HOSTGPU_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HOSTGPU_ASAN 1
#endif
#endif

#ifdef HOSTGPU_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
enum { HOSTGPU_STACK_FACTOR = 4 }; /* red zones make frames larger */
#else
enum { HOSTGPU_STACK_FACTOR = 1 };
#endif

#if defined(__SANITIZE_THREAD__) && !defined(HOSTGPU_TSAN)
#define HOSTGPU_TSAN 1
#endif

#ifdef HOSTGPU_TSAN
#include <sanitizer/tsan_interface.h>

void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);

/* All that the thread did before the release happens before what follows the acquire. */
#define HOSTGPU_RELEASE(object) __tsan_release(object)
#define HOSTGPU_ACQUIRE(object) __tsan_acquire(object)

static inline void hostgpu_ignore_begin(void)
{
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
}

static inline void hostgpu_ignore_end(void)
{
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}

static const bool hostgpu_is_race_check = true;
#else
#define HOSTGPU_RELEASE(object) ((void)(object))
#define HOSTGPU_ACQUIRE(object) ((void)(object))
static inline void hostgpu_ignore_begin(void) {}
static inline void hostgpu_ignore_end(void) {}
static const bool hostgpu_is_race_check = false;
#endif

#if defined(HOSTGPU_ASAN) || defined(HOSTGPU_TSAN)
static const bool hostgpu_is_sanitized = true;
#else
static const bool hostgpu_is_sanitized = false;
#endif

#endif
