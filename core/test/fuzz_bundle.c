/* A stranger's bundle: whatever its bytes are, loading refuses it in words or gives a model that decides.

   An input takes the place of one file of a bundle of conformance/: a byte says of which bundle, one which file, and the
   rest is what the file holds. Sizes and hashes in the manifest are made right, else nothing behind them would be reached;
   of a manifest the body is the input. Built by
   tests/core_fuzz_run.py, with -fsanitize=fuzzer or with fuzz_main.c. */

#include "fuzz_common.h"
#include "sha256.h"

enum { BUNDLES = 3, MOST_FILES = 16, MOST_NAME = 32, LARGEST = 1 << 20, MAGIC = 16 };

typedef struct {
    char name[MOST_NAME];
    uint8_t *bytes;
    size_t length;
} held;

typedef struct {
    held files[MOST_FILES]; /* the manifest last */
    size_t count;
    const uint8_t *info; /* in the manifest: from the key "info" on */
    size_t info_length;
} bundle;

static const char *const kinds[BUNDLES] = {"alone", "few", "many"};
static const char *const names[] = {"exemplars.json", "familiarity.msgpack", "graph.msgpack", "head.msgpack", "index.msgpack", "memory.msgpack",
                                    "table.msgpack", "tokenizer.json", "tools.json", "word-vectors.msgpack", "manifest"};

static void take(bundle *b, const char *kind)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s/%s", CONFORMANCE, kind, names[i]);
        FILE *file = fopen(path, "rb");
        if (!file) continue; /* of tools alone some are not there */
        held *one = &b->files[b->count++];
        snprintf(one->name, sizeof one->name, "%s", names[i]);
        one->bytes = malloc(LARGEST);
        if (!one->bytes) abort();
        one->length = fread(one->bytes, 1, LARGEST, file);
        fclose(file);
    }
    const held *manifest = &b->files[b->count - 1];
    for (size_t i = 0; i + 5 < manifest->length; i++)
        if (!memcmp(manifest->bytes + i, "\xa4info", 5) && manifest->bytes[i + 5] >= 0x80) b->info = manifest->bytes + i;
    if (!b->info) abort();
    b->info_length = manifest->length - (size_t)(b->info - manifest->bytes);
}

typedef struct {
    uint8_t *at;
    size_t length;
} writing;

static void put(writing *w, const void *bytes, size_t length)
{
    memcpy(w->at + w->length, bytes, length);
    w->length += length;
}

static void put_text(writing *w, const char *text, size_t length)
{
    put(w, (const uint8_t[]){0xd9, (uint8_t)length}, 2);
    put(w, text, length);
}

static void put_big(writing *w, uint8_t kind, uint32_t value)
{
    put(w, (const uint8_t[]){kind, (uint8_t)(value >> 24), (uint8_t)(value >> 16), (uint8_t)(value >> 8), (uint8_t)value}, 5);
}

/* A whole number in its shortest form. */
static void put_whole(writing *w, uint32_t value)
{
    if (value < 0x80) put(w, (const uint8_t[]){(uint8_t)value}, 1);
    else if (value < 0x100) put(w, (const uint8_t[]){0xcc, (uint8_t)value}, 2);
    else if (value < 0x10000) put(w, (const uint8_t[]){0xcd, (uint8_t)(value >> 8), (uint8_t)value}, 3);
    else put_big(w, 0xce, value);
}

/* The body around which a manifest is wrapped: the files as they are now. What was calibrated with the file that `was`
   changed says so of the new one. */
