/* What a store's file says, and how that changes. Opens no bundle. */

#include "store.h"

#include "disk.h"
#include "distinct.h"
#include "format.h"
#include "json.h"
#include "locked.h"
#include "overlay.h"
#include "utf8.h"

#include <time.h>

enum { MOST_BYTES = 4 << 20, MOST_CONTAINERS = 4 * ER_MOST_VERSIONS, MOST_REASON = 500, MOST_NAME = 64, LEAST_DIGITS = 8, HASH = 64 };

static bool is_hex(er_text text)
{
    for (size_t i = 0; i < text.length; i++)
        if (!((text.at[i] >= '0' && text.at[i] <= '9') || (text.at[i] >= 'a' && text.at[i] <= 'f'))) return false;
    return text.length > 0;
}

static bool is_hash(er_text text) { return text.length == HASH && is_hex(text); }

bool er_is_version_name(er_text name)
{
    for (size_t i = 0; i < name.length; i++) {
        const char c = name.at[i];
        const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (!plain && (!i || !c || !strchr("._+-", c))) return false;
    }
    return name.length && name.length <= MOST_NAME && !is_hash(name);
}

/* ---- Reading ---- */

static const er_stored *by_hash(const er_state *s, er_text content_hash)
{
    for (uint32_t i = 0; i < s->count; i++)
        if (er_same(s->versions[i].content_hash, content_hash)) return &s->versions[i];
    return NULL;
}

static bool is_list(const er_json *value, uint32_t most) { return value && value->kind == ER_JSON_ARRAY && value->count <= most; }
static bool is_text(const er_json *value) { return value && value->kind == ER_JSON_TEXT; }

static const char *take_versions(er_arena *arena, const er_json *listed, er_state *s)
{
    /* With room for one more, and for one more event. */
    s->versions = ER_TAKE(arena, er_stored, listed->count + 1);
    er_text *names = ER_TAKE(arena, er_text, listed->count), *hashes = ER_TAKE(arena, er_text, listed->count);
    int64_t name, hash;
    if (!s->versions || !names || !hashes) return "no memory";
    for (uint32_t i = 0; i < listed->count; i++) {
        const er_json *content_hash = er_json_get(&listed->items[i], "content_hash"), *own = er_json_get(&listed->items[i], "name");
        if (!is_text(content_hash) || !is_hash(content_hash->text)) return "a version without a content hash";
        if (!is_text(own) || !er_is_version_name(own->text)) return "a version without a name";
        s->versions[s->count++] = (er_stored){hashes[i] = content_hash->text, names[i] = own->text};
    }
    if (!er_first_alike(arena, names, s->count, &name) || !er_first_alike(arena, hashes, s->count, &hash)) return "no memory";
    return name >= 0 || hash >= 0 ? "a version twice" : NULL;
}

static const char *take_events(er_arena *arena, const er_json *listed, er_state *s)
{
    if (!(s->events = ER_TAKE(arena, er_text, listed->count + 1))) return "no memory";
    for (uint32_t i = 0; i < listed->count; i++) {
        const er_json *one = &listed->items[i], *what = er_json_get(one, "what"), *reason = er_json_get(one, "reason"), *at = er_json_get(one, "at");
        const bool known = is_text(what) && (er_is(what->text, "activated") || er_is(what->text, "rolled back") || er_is(what->text, "refused"));
        if (!known || !is_text(er_json_get(one, "version")) || !is_text(reason) || er_count_points(reason->text) > MOST_REASON || !at ||
            at->kind != ER_JSON_NUMBER)
            return "an event of an unknown kind";
        s->events[s->event_count++] = one->raw;
    }
    return NULL;
}

/* What is wrong; NULL: nothing. */
static const char *take(er_arena *arena, const er_json *value, er_state *s)
{
    const er_json *versions = er_json_get(value, "versions"), *events = er_json_get(value, "events"), *good = er_json_get(value, "good");
    const er_json *active = er_json_get(value, "active");
    if (!is_list(versions, ER_MOST_VERSIONS) || !is_list(events, ER_MOST_EVENTS) || !is_list(good, ER_MOST_VERSIONS)) return "a list is missing, or too long";
    const char *wrong = take_versions(arena, versions, s);
    if (wrong || (wrong = take_events(arena, events, s))) return wrong;
    if (!(s->good = ER_TAKE(arena, er_text, good->count + 1))) return "no memory";
    for (uint32_t i = 0; i < good->count; i++) {
        if (!is_text(&good->items[i]) || !by_hash(s, good->items[i].text)) return "a version that is not listed";
        s->good[s->good_count++] = good->items[i].text;
    }
    if (!active || active->kind == ER_JSON_NULL) return NULL;
    if (!is_text(active) || !by_hash(s, active->text)) return "a version that is not listed";
    s->active = active->text;
    return NULL;
}

