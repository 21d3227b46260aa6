/* Versions of a bundle side by side, one of them active (FORMAT.md 22): the header's functions. Holds no lock while it loads, so others
   may decide and look; whoever adds copies under the lock. */

#include "store.h"

#include "beside.h"
#include "disk.h"
#include "folder.h"
#include "format.h"
#include "locked.h"

#include <time.h>

enum { ATTEMPTS = 100, HASH = 64 };
static const double WAIT_S = 60.0;

struct er_store {
    er_arena arena;
    const char *folder;
    er_load_options options;
    er_status (*probe)(void *context, const er_model *, er_error *);
    void *context;
    double wait_s;
};

/* What a call needs until it ends: the store locked, where it changes it, and what it says. */
typedef struct {
    const er_store *store;
    er_arena arena;
    er_locked lock;
    char lock_path[ER_STORE_PATH];
    bool locked;
    er_state state;
} call;

static bool begin(call *c, const er_store *store, er_error *error)
{
    *c = (call){.store = store, .arena = {.error = error}};
    return store || er_refuse(error, ER_BAD_INPUT, "store is NULL");
}

static bool look(call *c) { return er_state_read(&c->arena, c->store->folder, &c->state); }

static bool lock(call *c)
{
    er_format(c->lock_path, sizeof c->lock_path, "%s/lock", c->store->folder);
    c->locked = er_locked_open(&c->lock, c->lock_path, c->store->wait_s, c->arena.error);
    return c->locked && look(c);
}

static bool write(call *c) { return er_state_write(&c->arena, c->store->folder, &c->state); }

static er_status end(call *c, bool fine)
{
    er_error *error = c->arena.error;
    if (c->locked) er_locked_close(&c->lock);
    er_give_back(&c->arena);
    return fine ? ER_OK : er_status_of(error);
}

static void tell(er_store_version *told, const er_state *s, const er_stored *version)
{
    *told = (er_store_version){.active = er_same(s->active, version->content_hash)};
    memcpy(told->content_hash, version->content_hash.at, HASH);
    memcpy(told->name, version->name.at, version->name.length);
    for (uint32_t i = s->good_count; i--;)
        if (er_same(s->good[i], version->content_hash)) told->good = (int32_t)i + 1;
}

/* ---- A store ---- */

static bool keep(er_arena *arena, er_text *text)
{
    if (!text->at) return true;
    char *copy = ER_TAKE(arena, char, text->length + 1);
    if (!copy) return false;
    memcpy(copy, text->at, text->length);
    text->at = copy;
    return true;
}

static bool take_options(er_store *s, const er_store_options *given)
{
    er_store_options own;
    er_error *error = s->arena.error;
    er_encoder *encoder;
    if (!er_options(&own, sizeof own, given, offsetof(er_store_options, probe), "er_store_options", error)) return false;
    if (!er_options(&s->options, sizeof s->options, own.load, sizeof s->options.size, "er_load_options", error)) return false;
    if (s->options.content_hash.length || s->options.signatures.length)
        return er_refuse(error, ER_BAD_INPUT, "a store knows its versions' content hashes and signatures; leave both out");
    if (!(own.wait_s >= 0.0)) return er_refuse(error, ER_BAD_INPUT, "wait_s must not be below 0, found %g", own.wait_s);
    s->options.size = sizeof s->options;
    s->probe = own.probe, s->context = own.context, s->wait_s = own.wait_s > 0.0 ? own.wait_s : WAIT_S;
    if (s->options.encoder) {
        if (!(encoder = ER_TAKE(&s->arena, er_encoder, 1)) || !er_options(encoder, sizeof *encoder, s->options.encoder, sizeof encoder->size, "er_encoder", error))
            return false;
        encoder->size = sizeof *encoder;
        s->options.encoder = encoder;
    }
    return keep(&s->arena, &s->options.trust);
}

