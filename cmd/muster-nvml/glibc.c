// glibc gave these functions a new version when it moved them into libc.so.6
// (2.32 and 2.34; release notes, "libpthread, libdl … have been integrated").
// A program linked there wants that version, and does not start on a machine
// with an older one, although the old version is the same and is still there.
// So the linker has these called instead (--wrap, in main.go), which name it.
// What they call lies in libdl and libpthread on older machines.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

#if defined(__x86_64__)
#define FIRST "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define FIRST "GLIBC_2.17"
#endif

#ifdef FIRST

#define OLD(type, name, version, args, call)                \
	extern type old_##name args;                            \
	__asm__(".symver old_" #name "," #name "@" version);    \
	type __wrap_##name args { return old_##name call; }

OLD(void *, dlopen, FIRST, (const char *f, int m), (f, m))
OLD(void *, dlsym, FIRST, (void *h, const char *n), (h, n))
OLD(int, dlclose, FIRST, (void *h), (h))
OLD(char *, dlerror, FIRST, (void), ())
OLD(int, pthread_create, FIRST, (pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *x), (t, a, f, x))
OLD(int, pthread_key_create, FIRST, (pthread_key_t *k, void (*f)(void *)), (k, f))
OLD(int, pthread_setspecific, FIRST, (pthread_key_t k, const void *v), (k, v))
OLD(int, pthread_sigmask, FIRST, (int h, const sigset_t *s, sigset_t *o), (h, s, o))
OLD(int, pthread_attr_getstack, FIRST, (const pthread_attr_t *a, void **s, size_t *n), (a, s, n))
OLD(int, pthread_attr_getstacksize, FIRST, (const pthread_attr_t *a, size_t *n), (a, n))
OLD(int, pthread_getattr_np, FIRST, (pthread_t t, pthread_attr_t *a), (t, a))
OLD(int, __libc_start_main, FIRST,
    (int (*m)(int, char **, char **), int n, char **v, void (*i)(void), void (*f)(void), void (*r)(void), void *s), (m, n, v, i, f, r, s))

#endif
