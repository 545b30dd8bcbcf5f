/* Wall time that a test can step, preloaded into a server: real time plus the microseconds in the
 * file $SKEW_FILE, which is mapped, so that a write to it shows at the next reading of the clock.
 * Monotonic time stays real, since no step of a wall clock moves it.
 *
 * System calls are made directly: looking up the functions replaced here would allocate, and the
 * server's allocator reads the clock before it can do so. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t none = 0;
static const volatile int64_t *skew = &none;

__attribute__((constructor)) static void map_skew(void) {
    const char *path = getenv("SKEW_FILE");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) abort();
    void *page = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    if (page == MAP_FAILED) abort();
    close(file);
    skew = page;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = (int)syscall(SYS_clock_gettime, clock, now);
    if (failed || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return failed;
    int64_t micros = *skew;
    int64_t nanos = now->tv_nsec + micros % 1000000 * 1000;
    now->tv_sec += micros / 1000000;
    if (nanos < 0) { nanos += 1000000000; now->tv_sec -= 1; }
    if (nanos >= 1000000000) { nanos -= 1000000000; now->tv_sec += 1; }
    now->tv_nsec = nanos;
    return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec time;
    (void)zone;
    int failed = clock_gettime(CLOCK_REALTIME, &time);
    if (!failed) { now->tv_sec = time.tv_sec; now->tv_usec = time.tv_nsec / 1000; }
    return failed;
}

time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result) *result = now.tv_sec;
    return now.tv_sec;
}
