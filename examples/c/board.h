/* What firmware.c asks of a board; cortex-m/board.c answers. Elsewhere there is nothing to tell. */

#ifndef BOARD_H
#define BOARD_H

#if defined(__arm__) && !defined(__linux__)
void board_begin(void);                  /* starts to count */
void board_tell(const char *indentation); /* a line: memory, and instructions since the line before */
#else
static inline void board_begin(void) {}
static inline void board_tell(const char *indentation) { (void)indentation; }
#endif

#endif
