/* For compilers without a fuzzer: runs the files that are named, and with --seconds N goes on with changed ones.

       fuzz_bundle [--seconds N] FILE... */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

enum { MOST = 1 << 20, MOST_FILES = 4096 };

static uint64_t state = 88172645463325252u;

/* Marsaglia's xorshift: the same inputs in each run. */
static uint32_t drawn(uint32_t below)
{
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (uint32_t)((state >> 16) % below);
}

static size_t changed(uint8_t *at, size_t length, const uint8_t *other, size_t other_length)
{
    static const uint8_t odd[] = {0, 1, 0x7f, 0x80, 0x90, 0xa0, 0xc0, 0xc1, 0xc4, 0xca, 0xcf, 0xd9, 0xdc, 0xdd, 0xde, 0xdf, 0xff, '"', '{', '\\', '\n'};
    for (uint32_t i = 1 + drawn(4); i && length > 2; i--) {
        const size_t place = drawn((uint32_t)length), most = length - place;
        size_t some = 1 + drawn(most < 16 ? (uint32_t)most : 16);
        switch (drawn(6)) {
        case 0: at[place] = (uint8_t)drawn(256); break;
        case 1: at[place] = odd[drawn(sizeof odd)]; break;
        case 2: at[place] ^= (uint8_t)(1u << drawn(8)); break;
        case 3: memmove(at + place, at + place + some, most - some), length -= some; break;
        case 4:
            if (length + some > MOST) break;
            memmove(at + place + some, at + place, most), length += some;
            break;
        default:
            if (other_length <= some) break;
            memcpy(at + place, other + drawn((uint32_t)(other_length - some)), some);
        }
    }
    return length;
}

int main(int count, char **words)
{
    static uint8_t *files[MOST_FILES], room[MOST];
    static size_t lengths[MOST_FILES];
    int n = 0;
    double seconds = 0;
    for (int i = 1; i < count && n < MOST_FILES; i++) {
        if (!strcmp(words[i], "--seconds") && i + 1 < count) {
            seconds = atof(words[++i]);
            continue;
        }
        FILE *file = fopen(words[i], "rb");
        if (!file) return perror(words[i]), 1;
        lengths[n] = fread(room, 1, MOST, file);
        fclose(file);
        files[n] = malloc(lengths[n] + 1);
        if (!files[n]) return 1;
        memcpy(files[n], room, lengths[n]);
        LLVMFuzzerTestOneInput(files[n], lengths[n]);
        n++;
    }
    long runs = n;
    for (const time_t begun = time(NULL); n && difftime(time(NULL), begun) < seconds; runs++) {
        const uint32_t one = drawn((uint32_t)n), other = drawn((uint32_t)n);
        memcpy(room, files[one], lengths[one]);
        LLVMFuzzerTestOneInput(room, changed(room, lengths[one], files[other], lengths[other]));
    }
    printf("%ld inputs\n", runs);
    return 0;
}