bool er_state_read(er_arena *arena, const char *folder, er_state *s)
{
    char path[ER_STORE_PATH];
    er_error *error = arena->error, own = {0};
    er_text bytes;
    const er_json *value = NULL;
    *s = (er_state){0};
    er_format(path, sizeof path, "%s/store.json", folder);
    const er_shown shown = er_show((er_text){path, strlen(path)});
    arena->error = &own; /* whose words speak of bundles and overlays */
    bool fine = er_file_read(arena, path, MOST_BYTES, &bytes);
    const bool none = fine && !bytes.length && !er_disk_there(path);
    fine = fine && (none || er_json_read(arena, bytes, 8, MOST_CONTAINERS, "store.json", &value));
    const er_json *format = er_json_get(value, "format");
    const char *wrong = fine && !none ? take(arena, value, s) : NULL;
    arena->error = error;
    if (none) return er_state_add(arena, s, (er_text){"", 0}, (er_text){"", 0});
    if (own.status == ER_NO_MEMORY) return er_refuse(error, ER_NO_MEMORY, "%s", own.text);
    if (format && format->kind == ER_JSON_NUMBER && format->number != 1.0)
        return er_refuse(error, ER_BAD_BUNDLE, "%s: a store of format %.0f, this edgeret reads 1; use a newer one", shown.at, format->number);
    if (fine && !wrong && format && format->kind == ER_JSON_NUMBER) return true;
    const char *why = !fine ? own.text : wrong ? wrong : "no format"; /* up to how a bundle would be mended */
    return er_refuse(error, ER_BAD_BUNDLE, "%s: damaged (%.*s); move it away and add the bundles again: their folders are in bundles, beside it", shown.at,
                     (int)strcspn(why, ";"), why);
}

const er_stored *er_state_find(er_error *error, const er_state *s, er_text version)
{
    const er_stored *found = NULL;
    uint32_t several = 0;
    for (uint32_t i = 0; i < s->count; i++)
        if (er_same(s->versions[i].name, version) || er_same(s->versions[i].content_hash, version)) return &s->versions[i];
    for (uint32_t i = 0; i < s->count && version.length >= LEAST_DIGITS && version.length < HASH && is_hex(version); i++)
        if (er_same(er_cut(s->versions[i].content_hash, 0, version.length), version)) found = &s->versions[i], several++;
    if (several == 1) return found;
    er_refuse(error, ER_BAD_INPUT, "%s called \"%s\"; er_store_list tells those that are there", several ? "several versions are" : "no version is",
              er_show(version).at);
    return NULL;
}

/* ---- Changes ---- */

bool er_state_add(er_arena *arena, er_state *s, er_text content_hash, er_text name)
{
    er_stored *own = NULL;
    if (!s->versions) { /* of a store that was never written */
        s->versions = ER_TAKE(arena, er_stored, 1), s->good = ER_TAKE(arena, er_text, 1), s->events = ER_TAKE(arena, er_text, 1);
        if (!s->versions || !s->good || !s->events) return false;
    }
    if (!content_hash.length) return true;
    for (uint32_t i = 0; i < s->count; i++) {
        if (er_same(s->versions[i].content_hash, content_hash)) own = &s->versions[i];
        else if (er_same(s->versions[i].name, name))
            return er_refuse(arena->error, ER_BAD_INPUT, "another version is called \"%s\"; give it another name", er_show(name).at);
    }
    if (!own && s->count == ER_MOST_VERSIONS)
        return er_refuse(arena->error, ER_BAD_INPUT, "%d versions are here, and no more fit; remove some: er_store_remove", ER_MOST_VERSIONS);
    *(own ? own : &s->versions[s->count++]) = (er_stored){content_hash, name};
    return true;
}