er_status er_store_open(const char *folder, const er_store_options *options, er_store **made, er_error *given)
{
    static const char *const parts[] = {"", "/bundles", "/learned"};
    er_error own, *error = er_clear(given, &own);
    if (!folder || !folder[0] || !made) return er_refuse(error, ER_BAD_INPUT, "er_store_open needs a folder, and a place for the store"), ER_BAD_INPUT;
    *made = NULL;
    er_text path = {folder, strlen(folder)};
    if (path.length > ER_MOST_STORE_PATH) return er_refuse(error, ER_BAD_INPUT, "%s: too long for a path", er_show(path).at), ER_BAD_INPUT;
    er_arena arena = {.error = error};
    er_store *s = ER_TAKE(&arena, er_store, 1);
    if (!s) return er_give_back(&arena), ER_NO_MEMORY;
    s->arena = arena;
    bool fine = keep(&s->arena, &path) && take_options(s, options);
    s->folder = path.at;
    for (int i = 0; fine && i < 3; i++) {
        char part[ER_STORE_PATH];
        er_format(part, sizeof part, "%s%s", s->folder, parts[i]);
        fine = er_disk_folder(error, part);
    }
    call c;
    if (fine) fine = begin(&c, s, error) && !end(&c, look(&c)); /* so that a damaged one is told of now */
    s->arena.error = NULL;
    if (fine) return *made = s, ER_OK;
    er_store_close(s);
    return er_status_of(error);
}

void er_store_close(er_store *store)
{
    if (!store) return;
    er_arena arena = store->arena; /* which holds the store itself */
    er_give_back(&arena);
}

er_status er_store_list(const er_store *store, er_store_version *room, size_t *count, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    call c;
    if (!begin(&c, store, error)) return error->status;
    if (!count || (*count && !room)) return er_refuse(error, ER_BAD_INPUT, "er_store_list needs a place for what it lists"), ER_BAD_INPUT;
    const bool fine = look(&c);
    for (uint32_t i = 0; fine && i < c.state.count && i < *count; i++) tell(&room[i], &c.state, &c.state.versions[i]);
    if (fine) *count = c.state.count;
    return end(&c, fine);
}

/* ---- Versions that come and go ---- */

/* A bundle somewhere on the disk, its manifest proved. */
typedef struct {
    const char *path, *shown;
    er_text bytes, signatures, content_hash;
    er_manifest manifest;
} arrival;

static bool open_arrival(call *c, arrival *a, er_text wanted, er_folder *folder)
{
    const er_load_options *o = &c->store->options;
    er_mapped file = {0};
    char beside[ER_STORE_PATH];
    er_trusted trusted = {.trust = o->trust, .now = o->now ? o->now : (int64_t)time(NULL)};
    if (!er_folder_map(&c->arena, folder, ER_TEXT("manifest"), ER_MOST_MANIFEST, "it is not a bundle; " ER_REBUILD, &file)) return false;
    a->bytes = (er_text){file.bytes, file.length};
    const bool kept = keep(&c->arena, &a->bytes);
    er_unmap(&file);
    size_t end = strlen(a->path);
    while (end > 1 && (a->path[end - 1] == '/' || a->path[end - 1] == '\\')) end--;
    er_format(beside, sizeof beside, "%.*s.sig", (int)end, a->path);
    const bool signatures = trusted.trust.at || er_disk_there(beside);
    if (!kept || (signatures && !er_signatures_beside(&c->arena, a->path, a->shown, &a->signatures))) return false;
    trusted.signatures = a->signatures;
    if (!er_manifest_of(&c->arena, a->bytes, wanted, trusted.trust.at ? &trusted : NULL, a->shown, a->shown, &a->manifest)) return false;
    a->content_hash = (er_text){a->manifest.content_hash.at, HASH};
    return true;
}

static bool put(call *c, const arrival *a, er_text name, er_store_version *told)
{
    const char *folder = c->store->folder;
    const er_stored *old = NULL;
    for (uint32_t i = 0; i < c->state.count; i++)
        if (er_same(c->state.versions[i].content_hash, a->content_hash)) old = &c->state.versions[i];
    const bool known = old != NULL;
    const er_text called = name.length ? name : known ? old->name : er_cut(a->content_hash, 0, 12);
    const bool same = known && er_same(old->name, called);
    if (!er_state_add(&c->arena, &c->state, a->content_hash, called)) return false;
    if ((!known || !er_bundle_is_whole(folder, &a->manifest)) && !er_bundle_copy(&c->arena, folder, a->path, &a->manifest, a->bytes)) return false;
    if (!er_bundle_sign(c->arena.error, folder, a->content_hash, a->signatures) || (!same && !write(c))) return false;
    if (told) tell(told, &c->state, er_state_find(c->arena.error, &c->state, a->content_hash));
    return true;
}

