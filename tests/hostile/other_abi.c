/* Makes system calls by their numbers for other kinds of programs (32 bits, x32), which a filter for one kind does not know.
   Must happen: the calls are refused or kill the process; none takes effect. Where the machine is not x86-64 there is nothing to try. */
#include "attempt.h"
#include <sys/mman.h>

#ifdef __x86_64__
static long call32(long number, long first, long second) {
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(first), "c"(second), "d"(0), "S"(0), "D"(0) : "memory", "r8", "r9", "r10", "r11");
    if (result < 0 && result > -4096) {
        errno = -result;
        return -1;
    }
    return result;
}
#endif

int main(void) {
#ifdef __x86_64__
    TRY("32_unshare_user", call32(310, 0x10000000, 0));
    TRY("32_getpid", call32(20, 0, 0));
    TRY("32_keyctl", call32(288, 0, -3));
    TRY("x32_getpid", syscall(0x40000000L | 39));
    TRY("x32_unshare_user", syscall(0x40000000L | 272, 0x10000000));
    TRY("beyond_the_table", syscall(9999));
#endif
    return verdict();
}