void er_state_remove(er_state *s, er_text content_hash)
{
    uint32_t left = 0, good = 0;
    for (uint32_t i = 0; i < s->count; i++)
        if (!er_same(s->versions[i].content_hash, content_hash)) s->versions[left++] = s->versions[i];
    for (uint32_t i = 0; i < s->good_count; i++)
        if (!er_same(s->good[i], content_hash)) s->good[good++] = s->good[i];
    s->count = left, s->good_count = good;
}

bool er_state_tell(er_arena *arena, er_state *s, er_text content_hash, const char *what, er_text reason)
{
    er_bytes b = {0};
    char at[64];
    size_t length = 0;
    reason.length = er_utf8_ends(reason); /* a message may be cut within a letter */
    for (uint32_t points = 0; length < reason.length && points < MOST_REASON; points++)
        do length++;
        while (length < reason.length && (reason.at[length] & 0xc0) == 0x80);
    er_format(at, sizeof at, "{\"at\": %lld, \"what\": ", (long long)time(NULL));
    er_put(&b, at, strlen(at)), er_put_quoted(&b, (er_text){what, strlen(what)});
    er_put(&b, ", \"version\": ", 13), er_put_quoted(&b, content_hash);
    er_put(&b, ", \"reason\": ", 12), er_put_quoted(&b, er_cut(reason, 0, length)), er_put(&b, "}", 1);
    char *kept = b.failed ? NULL : ER_TAKE(arena, char, b.length);
    if (kept) {
        if (s->event_count == ER_MOST_EVENTS) memmove(s->events, s->events + 1, --s->event_count * sizeof *s->events);
        s->events[s->event_count++] = (er_text){memcpy(kept, b.at, b.length), b.length};
    }
    er_bytes_free(&b);
    return kept != NULL || er_refuse(arena->error, ER_NO_MEMORY, "no memory to say what happened");
}

bool er_state_activate(er_arena *arena, er_state *s, er_text content_hash, const char *what, er_text reason)
{
    /* The one before is good from now on, unless it is left for a better one. */
    const bool keep = s->active.length && strcmp(what, "rolled back");
    er_text *good = ER_TAKE(arena, er_text, s->good_count + 2);
    uint32_t count = 0;
    if (!good) return false;
    for (uint32_t i = keep ? 0 : 1; i <= s->good_count; i++) {
        const er_text one = i ? s->good[i - 1] : s->active;
        bool known = er_same(one, content_hash);
        for (uint32_t k = 0; k < count; k++) known |= er_same(good[k], one);
        if (!known) good[count++] = one;
    }
    s->good = good, s->good_count = count, s->active = content_hash;
    return er_state_tell(arena, s, content_hash, what, reason);
}

/* ---- Writing ---- */

#define PUT(literal) er_put(&b, (literal), sizeof(literal) - 1)

bool er_state_write(er_arena *arena, const char *folder, const er_state *s)
{
    er_bytes b = {0};
    PUT("{\n \"format\": 1,\n \"active\": ");
    if (s->active.length) er_put_quoted(&b, s->active);
    else PUT("null");
    PUT(",\n \"good\": [");
    for (uint32_t i = 0; i < s->good_count; i++) PUT("\n  ") , er_put_quoted(&b, s->good[i]), er_put(&b, ",", i + 1 < s->good_count);
    PUT("],\n \"versions\": [");
    for (uint32_t i = 0; i < s->count; i++) {
        PUT("\n  {\"content_hash\": "), er_put_quoted(&b, s->versions[i].content_hash);
        PUT(", \"name\": "), er_put_quoted(&b, s->versions[i].name), er_put(&b, "},", i + 1 < s->count ? 2 : 1);
    }
    PUT("],\n \"events\": [");
    for (uint32_t i = 0; i < s->event_count; i++) PUT("\n  "), er_put(&b, s->events[i].at, s->events[i].length), er_put(&b, ",", i + 1 < s->event_count);
    PUT("]\n}\n");
    const bool fine = b.failed ? er_refuse(arena->error, ER_NO_MEMORY, "no memory to write a store")
                               : er_replace_file(arena->error, folder, "store.json", (er_text){(const char *)b.at, b.length});
    er_bytes_free(&b);
    return fine;
}