/* Holds the lock from looking to writing. Where there was no room for all, none of it stays. */
static bool take_in(call *c, const arrival *a, er_text name, er_store_version *told)
{
    if (!lock(c) || !er_bundles_sweep(&c->arena, c->store->folder, &c->state)) return false;
    if (put(c, a, name, told)) return true;
    if (look(c)) er_bundles_sweep(&c->arena, c->store->folder, &c->state);
    return false;
}

er_status er_store_add(er_store *store, const char *bundle, er_text name, er_text content_hash, er_store_version *told, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    char digits[HASH];
    er_text wanted = {0};
    call c;
    if (!store || !bundle || !bundle[0] || strlen(bundle) > ER_MOST_STORE_PATH)
        return er_refuse(error, ER_BAD_INPUT, "er_store_add needs a store, and a bundle's folder"), ER_BAD_INPUT;
    if (name.length && !er_is_version_name(name))
        return er_refuse(error, ER_BAD_INPUT, "a version's name has up to 64 letters, digits and . _ + - and begins with a letter or digit, found \"%s\"",
                         er_show(name).at), ER_BAD_INPUT;
    if (content_hash.length && !er_given_hash(error, content_hash, digits, &wanted)) return error->status;
    const er_shown shown = er_show((er_text){bundle, strlen(bundle)});
    er_status status = ER_OK;
    for (int i = 0; i < ATTEMPTS; i++) {
        arrival a = {.path = bundle, .shown = shown.at};
        begin(&c, store, error);
        er_folder *folder = er_folder_open(&c.arena, bundle);
        const bool fine = folder && open_arrival(&c, &a, wanted, folder) && take_in(&c, &a, name, told);
        /* A bundle that was put in this one's place meanwhile may be why. */
        const bool again = !fine && (error->status == ER_BAD_BUNDLE || error->status == ER_NO_FILE) && folder && er_folder_replaced(folder);
        er_folder_close(folder);
        status = end(&c, fine);
        if (!again || i + 1 == ATTEMPTS) break;
        er_clear(error, error);
    }
    return status;
}

er_status er_store_remove(er_store *store, er_text version, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    call c;
    if (!begin(&c, store, error)) return error->status;
    const er_stored *found = lock(&c) ? er_state_find(error, &c.state, version) : NULL;
    bool fine = found && (!er_same(found->content_hash, c.state.active) ||
                          er_refuse(error, ER_BAD_INPUT, "%.64s is active; activate another one, then remove it", er_show(found->name).at));
    if (fine) {
        er_state_remove(&c.state, found->content_hash);
        fine = write(&c) && er_bundles_sweep(&c.arena, store->folder, &c.state);
    }
    return end(&c, fine);
}

/* ---- Which one decides ---- */

/* Loads a version and has it prove itself. Not locked. */
static bool prepare(call *c, const er_stored *version, er_model **made, er_error *error)
{
    const er_store *store = c->store;
    char path[ER_STORE_PATH], name[72];
    er_load_options options = store->options;
    er_error why = {0};
    er_arena arena = {.error = error};
    er_version_path(path, store->folder, version->content_hash);
    er_format(name, sizeof name, "%.*s", (int)version->name.length, version->name.at);
    options.content_hash = version->content_hash;
    if (er_load(path, &options, made, error)) return false;
    bool fine = er_decides_as_built(&arena, path, name, &store->options, *made);
    er_give_back(&arena);
    if (fine && store->probe) {
        const er_status status = store->probe(store->context, *made, &why);
        why.text[sizeof why.text - 1] = 0;
        if (status) fine = er_refuse(error, status > ER_OK && status <= ER_NOT_KEPT ? status : ER_BAD_BUNDLE, "%s: refused by the caller's probe: %.400s", name, why.text);
    }
    if (fine) return true;
    er_free(*made);
    return *made = NULL, false;
}

