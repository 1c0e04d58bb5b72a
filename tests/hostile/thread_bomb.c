/* Starts threads without end: they count as processes.
   Must happen: EAGAIN before 4,000 of them. */
#include "attempt.h"
#include <pthread.h>

static void *rest(void *nothing) {
    pause();
    return nothing;
}

int main(void) {
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 * 1024);
    int error = 0;
    for (int count = 0; count < 4000 && !error; count++) {
        pthread_t thread;
        error = pthread_create(&thread, &small, rest, NULL);
    }
    said("threads", error);
    return verdict();
}
