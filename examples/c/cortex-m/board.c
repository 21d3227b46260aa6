/* The least that newlib and firmware.c need of Arm's boards MPS2 (AN500, Cortex-M7) and MPS3 (AN547, Cortex-M55): vectors,
   a heap whose high water is known, a painted stack, and words through semihosting. Of a board of your own replace `host`,
   `_write` and `_exit`. */

#include "../board.h"

#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

/* Of the linker script. */
extern uint32_t data_from[], data_begin[], data_end[], zero_begin[], zero_end[], stack_begin[], stack_end[];
extern char heap_begin[], heap_end[];

extern int main(void);
void reset(void);
void _exit(int code) __attribute__((noreturn));

enum { WRITE_CHARACTER = 0x03, EXIT_EXTENDED = 0x20, APPLICATION_EXIT = 0x20026 };
enum { PAINT = 0x5eed5eed };
static char *heap_at = heap_begin;

/* ---- Start ---- */

static void fault(void)
{
    fputs("fault\n", stderr);
    _exit(3);
}

static volatile uint32_t rounds; /* of the tick counter, which has 24 bits */
static void round_ended(void) { rounds++; }

__attribute__((section(".vectors"), used)) static const uintptr_t vectors[16] = {
    (uintptr_t)stack_end, (uintptr_t)reset, (uintptr_t)fault, (uintptr_t)fault, (uintptr_t)fault, (uintptr_t)fault, (uintptr_t)fault,
    [15] = (uintptr_t)round_ended,
};

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define COPROCESSORS REGISTER(0xe000ed88) /* CPACR */
#define TICK_CONTROL REGISTER(0xe000e010) /* SysTick */
#define TICK_RELOAD REGISTER(0xe000e014)
#define TICK_NOW REGISTER(0xe000e018)
enum { TICKS = 0xffffff };

/* Naked: nothing may touch the stack, or a register of the floating-point unit, before both are there. */
__attribute__((naked)) void reset(void)
{
    __asm volatile("ldr r0, =stack_end\n mov sp, r0\n bl begin\n");
}

__attribute__((used, noreturn)) void begin(void)
{
    COPROCESSORS |= 0xfu << 20;
    __asm volatile("dsb\n isb" ::: "memory");
    for (uint32_t *to = data_begin, *from = data_from; to < data_end;) *to++ = *from++;
    for (uint32_t *to = zero_begin; to < zero_end;) *to++ = 0;
    for (volatile uint32_t *to = stack_begin; to < (uint32_t *)__builtin_frame_address(0) - 16;) *to++ = PAINT;
    _exit(main());
}

/* ---- Semihosting: an emulator or a debugger listens ---- */

static intptr_t host(intptr_t what, const void *with)
{
    register intptr_t r0 __asm("r0") = what;
    register const void *r1 __asm("r1") = with;
    __asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

void _exit(int code)
{
    const uintptr_t told[] = {APPLICATION_EXIT, (uintptr_t)code};
    for (;;) host(EXIT_EXTENDED, told);
}

int _write(int file, const char *bytes, int count)
{
    (void)file;
    for (int i = 0; i < count; i++) host(WRITE_CHARACTER, bytes + i);
    return count;
}

/* ---- What else newlib asks ---- */

void *_sbrk(ptrdiff_t more)
{
    if (more > heap_end - heap_at) return (void *)-1;
    void *found = heap_at;
    heap_at += more;
    return found;
}

int _close(int file) { return (void)file, -1; }
int _fstat(int file, struct stat *told) { return (void)file, told->st_mode = S_IFCHR, 0; }
int _isatty(int file) { return (void)file, 1; }
int _lseek(int file, int to, int from) { return (void)file, (void)to, (void)from, 0; }
int _read(int file, char *to, int count) { return (void)file, (void)to, (void)count, 0; }
int _getpid(void) { return 1; }
int _gettimeofday(void *told, void *zone) { return (void)told, (void)zone, -1; } /* no clock here */
int _kill(int process, int with) { return (void)process, (void)with, -1; }

/* ---- Figures ---- */

void board_begin(void)
{
    setvbuf(stdout, NULL, _IONBF, 0); /* so that the heap is the library's alone */
    TICK_RELOAD = TICKS;
    TICK_NOW = 0;
    TICK_CONTROL = 7; /* the CPU's clock, and an interrupt with each round */
}

void board_tell(const char *indentation)
{
    const uint32_t *deepest = stack_begin;
    while (deepest < stack_end && *deepest == PAINT) deepest++;
    const double ticks = (double)rounds * (TICKS + 1.0) + (TICKS - TICK_NOW);
    printf("%sheap %u bytes, %u at most; stack %u at most; %.0f ticks\n", indentation, (unsigned)mallinfo().uordblks,
           (unsigned)(heap_at - heap_begin), (unsigned)((const char *)stack_end - (const char *)deepest), ticks);
    TICK_NOW = 0;
    rounds = 0;
}