/* Says in the store that a version is active; what was removed meanwhile is not. */
static bool switch_to(call *c, er_text content_hash, const char *what, er_text reason)
{
    return lock(c) && er_state_find(c->arena.error, &c->state, content_hash) && er_state_activate(&c->arena, &c->state, content_hash, what, reason) && write(c);
}

/* Says why a version was refused, if it can be said. */
static void note(const er_store *store, er_text content_hash, const er_error *error)
{
    er_error own = {0};
    call c;
    begin(&c, store, &own);
    const bool fine = lock(&c) && er_state_find(&own, &c.state, content_hash) &&
                      er_state_tell(&c.arena, &c.state, content_hash, "refused", (er_text){error->text, strlen(error->text)}) && write(&c);
    end(&c, fine);
}

/* Hands a model over, or lets it go where nobody wants it. */
static void hand(er_model *model, er_model **made)
{
    if (made) *made = model;
    else er_free(model);
}

er_status er_store_activate(er_store *store, er_text version, er_model **made, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    er_model *model = NULL;
    call c;
    if (made) *made = NULL;
    if (!begin(&c, store, error)) return error->status;
    const er_stored *found = look(&c) ? er_state_find(error, &c.state, version) : NULL;
    const er_text content_hash = found ? found->content_hash : (er_text){"", 0};
    bool fine = found && prepare(&c, found, &model, error);
    if (found && !fine) note(store, content_hash, error);
    fine = fine && switch_to(&c, content_hash, "activated", (er_text){"", 0});
    if (fine) hand(model, made);
    else er_free(model);
    return end(&c, fine);
}

/* The first one that proves itself of those that were active before. */
static bool back(call *c, er_model **model, er_text *content_hash)
{
    er_error last = {ER_BAD_INPUT, "no version was active before this one"};
    for (uint32_t i = 0; i < c->state.good_count; i++) {
        const er_stored *one = er_state_find(&last, &c->state, c->state.good[i]);
        er_clear(&last, &last);
        if (one && prepare(c, one, model, &last)) return *content_hash = one->content_hash, true;
        note(c->store, c->state.good[i], &last);
    }
    return er_refuse(c->arena.error, last.status, "%s", last.text);
}

er_status er_store_rollback(er_store *store, er_text reason, er_model **made, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    er_model *model = NULL;
    er_text content_hash;
    call c;
    if (made) *made = NULL;
    if (!begin(&c, store, error)) return error->status;
    const bool fine = look(&c) && back(&c, &model, &content_hash) && switch_to(&c, content_hash, "rolled back", reason);
    if (fine) hand(model, made);
    else er_free(model);
    return end(&c, fine);
}

er_status er_store_load(er_store *store, er_model **made, er_error *trouble, er_error *given)
{
    er_error own, unheard, *error = er_clear(given, &own), *why = er_clear(trouble, &unheard);
    char reason[sizeof error->text + 100];
    er_text content_hash;
    call c;
    if (!made) return er_refuse(error, ER_BAD_INPUT, "er_store_load needs a place for the model"), ER_BAD_INPUT;
    *made = NULL;
    if (!begin(&c, store, error)) return error->status;
    if (!look(&c)) return end(&c, false);
    if (!c.state.active.length) return er_refuse(error, ER_BAD_INPUT, "no version is active; activate one with er_store_activate"), end(&c, false);
    const er_stored *active = er_state_find(error, &c.state, c.state.active);
    if (prepare(&c, active, made, why)) return end(&c, true);
    er_format(reason, sizeof reason, "%.*s could not be used: %s", (int)active->name.length, active->name.at, why->text);
    /* No bundle is to blame for these. */
    const bool ours = why->status == ER_NO_MEMORY || why->status == ER_BAD_INPUT;
    if (ours || !c.state.good_count || !back(&c, made, &content_hash)) {
        error->status = ER_OK; /* why the active one cannot be used is what is told */
        return er_refuse(error, why->status, "%s", why->text), end(&c, false);
    }
    /* A disk without room for this line is no reason to decide nothing. */
    er_error unsaid = {0};
    call later;
    begin(&later, store, &unsaid);
    end(&later, switch_to(&later, content_hash, "rolled back", (er_text){reason, strlen(reason)}));
    return end(&c, true);
}