static void put_body(writing *w, const bundle *b, const held *was, const held *is)
{
    put(w, "\x82\xa5" "files", 7);
    put(w, (const uint8_t[]){(uint8_t)(0x90 | (b->count - 1))}, 1);
    for (size_t i = 0; i + 1 < b->count; i++) {
        const held *one = &b->files[i];
        const er_hex hash = er_sha256_of(one->bytes, one->length);
        put(w, "\x86\xa4name", 6);
        put_text(w, one->name, strlen(one->name));
        put(w, "\xa4role", 5);
        put_text(w, one->name, strcspn(one->name, "."));
        put(w, "\xa4size", 5);
        put_whole(w, (uint32_t)one->length);
        put(w, "\xa6sha256", 7);
        put_text(w, hash.at, sizeof hash.at);
        put(w, "\xa7licence\xa0\xa6source\xa0", 17);
    }
    put(w, b->info, b->info_length);
    const er_hex old = er_sha256_of(was->bytes, was->length), new = er_sha256_of(is->bytes, is->length);
    for (size_t i = w->length - b->info_length; i + sizeof old.at <= w->length; i++)
        if (!memcmp(w->at + i, old.at, sizeof old.at)) memcpy(w->at + i, new.at, sizeof new.at);
}

static void wrap(writing *w, const writing *body, const uint8_t magic[MAGIC])
{
    char first[32];
    uint8_t digest[32];
    er_sha256 sum;
    er_sha256_begin(&sum);
    er_sha256_add(&sum, first, (size_t)snprintf(first, sizeof first, "edgeret-bundle/%d\n", ER_FORMAT));
    er_sha256_add(&sum, body->at, body->length);
    er_sha256_end(&sum, digest);
    put(w, magic, MAGIC);
    put_whole(w, ER_FORMAT);
    put(w, "\xc4\x20", 2);
    put(w, digest, sizeof digest);
    if (body->length < 0x100) put(w, (const uint8_t[]){0xc4, (uint8_t)body->length}, 2);
    else if (body->length < 0x10000) put(w, (const uint8_t[]){0xc5, (uint8_t)(body->length >> 8), (uint8_t)body->length}, 3);
    else put_big(w, 0xc6, (uint32_t)body->length);
    put(w, body->at, body->length);
}

/* Whatever was loaded decides, searches and explains, or says why not. */
static void use(const er_model *model)
{
    fuzz_use(model, ER_TEXT("find my file and send a mail, then call the phone at 9"), NULL);
    fuzz_use(model, ER_TEXT("öffne die note nicht, dann 明天"), NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static bundle bundles[BUNDLES];
    if (!bundles[0].count)
        for (int i = 0; i < BUNDLES; i++) take(&bundles[i], kinds[i]);
    if (length < 2 || length > LARGEST) return 0;
    bundle forged = bundles[bytes[0] % BUNDLES];
    held *changed = &forged.files[bytes[1] % forged.count], *manifest = &forged.files[forged.count - 1];
    /* In rooms of their very sizes, so that sanitizers see a byte too far. */
    uint8_t *given = malloc(length - 2 + !(length - 2)), *body_room = malloc(2 * LARGEST), *room = malloc(2 * LARGEST);
    if (!given || !body_room || !room) abort();
    memcpy(given, bytes + 2, length - 2);
    writing body = {body_room, 0}, whole = {room, 0};
    const uint8_t *magic = manifest->bytes;
    if (changed == manifest) body = (writing){given, length - 2};
    else {
        const held was = *changed;
        changed->bytes = given, changed->length = length - 2;
        put_body(&body, &forged, &was, changed);
    }
    wrap(&whole, &body, magic);
    manifest->bytes = malloc(whole.length);
    if (!manifest->bytes) abort();
    memcpy(manifest->bytes, whole.at, whole.length);
    manifest->length = whole.length;
    er_file files[MOST_FILES];
    for (size_t i = 0; i < forged.count; i++)
        files[i] = (er_file){{forged.files[i].name, strlen(forged.files[i].name)}, forged.files[i].bytes, forged.files[i].length};
    er_error why = {0};
    er_model *model = NULL;
    if (!fuzz_refused(er_load_files(files, forged.count, NULL, &model, &why), &why)) use(model);
    er_free(model);
    free(manifest->bytes);
    free(given);
    free(body_room);
    free(room);
    return 0;
}
