//go:build linux && cgo

// The Go runtime ends in a dump of its goroutines where it may not reserve its
// address space or start its threads, before any Go code runs. This tries both first.

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "floor.h"

static sem_t enough;

static void *wait_for_others(void *unused) {
	while (sem_wait(&enough) != 0 && errno == EINTR) {
	}
	return unused;
}

static void refuse(const char *format, ...) {
	char line[512];
	va_list args;
	va_start(args, format);
	int n = vsnprintf(line, sizeof line, format, args);
	va_end(args);
	if (n > 0 && write(STDERR_FILENO, line, (size_t)n) < 0) {
		_exit(1);
	}
	_exit(1);
}

// limit is a soft limit as ulimit shows it.
static const char *limit(int resource, unsigned long unit, char *text, size_t size) {
	struct rlimit r;
	if (getrlimit(resource, &r) != 0 || r.rlim_cur == RLIM_INFINITY) {
		return "unlimited";
	}
	snprintf(text, size, "%lu", (unsigned long)r.rlim_cur / unit);
	return text;
}

static void try_memory(unsigned long mib, int protection, int resource, const char *option) {
	void *p = mmap(NULL, mib << 20, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED) {
		char text[32];
		refuse(FLOOR_MEMORY, (int)mib, option, limit(resource, 1024, text, sizeof text), option);
	}
	munmap(p, mib << 20);
}

static void try_threads(void) {
	long need = sysconf(_SC_NPROCESSORS_ONLN);
	if (need > FLOOR_CORES) {
		need = FLOOR_CORES;
	}
	need += FLOOR_THREADS;
	pthread_t t[FLOOR_CORES + FLOOR_THREADS];
	pthread_attr_t small;
	if (need <= 0 || sem_init(&enough, 0, 0) != 0 || pthread_attr_init(&small) != 0) {
		return;
	}
	pthread_attr_setstacksize(&small, 64 << 10);
	int n = 0;
	while (n < need && pthread_create(&t[n], &small, wait_for_others, NULL) == 0) {
		n++;
	}
	for (int i = 0; i < n; i++) {
		sem_post(&enough);
	}
	for (int i = 0; i < n; i++) {
		pthread_join(t[i], NULL);
	}
	pthread_attr_destroy(&small);
	if (n < need) {
		char text[32];
		refuse(FLOOR_PROCESSES, (int)need, n, limit(RLIMIT_NPROC, 1, text, sizeof text));
	}
}

__attribute__((constructor)) static void before_go(void) {
	mallopt(M_ARENA_MAX, 1); // else malloc reserves 64 MiB for every thread
	try_memory(FLOOR_DATA_MIB, PROT_READ | PROT_WRITE, RLIMIT_DATA, "-d");
	try_memory(FLOOR_ADDRESS_MIB, PROT_NONE, RLIMIT_AS, "-v");
	try_threads();
}
